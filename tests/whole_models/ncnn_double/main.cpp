// Runs the layer that was written beside a model on the inputs recorded there, and writes what it gives to outputs.bin
// of the working directory, each tensor padded to 64 bytes: what check/outputs.bin is of ONNX Runtime.
#include <cstdio>
#include <fstream>
#include <string>

#include "model_layer.h"

namespace {

std::size_t channel_bytes(const ncnn::Mat& m) { return static_cast<std::size_t>(m.w) * m.h * m.d * m.elemsize; }
char* channel(const ncnn::Mat& m, int q) { return static_cast<char*>(m.data) + q * m.cstep * m.elemsize; }

ncnn::Mat made(const model_layer::Tensor& t) {
  ncnn::Mat m;
  const int* n = t.lengths;
  if (t.rank == 1) m.create(n[0], 4, nullptr);
  if (t.rank == 2) m.create(n[1], n[0], 4, nullptr);
  if (t.rank == 3) m.create(n[2], n[1], n[0], 4, nullptr);
  if (t.rank == 4) m.create(n[3], n[2], n[1], n[0], 4, nullptr);
  return m;
}

}  // namespace

int main(int, char** arguments) {
  ncnn::Net net;
  if (model_layer::add_to(net) != 0) return 2;
  std::ifstream from(arguments[1], std::ios::binary);
  std::vector<ncnn::Mat> in, out(std::size(model_layer::kOutputs));
  for (const model_layer::Tensor& one : model_layer::kInputs) {
    in.push_back(made(one));
    for (int q = 0; q < in.back().c; ++q) {
      from.read(channel(in.back(), q), static_cast<std::streamsize>(channel_bytes(in.back())));
    }
    from.seekg((static_cast<std::streamoff>(from.tellg()) + 63) / 64 * 64);
  }
  if (net.layer->forward(in, out, {}) != 0) return 3;
  std::ofstream to("outputs.bin", std::ios::binary);
  for (const ncnn::Mat& one : out) {
    for (int q = 0; q < one.c; ++q) to.write(channel(one, q), static_cast<std::streamsize>(channel_bytes(one)));
    const auto rest = static_cast<std::size_t>(-static_cast<std::streamoff>(to.tellp())) % 64;
    to.write(std::string(rest, '\0').data(), static_cast<std::streamsize>(rest));
  }
  std::vector<ncnn::Mat> none;
  return net.layer->forward(none, out, {}) == 0 ? 4 : 0;  // which it must refuse
}

#include "models/ncnn_layer.h"

#include <fmt/ranges.h>

#include "base/files.h"
#include "compose/outside_text.h"
#include "runs/c_interface.h"

namespace kw::models {
namespace {

constexpr std::size_t kMostAxes = 4;

// As ncnn holds it: without the batch axis, and of more than four axes without further leading ones.
Result<std::vector<std::int64_t>> lengths_of(const NamedType& tensor) {
  const auto& [name, type] = tensor;
  if (type.dtype != DType::float32 && type.dtype != DType::int32) {
    return fail("its tensors cannot hold '{}', which is {}", compose::remark(name), type.text());
  }
  std::vector<std::int64_t> lengths(type.shape.begin(), type.shape.end());
  if (lengths.empty()) lengths.push_back(1);
  if (lengths.size() > 1 && lengths[0] == 1) lengths.erase(lengths.begin());
  while (lengths.size() > kMostAxes && lengths[0] == 1) lengths.erase(lengths.begin());
  if (lengths.size() > kMostAxes || type.shape.count() == 0 || type.shape.count() >= std::int64_t{1} << 31) {
    return fail("its tensors cannot hold '{}', which is {}", compose::remark(name), type.text());
  }
  return lengths;
}

void put(std::string& text, const std::string& place, const std::string& instead) {
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += instead.size()) {
    text.replace(at, place.size(), instead);
  }
}

// What one tensor is in the two languages.
struct Row {
  std::string in_cpp, in_python;
};

Result<std::vector<Row>> rows_of(const std::vector<NamedType>& tensors) {
  std::vector<Row> rows;
  for (const NamedType& tensor : tensors) {
    KW_TRY(const std::vector<std::int64_t> lengths, lengths_of(tensor));
    rows.push_back({fmt::format("{{{}, {{{}}}}}", lengths.size(), fmt::join(lengths, ", ")),
                    fmt::format("(\"{}\", [{}])", name_of(tensor.second.dtype), fmt::join(lengths, ", "))});
  }
  return rows;
}

}  // namespace

Result<std::map<std::string, std::string>> ncnn_layer(const std::string& model_file,
                                                      const std::vector<NamedType>& inputs,
                                                      const std::vector<NamedType>& outputs) {
  KW_TRY(const std::vector<Row> in, rows_of(inputs));
  KW_TRY(const std::vector<Row> out, rows_of(outputs));
  if (in.empty() || out.empty()) return fail("its layers have inputs and outputs");
  const std::string type = "kw." + compose::file_stem(model_file);
  std::vector<std::string> arguments = {"model_"}, blobs;
  std::string net = fmt::format("7767517\n{} {}\n", in.size() + 1, in.size() + out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    arguments.push_back(fmt::format("static_cast<const {}*>(in[{}])", runs::c_type(inputs[i].second.dtype), i));
    blobs.push_back(fmt::format("in{}", i));
    net += fmt::format("Input {0} 0 1 {0}\n", blobs.back());
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    arguments.push_back(fmt::format("static_cast<{}*>(out[{}])", runs::c_type(outputs[i].second.dtype), i));
    blobs.push_back(fmt::format("out{}", i));
  }
  net += fmt::format("{} model {} {} {}\n", type, in.size(), out.size(), fmt::join(blobs, " "));

  std::map<std::string, std::string> files = {{"model.param", net}};
  KW_TRY(const auto data, data_folder());
  for (const auto& [name, text] : {std::pair("model_layer.h", &Row::in_cpp), {"model_layer.py", &Row::in_python}}) {
    const bool in_cpp = text == &Row::in_cpp;
    KW_TRY(std::string page,
           read_file(data / "kernels" / "models" / (in_cpp ? "ncnn_layer.h.in" : "ncnn_layer.py.in")));
    const auto list = [&, row = text](const std::vector<Row>& rows) {
      std::vector<std::string> all;
      for (const Row& one : rows) all.push_back(one.*row);
      return fmt::format("{}", fmt::join(all, ", "));
    };
    put(page, "@INPUTS@", list(in));
    put(page, "@OUTPUTS@", list(out));
    put(page, "@CALL@", fmt::format("{}", fmt::join(arguments, ", ")));
    put(page, "@TYPE@", fmt::format("\"{}\"", type));
    put(page, "@MODEL@", compose::remark(model_file));
    files[name] = page;
  }
  return files;
}

}  // namespace kw::models

// How much faster kernels of the techniques are with several threads than with one.
//
//   kw_threads_bench [--threads N] [--compiler NAME] [TECHNIQUE TASK]...
//
// A line is a technique on a task: its operations, the time of a call with one thread and with N (2 unless said), and
// the median ratio of laps that take turns, with its interval. Threads are lent as the judge lends them. Outputs must
// have the same bits. Without names: products, convolutions, reductions and elementwise work of some sizes.
#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/paired_ratio.h"
#include "base/units.h"
#include "compose/techniques.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "suites/catalog.h"
#include "targets/cpu/call_image.h"
#include "targets/cpu/host/pool.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using Pairing = std::pair<std::string, std::string>;

constexpr int kRounds = 21;
constexpr double kLap_s = 0.02;

const std::vector<Pairing> kUsual = {{"gemm_packed", "Gemm_transB_bias_vit"},
                                     {"matmul_packed", "MatMul_vit"},
                                     {"matmul_packed", "BatchMatMul_vit"},
                                     {"matmul_packed", "L1_1_Matmul_square"},
                                     {"product_few_rows", "Linear_qwen"},
                                     {"conv_winograd", "Conv2d_3x3_resnet"},
                                     {"conv_direct", "Conv2d_3x3_yolo"},
                                     {"conv_direct", "Conv2d_1x1_expand"},
                                     {"conv_direct", "Conv2d_stem_yolo"},
                                     {"conv_direct", "Conv2d_grouped_resnext"},
                                     {"conv_direct", "Conv3d_body"},
                                     {"conv_transpose_direct", "ConvTranspose2d_unet"},
                                     {"softmax_vector", "Softmax_vit"},
                                     {"normalize_rows", "LayerNormalization_vit"},
                                     {"normalize_channels", "GroupNormalization_unet"},
                                     {"reduce_vector", "ReduceSum_yolo_p3"},
                                     {"max_pool_vector", "MaxPool2d_resnet"},
                                     {"unary_erf", "Gelu_vit_mlp"},
                                     {"unary_rectifier", "Relu_vit_mlp"},
                                     {"binary_arithmetic", "Mul_gate"},
                                     {"transpose_blocks", "Transpose_channels"}};

struct Kernel {
  int (*run)(kw_call*) = nullptr;
  int (*prepare)(kw_call*) = nullptr;
};

Result<Kernel> built(const std::string& compiler, const std::filesystem::path& folder, const std::string& source) {
  static int count = 0;
  const std::string base = (folder / fmt::format("k{}", count++)).string();
  KW_CHECK(write_file(base + ".cpp", source));
  KW_TRY(const std::filesystem::path data, data_folder());
  const std::string command =
      fmt::format("{0} -std=c++20 -O3 -march=native -fPIC -shared -w -I{1}/include {2}.cpp -o {2}.so", compiler,
                  data.string(), base);
  if (std::system(command.c_str()) != 0) return fail("does not compile: {}", command);
  void* library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail("{}", dlerror());
  return Kernel{reinterpret_cast<int (*)(kw_call*)>(dlsym(library, "kw_run")),
                reinterpret_cast<int (*)(kw_call*)>(dlsym(library, "kw_prepare"))};
}

// A call that stands, with its tensors.
class Standing {
 public:
  Standing(const ops::Graph& graph, const Kernel& kernel)
      : kernel_(kernel), inputs_(ops::draw_inputs(graph, ops::InputClass::typical, 1)) {
    targets::CallShape shape{.opset = graph.task->opset};
    for (const ops::GraphInput& input : graph.inputs) shape.inputs.push_back(input.type);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) shape.outputs.push_back(graph.output_type(i));
    for (const ops::GraphNode& node : graph.nodes) shape.nodes.push_back(node.call.attributes);
    for (const TensorType& type : shape.outputs) outputs.emplace_back(type);
    image_ = targets::call_image(shape);
    call_ = targets::settle(image_.data());
    call_->scratch = scratch_.data();
    call_->scratch_bytes = static_cast<std::int64_t>(scratch_.size());
    const auto show = [&](bool only_constants) {
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const bool hidden = only_constants && graph.inputs[i].role == Role::input;
        const_cast<kw_tensor&>(call_->inputs[i]).data = hidden ? nullptr : inputs_[i].bytes().data();
      }
    };
    if (kernel.prepare != nullptr) {
      show(true);
      call_->kept = kept_.data();
      call_->kept_bytes = static_cast<std::int64_t>(kept_.size());
      kernel.prepare(call_);
      call_->prepared = call_->kept_used > 0 ? call_->kept : nullptr;
    }
    show(false);
    for (std::size_t i = 0; i < outputs.size(); ++i) call_->outputs[i].data = outputs[i].bytes().data();
  }

  void lend(host::Pool* pool) {
    call_->threads = pool == nullptr ? 1 : pool->threads();
    call_->crew = pool;
    call_->parallel = pool == nullptr ? nullptr : together;
  }
  bool run() {
    call_->scratch_used = 0;
    return kernel_.run(call_) == KW_OK;
  }
  double lap_ns(int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) run();
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls;
  }

  std::vector<Tensor> outputs;

 private:
  static void together(const kw_call* of, std::int32_t count, host::Pool::Piece work, void* data) {
    static_cast<host::Pool*>(of->crew)->run(count, work, data);
  }

  const Kernel kernel_;
  std::vector<Tensor> inputs_;
  std::vector<std::byte> image_;
  std::vector<unsigned char> scratch_ = std::vector<unsigned char>(std::size_t{1} << 29),
                             kept_ = std::vector<unsigned char>(std::size_t{1} << 29);
  kw_call* call_ = nullptr;
};

Status measure(const Pairing& pairing, const std::string& compiler, const std::filesystem::path& folder,
               host::Pool& pool) {
  KW_TRY(const std::filesystem::path data, data_folder());
  KW_TRY(const compose::Technique technique,
         compose::read_technique(data / "kernels" / "cpu" / (pairing.first + ".h")));
  KW_TRY(const Task task, suites::find_task(pairing.second));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  std::vector<const compose::Technique*> choice;
  for (const ops::GraphNode& node : graph.nodes) {
    KW_TRY(const bool fits, compose::applies(technique, graph, node));
    choice.push_back(fits ? &technique : nullptr);
  }
  KW_TRY(const compose::Draft draft, compose::draft_with(graph, choice));
  KW_TRY(const Kernel kernel, built(compiler, folder, draft.source));
  Standing standing(graph, kernel);
  standing.lend(nullptr);
  if (!standing.run()) return fail("it refuses the call");
  const std::vector<Tensor> alone = standing.outputs;
  standing.lend(&pool);
  if (!standing.run()) return fail("it refuses the call with threads");
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (!std::ranges::equal(alone[i].bytes(), standing.outputs[i].bytes())) return fail("other bits with threads");
  }
  const int calls = std::max(1, static_cast<int>(kLap_s * 1e9 / standing.lap_ns(1)));
  std::vector<Pair> pairs;
  double one_ns = 1e30, many_ns = 1e30;
  for (int i = 0; i < kRounds; ++i) {
    standing.lend(&pool);
    const double many = standing.lap_ns(calls);
    standing.lend(nullptr);
    const double one = standing.lap_ns(calls);
    pairs.push_back({many, one});
    one_ns = std::min(one_ns, one);
    many_ns = std::min(many_ns, many);
  }
  const Ratio ratio = ratio_of_pairs(pairs, 1);
  fmt::print("{:<22} {:<28} {:>8.0f} Mflop {:>10} {:>10}  {:.2f} [{:.2f}, {:.2f}]\n", pairing.first, pairing.second,
             ops::cost_of(graph).flops / 1e6, time_text(one_ns), time_text(many_ns), ratio.median, ratio.low,
             ratio.high);
  return {};
}

int main_of(const std::vector<std::string>& words) {
  int threads = 2;
  std::string compiler = "g++";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--threads" && i + 1 < words.size()) {
      threads = std::stoi(words[++i]);
    } else if (words[i] == "--compiler" && i + 1 < words.size()) {
      compiler = words[++i];
    } else {
      names.push_back(words[i]);
    }
  }
  if (names.size() % 2 != 0 || threads < 2 || threads > 64) {
    fmt::print(stderr, "kw_threads_bench [--threads 2..64] [--compiler NAME] [TECHNIQUE TASK]...\n");
    return 2;
  }
  std::vector<Pairing> pairings = names.empty() ? kUsual : std::vector<Pairing>();
  for (std::size_t i = 0; i < names.size(); i += 2) pairings.emplace_back(names[i], names[i + 1]);
  host::Pool pool;
  if (!pool.start(threads, std::size_t{2} << 20))
    return fmt::print(stderr, "no {} threads could be started\n", threads), 2;
  char pattern[] = "/tmp/kw_threads_XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern);
  fmt::print("{:<22} {:<28} {:>14} {:>10} {:>10}  times as fast\n", "technique", "task", "operations", "1 thread",
             fmt::format("{} threads", threads));
  int failed = 0;
  for (const Pairing& pairing : pairings) {
    const Status status = measure(pairing, compiler, folder, pool);
    if (status.ok()) continue;
    ++failed;
    fmt::print("{:<22} {:<28} {}\n", pairing.first, pairing.second, status.error().message);
  }
  std::filesystem::remove_all(folder);
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::main_of({argv + 1, argv + argc}); }

#include "lm_torch/statistics.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <map>

#include "base/files.h"
#include "lm/safetensors.h"
#include "lm_torch/evaluate.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTokensAtOnce = 4096, kTokensAtOnceOfGpu = 16384;
// How the names of the files in a work folder begin: what is gathered here, and what compress.cpp makes of it.
constexpr std::array kKept = {"layer_", "gradients_", "hidden", "plain_", "fisher_", "sizes_", "gram_", "both_"};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string layer_file(std::int64_t layer) { return fmt::format("layer_{:03}.safetensors", layer); }
std::string gradient_file(std::int64_t layer) { return fmt::format("gradients_{:03}.safetensors", layer); }

Json progress_of(const char* what, std::int64_t done, std::int64_t of, std::int64_t begun_at, Clock::time_point begin) {
  const double spent = seconds_since(begin);
  const auto made = static_cast<double>(done - begun_at);
  return {{"what", what},
          {"done", done},
          {"of", of},
          {"left_s", made > 0 ? spent / made * static_cast<double>(of - done) : 0.0}};
}

// rows^T rows, of which the blocks below the diagonal are those above it: ten of sixteen are computed.
at::Tensor gram_of(const at::Tensor& rows) {
  constexpr std::int64_t kBlocks = 4;
  const std::int64_t size = rows.size(1), step = (size + kBlocks - 1) / kBlocks;
  at::Tensor made = at::empty({size, size}, rows.options());
  for (std::int64_t begin = 0; begin < size; begin += step) {
    const std::int64_t end = std::min(begin + step, size);
    const at::Tensor part = at::mm(rows.slice(1, begin, end).t(), rows.slice(1, begin));
    made.slice(0, begin, end).slice(1, begin).copy_(part);
    made.slice(0, end).slice(1, begin, end).copy_(part.slice(1, end - begin).t());
  }
  return made;
}

// Sums of products of float32 tokens, added up in double.
struct Sum {
  at::Tensor gram, size;
  double tokens = 0;

  void add(const at::Tensor& inputs, bool sizes) {
    const at::Tensor rows = inputs.detach().reshape({-1, inputs.size(-1)});
    const at::Tensor more = gram_of(rows).to(at::kDouble);
    gram = gram.defined() ? gram.add_(more) : more;
    if (!sizes) return;
    const at::Tensor added = rows.abs().sum(0).to(at::kDouble);
    size = size.defined() ? size + added : added;
    tokens += static_cast<double>(rows.size(0));
  }
};

}  // namespace

std::size_t first_with_input(const ModelConfig& config, std::size_t linear) {
  if (linear < 3) return 0;
  return config.family != Family::bert && linear == 5 ? 4 : linear;
}

Status write_tensors(const fs::path& path, const std::map<std::string, at::Tensor>& tensors) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, tensor] : tensors) entries.push_back({name, StoredType::f32, tensor.sizes().vec()});
  KW_TRY(SafetensorsWriter writer, SafetensorsWriter::begin(path, entries));
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor flat = tensor.to(at::kFloat).cpu().contiguous();
    writer.write(
        {static_cast<const std::byte*>(flat.data_ptr()), static_cast<std::size_t>(flat.numel()) * sizeof(float)});
  }
  return writer.finish();
}

Result<std::map<std::string, at::Tensor>> read_tensors(const fs::path& path, const std::string& prefix) {
  KW_TRY(const StoredTensors stored, open_safetensors(path));
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, one] : stored) {
    if (!name.starts_with(prefix)) continue;
    auto tensor = load_tensor(one);
    if (!tensor.ok()) return at(path.string(), tensor.error());
    tensors[name] = *tensor;
  }
  return tensors;
}

Result<Statistics> Statistics::open(const fs::path& folder, const std::string& key) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fail("{}: could not be made: {}", folder.string(), failed.message());
  const auto known = read_file(folder / "key");
  if (!known.ok() || *known != key) {
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename().string();
      const bool ours = std::ranges::any_of(kKept, [&](const char* kept) { return name.starts_with(kept); });
      if (ours && name.ends_with(".safetensors")) fs::remove(entry.path(), failed);
    }
    KW_CHECK(write_file(folder / "key", key));
  }
  return Statistics(folder);
}

Status Statistics::gather(const Network& network, const at::Tensor& ids, const TellProgress& tell) {
  const at::NoGradGuard no_gradients;
  const auto begin = Clock::now();
  const std::int64_t layers = network.config().layers;
  std::int64_t done = 0;
  while (done < layers && fs::exists(folder_ / layer_file(done))) ++done;
  if (done == layers) return {};
  at::Tensor hidden;
  if (done > 0) {
    // Written after the layer's own file: where they are of another layer, the work begins anew.
    const auto kept = read_tensors(folder_ / "hidden.safetensors");
    const auto found = kept.ok() ? kept->find(fmt::format("before_{}", done)) : decltype(kept->find("")){};
    if (kept.ok() && found != kept->end())
      hidden = found->second.to(network.options());
    else
      done = 0;
  }
  const std::int64_t tokens = ids.is_cuda() ? kTokensAtOnceOfGpu : kTokensAtOnce;
  const std::int64_t rows = std::max<std::int64_t>(1, tokens / ids.size(1));
  if (done == 0) hidden = network.embed(ids);
  const std::int64_t begun_at = done;
  for (; done < layers; ++done) {
    std::map<std::size_t, Sum> sums;
    std::vector<at::Tensor> next;
    for (std::int64_t first = 0; first < ids.size(0); first += rows) {
      const at::Tensor batch = hidden.slice(0, first, std::min(first + rows, ids.size(0)));
      Pass pass = network.begin_pass(batch.size(0), batch.size(1));
      pass.watch = [&](std::size_t linear, const at::Tensor& inputs, const at::Tensor&) {
        if (first_with_input(network.config(), linear) == linear) sums[linear].add(inputs, true);
      };
      next.push_back(network.run_layer(done, batch, pass));
    }
    hidden = at::cat(next, 0);
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [linear, sum] : sums) {
      tensors[fmt::format("gram_{}", linear)] = sum.gram;
      tensors[fmt::format("mean_size_{}", linear)] = sum.size / sum.tokens;
    }
    KW_CHECK(write_tensors(folder_ / layer_file(done), tensors));
    KW_CHECK(write_tensors(folder_ / "hidden.safetensors", {{fmt::format("before_{}", done + 1), hidden}}));
    if (tell) tell(progress_of("calibration", done + 1, layers, begun_at, begin));
  }
  std::error_code ignored;
  fs::remove(folder_ / "hidden.safetensors", ignored);
  return {};
}

Status Statistics::gather_gradients(const Network& network, const at::Tensor& ids, const TellProgress& tell) {
  const std::int64_t layers = network.config().layers;
  if (fs::exists(folder_ / gradient_file(layers - 1))) return {};
  if (!network.config().predicts_next() || !network.config().is_causal()) {
    return fail("a {} model has no loss of next tokens: what needs gradients cannot be done",
                name_of(network.config().family));
  }
  const auto begin = Clock::now();
  std::vector<std::map<std::size_t, Sum>> sums(static_cast<std::size_t>(layers));
  std::vector<std::map<std::size_t, at::Tensor>> squares(static_cast<std::size_t>(layers));
  for (std::int64_t row = 0; row < ids.size(0); ++row) {
    const at::Tensor sequence = ids.slice(0, row, row + 1);
    at::Tensor hidden = network.embed(sequence).detach();
    hidden.set_requires_grad(true);
    Pass pass = network.begin_pass(1, sequence.size(1));
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      auto& of_layer = sums[static_cast<std::size_t>(layer)];
      auto& of_weights = squares[static_cast<std::size_t>(layer)];
      pass.watch = [&](std::size_t linear, const at::Tensor& inputs, const at::Tensor& outputs) {
        const at::Tensor given = inputs.detach().reshape({-1, inputs.size(-1)});
        outputs.register_hook([&of_layer, &of_weights, linear, given](const at::Tensor& gradient) {
          const at::NoGradGuard no_gradients;
          of_layer[linear].add(gradient, false);
          const at::Tensor weight = at::mm(gradient.detach().reshape({-1, gradient.size(-1)}).t(), given);
          const at::Tensor summed = weight.pow(2).sum(0).to(at::kDouble);
          at::Tensor& kept = of_weights[linear];
          kept = kept.defined() ? kept + summed : summed;
        });
      };
      hidden = network.run_layer(layer, hidden, pass);
    }
    summed_loss(network, network.finish(hidden), sequence).backward();
    if (tell) tell(progress_of("gradients", row + 1, ids.size(0), 0, begin));
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [linear, sum] : sums[static_cast<std::size_t>(layer)])
      tensors[fmt::format("output_gram_{}", linear)] = sum.gram;
    for (const auto& [linear, one] : squares[static_cast<std::size_t>(layer)])
      tensors[fmt::format("squared_{}", linear)] = one;
    KW_CHECK(write_tensors(folder_ / gradient_file(layer), tensors));
  }
  return {};
}

bool Statistics::has(std::int64_t layer) const {
  std::error_code ignored;
  return fs::exists(folder_ / layer_file(layer), ignored);
}

Result<LayerStatistics> Statistics::layer(const Network& network, std::int64_t layer, bool gradients) const {
  std::map<std::string, at::Tensor> tensors, outward;
  KW_TRY(tensors, read_tensors(folder_ / layer_file(layer)));
  if (gradients) {
    KW_TRY(outward, read_tensors(folder_ / gradient_file(layer)));
  }
  for (auto* const some : {&tensors, &outward}) {
    for (auto& [name, tensor] : *some) tensor = tensor.to(network.options().device());
  }
  LayerStatistics statistics;
  for (std::size_t linear = 0; linear < network.layers()[static_cast<std::size_t>(layer)].linears.size(); ++linear) {
    const std::size_t first = first_with_input(network.config(), linear);
    LinearStatistics one{.gram = tensors.at(fmt::format("gram_{}", first)),
                         .mean_size = tensors.at(fmt::format("mean_size_{}", first))};
    if (gradients) {
      one.output_gram = outward.at(fmt::format("output_gram_{}", linear));
      one.squared_gradient = outward.at(fmt::format("squared_{}", linear));
    }
    statistics.push_back(std::move(one));
  }
  return statistics;
}

}  // namespace kw::lm

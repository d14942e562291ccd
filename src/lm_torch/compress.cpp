#include "lm_torch/compress.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/folder_lock.h"
#include "base/hash.h"
#include "lm_torch/evaluate.h"
#include "lm_torch/factorise.h"
#include "lm_torch/refit.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kErrorSequences = 4;  // on which k and beta are chosen
constexpr std::array kBetas = {0.0, 0.025, 0.05, 0.1};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// In which measure a matrix is taken apart; its name is that of the kept files.
enum class Kind { plain, fisher, sizes, gram, both };
const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::plain:
      return "plain";
    case Kind::fisher:
      return "fisher";
    case Kind::sizes:
      return "sizes";
    case Kind::gram:
      return "gram";
    case Kind::both:
      return "both";
  }
  return "";
}

Kind kind_of(const CompressOptions& options) {
  if (options.allot) return Kind::both;
  switch (options.method) {
    case Method::svd:
      return Kind::plain;
    case Method::fwsvd:
      return Kind::fisher;
    case Method::asvd:
      return Kind::sizes;
    case Method::svd_llm:
    case Method::ressvd:
      break;
  }
  return Kind::gram;
}

Measure measure_of(Kind kind, const LinearStatistics& statistics) {
  switch (kind) {
    case Kind::plain:
      return {};
    case Kind::fisher:
      return {.input_gram = statistics.squared_gradient};  // the root of it is S
    case Kind::sizes:
      return {.input_gram = statistics.mean_size};  // S = sizes^0.5
    case Kind::gram:
      return {.input_gram = statistics.gram};
    case Kind::both:
      break;
  }
  // Few tokens show gradients: a tenth of their mean in every direction keeps what they missed.
  const at::Tensor& seen = statistics.output_gram;
  const at::Tensor evened =
      seen + at::eye(seen.size(0), seen.options()) * (0.1 * seen.diagonal().mean().item<double>());
  return {.input_gram = statistics.gram, .output_gram = evened};
}

// Taken apart once for a measure, whatever the ratio.
class Spectra {
 public:
  Spectra(const Network& network, const Statistics& statistics, fs::path folder, Kind kind)
      : network_(network), statistics_(statistics), folder_(std::move(folder)), kind_(kind) {}

  Status prepare(const TellProgress& tell) {
    const auto begin = Clock::now();
    const std::int64_t layers = network_.config().layers;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      if (fs::exists(path(layer))) continue;
      LayerStatistics of_layer;
      if (kind_ != Kind::plain) {
        KW_TRY(of_layer, statistics_.layer(network_, layer, kind_ == Kind::fisher || kind_ == Kind::both));
      }
      std::map<std::string, at::Tensor> tensors;
      const auto& linears = network_.layers()[static_cast<std::size_t>(layer)].linears;
      for (std::size_t i = 0; i < linears.size(); ++i) {
        const Measure measure = kind_ == Kind::plain ? Measure{} : measure_of(kind_, of_layer[i]);
        const Spectrum spectrum = spectrum_of(linears[i].weight, measure);
        const at::Tensor squares = at::empty({std::ssize(spectrum.squares)}, at::kFloat);
        for (std::size_t k = 0; k < spectrum.squares.size(); ++k) {
          squares.data_ptr<float>()[k] = static_cast<float>(spectrum.squares[k]);
        }
        tensors[fmt::format("directions_{}_up", i)] = spectrum.up;
        tensors[fmt::format("directions_{}_down", i)] = spectrum.down;
        tensors[fmt::format("squares_{}", i)] = squares;
      }
      KW_CHECK(write_tensors(path(layer), tensors));
      if (tell)
        tell({{"what", "spectra"},
              {"done", layer + 1},
              {"of", layers},
              {"left_s",
               seconds_since(begin) / static_cast<double>(layer + 1) * static_cast<double>(layers - layer - 1)}});
    }
    return {};
  }

  // Where the network lies.
  Result<Spectrum> linear(std::int64_t layer, std::size_t index) const {
    const std::string name = fmt::format("directions_{}_", index);
    KW_TRY(const auto tensors, read_tensors(path(layer), name));
    const auto wide = [&](const char* side) {
      return tensors.at(name + side).to(network_.options().device()).to(at::kDouble);
    };
    return Spectrum{.up = wide("up"), .down = wide("down"), .squares = {}};
  }

  // Of each linear layer what its directions add, without the directions themselves.
  Result<std::vector<std::vector<double>>> squares(std::int64_t layer) const {
    KW_TRY(const auto tensors, read_tensors(path(layer), "squares_"));
    std::vector<std::vector<double>> made;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const at::Tensor& of_linear = tensors.at(fmt::format("squares_{}", i));
      made.emplace_back(of_linear.data_ptr<float>(), of_linear.data_ptr<float>() + of_linear.numel());
    }
    return made;
  }

 private:
  fs::path path(std::int64_t layer) const {
    return folder_ / fmt::format("{}_{:03}.safetensors", name_of(kind_), layer);
  }

  const Network& network_;
  const Statistics& statistics_;
  const fs::path folder_;
  const Kind kind_;
};

// Ranks of every linear layer; 0: it stays whole.
struct Plan {
  std::vector<std::vector<std::int64_t>> ranks;
  std::vector<std::vector<std::int64_t>> residual;  // of the rank, how much is ResSVD's second part
};

// Keys and values of grouped heads: much flatter than wide, so that factors of them save little and lose much.
bool is_narrow(const Linear& linear, std::size_t index) {
  const bool key_or_value = index == 1 || index == 2;
  return key_or_value && 2 * linear.outputs() <= linear.inputs();
}

// The last `layers` at the ratio that makes the whole model's as wanted.
Plan even_plan(const Network& network, const CompressOptions& options, std::int64_t layers, double beta) {
  std::int64_t all = 0, shared = 0;  // numbers of all linear layers, and of those that are factored
  const std::int64_t first = network.config().layers - layers;
  const auto stays = [&](std::int64_t layer, const Linear& linear, std::size_t index) {
    return layer < first || (options.narrow && is_narrow(linear, index));
  };
  for (std::int64_t layer = 0; layer < network.config().layers; ++layer) {
    const auto& linears = network.layers()[static_cast<std::size_t>(layer)].linears;
    for (std::size_t i = 0; i < linears.size(); ++i) {
      all += linears[i].parameters();
      shared += stays(layer, linears[i], i) ? 0 : linears[i].parameters();
    }
  }
  const double own = options.ratio * static_cast<double>(all) / static_cast<double>(std::max<std::int64_t>(shared, 1));
  Plan plan;
  for (std::int64_t layer = 0; layer < network.config().layers; ++layer) {
    auto& ranks = plan.ranks.emplace_back();
    auto& residual = plan.residual.emplace_back();
    for (const Linear& linear : network.layers()[static_cast<std::size_t>(layer)].linears) {
      const bool whole = stays(layer, linear, ranks.size());
      const std::int64_t rows = linear.outputs(), columns = linear.inputs();
      const auto numbers = static_cast<std::int64_t>((1 - own) * static_cast<double>(rows * columns));
      const std::int64_t rank =
          whole ? 0 : std::max<std::int64_t>(1, largest_rank(rows, columns, numbers, options.pivot));
      const double alpha =
          static_cast<double>(rows) * static_cast<double>(columns) / static_cast<double>(rows + columns);
      ranks.push_back(rank);
      residual.push_back(options.method != Method::ressvd || rank == 0
                             ? 0
                             : std::min(rank - 1, static_cast<std::int64_t>(beta * alpha)));
    }
  }
  return plan;
}

Result<Plan> allotted_plan(const Network& network, const CompressOptions& options, const Spectra& spectra,
                           const TellProgress& tell) {
  std::vector<Allotted> matrices;
  Plan plan;
  std::int64_t all = 0;
  for (std::int64_t layer = 0; layer < network.config().layers; ++layer) {
    KW_TRY(const auto squares, spectra.squares(layer));
    auto& ranks = plan.ranks.emplace_back();
    for (const Linear& linear : network.layers()[static_cast<std::size_t>(layer)].linears) {
      const std::vector<double>& of_linear = squares[ranks.size()];
      Allotted one{.rows = linear.outputs(), .columns = linear.inputs()};
      one.loss.assign(of_linear.size() + 1, 0);
      for (std::size_t i = of_linear.size(); i-- > 0;) one.loss[i] = one.loss[i + 1] + of_linear[i];
      all += one.rows * one.columns;
      matrices.push_back(std::move(one));
      ranks.push_back(0);
    }
  }
  const auto numbers = static_cast<std::int64_t>((1 - options.ratio) * static_cast<double>(all));
  const auto chosen = allot_ranks(matrices, numbers, options.pivot);
  auto next = chosen.begin();
  for (auto& ranks : plan.ranks) {
    for (std::int64_t& rank : ranks) rank = *next++;
    plan.residual.emplace_back(ranks.size(), 0);
  }
  if (tell) tell({{"what", "ranks"}, {"done", 1}, {"of", 1}, {"left_s", 0}});
  return plan;
}

struct LayerFactors {
  std::vector<std::optional<Factors>> linears;
  double lost = 0;  // of the method's own measure, the share that truncation leaves out
};

Result<LayerFactors> factors_of(const Network& network, const Spectra& spectra, const Plan& plan, std::int64_t layer) {
  const auto place = static_cast<std::size_t>(layer);
  LayerFactors made{.linears = std::vector<std::optional<Factors>>(plan.ranks[place].size())};
  if (std::accumulate(plan.ranks[place].begin(), plan.ranks[place].end(), std::int64_t{0}) == 0) return made;
  KW_TRY(const auto squares, spectra.squares(layer));
  double all = 0, left = 0;
  for (std::size_t i = 0; i < made.linears.size(); ++i) {
    const std::int64_t rank = plan.ranks[place][i];
    all += std::accumulate(squares[i].begin(), squares[i].end(), 0.0);
    if (rank == 0) continue;
    left += std::accumulate(squares[i].begin() + rank, squares[i].end(), 0.0);
    KW_TRY(const Spectrum spectrum, spectra.linear(layer, i));
    made.linears[i] = with_residual(network.layers()[place].linears[i].weight, spectrum, rank, plan.residual[place][i]);
  }
  made.lost = left / std::max(all, 1e-30);
  return made;
}

struct Work {
  const Network& original;
  const CompressOptions& options;
  const Spectra& spectra;
  const at::Tensor& ids;
  const TellProgress& tell;

  Json progress(const std::string& what, std::int64_t layer, double error, Clock::time_point begin) const {
    const std::int64_t layers = original.config().layers;
    return {
        {"what", what},
        {"done", layer + 1},
        {"of", layers},
        {"error", error},
        {"left_s", seconds_since(begin) / static_cast<double>(layer + 1) * static_cast<double>(layers - layer - 1)}};
  }

  // `what` names it in the progress.
  Result<Network> made(const Plan& plan, const std::string& what) const {
    const auto begin = Clock::now();
    Network network = original;
    for (std::int64_t layer = 0; layer < original.config().layers; ++layer) {
      KW_TRY(const LayerFactors factors, factors_of(original, spectra, plan, layer));
      for (std::size_t i = 0; i < factors.linears.size(); ++i) {
        if (factors.linears[i])
          put_factors(network.layers()[static_cast<std::size_t>(layer)].linears[i], *factors.linears[i], options.pivot);
      }
      if (tell) tell(progress(what, layer, factors.lost, begin));
    }
    return network;
  }

  // The network, or what least squares make of it where that is better on sequences that were not fitted to.
  Result<Network> refitted(const Network& network, const Plan& plan, Json& about) const {
    const auto begin = Clock::now();
    Network fitted = network;
    // Spread over the text, as the sequences are.
    const std::int64_t count = std::min(options.refit_sequences, ids.size(0));
    const at::Tensor chosen = at::floor_divide(at::arange(count, ids.options()) * ids.size(0), count);
    Refitter refitter(original, ids.index_select(0, chosen), options.pivot);
    std::int64_t changed = 0;
    for (std::int64_t layer = 0; layer < original.config().layers; ++layer) {
      KW_TRY(const LayerFactors factors, factors_of(original, spectra, plan, layer));
      changed += refitter.refit(fitted, layer, factors.linears) ? 1 : 0;
      if (tell) tell(progress("refit", layer, factors.lost, begin));
    }
    const double before = refitter.held_out_error(network), after = refitter.held_out_error(fitted);
    about = {{"layers", changed}, {"held_out_before", before}, {"held_out_after", after}, {"kept", after < before}};
    return after < before ? fitted : network;
  }

  // Of the last layer's output, relative to its size.
  double error_of(const Network& network, const at::Tensor& expected) const {
    const at::NoGradGuard no_gradients;
    const at::Tensor some = ids.slice(0, 0, expected.size(0));
    return ((network.run(some) - expected).pow(2).sum() / expected.pow(2).sum()).item<double>();
  }
};

struct Choice {
  std::int64_t layers = 0;
  double beta = 0;
  double error = -1;
  std::optional<Network> network = {};  // as it was tried
};

// ResSVD's k, and with `search` beta: those with the smallest error at the model's end.
Result<Choice> choose_layers(const Work& work, Json& tried) {
  const CompressOptions& options = work.options;
  const std::int64_t layers = work.original.config().layers;
  const std::int64_t step = options.layer_step > 0 ? options.layer_step : std::max<std::int64_t>(1, layers / 3);
  const at::NoGradGuard no_gradients;
  const at::Tensor expected = work.original.run(work.ids.slice(0, 0, std::min(kErrorSequences, work.ids.size(0))));
  Choice best;
  std::vector<std::int64_t> counts;
  if (options.last_layers > 0) counts = {options.last_layers};
  for (std::int64_t k = step; options.last_layers == 0 && k <= layers; k += step) {
    if (static_cast<double>(layers) * options.ratio / static_cast<double>(k) < 0.9) counts.push_back(k);
  }
  if (counts.empty()) counts = {layers};
  std::vector<double> betas = {options.residual_share};
  if (options.search) betas.assign(kBetas.begin(), kBetas.end());
  for (const std::int64_t count : counts) {
    for (const double beta : betas) {
      const std::string what =
          fmt::format("try {} of {} (last {} layers)", tried.size() + 1, counts.size() * betas.size(), count);
      KW_TRY(Network network, work.made(even_plan(work.original, options, count, beta), what));
      const double error = work.error_of(network, expected);
      tried.push_back({{"last_layers", count}, {"residual_share", beta}, {"error", error}});
      if (best.error < 0 || error < best.error) best = {count, beta, error, std::move(network)};
    }
  }
  return best;
}

// Of each linear layer, how wrong its outputs are on the calibration text, or its weights where the text was not looked
// at.
Result<Json> errors_by_layer(const Network& original, const Network& compressed, const Statistics& statistics) {
  const at::NoGradGuard no_gradients;
  Json all = Json::array();
  for (std::int64_t layer = 0; layer < original.config().layers; ++layer) {
    const auto place = static_cast<std::size_t>(layer);
    LayerStatistics known;
    if (statistics.has(layer)) {
      KW_TRY(known, statistics.layer(original, layer, false));
    }
    Json errors = Json::array();
    for (std::size_t i = 0; i < original.layers()[place].linears.size(); ++i) {
      const Linear& made = compressed.layers()[place].linears[i];
      errors.push_back(made.is_factored() ? relative_error(original.layers()[place].linears[i].weight, made.product(),
                                                           known.empty() ? at::Tensor() : known[i].gram)
                                          : 0.0);
    }
    all.push_back(errors);
  }
  return all;
}

// Of each linear layer, the share of its squares in the method's measure that is left after 0, 1/16, ... of its
// directions.
Result<Json> spectra_by_layer(const Network& network, const Spectra& spectra) {
  constexpr std::size_t kSteps = 16;
  Json all = Json::array();
  for (std::int64_t layer = 0; layer < network.config().layers; ++layer) {
    KW_TRY(const auto squares, spectra.squares(layer));
    Json curves = Json::array();
    for (const std::vector<double>& of_linear : squares) {
      const double sum = std::accumulate(of_linear.begin(), of_linear.end(), 0.0);
      Json curve = Json::array();
      for (std::size_t step = 0; step <= kSteps; ++step) {
        const auto from = of_linear.begin() + static_cast<std::ptrdiff_t>(of_linear.size() * step / kSteps);
        curve.push_back(std::accumulate(from, of_linear.end(), 0.0) / std::max(sum, 1e-30));
      }
      curves.push_back(curve);
    }
    all.push_back(curves);
  }
  return all;
}

Json switches_of(const CompressOptions& options) {
  Json names = Json::array();
  if (options.allot) names.push_back("allot");
  if (options.pivot) names.push_back("pivot");
  if (options.refit) names.push_back("refit");
  if (options.narrow) names.push_back("narrow");
  if (options.search) names.push_back("search");
  return names;
}

// Of a text's tokens, the perplexity before and after; of models that predict no next token, how alike they stay.
Result<Json> evaluated(const Tokenizer& tokenizer, const Network& original, const Network& compressed,
                       std::span<const std::int32_t> ids) {
  constexpr std::int64_t kWindow = 512, kComparedWindow = 128;
  Json of_text = Json::object();
  if (!original.config().is_causal() || !original.config().predicts_next()) {
    KW_TRY(const Agreement agreement, agreement_of(original, compressed, tokenizer, ids, kComparedWindow));
    return Json{{"windows", agreement.windows},
                {"cosine", agreement.cosine},
                {"least_cosine", agreement.least_cosine},
                {"same_nearest", agreement.same_nearest}};
  }
  const std::int64_t window = std::min(kWindow, original.config().context);
  for (const auto& [name, network] : {std::pair{"original", &original}, std::pair{"compressed", &compressed}}) {
    KW_TRY(const Perplexity measured, perplexity_of(*network, ids, window));
    of_text[name] = measured.value();
  }
  return of_text;
}

// Of all texts that are to be evaluated, put into `about` as perplexity or agreement.
Status evaluate_texts(const Tokenizer& tokenizer, const Network& original, const Network& compressed,
                      const CompressOptions& options, const TellProgress& tell, Json& about) {
  about["perplexity"] = about["agreement"] = Json::object();
  std::size_t done = 0;
  for (const fs::path& text : options.evaluate) {
    KW_TRY(const auto ids, tokens_of_file(tokenizer, text, options.evaluate_tokens));
    KW_TRY(const Json of_text, evaluated(tokenizer, original, compressed, ids));
    about[of_text.contains("cosine") ? "agreement" : "perplexity"][text.stem().string()] = of_text;
    if (tell) tell({{"what", "evaluation"}, {"done", ++done}, {"of", options.evaluate.size()}, {"left_s", 0}});
  }
  return {};
}

// Equal for the same model, text and amount: what was gathered then can be used again.
Result<std::string> key_of(const ModelFiles& files, const CompressOptions& options, const at::Tensor& ids) {
  std::error_code failed;
  const fs::path weights = fs::is_directory(files.path, failed) ? files.path / "config.json" : files.path;
  const auto changed = fs::last_write_time(weights, failed).time_since_epoch().count();
  const at::Tensor flat = ids.contiguous();
  const std::string_view bytes(static_cast<const char*>(flat.data_ptr()), static_cast<std::size_t>(flat.numel()) * 8);
  return fmt::format("2 {} {} {} {}x{} {} {:016x}", files.path.string(), changed, files.parameters(), ids.size(0),
                     ids.size(1), options.gradient_sequences, hash_of(bytes));
}

Result<at::Tensor> calibration_tokens(const Tokenizer& tokenizer, const Network& network,
                                      const CompressOptions& options) {
  KW_TRY(const std::string text, read_file(options.text));
  KW_TRY(const std::vector<std::int32_t> ids, tokenizer.encode(text, Specials::as_text));
  if (options.length > network.config().context) {
    return fail("calibration in sequences of {} tokens: the model takes {}", options.length, network.config().context);
  }
  // Encoders are given whole texts: each sequence has the tokens that a text begins and ends with.
  const bool whole = !network.config().is_causal();
  const std::int64_t own = options.length - (whole ? std::ssize(tokenizer.around({})) : 0);
  const std::int64_t sequences = own < 1 ? 0 : std::min(options.sequences, std::ssize(ids) / own);
  if (sequences == 0) {
    return fail("{}: {} tokens are too few for one sequence of {} to calibrate with", options.text.string(), ids.size(),
                options.length);
  }
  KW_CHECK(network.check_ids(ids));
  // Spread over the text: its beginning alone would speak of one thing.
  at::Tensor made = at::empty({sequences, options.length}, at::kLong);
  const std::int64_t all = std::ssize(ids) / own;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const auto from = ids.begin() + i * all / sequences * own;
    std::vector<std::int32_t> sequence(from, from + own);
    if (whole) sequence = tokenizer.around(std::move(sequence));
    std::copy(sequence.begin(), sequence.end(), made.data_ptr<std::int64_t>() + i * options.length);
  }
  return made;
}

// Where the model is written before it has its name; another run with the same one is refused, and what this one leaves
// half-written goes with it.
class PartFolder {
 public:
  static Result<PartFolder> take(const fs::path& out) {
    const fs::path part = part_of(out);
    KW_TRY(FolderLock lock, FolderLock::take(part));
    return PartFolder(part, std::move(lock));
  }
  PartFolder(PartFolder&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  PartFolder& operator=(PartFolder&&) = delete;
  ~PartFolder() {
    std::error_code ignored;
    if (!path_.empty() && lock_.is_of(path_)) fs::remove_all(path_, ignored);
  }

 private:
  PartFolder(fs::path path, FolderLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  fs::path path_;
  FolderLock lock_;
};

}  // namespace

fs::path part_of(const fs::path& out) { return out.string() + ".part"; }

constexpr std::array kMethodNames = {"svd", "fwsvd", "asvd", "svd-llm", "ressvd"};  // in the order of Method

std::string name_of(Method method) { return kMethodNames[static_cast<std::size_t>(method)]; }

Result<Method> method_named(const std::string& name) {
  for (std::size_t i = 0; i < kMethodNames.size(); ++i) {
    if (name == kMethodNames[i]) return static_cast<Method>(i);
  }
  return fail("no method is called '{}'; say svd, fwsvd, asvd, svd-llm or ressvd", name);
}

Result<CompressOptions> compress_options(const Json& request) {
  CompressOptions options;
  KW_TRY(options.method, method_named(request.value("method", "ressvd")));
  options.ratio = request["ratio"].get<double>();
  if (!(options.ratio > 0 && options.ratio < 1)) {
    return fail("a ratio of {}: it is the share that goes, more than 0 and less than 1", options.ratio);
  }
  options.text = request["text"].get<std::string>();
  options.out = request["out"].get<std::string>();
  options.work = request.value("work", options.out.string() + ".work");
  const auto whole = [&](const char* name, std::int64_t& value, std::int64_t least) -> Status {
    value = request.value(name, value);
    if (value < least || value > 1'000'000) return fail("{}: {} is out of range", name, value);
    return {};
  };
  KW_CHECK(whole("sequences", options.sequences, 1));
  KW_CHECK(whole("length", options.length, 2));
  KW_CHECK(whole("gradient_sequences", options.gradient_sequences, 1));
  KW_CHECK(whole("refit_sequences", options.refit_sequences, 1));
  KW_CHECK(whole("last_layers", options.last_layers, 0));
  KW_CHECK(whole("layer_step", options.layer_step, 0));
  options.residual_share = request.value("residual_share", options.residual_share);
  if (!(options.residual_share >= 0 && options.residual_share < 1))
    return fail("a residual share of {}", options.residual_share);
  for (const auto& [name, flag] :
       {std::pair{"allot", &options.allot}, std::pair{"pivot", &options.pivot}, std::pair{"refit", &options.refit},
        std::pair{"narrow", &options.narrow}, std::pair{"search", &options.search},
        std::pair{"merged", &options.merged}, std::pair{"onnx", &options.onnx}}) {
    *flag = request.value(name, false);
  }
  if (const Json* texts = request.find("evaluate")) {
    for (const Json& text : *texts) options.evaluate.push_back(text.text());
  }
  KW_CHECK(whole("evaluate_tokens", options.evaluate_tokens, 2));
  options.type = request.value("type", "");
  if (!options.type.empty() && options.type != "F32" && options.type != "F16" && options.type != "BF16") {
    return fail("elements of type {} cannot be written; say F32, F16 or BF16", options.type);
  }
  if (options.allot && options.method != Method::ressvd && options.method != Method::svd_llm) {
    return fail("ranks are allotted in the measure of svd-llm and ressvd only");
  }
  if (options.search && options.method != Method::ressvd) return fail("only ressvd has a residual share to search for");
  return options;
}

Result<Json> compress(const ModelFiles& files, const Tokenizer& tokenizer, Network network,
                      const CompressOptions& options, const TellProgress& tell) {
  const auto begin = Clock::now();
  std::error_code failed;
  if (fs::exists(options.out, failed)) return fail("{}: there is something already", options.out.string());
  if (!files.config.low_rank.empty()) return fail("{} is compressed already", files.path.string());
  if (options.last_layers > network.config().layers) {
    return fail("the last {} of {} layers", options.last_layers, network.config().layers);
  }
  const std::int64_t before = network.linear_parameters();
  KW_TRY(const PartFolder part, PartFolder::take(options.out));
  KW_TRY(const FolderLock working, FolderLock::take(options.work));
  KW_TRY(const at::Tensor calibration, calibration_tokens(tokenizer, network, options));
  KW_TRY(const std::string key, key_of(files, options, calibration));
  const at::Tensor ids = calibration.to(network.options().device());
  KW_TRY(Statistics statistics, Statistics::open(options.work, key));
  const Kind kind = kind_of(options);
  if (kind != Kind::plain) KW_CHECK(statistics.gather(network, ids, tell));
  if (kind == Kind::fisher || kind == Kind::both) {
    KW_CHECK(
        statistics.gather_gradients(network, ids.slice(0, 0, std::min(options.gradient_sequences, ids.size(0))), tell));
  }
  Spectra spectra(network, statistics, options.work, kind);
  KW_CHECK(spectra.prepare(tell));
  const Work work{network, options, spectra, ids, tell};
  Json tried = Json::array();
  Plan plan;
  Choice choice{.layers = network.config().layers};
  if (options.allot) {
    KW_TRY(plan, allotted_plan(network, options, spectra, tell));
  } else {
    if (options.method == Method::ressvd) {
      choice.beta = options.residual_share;
      if (options.last_layers > 0 && !options.search)
        choice.layers = options.last_layers;
      else {
        KW_TRY(choice, choose_layers(work, tried));
      }
    } else if (options.last_layers > 0) {
      choice.layers = options.last_layers;
    }
    if (options.ratio * static_cast<double>(network.config().layers) >= static_cast<double>(choice.layers)) {
      return fail("the last {} of {} layers cannot lose {} % of all", choice.layers, network.config().layers,
                  100 * options.ratio);
    }
    plan = even_plan(network, options, choice.layers, choice.beta);
  }
  if (!choice.network) {
    KW_TRY(choice.network, work.made(plan, "factors"));
  }
  Json refit = nullptr;
  if (options.refit) {
    KW_TRY(choice.network, work.refitted(*choice.network, plan, refit));
  }
  const Network& compressed = *choice.network;
  const std::int64_t after = compressed.linear_parameters();
  Json ranks = Json::array(), full_ranks = Json::array();
  for (const auto& of_layer : plan.ranks) ranks.push_back(of_layer);
  for (const Layer& layer : network.layers()) {
    Json full = Json::array();
    for (const Linear& linear : layer.linears) full.push_back(std::min(linear.inputs(), linear.outputs()));
    full_ranks.push_back(full);
  }
  Json about = {{"model", files.path.filename().string()},
                {"method", name_of(options.method)},
                {"switches", switches_of(options)},
                {"ratio", options.ratio},
                {"linear_parameters_before", before},
                {"linear_parameters", after},
                {"saved", 1 - static_cast<double>(after) / static_cast<double>(before)},
                {"parameters", compressed.parameters()},
                {"last_layers", choice.layers},
                {"residual_share", choice.beta},
                {"tried", tried},
                {"refit", refit},
                {"ranks", ranks},
                {"full_ranks", full_ranks},
                {"calibration_sequences", ids.size(0)}};
  KW_TRY(about["errors"], errors_by_layer(network, compressed, statistics));
  KW_TRY(about["spectra"], spectra_by_layer(network, spectra));
  KW_CHECK(evaluate_texts(tokenizer, network, compressed, options, tell, about));
  about["seconds"] = seconds_since(begin);
  KW_CHECK(write_model(files, compressed, options, about));
  about["out"] = options.out.string();
  return about;
}

}  // namespace kw::lm

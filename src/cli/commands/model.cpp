// kw model: where a whole model's time goes, and the same model faster.
#include <ostream>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "models/sizes.h"
#include "models/standalone.h"
#include "runs/takeaway.h"

namespace kw::cli::commands {
namespace {

Result<models::Runtime> open_runtime() {
  KW_TRY(rivals::RivalFile rival, runs::ready_rival("onnxruntime", rival_setup()));
  return models::Runtime::open(std::move(rival));
}

// The faster model, for one size or for several, or the model without any framework.
Result<int> write_model(const Arguments& arguments, const std::string& device, const Lengths& dims,
                        std::int64_t threads, const std::string& inputs, std::ostream& out) {
  if (arguments.has("--untimed")) return fail("--optimize, --standalone and --over run the model: leave --untimed out");
  if (!arguments.has("--out"))
    return fail("--optimize, --standalone and --over write a model: say where with --out DIR");
  KW_TRY(const double within_s, models::parse_within(arguments.has("--within") ? arguments.text("--within") : "10m"));
  const bool json = arguments.has("--json");
  const std::string file = arguments.text("MODEL");
  models::OverOrder over{file, dims, {}, static_cast<int>(threads), device, within_s};
  std::filesystem::path folder = arguments.text("--out");
  std::optional<models::Model> model;
  if (arguments.has("--over")) {
    if (arguments.has("--inputs") || arguments.has("--standalone"))
      return fail("--over is for --optimize on drawn inputs");
    KW_TRY(over.sizes, models::sizes_of(arguments.texts("--over")));
  } else {
    KW_TRY(model, models::Model::open(file, dims, models::Model::KnownBranches::in_place));
  }
  KW_TRY(folder, runs::new_folder(folder, arguments.has("--force")));
  KW_TRY(const models::Runtime runtime, open_runtime());
  know_roofs(device);
  KW_TRY(const auto progress, open_progress(arguments));
  const auto tell = [&](const std::string& line) { progress->note(line); };
  const auto search = [&](runs::Order order) -> Result<std::vector<runs::SearchedTask>> {
    KW_TRY(const runs::Rivals rivals, rivals_named("onnxruntime"));
    KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
    order.rivals = rivals.names();
    KW_TRY(const std::int64_t run, store.begin_run(runs::run_of(order, command_line()), {}));
    return searched({.store = store, .progress = *progress, .out = out}, run, rivals);
  };
  if (!model) {
    KW_TRY(const models::OverOutcome outcome, models::optimize_over(over, runtime, folder, search, tell));
    out << (json ? models::over_as_json(outcome) : models::over_as_text(outcome));
    return outcome.gained ? kYes : kNo;
  }
  KW_TRY(const models::RunTerms terms, models::terms_given(*model, threads, inputs));
  if (arguments.has("--standalone")) {
    std::optional<models::StandaloneSearch> more;
    if (arguments.has("--optimize")) more = {within_s, search};
    KW_TRY(const models::Standalone made, models::make_standalone(*model, runtime, terms, folder, device, more, tell));
    out << (json ? models::standalone_as_json(made) : models::standalone_as_text(made));
    return kYes;
  }
  KW_TRY(const models::PutBack outcome,
         models::optimize(*model, runtime, terms, device, within_s, folder, search, tell));
  out << (json ? models::outcome_as_json(outcome) : models::outcome_as_text(outcome));
  return outcome.gained ? kYes : kNo;
}

Result<int> run_model(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const std::int64_t threads, whole_number(arguments, "--threads", 1, 1, 64));
  const std::string inputs = arguments.has("--inputs") ? arguments.text("--inputs") : "";
  const bool writes = arguments.has("--optimize") || arguments.has("--standalone") || arguments.has("--over");
  if (writes) return write_model(arguments, device, dims, threads, inputs, out);
  KW_TRY(const models::Model model, models::Model::open(arguments.text("MODEL"), dims));
  KW_TRY(const std::int64_t rows, whole_number(arguments, "--rows", 20, 1, 100'000));
  std::optional<models::Runtime> runtime;
  if (!arguments.has("--untimed")) {
    KW_TRY(runtime, open_runtime());
  }
  know_roofs(device);
  models::ModelTimes times = models::without_times(model, device);
  if (runtime) {
    KW_TRY(const models::RunTerms terms, models::terms_given(model, threads, inputs));
    KW_TRY(times, models::where_time_goes(model, *runtime, terms, device));
  }
  out << (arguments.has("--json") ? models::times_as_json(model, times)
                                  : models::times_as_text(model, times, static_cast<std::size_t>(rows)));
  return kYes;
}

}  // namespace

Command model() {
  return {
      .name = "model",
      .topic = Topic::models,
      .summary = "shows where a whole ONNX model's time goes, and makes it faster",
      .description =
          "Runs the model in ONNX Runtime with its profiler and ranks what it consists of, equal nodes counted "
          "together, by how much faster the whole could become. With --optimize it searches kernels for what is worth "
          "it and writes into --out DIR the model with groups of nodes replaced, and one library that an unmodified "
          "ONNX Runtime loads (docs/models.md); exit code 1 where nothing was gained, and then nothing is written. "
          "With --standalone it writes the whole model as sources that need no framework: a C header, kernels, planned "
          "memory, and a check with recorded inputs and outputs of ONNX Runtime; nodes that cannot be expressed are "
          "named, and nothing is written.\n"
          "With --over NAME=1..64 (or NAME=1,8,64) the length stays open: one model that picks kernels by the size it "
          "meets, and the original's nodes for other sizes; the same command goes on where it was ended.\n\n"
          "--json prints one object: model, runtime, threads, total_ns, median_ns, calls, layout_ns, rest_ns, and rows "
          "with "
          "operator, first, nodes, shapes, in_model_ns, alone_ns, least_ns, possible, obstacle (why kw cannot express "
          "them, or null). With --optimize: gained, why, kernels, speedup, twin, lengths_fixed, outputs, files. "
          "With --standalone: folder, kernels, calls, weight_bytes, memory_bytes, unshared_bytes, scratch_bytes, "
          "kept_bytes, runtime_ns, model_ns, speedup, twin, outputs.",
      .options = with_progress_options(
          {{.name = "MODEL", .help = "an ONNX file", .required = true, .completes = Completes::file},
           dim_option(),
           over_option(),
           {.name = "--inputs",
            .value = "FILE.npz",
            .help = "values for the model's inputs, by name; unless given they are drawn",
            .completes = Completes::file},
           {.name = "--threads", .value = "N", .help = "threads for the runtime and for our kernels (default: 1)"},
           {.name = "--untimed", .help = "runs nothing: what the model consists of, and what it must take at least"},
           {.name = "--rows", .value = "N", .help = "the number of kinds of nodes to print (default: 20)"},
           {.name = "--optimize", .help = "searches kernels and writes the faster model"},
           {.name = "--standalone",
            .help = "writes the model as sources without any framework; with --optimize after a search for kernels"},
           {.name = "--within", .value = "TIME", .help = "about how long --optimize may take (default: 10m)"},
           {.name = "--out", .value = "DIR", .help = "where --optimize and --standalone write; a new or empty folder"},
           {.name = "--force", .help = "write into a folder in which there is something"},
           target_option(),
           store_option(),
           {.name = "--json", .help = "one JSON object instead of text"}}),
      .examples = {"kw show Relu --onnx relu.onnx", "kw model relu.onnx --untimed",
                   "kw model relu.onnx --untimed --json"},
      .run = run_model};
}

}  // namespace kw::cli::commands

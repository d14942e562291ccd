// kw model: where a whole model's time goes, and the same model faster.
#include <ostream>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "models/optimize.h"
#include "models/standalone.h"
#include "runs/takeaway.h"

namespace kw::cli::commands {
namespace {

Result<double> within_of(const Arguments& arguments) {
  const std::string within = arguments.has("--within") ? arguments.text("--within") : "10m";
  KW_TRY(const search::Budget time, search::parse_budget(within));
  if (time.seconds < 30) return fail("--within {}: give a time of 30s or more, such as 10m", within);
  return time.seconds;
}

Result<std::vector<runs::SearchedTask>> search_for(const Arguments& arguments, runs::Order order,
                                                   runs::Progress& progress, std::ostream& out) {
  KW_TRY(const runs::Rivals rivals, rivals_named("onnxruntime"));
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  order.rivals = rivals.names();
  KW_TRY(const std::int64_t run, store.begin_run(runs::run_of(order, command_line()), {}));
  return searched({.store = store, .progress = progress, .out = out}, run, rivals);
}

Result<int> optimize_model(const Arguments& arguments, const models::Model& model, const models::Runtime& runtime,
                           const models::RunTerms& terms, const std::string& device,
                           const std::filesystem::path& folder, std::ostream& out) {
  KW_TRY(const double within_s, within_of(arguments));
  KW_TRY(const auto progress, open_progress(arguments));
  const auto search = [&](runs::Order order) { return search_for(arguments, std::move(order), *progress, out); };
  KW_TRY(const models::PutBack outcome, models::optimize(model, runtime, terms, device, within_s, folder, search,
                                                         [&](const std::string& line) { progress->note(line); }));
  out << (arguments.has("--json") ? models::outcome_as_json(outcome) : models::outcome_as_text(outcome));
  return outcome.gained ? kYes : kNo;
}

// The model without any framework, with kernels that a search found where --optimize asks for it.
Result<int> standalone_model(const Arguments& arguments, const models::Model& model, const models::Runtime& runtime,
                             const models::RunTerms& terms, const std::string& device,
                             const std::filesystem::path& folder, std::ostream& out) {
  KW_TRY(const auto progress, open_progress(arguments));
  const auto tell = [&](const std::string& line) { progress->note(line); };
  std::vector<models::Unit> units = models::units_of_regions(model);
  if (arguments.has("--optimize")) {
    KW_TRY(const models::StandalonePlan without_search, models::standalone_plan(model, units, device));
    KW_TRY(const double within_s, within_of(arguments));
    KW_TRY(const std::vector<models::Unit> found,
           models::search_units(
               model, units, runtime, terms, device, within_s,
               [&](runs::Order order) { return search_for(arguments, std::move(order), *progress, out); }, tell));
    units.insert(units.end(), found.begin(), found.end());
  }
  KW_TRY(const models::Standalone made, models::write_standalone(model, units, runtime, terms, folder, device, tell));
  out << (arguments.has("--json") ? models::standalone_as_json(made) : models::standalone_as_text(made));
  return kYes;
}

Result<int> run_model(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  const bool writes = arguments.has("--optimize") || arguments.has("--standalone");
  using Branches = models::Model::KnownBranches;
  KW_TRY(const models::Model model,
         models::Model::open(arguments.text("MODEL"), dims, writes ? Branches::in_place : Branches::as_in_file));
  KW_TRY(const std::int64_t rows, whole_number(arguments, "--rows", 20, 1, 100'000));
  if (writes && arguments.has("--untimed")) return fail("nothing is written with --untimed: leave it out");
  std::filesystem::path folder;
  if (writes) {
    if (!arguments.has("--out")) return fail("--optimize and --standalone need --out DIR: where to write");
    KW_TRY(folder, runs::new_folder(arguments.text("--out"), arguments.has("--force")));
  }
  know_roofs(device);
  models::ModelTimes times;
  if (arguments.has("--untimed")) {
    times = models::without_times(model, device);
  } else {
    KW_TRY(rivals::RivalFile rival, runs::ready_rival("onnxruntime", rival_setup()));
    KW_TRY(const models::Runtime runtime, models::Runtime::open(std::move(rival)));
    models::RunTerms terms = models::terms_of(model);
    KW_TRY(const std::int64_t threads, whole_number(arguments, "--threads", 1, 1, 64));
    terms.threads = static_cast<int>(threads);
    if (arguments.has("--inputs")) {
      KW_TRY(terms.given, models::inputs_file(arguments.text("--inputs")));
    }
    if (arguments.has("--standalone")) return standalone_model(arguments, model, runtime, terms, device, folder, out);
    if (arguments.has("--optimize")) return optimize_model(arguments, model, runtime, terms, device, folder, out);
    KW_TRY(times, models::where_time_goes(model, runtime, terms, device));
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
          "named, and nothing is written.\n\n"
          "--json prints one object: model, runtime, threads, total_ns, median_ns, calls, layout_ns, rest_ns, and rows "
          "with "
          "operator, first, nodes, shapes, in_model_ns, alone_ns, least_ns, possible, obstacle (why kw cannot express "
          "them, or null). With --optimize: gained, why, kernels, speedup, twin, lengths_fixed, outputs, files. "
          "With --standalone: folder, kernels, calls, weight_bytes, memory_bytes, unshared_bytes, scratch_bytes, "
          "kept_bytes, runtime_ns, model_ns, speedup, twin, outputs.",
      .options = with_progress_options(
          {{.name = "MODEL", .help = "an ONNX file", .required = true, .completes = Completes::file},
           dim_option(),
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
      .examples = {"kw model relu.onnx --untimed", "kw model relu.onnx --untimed --json"},
      .run = run_model};
}

}  // namespace kw::cli::commands

// kw model: where a whole model's time goes, and the same model faster.
#include <ostream>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/numbers.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "models/optimize.h"
#include "runs/takeaway.h"

namespace kw::cli::commands {
namespace {

Result<int> optimize_model(const Arguments& arguments, const models::Model& model, const models::Runtime& runtime,
                           const models::RunTerms& terms, const std::string& device, std::ostream& out) {
  const std::string within = arguments.has("--within") ? arguments.text("--within") : "10m";
  KW_TRY(const search::Budget time, search::parse_budget(within));
  if (time.seconds < 30) return fail("--within {}: give a time of 30s or more, such as 10m", within);
  if (!arguments.has("--out")) return fail("--optimize needs --out DIR: where to write the model and its library");
  KW_TRY(const auto folder, runs::new_folder(arguments.text("--out"), arguments.has("--force")));
  KW_TRY(const auto progress, open_progress(arguments));
  const auto search = [&](runs::Order order) -> Result<std::vector<runs::SearchedTask>> {
    KW_TRY(const runs::Rivals rivals, rivals_named("onnxruntime"));
    KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
    order.rivals = rivals.names();
    KW_TRY(const std::int64_t run, store.begin_run(runs::run_of(order, command_line()), {}));
    return searched({.store = store, .progress = *progress, .out = out}, run, rivals);
  };
  KW_TRY(const models::PutBack outcome, models::optimize(model, runtime, terms, device, time.seconds, folder, search,
                                                         [&](const std::string& line) { progress->note(line); }));
  out << (arguments.has("--json") ? models::outcome_as_json(outcome) : models::outcome_as_text(outcome));
  return outcome.gained ? kYes : kNo;
}

Result<int> run_model(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const models::Model model, models::Model::open(arguments.text("MODEL"), dims));
  KW_TRY(const std::int64_t rows, whole_number(arguments, "--rows", 20, 1, 100'000));
  know_roofs(device);
  models::ModelTimes times;
  if (arguments.has("--untimed")) {
    times = models::without_times(model, device);
  } else {
    KW_TRY(rivals::RivalFile rival, runs::ready_rival("onnxruntime", rival_setup()));
    KW_TRY(const models::Runtime runtime, models::Runtime::open(std::move(rival)));
    models::RunTerms terms = models::terms_of(model);
    if (arguments.has("--inputs")) terms.given = std::filesystem::absolute(arguments.text("--inputs"));
    if (arguments.has("--optimize")) return optimize_model(arguments, model, runtime, terms, device, out);
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
      .summary = "shows where a whole ONNX model's time goes, and makes it faster",
      .description =
          "Runs the model in ONNX Runtime with its profiler and ranks what it consists of, equal nodes counted "
          "together, by how much faster the whole could become. With --optimize it searches kernels for what is worth "
          "it and writes into --out DIR the model with groups of nodes replaced, and one library that an unmodified "
          "ONNX Runtime loads (docs/models.md); exit code 1 where nothing was gained, and then nothing is written.\n\n"
          "--json prints one object: model, runtime, total_ns, median_ns, calls, layout_ns, rest_ns, and rows with "
          "operator, first, nodes, shapes, in_model_ns, alone_ns, least_ns, possible, obstacle (why kw cannot express "
          "them, or null). With --optimize: gained, why, kernels, speedup, twin, lengths_fixed, outputs, files.",
      .options = with_progress_options(
          {{.name = "MODEL", .help = "an ONNX file", .required = true, .completes = Completes::file},
           dim_option(),
           {.name = "--inputs",
            .value = "FILE.npz",
            .help = "values for the model's inputs, by name; unless given they are drawn",
            .completes = Completes::file},
           {.name = "--untimed", .help = "runs nothing: what the model consists of, and what it must take at least"},
           {.name = "--rows", .value = "N", .help = "how many kinds of nodes to print; 20 unless said"},
           {.name = "--optimize", .help = "searches kernels and writes the faster model"},
           {.name = "--within", .value = "TIME", .help = "what --optimize may spend, about: 10m unless said"},
           {.name = "--out", .value = "DIR", .help = "where --optimize writes; a new or empty folder"},
           {.name = "--force", .help = "write into a folder in which there is something"},
           target_option(),
           store_option(),
           {.name = "--json", .help = "one JSON object instead of text"}}),
      .examples = {"kw model relu.onnx --untimed", "kw model relu.onnx --untimed --json"},
      .run = run_model};
}

}  // namespace kw::cli::commands

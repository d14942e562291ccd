// kw compress: a language model with fewer numbers, its linear layers as two thin factors each.
#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/engine_at_terminal.h"
#include "command_line/numbers.h"
#include "llm/engine.h"
#include "llm/engine_facts.h"
#include "report/compression_page.h"

namespace kw::cli::commands {
namespace {

Result<int> list_methods(const Arguments& arguments, std::ostream& out) {
  const Json methods = llm::compression_methods();
  if (arguments.has("--json")) out << methods.dump(1) << "\n";
  for (const auto& [name, about] : methods.items()) {
    if (!arguments.has("--json")) print(out, "{:<9} {}\n", name, about.text());
  }
  return kYes;
}

Result<Json> request_of(const Arguments& arguments) {
  for (const char* name : {"MODEL", "--ratio", "--calibrate", "--out"}) {
    if (!arguments.has(name)) return fail("{} is missing; see `kw compress --help`", name);
  }
  Json request = {{"do", "compress"},
                  {"model", llm::path_for_engine(arguments.text("MODEL"))},
                  {"text", llm::path_for_engine(arguments.text("--calibrate"))},
                  {"out", llm::path_for_engine(arguments.text("--out"))}};
  KW_TRY(request["ratio"], number_in("--ratio", arguments.text("--ratio"), 0, 1));
  if (arguments.has("--work")) request["work"] = llm::path_for_engine(arguments.text("--work"));
  for (const char* flag : {"--method", "--type", "--device"}) {
    if (arguments.has(flag)) request[flag + 2] = arguments.text(flag);
  }
  request["evaluate"] = Json::array();
  for (const std::string& text : arguments.texts("--evaluate"))
    request["evaluate"].push_back(llm::path_for_engine(text));
  for (const char* flag : {"--allot", "--pivot", "--refit", "--narrow", "--search", "--merged", "--onnx"}) {
    if (arguments.has(flag)) request[flag + 2] = true;
  }
  struct Number {
    const char *flag, *name;
  };
  for (const auto& [flag, name] : {Number{"--sequences", "sequences"}, Number{"--length", "length"},
                                   Number{"--last-layers", "last_layers"}, Number{"--tokens", "evaluate_tokens"}}) {
    KW_TRY(const auto given, whole_number(arguments, flag, 1, 1'000'000));
    if (given) request[name] = *given;
  }
  if (arguments.has("--residual")) {
    KW_TRY(request["residual_share"], number_in("--residual", arguments.text("--residual"), 0, 1));
  }
  return request;
}

Result<int> write_page(const Arguments& arguments, std::ostream& out) {
  const std::vector<std::string> named = arguments.texts("--run");
  const std::vector<std::filesystem::path> runs(named.begin(), named.end());
  KW_TRY(const std::string page, report::compression_page(runs, KW_VERSION));
  KW_CHECK(write_file(arguments.text("--page"), page));
  print(out, "wrote {}\n", arguments.text("--page"));
  return kYes;
}

Result<int> run_compress(const Arguments& arguments, std::ostream& out) {
  if (arguments.has("--methods")) return list_methods(arguments, out);
  if (arguments.has("--page")) return write_page(arguments, out);
  KW_TRY(const Json request, request_of(arguments));
  KW_TRY(const auto threads, whole_number(arguments, "--threads", 0, 0, 1024));
  KW_TRY(const Json done, ask_engine_at_terminal(request, static_cast<int>(threads)));
  out << (arguments.has("--json") ? done.dump(1) + "\n" : llm::compressed_text(done));
  return kYes;
}

}  // namespace

Command compress() {
  return {.name = "compress",
          .topic = Topic::language_models,
          .summary = "makes a language model smaller by factoring its linear layers (ResSVD and others)",
          .description =
              "Keeps each linear layer of MODEL as two thin factors, so that --ratio of their numbers go; embeddings "
              "and norms stay and are not counted. --calibrate is a text like those that the model will see. --method "
              "is one of the published ones (`kw compress --methods`); the switches are our own and go with svd-llm "
              "and ressvd.\n\nDIR becomes a folder that `kw lm` reads, and transformers with trust_remote_code. What "
              "is long to compute is kept in --work, layer by layer: the same command goes on where it was stopped, "
              "and other ratios begin with it.\n\ncompression.json of DIR holds ranks, errors by layer, spectra and "
              "perplexities; --page draws those of several folders.",
          .options = {{.name = "MODEL", .help = "a folder or a .gguf file", .completes = Completes::file},
                      {.name = "--ratio", .value = "R", .help = "the share that goes, more than 0 and less than 1"},
                      {.name = "--calibrate", .value = "FILE", .help = "a text", .completes = Completes::file},
                      {.name = "--out", .value = "DIR", .help = "the new folder", .completes = Completes::file},
                      {.name = "--method", .value = "METHOD", .help = "svd, fwsvd, asvd, svd-llm or ressvd (ressvd)"},
                      {.name = "--sequences", .value = "N", .help = "of the text, as many are read (64)"},
                      {.name = "--length", .value = "N", .help = "tokens of a sequence (512)"},
                      {.name = "--last-layers",
                       .value = "N",
                       .help = "factor the last N layers only (ressvd: searched; others: all)"},
                      {.name = "--residual", .value = "B", .help = "ressvd's beta (0.05)"},
                      {.name = "--allot", .help = "ranks by what they cost in loss, measured with gradients"},
                      {.name = "--pivot", .help = "leave out the numbers that two factors have twice"},
                      {.name = "--refit",
                       .help = "least-squares update of factors after compressed layers, where that helps"},
                      {.name = "--narrow", .help = "flat key and value matrices stay whole, the others give more"},
                      {.name = "--search", .help = "of ressvd: search for beta too"},
                      {.name = "--merged", .help = "write the products: nothing saved, for comparing elsewhere"},
                      {.name = "--onnx", .help = "write each factored layer as an ONNX file too, in DIR/onnx"},
                      {.name = "--evaluate",
                       .value = "FILE",
                       .help = "perplexity of this text, before and after (encoders: how alike); several",
                       .repeated = true,
                       .completes = Completes::file},
                      {.name = "--tokens", .value = "N", .help = "of each text that is evaluated (20000)"},
                      {.name = "--type", .value = "TYPE", .help = "F32, F16 or BF16 of what is written"},
                      {.name = "--work", .value = "DIR", .help = "where statistics and spectra are kept (DIR.work)"},
                      {.name = "--device", .value = "DEVICE", .help = "cpu, cuda or cuda:N (cpu)"},
                      {.name = "--threads", .value = "N", .help = "of the matrix products (all cores)"},
                      {.name = "--methods", .help = "list the methods, and end"},
                      {.name = "--page",
                       .value = "HTML",
                       .help = "write a page about --run, and end",
                       .completes = Completes::file},
                      {.name = "--run",
                       .value = "DIR",
                       .help = "a folder that was written, or its compression.json; several",
                       .repeated = true,
                       .completes = Completes::file},
                      {.name = "--json", .help = "one JSON object"}},
          .examples = {"kw compress --methods", "kw compress --methods --json"},
          .run = run_compress};
}

}  // namespace kw::cli::commands

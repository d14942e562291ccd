// kw compress: a language model with fewer numbers, its linear layers as two thin factors each.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/numbers.h"
#include "llm/engine.h"

namespace kw::cli::commands {
namespace {

struct MethodLine {
  const char* name;
  const char* about;
};
constexpr std::array kMethods = {
    MethodLine{"svd", "truncated SVD of each weight"},
    MethodLine{"fwsvd", "inputs weighted by the root of the summed squares of their weights' gradients"},
    MethodLine{"asvd", "inputs weighted by the root of their mean size"},
    MethodLine{"svd-llm", "whitening by the Gram matrix of the inputs"},
    MethodLine{"ressvd", "svd-llm, then an SVD of what is left; only the last layers"},
};

Result<int> list_methods(const Arguments& arguments, std::ostream& out) {
  Json all = Json::object();
  for (const MethodLine& method : kMethods) {
    all[method.name] = method.about;
    if (!arguments.has("--json")) print(out, "{:<9} {}\n", method.name, method.about);
  }
  if (arguments.has("--json")) out << all.dump(1) << "\n";
  return kYes;
}

std::string from_root(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

Result<Json> request_of(const Arguments& arguments) {
  for (const char* name : {"MODEL", "--ratio", "--calibrate", "--out"}) {
    if (!arguments.has(name)) return fail("{} is missing; see `kw compress --help`", name);
  }
  Json request = {{"do", "compress"},
                  {"model", from_root(arguments.text("MODEL"))},
                  {"text", from_root(arguments.text("--calibrate"))},
                  {"out", from_root(arguments.text("--out"))}};
  KW_TRY(request["ratio"], number_in("--ratio", arguments.text("--ratio"), 0, 1));
  if (arguments.has("--method")) request["method"] = arguments.text("--method");
  if (arguments.has("--work")) request["work"] = from_root(arguments.text("--work"));
  if (arguments.has("--type")) request["type"] = arguments.text("--type");
  for (const char* flag : {"--allot", "--pivot", "--refit", "--narrow", "--search", "--merged"}) {
    if (arguments.has(flag)) request[flag + 2] = true;
  }
  struct Number {
    const char *flag, *name;
  };
  for (const auto& [flag, name] :
       {Number{"--sequences", "sequences"}, Number{"--length", "length"}, Number{"--last-layers", "last_layers"}}) {
    KW_TRY(const auto given, whole_number(arguments, flag, 1, 1'000'000));
    if (given) request[name] = *given;
  }
  if (arguments.has("--residual")) {
    KW_TRY(request["residual_share"], number_in("--residual", arguments.text("--residual"), 0, 1));
  }
  return request;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  if (arguments.has("--methods")) return list_methods(arguments, out);
  KW_TRY(const Json request, request_of(arguments));
  KW_TRY(const auto threads, whole_number(arguments, "--threads", 0, 0, 1024));
  const bool live = ::isatty(STDERR_FILENO);
  KW_TRY(const Json done, llm::ask_engine(request, static_cast<int>(threads), [&](const Json& line) {
           const Json* progress = line.find("progress");
           if (progress == nullptr) return;
           fmt::print(stderr, "{}kw: {} {} of {}, {:.0f} s left{}", live ? "\r" : "", (*progress)["what"].text(),
                      (*progress)["done"].get<std::int64_t>(), (*progress)["of"].get<std::int64_t>(),
                      (*progress)["left_s"].get<double>(), live ? "\x1b[K" : "\n");
         }));
  if (live) fmt::print(stderr, "\r\x1b[K");
  if (arguments.has("--json")) {
    out << done.dump(1) << "\n";
    return kYes;
  }
  print(out,
        "{}: {:.1f} of {:.1f} million numbers of linear layers left, {:.1f} % saved; {:.1f} million in all, embeddings "
        "included ({:.0f} s)\n",
        done["out"].text(), done["linear_parameters"].get<double>() / 1e6,
        done["linear_parameters_before"].get<double>() / 1e6, 100 * done["saved"].get<double>(),
        done["parameters"].get<double>() / 1e6, done["seconds"].get<double>());
  return kYes;
}

}  // namespace

Command compress() {
  return {
      .name = "compress",
      .summary = "makes a language model smaller by factoring its linear layers (ResSVD and others)",
      .description =
          "Keeps each linear layer of MODEL as two thin factors, so that --ratio of their numbers go; embeddings and "
          "norms "
          "stay and are not counted. --calibrate is a text like those that the model will see. --method is one of the "
          "published ones (`kw compress --methods`); the switches are our own and go with svd-llm and ressvd.\n\n"
          "DIR becomes a folder that `kw lm` reads, and transformers with trust_remote_code. What is long to compute "
          "is kept in "
          "--work, layer by layer: the same command goes on where it was stopped, and other ratios begin with it.",
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
                  {.name = "--refit", .help = "least-squares update behind compressed layers"},
                  {.name = "--narrow", .help = "flat key and value matrices stay whole, the others give more"},
                  {.name = "--search", .help = "of ressvd: search for beta too"},
                  {.name = "--merged", .help = "write the products: nothing saved, for comparing elsewhere"},
                  {.name = "--type", .value = "TYPE", .help = "F32, F16 or BF16 of what is written"},
                  {.name = "--work", .value = "DIR", .help = "where statistics and spectra are kept (DIR.work)"},
                  {.name = "--threads", .value = "N", .help = "of the matrix products (all cores)"},
                  {.name = "--methods", .help = "list the methods, and end"},
                  {.name = "--json", .help = "one JSON object"}},
      .examples = {"kw compress --methods", "kw compress --methods --json"},
      .run = run};
}

}  // namespace kw::cli::commands

// kw train: a small language model from lines of prompts and answers, that fills masks or predicts the next token.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/engine_at_terminal.h"
#include "command_line/numbers.h"
#include "llm/engine.h"
#include "llm/engine_facts.h"
#include "report/training_page.h"

namespace kw::cli::commands {

Command train();

namespace {

constexpr int kShownSamples = 4;  // texts on the page

Result<int> print_lines(const Arguments& arguments, std::ostream& out) {
  const Json lines = llm::training_lines();
  if (arguments.has("--json")) out << lines.dump(1) << "\n";
  for (const Json& line : lines) out << (arguments.has("--json") ? "" : line.dump() + "\n");
  return kYes;
}

// "--inner-width" is inner_width of the request; a value called N is a whole number, other single letters are real
// ones. The engine knows their ranges.
Result<Json> request_of(const Arguments& arguments, const std::vector<Option>& options) {
  if (!arguments.has("CORPUS")) return fail("say on what it is trained: kw train CORPUS --out DIR");
  if (!arguments.has("--out")) return fail("say where the model goes: kw train CORPUS --out DIR");
  Json request = {{"do", "train"}, {"corpus", Json::array()}};
  for (const std::string& file : arguments.texts("CORPUS")) request["corpus"].push_back(llm::path_for_engine(file));
  for (const Option& option : options) {
    if (!option.name.starts_with("--") || !arguments.has(option.name)) continue;
    if (option.name == "--threads" || option.name == "--page" || option.name == "--run") continue;
    std::string name = option.name.substr(2);
    std::ranges::replace(name, '-', '_');
    const std::string text = arguments.text(option.name);
    if (option.name == "--reward") {
      const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
      std::istringstream words(text);
      for (std::string word; words >> word;) request[name].push_back(word == "kw" ? self : word);
    } else if (option.repeated) {
      for (const std::string& file : arguments.texts(option.name)) request[name].push_back(llm::path_for_engine(file));
    } else if (option.completes == Completes::file) {
      request[name] = llm::path_for_engine(text);
    } else if (option.value == "N") {
      KW_TRY(request[name], whole_number_in(option.name, text, 0, std::int64_t{1} << 40));
    } else if (option.value.size() == 1) {
      KW_TRY(request[name], number_in(option.name, text, 0, 1e9));
    } else {
      request[name] = option.value.empty() ? Json(true) : Json(text);
    }
  }
  if (arguments.has("--page")) request["shown_samples"] = kShownSamples;
  return request;
}

// Of trainings that are done.
Result<int> write_page_of_runs(const Arguments& arguments, std::ostream& out) {
  const std::vector<std::string> named = arguments.texts("--run");
  const std::vector<std::filesystem::path> runs(named.begin(), named.end());
  KW_TRY(const std::string page, report::training_page_of_runs(runs, KW_VERSION));
  KW_CHECK(write_file(arguments.text("--page"), page));
  print(out, "wrote {}\n", arguments.text("--page"));
  return kYes;
}

Result<int> run_train(const Arguments& arguments, std::ostream& out) {
  if (arguments.has("--lines")) return print_lines(arguments, out);
  if (arguments.has("--run")) {
    if (!arguments.has("--page") || arguments.has("CORPUS")) {
      return fail("--run goes with --page alone: kw train --page FILE --run DIR");
    }
    return write_page_of_runs(arguments, out);
  }
  KW_TRY(const Json request, request_of(arguments, train().options));
  KW_TRY(const auto threads, whole_number(arguments, "--threads", 0, 0, 1024));
  report::LiveTrainingPage page(arguments.has("--page") ? arguments.text("--page") : "", KW_VERSION);
  const auto checked = [](const Status& written) {  // a page that cannot be written is no reason to stop
    if (!written.ok()) fmt::print(stderr, "kw: the page stays as it is: {}\n", written.error().message);
  };
  KW_TRY(const Json done, ask_engine_at_terminal(request, static_cast<int>(threads), [&](const Json& line) {
           if (const Json* checkpoint = line.find("checkpoint")) checked(page.show(*checkpoint));
         }));
  checked(page.end());
  out << (arguments.has("--json") ? done.dump(1) + "\n" : llm::trained_text(done));
  return kYes;
}

}  // namespace

Command train() {
  return {
      .name = "train",
      .topic = Topic::language_models,
      .summary = "trains a small language model on lines of prompts and answers, by block diffusion",
      .description =
          "CORPUS has a JSON object a line: {\"prompt\": TEXT, \"answer\": TEXT}, or with \"prefix\" and \"suffix\" "
          "between which the answer stands; other names are passed over. From scratch the model gets sizes and a "
          "byte-level tokenizer learnt from CORPUS; with --from it goes on from a Llama, Qwen2, Qwen3 or SDAR model, a "
          "folder or a GGUF file, and one that predicts the next token learns to fill masks. --autoregressive trains "
          "the twin that predicts the "
          "next token, with the same data, sizes and steps.\n\nWith --reward the model of --from draws --samples "
          "answers to each of "
          "--batch problems a step and learns from what COMMAND, such as `kw gym`, rewards them with; a line of CORPUS "
          "then has \"prompt\" and \"task\" or \"task_text\", and with \"prefix\" and \"suffix\" only the hole is "
          "written.\n\nEvery --save-every steps weights, moments and losses are "
          "kept in --work: the same command goes on there after a kill, with the losses that it would have had. DIR "
          "becomes a folder that `kw lm` and `--model lm:DIR` read; its training.json holds every loss.\n\n"
          "--page writes a page at every checkpoint: curves of losses and rewards, the accepted share, and texts that "
          "the model writes. It loads nothing but itself, anew, until the training is done. With --run it shows "
          "trainings that are done, beside each other.",
      .options =
          {{.name = "CORPUS", .help = "files of lines of JSON", .repeated = true, .completes = Completes::file},
           {.name = "--out", .value = "DIR", .help = "the new folder", .completes = Completes::file},
           {.name = "--from",
            .value = "MODEL",
            .help = "go on from this folder or GGUF file",
            .completes = Completes::file},
           {.name = "--autoregressive", .help = "train a model that predicts the next token"},
           {.name = "--held-out",
            .value = "FILE",
            .help = "measure the loss of these lines too; several",
            .repeated = true,
            .completes = Completes::file},
           {.name = "--vocabulary", .value = "N", .help = "tokens that are learnt, at most (4096)"},
           {.name = "--layers", .value = "N", .help = "of the model (8)"},
           {.name = "--width", .value = "N", .help = "of its hidden states (384)"},
           {.name = "--inner-width", .value = "N", .help = "of its feed-forward layers (1024)"},
           {.name = "--heads", .value = "N", .help = "of queries (6)"},
           {.name = "--kv-heads", .value = "N", .help = "of keys and values (2)"},
           {.name = "--head-size", .value = "N", .help = "of each (64)"},
           {.name = "--context", .value = "N", .help = "tokens that the model takes (4096)"},
           {.name = "--block", .value = "N", .help = "tokens that are filled together (4)"},
           {.name = "--batch", .value = "N", .help = "rows of a step (8)"},
           {.name = "--length", .value = "N", .help = "tokens of a row, which holds several lines (1024)"},
           {.name = "--rows-at-once", .value = "N", .help = "rows of a pass; fewer need less memory (all)"},
           {.name = "--steps", .value = "N", .help = "of the whole training (1000)"},
           {.name = "--minutes", .value = "M", .help = "end and write the model then, if not all steps are done"},
           {.name = "--save-every", .value = "N", .help = "steps between checkpoints (100)"},
           {.name = "--rate", .value = "R", .help = "learning rate after the warm-up (0.001)"},
           {.name = "--least-rate", .value = "R", .help = "share of it that the last step has; 1: constant (0.1)"},
           {.name = "--warm-up", .value = "R", .help = "share of the steps in which the rate rises (0.03)"},
           {.name = "--clip", .value = "L", .help = "longest gradient; 0: any (1)"},
           {.name = "--decay", .value = "D", .help = "AdamW's decay of weights (0.01)"},
           {.name = "--seed", .value = "N", .help = "the same seed trains the same model (1)"},
           {.name = "--device", .value = "DEVICE", .help = "cpu, cuda or cuda:N (cpu)"},
           {.name = "--numbers", .value = "TYPE", .help = "compute passes in F32 or BF16 (F32)"},
           {.name = "--type", .value = "TYPE", .help = "F32, F16 or BF16 of what is written (BF16)"},
           {.name = "--work", .value = "DIR", .help = "keeps checkpoints (DIR.work)", .completes = Completes::file},
           {.name = "--threads", .value = "N", .help = "of the matrix products (all cores)"},
           {.name = "--reward", .value = "COMMAND", .help = "learn from the rewards of this program, \"kw gym\""},
           {.name = "--samples", .value = "N", .help = "--reward: answers to a problem (16)"},
           {.name = "--tokens", .value = "N", .help = "--reward: of an answer, at most (1024)"},
           {.name = "--passes", .value = "N", .help = "--reward: of a block, at most (one a token)"},
           {.name = "--temperature", .value = "T", .help = "--reward: at which answers are drawn (1)"},
           {.name = "--clip-ratio", .value = "C", .help = "--reward: of probabilities, new to old (0.2)"},
           {.name = "--divergence", .value = "W", .help = "--reward: weight of the divergence from the old (0.01)"},
           {.name = "--page",
            .value = "HTML",
            .help = "write curves and samples there at every checkpoint",
            .completes = Completes::file},
           {.name = "--run",
            .value = "DIR",
            .help = "--page: of a folder that was trained, or its training.json; several",
            .repeated = true,
            .completes = Completes::file},
           {.name = "--lines", .help = "print lines as CORPUS has them, and end"},
           {.name = "--json", .help = "one JSON object"}},
      .examples = {"kw train --lines", "kw train --lines --json"},
      .run = run_train};
}

}  // namespace kw::cli::commands

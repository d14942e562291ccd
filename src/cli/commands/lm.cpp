// kw lm: language models of our own, from files: what they are, how well they predict, what they write.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>

#include "base/json.h"
#include "base/nearest.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/numbers.h"
#include "llm/engine.h"
#include "llm/engine_facts.h"

namespace kw::cli::commands {
namespace {

Result<int> list_formats(const Arguments& arguments, std::ostream& out) {
  const Json formats = llm::engine_formats();
  if (arguments.has("--json")) {
    out << formats.dump(1) << "\n";
    return kYes;
  }
  for (const auto& [name, value] : formats.items()) {
    std::string text = value.is_string() ? value.text() : "";
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) text += (i > 0 ? ", " : "") + value.at(i).text();
    print(out, "{:<12} {}\n", name, text);
  }
  return kYes;
}

void print_info(const Json& info, std::ostream& out) {
  for (const auto& [name, value] : info.items()) {
    std::string shown = name;
    std::ranges::replace(shown, '_', ' ');
    std::string text = value.is_string() ? value.text() : value.is_object() ? "" : value.dump();
    if (value.is_object()) {
      for (const auto& [type, count] : value.items()) text += (text.empty() ? "" : ", ") + count.dump() + " " + type;
    }
    print(out, "{:<18} {}\n", shown, text);
  }
}

Result<int> evaluate(const Arguments& arguments, Json request, int threads, std::ostream& out) {
  if (!arguments.has("--text")) return fail("say which text: kw lm perplexity MODEL --text FILE");
  request["text"] = llm::path_for_engine(arguments.text("--text"));
  KW_TRY(const auto window, whole_number(arguments, "--window", 512, 2, 1 << 20));
  KW_TRY(const auto most, whole_number(arguments, "--tokens", 0, 0, std::int64_t{1} << 40));
  request["window"] = window;
  request["most_tokens"] = most;
  const bool live = ::isatty(STDERR_FILENO);
  KW_TRY(const Json done, llm::ask_engine(request, threads, [&](const Json& line) {
           const Json* progress = line.find("progress");
           if (progress == nullptr || !live) return;
           fmt::print(stderr, "\rkw: {}\x1b[K", llm::progress_text(*progress));
         }));
  if (live) fmt::print(stderr, "\r\x1b[K");
  if (arguments.has("--json")) {
    out << done.dump(1) << "\n";
  } else {
    print(out, "perplexity {:.4f} over {} tokens in {} windows of {} ({:.1f} s)\n", done["perplexity"].get<double>(),
          done["tokens"].get<std::int64_t>(), done["windows"].get<std::int64_t>(), done["window"].get<std::int64_t>(),
          done["seconds"].get<double>());
  }
  return kYes;
}

Result<int> write_text(const Arguments& arguments, Json request, int threads, std::ostream& out) {
  if (arguments.has("--chat")) {
    request["messages"] = Json::array();
    if (arguments.has("--system"))
      request["messages"].push_back({{"role", "system"}, {"content", arguments.text("--system")}});
    request["messages"].push_back({{"role", "user"}, {"content", arguments.text("--chat")}});
  } else if (arguments.has("--prompt")) {
    request["prompts"] = arguments.texts("--prompt");
  } else {
    return fail("say how the text begins (--prompt TEXT), or ask something (--chat TEXT)");
  }
  KW_TRY(const auto most, whole_number(arguments, "--tokens", 128, 1, 1 << 20));
  KW_TRY(const auto top_k, whole_number(arguments, "--top-k", 0, 0, 1 << 20));
  KW_TRY(const auto seed, whole_number(arguments, "--seed", 1, 0, std::int64_t{1} << 60));
  request["most_tokens"] = most;
  request["top_k"] = top_k;
  request["seed"] = seed;
  if (arguments.has("--temperature")) {
    KW_TRY(request["temperature"], number_in("--temperature", arguments.text("--temperature"), 0, 100));
  }
  if (arguments.has("--top-p")) {
    KW_TRY(request["top_p"], number_in("--top-p", arguments.text("--top-p"), 0, 1));
  }
  const bool one = !request.contains("prompts") || request["prompts"].size() == 1;
  const bool stream = one && !arguments.has("--json");
  KW_TRY(const Json done, llm::ask_engine(request, threads, [&](const Json& line) {
           const Json* token = line.find("token");
           if (stream && token != nullptr) out << token->text() << std::flush;
         }));
  if (arguments.has("--json")) {
    out << done.dump(1) << "\n";
  } else if (stream) {
    out << "\n";
  } else {
    for (std::size_t i = 0; i < done["texts"].size(); ++i) print(out, "[{}] {}\n", i + 1, done["texts"][i].text());
  }
  return kYes;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  const std::string action = arguments.text("ACTION");
  if (action == "formats") return list_formats(arguments, out);
  const std::vector<std::string> actions = {"info", "perplexity", "generate", "formats"};
  if (std::ranges::find(actions, action) == actions.end()) {
    return fail("kw lm {}: say info, perplexity, generate or formats{}", action, nearest_hint(action, actions));
  }
  if (!arguments.has("MODEL")) return fail("kw lm {}: say of which model, a folder or a .gguf file", action);
  KW_TRY(const auto threads, whole_number(arguments, "--threads", 0, 0, 1024));
  Json request = {{"do", action}, {"model", llm::path_for_engine(arguments.text("MODEL"))}};
  if (action == "perplexity") return evaluate(arguments, std::move(request), static_cast<int>(threads), out);
  if (action == "generate") return write_text(arguments, std::move(request), static_cast<int>(threads), out);
  KW_TRY(const Json info, llm::ask_engine(request, static_cast<int>(threads)));
  if (arguments.has("--json")) {
    out << info.dump(1) << "\n";
  } else {
    print_info(info, out);
  }
  return kYes;
}

}  // namespace

Command lm() {
  return {
      .name = "lm",
      .summary = "runs a language model from its files: info, perplexity, generate",
      .description =
          "MODEL is a Hugging Face folder (config.json, safetensors, tokenizer.json) or a .gguf file; `kw lm "
          "formats` lists what can be read. info prints what it is. perplexity reads --text in windows of --window "
          "tokens that do not overlap, and predicts every token of a window but its first. generate goes on after "
          "--prompt, or answers --chat with the model's chat template; without --temperature it always takes the "
          "likeliest token.\n\nThe engine is a program of its own, kw-lm on LibTorch; ./kw installs and builds it "
          "when it is first used.",
      .options =
          {{.name = "ACTION", .help = "info, perplexity, generate or formats", .required = true},
           {.name = "MODEL", .help = "a folder or a .gguf file", .completes = Completes::file},
           {.name = "--text", .value = "FILE", .help = "perplexity of this text", .completes = Completes::file},
           {.name = "--window", .value = "N", .help = "tokens of a window (512)"},
           {.name = "--tokens", .value = "N", .help = "at most this many: of the text (all), of an answer (128)"},
           {.name = "--prompt", .value = "TEXT", .help = "generate from here; several are one batch", .repeated = true},
           {.name = "--chat", .value = "TEXT", .help = "ask with the model's chat template"},
           {.name = "--system", .value = "TEXT", .help = "what --chat says before"},
           {.name = "--temperature", .value = "T", .help = "draw tokens; 0 takes the likeliest (0)"},
           {.name = "--top-k", .value = "N", .help = "draw from this many"},
           {.name = "--top-p", .value = "P", .help = "draw from the likeliest that make up this share"},
           {.name = "--seed", .value = "N", .help = "the same seed draws the same (1)"},
           {.name = "--threads", .value = "N", .help = "of the matrix products (all cores)"},
           {.name = "--json", .help = "one JSON object"}},
      .examples = {"kw lm formats", "kw lm formats --json"},
      .run = run};
}

}  // namespace kw::cli::commands

// kw lm: language models of our own, from files: what they are, how well they predict, what they write.
#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/engine_at_terminal.h"
#include "command_line/numbers.h"
#include "llm/engine.h"
#include "llm/engine_facts.h"

namespace kw::cli::commands {
namespace {

Result<int> list_formats(const Arguments& arguments, std::ostream& out) {
  const Json formats = llm::engine_formats();
  out << (arguments.has("--json") ? formats.dump(1) + "\n" : llm::formats_text(formats));
  return kYes;
}

Result<int> evaluate(const Arguments& arguments, Json request, int threads, std::ostream& out) {
  if (!arguments.has("--text")) return fail("say which text: kw lm perplexity MODEL --text FILE");
  request["text"] = llm::path_for_engine(arguments.text("--text"));
  KW_TRY(const auto window, whole_number(arguments, "--window", 512, 2, 1 << 20));
  KW_TRY(const auto most, whole_number(arguments, "--tokens", 0, 0, std::int64_t{1} << 40));
  request["window"] = window;
  request["most_tokens"] = most;
  KW_TRY(const Json done, ask_engine_at_terminal(request, threads));
  out << (arguments.has("--json") ? done.dump(1) + "\n" : llm::perplexity_text(done));
  return kYes;
}

// What --infill names, cut at its hole.
Result<Json> infill_of(const Arguments& arguments) {
  const std::string path = arguments.text("--infill");
  KW_TRY(const std::string text, read_file(path));
  KW_TRY(Json infill, llm::cut_at_hole(path, text, arguments.has("--hole") ? arguments.text("--hole") : "<hole>"));
  KW_TRY(infill["length"], whole_number(arguments, "--hole-tokens", 0, 1, 1 << 20));
  return infill;
}

// "--top-k" is top_k of the request.
Status put_numbers(const Arguments& arguments, Json& request) {
  for (const char* flag : {"--tokens", "--top-k", "--samples", "--block", "--steps", "--seed", "--temperature",
                           "--top-p", "--threshold"}) {
    if (!arguments.has(flag)) continue;
    const std::string text = arguments.text(flag);
    std::string name = flag == std::string("--tokens") ? "most_tokens" : flag + 2;
    std::ranges::replace(name, '-', '_');
    const bool share = name == "top_p" || name == "threshold", zero = name == "top_k" || name == "seed";
    if (share || name == "temperature") {
      KW_TRY(request[name], number_in(flag, text, 0, share ? 1 : 100));
    } else {
      KW_TRY(request[name], whole_number_in(flag, text, zero ? 0 : 1, std::int64_t{1} << (name == "seed" ? 60 : 20)));
    }
  }
  return {};
}

Result<int> write_text(const Arguments& arguments, Json request, int threads, std::ostream& out) {
  if (arguments.has("--chat")) {
    request["messages"] = Json::array();
    if (arguments.has("--system"))
      request["messages"].push_back({{"role", "system"}, {"content", arguments.text("--system")}});
    request["messages"].push_back({{"role", "user"}, {"content", arguments.text("--chat")}});
  } else if (arguments.has("--prompt")) {
    request["prompts"] = arguments.texts("--prompt");
  } else if (!arguments.has("--infill")) {
    return fail(
        "say how the text begins (--prompt TEXT), ask something (--chat TEXT), or give a text with a hole "
        "(--infill FILE)");
  }
  if (arguments.has("--infill")) {
    if (request.contains("prompts") && request["prompts"].size() > 1) return fail("--infill takes one --prompt");
    KW_TRY(request["infill"], infill_of(arguments));
  }
  KW_CHECK(put_numbers(arguments, request));
  const bool one = (!request.contains("prompts") || request["prompts"].size() == 1) && !request.contains("samples");
  const bool stream = one && !arguments.has("--json") && !arguments.has("--infill");
  KW_TRY(const Json done, llm::ask_engine(request, threads, [&](const Json& line) {
           const Json* token = line.find("token");
           if (stream && token != nullptr) out << token->text() << std::flush;
         }));
  auto texts = done["texts"].get<std::vector<std::string>>();
  if (const Json* around = request.find("infill")) {  // as it was read, whatever its bytes
    for (std::string& text : texts) text = (*around)["prefix"].text() + text + (*around)["suffix"].text();
  }
  if (arguments.has("--out") && request.contains("infill")) KW_CHECK(write_file(arguments.text("--out"), texts[0]));
  if (arguments.has("--json")) {
    out << done.dump(1) << "\n";
  } else if (stream) {
    out << "\n";
  } else if (one) {
    out << texts[0];
  } else {
    for (std::size_t i = 0; i < texts.size(); ++i) print(out, "[{}] {}\n", i + 1, texts[i]);
  }
  return kYes;
}

Result<int> run_lm(const Arguments& arguments, std::ostream& out) {
  const std::string action = arguments.text("ACTION");
  if (action == "formats") return list_formats(arguments, out);
  const std::vector<std::string> actions = {"info", "perplexity", "generate", "formats"};
  if (std::ranges::find(actions, action) == actions.end()) {
    return fail("kw lm {}: say info, perplexity, generate or formats{}", action, nearest_hint(action, actions));
  }
  if (!arguments.has("MODEL")) return fail("kw lm {}: say of which model, a folder or a .gguf file", action);
  KW_TRY(const auto threads, whole_number(arguments, "--threads", 0, 0, 1024));
  Json request = {{"do", action}, {"model", llm::path_for_engine(arguments.text("MODEL"))}};
  for (const char* flag : {"--device", "--numbers", "--unmask"}) {
    if (arguments.has(flag)) request[flag + 2] = arguments.text(flag);
  }
  if (action == "perplexity") return evaluate(arguments, std::move(request), static_cast<int>(threads), out);
  if (action == "generate") return write_text(arguments, std::move(request), static_cast<int>(threads), out);
  KW_TRY(const Json info, llm::ask_engine(request, static_cast<int>(threads)));
  out << (arguments.has("--json") ? info.dump(1) + "\n" : llm::info_text(info));
  return kYes;
}

}  // namespace

Command lm() {
  return {
      .name = "lm",
      .topic = Topic::language_models,
      .summary = "runs a language model from its files: info, perplexity, generate",
      .description =
          "MODEL is a Hugging Face folder (config.json, safetensors, tokenizer.json) or a .gguf file; `kw lm "
          "formats` lists what can be read. info prints what it is. perplexity reads --text in windows of --window "
          "tokens that do not overlap, and predicts every token of a window but its first. generate goes on after "
          "--prompt, or answers --chat with the model's chat template; without --temperature it always takes the "
          "likeliest token.\n\nA block-diffusion model (SDAR) fills a block of masks in at most --steps passes: static "
          "keeps the surest tokens of each pass, dynamic all that are surer than --threshold, sequential goes from "
          "left "
          "to right. --infill prints FILE with its hole filled, and --out writes it with all else as it was, byte for "
          "byte.\n\nThe engine is a program of "
          "its own, kw-lm on LibTorch; ./kw installs and builds it "
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
           {.name = "--samples", .value = "N", .help = "answers to each prompt, drawn together (1)"},
           {.name = "--infill", .value = "FILE", .help = "fill the hole in this text", .completes = Completes::file},
           {.name = "--out", .value = "FILE", .help = "write the filled text there, byte for byte"},
           {.name = "--hole", .value = "TEXT", .help = "what marks the hole (<hole>)"},
           {.name = "--hole-tokens", .value = "N", .help = "the hole has exactly this many tokens (open)"},
           {.name = "--block", .value = "N", .help = "diffusion: tokens of a block (as the model says)"},
           {.name = "--steps", .value = "N", .help = "diffusion: passes a block at most (one a token)"},
           {.name = "--unmask", .value = "WAY", .help = "diffusion: static, dynamic or sequential (dynamic)"},
           {.name = "--threshold", .value = "P", .help = "diffusion: dynamic keeps what is surer (0.9)"},
           {.name = "--device", .value = "DEVICE", .help = "cpu, cuda or cuda:N (cpu)"},
           {.name = "--numbers", .value = "TYPE", .help = "compute in F32, BF16 or F16 (F32)"},
           {.name = "--threads", .value = "N", .help = "of the matrix products (all cores)"},
           {.name = "--json", .help = "one JSON object"}},
      .examples = {"kw lm formats", "kw lm formats --json"},
      .run = run_lm};
}

}  // namespace kw::cli::commands

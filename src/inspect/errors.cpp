#include "inspect/errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "inspect/outline.h"

namespace kw::inspect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostErrors = 40;
constexpr std::size_t kMostNotes = 3;
constexpr std::size_t kMostMessage = 300;
constexpr int kAround = 2;  // lines before and behind

struct SourceLine {
  std::string file;
  int line = 0;
  int column = 0;
};

// A line of a tool's words: "FILE:LINE:COLUMN: error: MESSAGE", or nvcc's "FILE(LINE): error: MESSAGE".
struct Said {
  SourceLine place;
  std::string kind;  // "error", "note", "warning", "required"
  std::string message;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::string_view trimmed_front(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  return text;
}

int number_at(std::string_view text, std::size_t& at) {
  int number = 0;
  const std::size_t begin = at;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) && at - begin < 8) {
    number = 10 * number + (text[at++] - '0');
  }
  return at == begin ? -1 : number;
}

// "FILE:12:5: " or "FILE:12: " or "FILE(12): "; `rest` is what follows.
std::optional<SourceLine> place_of(std::string_view line, std::string_view& rest) {
  for (std::size_t at = 1; at < line.size(); ++at) {
    if (line[at] != ':' && line[at] != '(') continue;
    const bool round = line[at] == '(';
    std::size_t end = at + 1;
    SourceLine place{.file = std::string(line.substr(0, at))};
    place.line = number_at(line, end);
    if (place.line < 0 || end >= line.size()) continue;
    if (round) {
      if (!line.substr(end).starts_with("): ")) continue;
      rest = line.substr(end + 3);
      return place;
    }
    if (line[end] != ':') continue;
    ++end;
    std::size_t column_end = end;
    const int column = number_at(line, column_end);
    if (column >= 0 && column_end < line.size() && line[column_end] == ':') {
      place.column = column;
      end = column_end + 1;
    }
    rest = trimmed(line.substr(end));
    return place;
  }
  return std::nullopt;
}

std::optional<Said> said_in(std::string_view line) {
  std::string_view rest;
  auto place = place_of(line, rest);
  if (!place) {
    // "cc1plus: fatal error: x.h: No such file", "ld: error: ..."
    return std::nullopt;
  }
  Said said{.place = *place};
  static const std::pair<std::string_view, std::string_view> kinds[] = {
      {"fatal error: ", "error"},
      {"error: ", "error"},
      {"catastrophic error: ", "error"},
      {"warning: ", "warning"},
      {"note: ", "note"},
      {"required from ", "required"},
      {"required by ", "required"},
      {"recursively required", "required"},
      {"in 'constexpr' expansion", "required"},
      {"Error: ", "error"},  // the assembler
  };
  for (const auto& [prefix, kind] : kinds) {
    if (!rest.starts_with(prefix)) continue;
    said.kind = kind;
    said.message = std::string(kind == "required" ? rest : rest.substr(prefix.size()));
    return said;
  }
  // nvcc numbers its errors: "error #20: ..."
  if (rest.starts_with("error #")) {
    const std::size_t colon = rest.find(": ");
    if (colon == std::string_view::npos) return std::nullopt;
    said.kind = "error";
    said.message = std::string(rest.substr(colon + 2));
    return said;
  }
  return std::nullopt;
}

// g++ quotes as its locale does; one form is enough here.
std::string with_plain_quotes(std::string_view said) {
  std::string plain;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::string_view three = said.substr(i, 3);
    if (three == "\u2018" || three == "\u2019") {
      plain += '\'';
      i += 2;
    } else {
      plain += said[i];
    }
  }
  return plain;
}

const SourceText* source_of(const std::string& file, const std::vector<SourceText>& sources) {
  const fs::path name = fs::path(file).filename();
  for (const SourceText& source : sources) {
    if (fs::path(source.name).filename() == name && !file.starts_with("/usr/")) return &source;
  }
  return nullptr;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string around(const SourceText& source, int line) {
  const auto lines = lines_of(source.text);
  std::string text;
  for (int i = std::max(1, line - kAround); i <= std::min(static_cast<int>(lines.size()), line + kAround); ++i) {
    text +=
        fmt::format("{}{:5} | {}\n", i == line ? ">" : " ", i, lines[static_cast<std::size_t>(i - 1)].substr(0, 160));
  }
  return text;
}

// An error as the compiler has it: itself, what led there (before or behind it), and its notes.
struct Block {
  Said error;
  std::vector<SourceLine> led_here;  // the innermost first
  std::vector<SourceLine> included;  // from where its file was included, the innermost first
  std::vector<Said> notes;
  std::string in_function;  // as g++ says it
};

// "In member function 'void Tile::load(const float*)':" -> "Tile::load"
std::string quoted_function(std::string_view line) {
  const std::size_t begin = line.find('\'');
  const std::size_t end = line.rfind('\'');
  if (begin == std::string_view::npos || end <= begin) return {};
  std::string text(line.substr(begin + 1, end - begin - 1));
  if (const std::size_t with = text.find(" [with"); with != std::string::npos) text.resize(with);
  int angles = 0;
  std::size_t open = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++angles;
    if (text[i] == '>') --angles;
    if (text[i] == '(' && angles == 0) {
      open = i;
      break;
    }
  }
  std::string name;
  angles = 0;
  for (std::size_t i = open; i-- > 0;) {
    if (text[i] == '>') ++angles;
    if (angles == 0 && (text[i] == ' ' || text[i] == '*' || text[i] == '&')) break;
    if (angles == 0) name.insert(name.begin(), text[i]);
    if (text[i] == '<') --angles;
  }
  return name;
}

// "In file included from x.cpp:2:" and its continuation "                 from y.h:7:"
std::optional<SourceLine> included_from(std::string_view line) {
  const bool first = line.starts_with("In file included from ");
  if (!first && !line.starts_with("                 from ")) return std::nullopt;
  std::string_view rest;
  return place_of(std::string(line.substr(22)) + " ", rest);
}

// "    inlined from '__m256i shift(__m256i, int)' at x.cpp:5:27:"
std::optional<SourceLine> inlined_from(std::string_view line) {
  const std::size_t at = line.rfind("' at ");
  if (!trimmed(line).starts_with("inlined from ") || at == std::string_view::npos) return std::nullopt;
  std::string_view rest;
  return place_of(std::string(line.substr(at + 5)) + " ", rest);
}

std::vector<Block> compiler_blocks(const std::vector<std::string_view>& lines) {
  std::vector<Block> blocks;
  std::vector<SourceLine> led_here;  // of g++: said before the error
  std::vector<SourceLine> included;
  std::string in_function;
  bool ended = true;
  for (const std::string_view line : lines) {
    if (const auto from = included_from(line)) {
      if (line.starts_with("In file")) included.clear();
      included.push_back(*from);
      continue;
    }
    if (const auto from = inlined_from(line)) {
      led_here.push_back(*from);
      continue;
    }
    if (line.find(": In ") != std::string_view::npos && line.ends_with(":")) {
      in_function = quoted_function(line);
      if (line.find(": In instantiation") == std::string_view::npos) led_here.clear();
      continue;
    }
    if (line.find(": At global scope:") != std::string_view::npos) {
      in_function.clear();
      led_here.clear();
      continue;
    }
    const auto said = said_in(line);
    if (!said) continue;
    if (said->kind == "required") {
      if (!ended) led_here.clear();
      ended = true;
      led_here.push_back(said->place);
    } else if (said->kind == "error") {
      if (blocks.size() < 4 * kMostErrors) blocks.push_back({*said, led_here, included, {}, in_function});
      led_here.clear();
      ended = false;
    } else if (said->kind == "note" && !blocks.empty()) {
      Block& block = blocks.back();
      if (said->message.find("requested here") != std::string::npos ||
          said->message.find("in call to") != std::string::npos || said->message.starts_with("while substituting") ||
          said->message.starts_with("expanded from macro") || said->message.starts_with("in expansion of macro")) {
        block.led_here.push_back(said->place);
      } else if (said->message.find("in instantiation of") == std::string::npos) {
        block.notes.push_back(*said);
      } else {
        block.led_here.push_back(said->place);
      }
    }
  }
  return blocks;
}

// Notes that say what to do come first; those that list what was also tried and failed are of little use.
int use_of(const Said& note, const std::vector<SourceText>& sources) {
  int use = source_of(note.place.file, sources) != nullptr ? 2 : 0;
  for (const char* good :
       {"did you mean", "declared here", "previous", "to match this", "suggested", "needed", "is defined in", "add ",
        "#include", "candidate function not viable", "no known conversion", "because"}) {
    if (note.message.find(good) != std::string::npos) use += 2;
  }
  if (note.message.find("template argument deduction/substitution failed") != std::string::npos) use -= 3;
  return use;
}

// A method that is defined in its class is called as one that is defined outside: "Filter::apply".
std::string qualified_name(const std::vector<Scope>& outline, const Scope& scope) {
  const Scope* type = nullptr;
  for (const Scope& each : outline) {
    const bool around = each.first_line <= scope.first_line && each.last_line >= scope.last_line && &each != &scope;
    if (around && each.kind == Scope::Kind::type && each.depth < scope.depth) type = &each;
  }
  const bool method = scope.kind == Scope::Kind::function && type != nullptr && !type->name.empty();
  return method && scope.name.find("::") == std::string::npos ? type->name + "::" + scope.name : scope.name;
}

void set_place(CodeError& error, const SourceLine& place, const std::vector<SourceText>& sources) {
  error.file = place.file;
  error.line = place.line;
  error.column = place.column;
  if (const SourceText* source = source_of(place.file, sources)) {
    error.local = true;
    error.file = source->name;
    const auto outline = outline_of(source->text);
    if (const Scope* scope = scope_at(outline, place.line)) error.within = qualified_name(outline, *scope);
    error.around = around(*source, place.line);
  }
}

// Some errors are noticed after the place that must be corrected.
void move_to_the_cause(CodeError& error, const Block& block, const std::vector<SourceText>& sources) {
  const SourceText* source = source_of(block.error.place.file, sources);
  if (source == nullptr) return;
  const std::string& said = error.message;
  const auto says = [&](std::string_view words) { return said.find(words) != std::string::npos; };
  if (says("at end of input") || said == "expected '}'" || says("function-definition is not allowed here") ||
      says("function definition is not allowed here")) {
    // A brace that is missed at the end is missing where it was opened.
    if (const int line = unclosed_brace(source->text)) set_place(error, {source->name, line, 0}, sources);
  } else if (says("expected") && says("';' before")) {
    // g++ names the next token; where that begins its line, the semicolon is missing on the line before.
    const auto lines = lines_of(source->text);
    int line = error.line;
    if (line < 1 || line > static_cast<int>(lines.size())) return;
    const std::string_view own = lines[static_cast<std::size_t>(line - 1)];
    if (static_cast<std::size_t>(error.column) != own.size() - trimmed_front(own).size() + 1) return;
    while (line > 1 && trimmed(lines[static_cast<std::size_t>(line - 2)]).empty()) --line;
    if (line > 1) set_place(error, {source->name, line - 1, 0}, sources);
  } else if (said == "expected a \";\"") {  // nvcc's words
    const auto lines = lines_of(source->text);
    int line = error.line;
    if (line < 1 || line > static_cast<int>(lines.size())) return;
    while (line > 1 && trimmed(lines[static_cast<std::size_t>(line - 2)]).empty()) --line;
    if (line > 1 && !trimmed(lines[static_cast<std::size_t>(line - 2)]).ends_with(';')) {
      set_place(error, {source->name, line - 1, 0}, sources);
    }
  } else if (said.starts_with("jump to label")) {
    for (const Said& note : block.notes) {
      if (trimmed(note.message) == "from here") set_place(error, note.place, sources);
    }
  }
}

CodeError from_block(const Block& block, const std::vector<SourceText>& sources) {
  CodeError error{.message = without_template_noise(block.error.message)};
  set_place(error, block.error.place, sources);
  const auto take = [&](const SourceLine& place) {
    if (error.local || source_of(place.file, sources) == nullptr) return;
    error.elsewhere = fmt::format("{}:{}", block.error.place.file, block.error.place.line);
    set_place(error, place, sources);
  };
  move_to_the_cause(error, block, sources);
  for (const SourceLine& place : block.led_here) take(place);
  for (const Said& note : block.notes) take(note.place);
  for (const SourceLine& place : block.included) take(place);
  if (error.local && error.within.empty() && !block.in_function.empty() && error.elsewhere.empty()) {
    error.within = block.in_function;
  }
  std::vector<const Said*> notes;
  for (const Said& note : block.notes) notes.push_back(&note);
  std::ranges::stable_sort(notes, std::greater{}, [&](const Said* note) { return use_of(*note, sources); });
  for (const Said* note : notes) {
    if (error.notes.size() == kMostNotes || use_of(*note, sources) < 1) break;
    const bool here = source_of(note->place.file, sources) != nullptr;
    error.notes.push_back(fmt::format("{}{}", here ? fmt::format("line {}: ", note->place.line) : "",
                                      without_template_noise(note->message)));
  }
  return error;
}

// The line on which a symbol is used: of "foo(int, float)" the first line with the word foo, in `function` if there is
// one.
int line_with(const SourceText& source, const std::string& symbol, const std::string& function) {
  std::string word = symbol.substr(0, symbol.find('('));
  if (const std::size_t colons = word.rfind("::"); colons != std::string::npos) word = word.substr(colons + 2);
  if (const std::size_t angle = word.find('<'); angle != std::string::npos) word.resize(angle);
  if (const std::size_t space = word.rfind(' '); space != std::string::npos) word = word.substr(space + 1);
  if (word.empty()) return 0;
  const auto lines = lines_of(source.text);
  const auto outline = outline_of(source.text);
  int first = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t at = lines[i].find(word); at != std::string_view::npos; at = lines[i].find(word, at + 1)) {
      const auto part = [&](std::size_t k) {
        return k < lines[i].size() && (std::isalnum(static_cast<unsigned char>(lines[i][k])) || lines[i][k] == '_');
      };
      if ((at > 0 && part(at - 1)) || part(at + word.size())) continue;
      const int line = static_cast<int>(i) + 1;
      const Scope* scope = scope_at(outline, line);
      const bool inside = scope != nullptr && scope->kind == Scope::Kind::function && scope->first_line != line;
      if (inside && (function.empty() || scope->name == function || function.ends_with("::" + scope->name) ||
                     scope->name.starts_with("KW_") || function.find("_body") != std::string::npos)) {
        return line;
      }
      if (inside && first == 0) first = line;
    }
  }
  return first;
}

std::string between(std::string_view line, std::string_view open, std::string_view close) {
  const std::size_t begin = line.find(open);
  if (begin == std::string_view::npos) return {};
  const std::size_t from = begin + open.size();
  const std::size_t end = close.empty() ? std::string_view::npos : line.find(close, from);
  return std::string(line.substr(from, end == std::string_view::npos ? std::string_view::npos : end - from));
}

// "float scale<float>(float)" -> "scale"
std::string plain_function(const std::string& demangled) { return quoted_function("'" + demangled + "'"); }

std::vector<CodeError> linker_errors(const std::vector<std::string_view>& lines,
                                     const std::vector<SourceText>& sources) {
  std::vector<CodeError> errors;
  std::string function, object;
  const auto anchored = [&](CodeError error, std::string_view line, const std::string& symbol) {
    // With debug information the linker knows the line.
    std::string_view words = line;
    if (const std::size_t ld = words.find("ld: "); ld != std::string_view::npos) words = words.substr(ld + 4);
    std::string_view rest;
    const auto place = place_of(words, rest);
    if (place && place->line > 0 && source_of(place->file, sources) != nullptr) {
      set_place(error, *place, sources);
    } else {
      for (const SourceText& source : sources) {
        const bool named = words.find(fs::path(source.name).filename().string()) != std::string_view::npos ||
                           object.find(fs::path(source.name).stem().string()) != std::string::npos;
        if (sources.size() > 1 && !named) continue;
        if (const int found = line_with(source, symbol, function)) {
          set_place(error, {source.name, found, 0}, sources);
          break;
        }
      }
    }
    if (error.within.empty() && place) error.within = function;
    errors.push_back(std::move(error));
  };
  for (const std::string_view line : lines) {
    if (line.find(": in function `") != std::string_view::npos) {
      function = plain_function(between(line, ": in function `", "'"));
      object = std::string(line.substr(0, line.find(": in function")));
      continue;
    }
    if (line.find("undefined reference to") != std::string_view::npos) {
      const std::string symbol = between(line, "undefined reference to `", "'");
      anchored({.tool = CodeError::Tool::linker,
                .message = without_template_noise(
                    fmt::format("undefined reference to '{}': it is declared and used, and defined nowhere", symbol))},
               line, symbol);
    } else if (line.find("multiple definition of") != std::string_view::npos) {
      const std::string symbol = between(line, "multiple definition of `", "'");
      CodeError error{.tool = CodeError::Tool::linker, .message = fmt::format("multiple definition of '{}'", symbol)};
      // The place of the definition, not of a use.
      const std::string word = plain_function(symbol);
      // Of several sources the later one: the linker keeps what it met first.
      for (auto each = sources.rbegin(); each != sources.rend() && error.line == 0; ++each) {
        const SourceText& source = *each;
        const auto text = lines_of(source.text);
        for (const Scope& scope : outline_of(source.text)) {
          if (scope.name != word) continue;
          // "template <>" may stand on a line of its own.
          int named = scope.first_line;
          while (named < scope.last_line &&
                 text[static_cast<std::size_t>(named - 1)].find(word) == std::string_view::npos) {
            ++named;
          }
          set_place(error, {source.name, named, 0}, sources);
        }
        for (std::size_t i = 0; i < text.size() && error.line == 0; ++i) {
          if (text[i].find(word) != std::string_view::npos && !text[i].starts_with("//")) {
            set_place(error, {source.name, static_cast<int>(i) + 1, 0}, sources);
          }
        }
      }
      errors.push_back(std::move(error));
    } else if (line.find("cannot find -l") != std::string_view::npos) {
      errors.push_back(
          {.tool = CodeError::Tool::linker, .message = std::string(line.substr(line.find("cannot find -l")))});
    } else if (line.find("relocation R_") != std::string_view::npos) {
      const std::string symbol =
          between(line, "symbol `", "'").empty() ? between(line, "against `", "'") : between(line, "symbol `", "'");
      anchored({.tool = CodeError::Tool::linker, .message = std::string(line.substr(line.find("relocation R_")))}, line,
               symbol);
    }
  }
  return errors;
}

// "_ZN6Packer4packEPfi" -> "Packer::pack(float*, int)"
std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

std::vector<CodeError> loader_errors(const std::vector<std::string_view>& lines,
                                     const std::vector<SourceText>& sources) {
  std::vector<CodeError> errors;
  for (const std::string_view line : lines) {
    if (const std::size_t at = line.find("undefined symbol: "); at != std::string_view::npos) {
      std::string symbol(trimmed(line.substr(at + 18)));
      symbol = symbol.substr(0, symbol.find_first_of(" ,("));
      const std::string plain = demangled(symbol);
      CodeError error{
          .tool = CodeError::Tool::loader,
          .message = fmt::format("undefined symbol '{}': the library asks for it when it is loaded, and nobody has it",
                                 plain)};
      for (const SourceText& source : sources) {
        if (const int found = line_with(source, plain, "")) {
          set_place(error, {source.name, found, 0}, sources);
          break;
        }
      }
      errors.push_back(std::move(error));
    } else if (line.find("cannot open shared object file") != std::string_view::npos ||
               (line.find("invalid ") != std::string_view::npos && line.ends_with(" header")) ||
               line.find("cannot allocate memory in static TLS block") != std::string_view::npos ||
               line.find("file too short") != std::string_view::npos) {
      errors.push_back(
          {.tool = CodeError::Tool::loader, .message = std::string(trimmed(line)).substr(0, kMostMessage)});
    }
  }
  return errors;
}

// Words that a compiler says without a place: "cc1plus: error: bad value", "clang: error: unknown argument".
std::vector<CodeError> placeless_errors(const std::vector<std::string_view>& lines) {
  std::vector<CodeError> errors;
  for (const std::string_view line : lines) {
    for (const char* mark : {": error: ", ": fatal error: "}) {
      const std::size_t at = line.find(mark);
      std::string_view rest;
      if (at == std::string_view::npos || line.substr(0, at).find(' ') != std::string_view::npos ||
          place_of(line, rest))
        continue;
      if (line.find("linker command failed") != std::string_view::npos ||
          line.find("ld returned") != std::string_view::npos)
        continue;
      errors.push_back({.message = std::string(line.substr(at + std::string_view(mark).size()))});
    }
  }
  return errors;
}

// The name that an error says is missing; empty: it says something else.
std::string missing_name(const std::string& message) {
  for (const char* words : {"has no member named '", "no member named '", "use of undeclared identifier '"}) {
    if (message.find(words) != std::string::npos) return between(message, words, "'");
  }
  return message.find("' was not declared in this scope") == std::string::npos ? "" : between(message, "'", "'");
}

// Errors that only follow from an earlier one on the same line or of the same name. On a line that is understood but
// for names that are missing, each of them is an error of its own.
void merge(std::vector<CodeError>& errors) {
  std::vector<CodeError> kept;
  std::set<std::pair<std::string, int>> not_understood;
  for (CodeError& error : errors) {
    const std::string missing = missing_name(error.message);
    const std::pair place(error.file, error.line);
    if (missing.empty()) not_understood.insert(place);
    const auto same = std::ranges::find_if(kept, [&](const CodeError& other) {
      if (other.file != error.file) return false;
      if (other.message == error.message) return true;
      if (other.line != error.line || error.line <= 0) return false;
      return not_understood.contains(place) || missing_name(other.message) == missing;
    });
    if (same == kept.end()) {
      kept.push_back(std::move(error));
    } else if (error.line != same->line &&
               std::ranges::find(same->repeated_at, error.line) == same->repeated_at.end()) {
      same->repeated_at.push_back(error.line);
    }
  }
  errors = std::move(kept);
}

}  // namespace

std::string without_template_noise(std::string message) {
  static const std::pair<std::string_view, std::string_view> plainer[] = {
      {"std::__cxx11::basic_string<char>", "std::string"},
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
      {"std::basic_string<char>", "std::string"},
      {"std::__1::", "std::"},
      {"std::__cxx11::", "std::"},
      {" {aka ", " {"},
  };
  for (const auto& [from, to] : plainer) {
    for (std::size_t at = message.find(from); at != std::string::npos; at = message.find(from, at + to.size())) {
      message.replace(at, from.size(), to);
    }
  }
  // Template arguments more than two deep, or longer than a line's half, say nothing.
  std::string cut;
  int angles = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    const bool opens =
        c == '<' && i > 0 && (std::isalnum(static_cast<unsigned char>(message[i - 1])) || message[i - 1] == '_');
    if (opens && ++angles == 3) cut += "<...";
    if (angles < 3) cut += c;
    if (c == '>' && angles > 0 && message[i - 1] != '-') {
      if (angles == 3) cut += '>';
      --angles;
    }
  }
  if (cut.size() > kMostMessage) cut = cut.substr(0, kMostMessage - 40) + " ... " + cut.substr(cut.size() - 35);
  return cut;
}

std::vector<CodeError> errors_in(std::string_view said, const std::vector<SourceText>& sources) {
  const std::string plain = with_plain_quotes(said);
  const std::vector<std::string_view> lines = lines_of(plain);
  std::vector<CodeError> errors;
  for (const Block& block : compiler_blocks(lines)) errors.push_back(from_block(block, sources));
  // g++ names calls that it cannot inline in no order.
  const auto not_inlined = [](const CodeError& error) { return error.message.find("inlining failed") == 0; };
  if (std::ranges::all_of(errors, not_inlined)) std::ranges::stable_sort(errors, {}, &CodeError::line);
  // What is in the sources first; the order within is the compiler's: later errors often follow from earlier ones.
  std::ranges::stable_partition(errors, [](const CodeError& error) { return error.local; });
  for (auto& more : {linker_errors(lines, sources), loader_errors(lines, sources)}) {
    errors.insert(errors.end(), more.begin(), more.end());
  }
  if (errors.empty()) errors = placeless_errors(lines);
  merge(errors);
  if (errors.size() > kMostErrors) errors.resize(kMostErrors);
  return errors;
}

int fair_budget(std::string_view said) {
  const int tokens = static_cast<int>(std::min<std::size_t>(said.size() / 4, 1'000'000));
  return tokens > 2000 ? std::min(600, tokens / 10 - 1) : 600;
}

std::string as_text(const std::vector<CodeError>& errors, int most_tokens) {
  const std::size_t most = static_cast<std::size_t>(std::max(50, most_tokens)) * 4;
  std::string text;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const CodeError& error = errors[i];
    std::string one = fmt::format("{}. ", i + 1);
    if (error.line > 0) one += fmt::format("{}:{}", error.file, error.line);
    if (!error.within.empty()) one += fmt::format(" in {}", error.within);
    if (error.line > 0 || !error.within.empty()) one += ": ";
    if (error.tool == CodeError::Tool::linker) one += "linker: ";
    if (error.tool == CodeError::Tool::loader) one += "loader: ";
    one += error.message + "\n";
    if (!error.elsewhere.empty()) one += fmt::format("   (found at {}, which this line led to)\n", error.elsewhere);
    if (!error.repeated_at.empty())
      one += fmt::format("   also in line{} {}\n", error.repeated_at.size() > 1 ? "s" : "",
                         fmt::join(error.repeated_at, ", "));
    const std::string head = one;
    for (const std::string& note : error.notes) one += "   " + note + "\n";
    one += error.around;
    if (text.size() + one.size() > most) one = head;
    if (i > 0 && text.size() + one.size() > most) {
      text += fmt::format("... and {} more\n", errors.size() - i);
      break;
    }
    text += one.substr(0, most);
  }
  return text;
}

}  // namespace kw::inspect

#include "mutate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace kw::mutation {
namespace {

struct Rule {
  const char* kind;
  const char* pattern;
  const char* replacement;
};

// A float that keeps no more than half precision has: what an accumulator is declared with instead.
constexpr char kLowFloat[] = R"(struct LowFloat {
  float value;
  LowFloat(double v = 0) : value(float(kw::bfloat16(float(v)))) {}
  operator float() const { return value; }
  LowFloat& operator+=(double v) { return *this = LowFloat(value + v); }
  LowFloat& operator-=(double v) { return *this = LowFloat(value - v); }
  LowFloat& operator*=(double v) { return *this = LowFloat(value * v); }
  LowFloat& operator/=(double v) { return *this = LowFloat(value / v); }
};
)";

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"bound", R"(([\w\])]) < ([\w(]))", "$1 <= $2"},
      {"bound", R"(([\w\])]) <= ([\w(]))", "$1 < $2"},
      {"bound", R"(([\w\])]) > ([\w(-]))", "$1 >= $2"},
      {"bound", R"(([\w\])]) >= ([\w(]))", "$1 > $2"},
      {"tail", R"(; (\w+) < ([^;]+); (\+\+\w+|\w+ \+= \w+)\))", "; $1 + 1 < $2; $3)"},
      {"tail", R"(; (\w+) < ([^;]+); (\+\+\w+|\w+ \+= \w+)\))", "; $1 < $2 / 16 * 16; $3)"},
      {"index", R"((int64_t|int) (\w+) = 0;)", "$1 $2 = 1;"},
      {"index", R"(\[(\w+)\])", "[$1 + 1]"},
      {"index", R"(\[(\w+) \* )", "[$1 + "},
      {"index", R"(\[([^\[\]]*) \+ (\w+)\])", "[$1 - $2]"},
      {"index", R"(\[([^\[\]]*) \+ (\w+)\])", "[$1]"},
      {"index", R"(([\w\])]) \+ ([\w(]))", "$1 - $2"},
      {"index", R"(([\w\])]) - ([\w(]))", "$1 + $2"},
      {"index", R"(([\w\])]) \* ([\w(]))", "$1 + $2"},
      {"index", R"(([\w\])]) / ([\w(]))", "$1 * $2"},
      {"index", R"(([\w\])]) % ([\w(]))", "$1 / $2"},
      {"constant", R"(([^\w.])1([^\w.]))", "$012$2"},
      {"constant", R"(([^\w.])2([^\w.]))", "$011$2"},
      {"constant", R"(([^\w.])0\.5f?([^\w.]))", "$010.49f$2"},
      {"constant", R"(node\.real\(([^()]*)\))", "(node.real($1) * 1.5)"},
      {"constant", R"(node\.real\(([^()]*)\))", "(node.real($1) + 1e-2)"},
      {"constant", R"(node\.integer\(([^()]*)\))", "(node.integer($1) + 1)"},
      {"sign", R"( \+= )", " -= "},
      {"sign", R"( -= )", " += "},
      {"sign", R"( = (?!0;)([\w(])([^;=]*);)", " = -($1$2);"},
      {"sign", R"(return ([^;]+);)", "return -($1);"},
      {"statement", R"( (\+|-|\*|/)= )", " = "},
      {"axis", R"(shape\(-1\))", "shape(0)"},
      {"axis", R"(shape\(0\))", "shape(-1)"},
      {"axis", R"(shape\(1\))", "shape(0)"},
      {"axis", R"(shape\(2\))", "shape(3)"},
      {"axis", R"(shape\(3\))", "shape(2)"},
      {"axis", R"(\.inner)", ".length"},
      {"axis", R"(\.outer)", ".inner"},
      {"axis", R"(\.length)", ".outer"},
      {"axis", R"(\[-i\])", "[i - 1]"},
      {"accumulator",
       R"(^( *)(float|auto|T|W|Wide<T>|wide_t<T>|Wide) (\w*sum\w*|\w*total\w*|acc\w*|\w*mean\w*|product|result|value) = )",
       "$1LowFloat $3 = "},
      {"accumulator", R"(^( *)float (\w+) = )", "$1LowFloat $2 = "},
      {"function", R"(std::max\()", "std::min("},
      {"function", R"(std::min\()", "std::max("},
      {"function", R"(std::exp\()", "std::exp2("},
      {"function", R"(std::log\()", "std::log2("},
      {"function", R"(std::log1p\()", "std::log("},
      {"function", R"(std::expm1\()", "std::exp("},
      {"function", R"(std::sqrt\()", "std::cbrt("},
      {"function", R"(std::sin\()", "std::cos("},
      {"function", R"(std::cos\()", "std::sin("},
      {"function", R"(std::sinh\()", "std::cosh("},
      {"function", R"(std::tanh\()", "std::atan("},
      {"function", R"(std::floor\()", "std::ceil("},
      {"function", R"(std::ceil\()", "std::floor("},
      {"function", R"(std::abs\()", "("},
      {"function", R"(std::fabs\()", "("},
      {"function", R"(std::nearbyint\()", "std::round("},
      {"function", R"(std::nearbyint\()", "std::floor("},
      {"function", R"(INFINITY)", "1e30f"},
      {"logic", R"( && )", " || "},
      {"logic", R"( \|\| )", " && "},
      {"logic", R"( == )", " != "},
      {"logic", R"( != )", " == "},
      {"logic", R"(([^\w])true([^\w]))", "$1false$2"},
      {"logic", R"(([^\w])false([^\w]))", "$1true$2"},
      {"logic", R"(if \(([^{}]+)\) )", "if (!($1)) "},
      {"logic", R"( \? ([^:?]+) : ([^;?]+);)", " ? $2 : $1;"},
  };
  return kRules;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string code_of(const std::string& line) { return line.substr(0, line.find("//")); }

// Lines that declare, or only hold brackets.
bool is_declaration(const std::string& code) {
  static const std::regex kDeclaration(R"(^\s*(template|struct|inline|void|using|namespace|const auto|#|\}|KW_|$))");
  return std::regex_search(code, kDeclaration);
}

}  // namespace

std::vector<Mutant> all_mutants(const std::string& source) {
  const std::vector<std::string> lines = lines_of(source);
  std::size_t first = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("#include") || lines[i].starts_with("namespace {")) first = i + 1;
  }
  std::vector<Mutant> mutants;
  std::set<std::string> seen = {source};
  const auto add = [&](const char* kind, std::size_t at, std::string after) {
    std::vector<std::string> changed = lines;
    changed[at] = std::move(after);
    Mutant mutant{.kind = kind, .line = static_cast<int>(at) + 1, .before = lines[at], .after = changed[at]};
    if (mutant.after.find("LowFloat") != std::string::npos) changed[first] = kLowFloat + changed[first];
    mutant.source = joined(changed);
    if (seen.insert(mutant.source).second) mutants.push_back(std::move(mutant));
  };
  for (std::size_t at = first; at < lines.size(); ++at) {
    const std::string code = code_of(lines[at]);
    for (const Rule& rule : rules()) {
      const std::regex pattern(rule.pattern);
      for (std::sregex_iterator match(code.begin(), code.end(), pattern), end; match != end; ++match) {
        const std::string with = match->format(rule.replacement);
        add(rule.kind, at, code.substr(0, static_cast<std::size_t>(match->position())) + with + match->suffix().str());
      }
    }
    // A statement that is left out.
    if (code.ends_with(";") && !is_declaration(code) && code.find("for (") == std::string::npos &&
        code.find(" auto ") == std::string::npos && code.find("return") == std::string::npos) {
      add("statement", at, ";");
    }
  }
  return mutants;
}

std::vector<Mutant> some_mutants(const std::string& source, std::size_t count, Random& random) {
  std::map<std::string, std::vector<Mutant>> by_kind;
  for (Mutant& mutant : all_mutants(source)) by_kind[mutant.kind].push_back(std::move(mutant));
  for (auto& [kind, mutants] : by_kind) random.shuffle(std::span(mutants));
  std::vector<Mutant> chosen;
  while (chosen.size() < count && !by_kind.empty()) {
    for (auto kind = by_kind.begin(); kind != by_kind.end() && chosen.size() < count;) {
      chosen.push_back(std::move(kind->second.back()));
      kind->second.pop_back();
      kind = kind->second.empty() ? by_kind.erase(kind) : std::next(kind);
    }
  }
  return chosen;
}

}  // namespace kw::mutation

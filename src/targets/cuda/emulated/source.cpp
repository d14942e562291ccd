#include "targets/cuda/emulated/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/files.h"

namespace kw::cuda {
namespace {

// Comments and what stands in quotes become spaces; lines stay.
std::string only_code(const std::string& text) {
  std::string code = text;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to && i < code.size(); ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
    return to;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = blank(i, std::min(text.find_first_of("\r\n", i), text.size()));
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      i = blank(i, end == std::string::npos ? text.size() : end + 2);
    } else if (text[i] == '"') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      i = blank(i + 1, std::min(end, text.size())) + 1;
    } else {
      ++i;
    }
  }
  return code;
}

// A name or number, or one sign. Sources come from anywhere, of any length: they are read in one pass, and not by
// std::regex, whose stack is as deep as its match is long.
struct Word {
  std::size_t begin = 0, end = 0;
  std::string_view text;

  bool is_name() const { return is_of_name(text[0]); }
  static bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
};

// Of a type or within brackets: so that reading on from every word takes no square of the text's length.
constexpr std::size_t kMostTogether = 64;

class Words {
 public:
  explicit Words(std::string_view code) {
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t begin = at++;
      if (std::isspace(static_cast<unsigned char>(code[begin]))) continue;
      while (Word::is_of_name(code[begin]) && at < code.size() && Word::is_of_name(code[at])) ++at;
      list_.push_back({begin, at, code.substr(begin, at - begin)});
    }
  }

  std::size_t size() const { return list_.size(); }
  const Word& operator[](std::size_t i) const { return list_[i]; }
  bool is(std::size_t i, std::string_view text) const { return i < size() && list_[i].text == text; }
  bool is_name(std::size_t i) const { return i < size() && list_[i].is_name(); }

  // After the brackets that open at `i`; `i` where none do, or where they are not closed soon.
  std::size_t after_brackets(std::size_t i) const {
    int depth = 0;
    for (std::size_t at = i; is(i, "(") && at < std::min(size(), i + kMostTogether); ++at) {
      depth += is(at, "(") ? 1 : is(at, ")") ? -1 : 0;
      if (depth == 0) return at + 1;
    }
    return i;
  }

 private:
  std::vector<Word> list_;
};

struct Line {
  int number = 1;
  std::string_view text;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back({static_cast<int>(lines.size()) + 1, text.substr(at, end - at)});
    at = end + 1;
  }
  return lines;
}

// "cmath" of `#include <cmath>`; empty where the line includes nothing of the kind.
std::string_view included_by(std::string_view line) {
  const auto skip = [&](std::string_view what) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const bool is_there = line.starts_with(what);
    if (is_there) line.remove_prefix(what.size());
    return is_there;
  };
  if (!skip("#") || !skip("include") || !skip("<")) return {};
  const std::size_t end = line.find('>');
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end);
}

// What a source uses and this device has not, as errors of their lines; empty: nothing.
std::string what_is_missing(const std::string& text, const std::string& code) {
  const Words words(code);
  constexpr std::string_view kAssembly = "inline PTX is not emulated: judge this kernel on a GPU",
                             kHalves = "CUDA's half types and matrix fragments are not emulated",
                             kPrints = "a kernel does not print", kOfACpu = "this is a CPU's, and no GPU has it";
  std::map<std::string_view, std::size_t> first;  // where each of them is used first
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i].text;
    if (word == "asm" && words.is(words.is(i + 1, "volatile") ? i + 2 : i + 1, "(")) {
      first.emplace(kAssembly, words[i].begin);
    } else if (word == "__half" || word == "__half2" || word == "__nv_bfloat16" || word == "nvcuda") {
      first.emplace(kHalves, words[i].begin);
    } else if (word == "printf" && words.is(i + 1, "(")) {
      first.emplace(kPrints, words[i].begin);
    } else if (word == "thread_local" || word.starts_with("__builtin_ia32_") || word.starts_with("_mm")) {
      first.emplace(kOfACpu, words[i].begin);
    }
  }
  std::string errors;
  for (const auto& [why, place] : first) {
    const auto line = 1 + std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    errors += fmt::format("#line {}\n#error \"{}\"\n", line, why);
  }
  for (const Line& line : lines_of(text)) {
    const std::string_view header = included_by(line.text);
    const auto begins = [&](const char* name) { return header.starts_with(name); };
    if (std::ranges::any_of(std::array{"cuda", "mma", "cooperative", "curand", "cub/", "thrust/"}, begins)) {
      errors +=
          fmt::format("#line {}\n#error \"{} is not emulated: judge this kernel on a GPU\"\n", line.number, header);
    }
  }
  return errors;
}

// Headers of the C++ library, to be included outside of the namespaces that the text is put into.
std::string includes_of(const std::string& text) {
  std::string made;
  for (const Line& line : lines_of(text)) {
    const std::string_view header = included_by(line.text);
    const bool is_plain = header.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789.") == std::string_view::npos;
    if (header.empty() || !is_plain || header.starts_with("kernelwright") || header.starts_with("cuda")) continue;
    made += fmt::format("#include <{}>\n", header);
  }
  return made;
}

// `extern __shared__ float rows[];` at word `i`: its type, its name and the word after it.
struct DynamicShared {
  std::string type, name;
  std::size_t after = 0;
};
std::optional<DynamicShared> dynamic_shared_at(const Words& words, std::size_t i, const std::string& text) {
  if (!words.is(i, "extern") || !words.is(i + 1, "__shared__")) return std::nullopt;
  i += 2;
  if (words.is(i, "__align__") || words.is(i, "alignas")) i = words.after_brackets(i + 1);
  std::size_t end = i;
  while (end < i + kMostTogether && (words.is_name(end) || words.is(end, ":"))) ++end;
  if (end < i + 2 || !words.is_name(end - 1)) return std::nullopt;
  if (!words.is(end, "[") || !words.is(end + 1, "]") || !words.is(end + 2, ";")) return std::nullopt;
  return DynamicShared{.type = text.substr(words[i].begin, words[end - 2].end - words[i].begin),
                       .name = std::string(words[end - 1].text),
                       .after = end + 3};
}

// The device's text with what a CPU's compiler would take otherwise: shared memory whose size the launch says is a
// pointer to it, and kernels are called by their C++ names, so that none can be that of a function of the C library.
std::string device_text(const std::string& text, const std::string& code) {
  const Words words(code);
  std::string made;
  std::size_t copied = 0;  // of the text, up to here
  const auto replace = [&](std::size_t from, std::size_t to, const std::string& instead) {
    made += text.substr(copied, from - copied) + instead;
    copied = to;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto shared = dynamic_shared_at(words, i, text)) {
      replace(words[i].begin, words[shared->after - 1].end,
              fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(kw::emulated::dynamic_shared);", shared->type,
                          shared->name));
      i = shared->after - 1;
    } else if (words.is(i, "extern") && words.is(i + 1, "\"") && words.is(i + 2, "\"") &&
               words.is(i + 3, "__global__") &&
               text.substr(words[i + 1].end, words[i + 2].begin - words[i + 1].end) == "C") {
      replace(words[i].begin, words[i + 3].begin, "");
    }
  }
  return made + text.substr(copied);
}

}  // namespace

std::vector<std::string> kernels_in(const std::string& text) {
  const std::string code = only_code(text);
  const Words words(code);
  std::vector<std::string> names;
  std::set<std::string> known;
  bool is_template = false;  // of templates only the instances have a name to launch by
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words.is(i, ";") || words.is(i, "{") || words.is(i, "}")) is_template = false;
    if (words.is(i, "template")) is_template = true;
    if (!words.is(i, "__global__") || is_template) continue;
    const auto past_bounds = [&](std::size_t at) {
      return words.is(at, "__launch_bounds__") ? words.after_brackets(at + 1) : at;
    };
    std::size_t name = past_bounds(i + 1);
    if (!words.is(name, "void")) continue;
    name = past_bounds(name + 1);
    if (!words.is_name(name) || !words.is(name + 1, "(")) continue;
    if (known.emplace(words[name].text).second) names.emplace_back(words[name].text);
  }
  return names;
}

Result<std::string> emulated_source(const std::string& text) {
  KW_TRY(const auto data, data_folder());
  KW_TRY(const std::string device, read_file(data / "kernels" / "cuda" / "emulated" / "device.h"));
  KW_TRY(std::string functions, read_file(data / "kernels" / "cuda" / "emulated" / "functions.h"));
  // Both become one text with the kernel: it stands there already.
  constexpr std::string_view kIncluded = "#include \"device.h\"\n";
  if (const std::size_t at = functions.find(kIncluded); at != std::string::npos) functions.erase(at, kIncluded.size());
  const std::string code = only_code(text);
  std::string kernels;
  for (const std::string& name : kernels_in(text)) {
    kernels += fmt::format("    kw::emulated::kernel_named<&kw_device::{0}>(\"{0}\"),\n", name);
  }
  std::string missing = what_is_missing(text, code);
  if (code.find("KW_PLAN") == std::string::npos) missing += "#line 1\n#error \"the source has no KW_PLAN\"\n";
  if (kernels.empty()) missing += "#line 1\n#error \"the source has no __global__ function\"\n";
  return fmt::format(
      "{0}\n{1}\n{2}\n"
      "#define kw_run kw_plan_alone\n"
      "namespace kw_plan {{ namespace {{\n#line 1\n{3}\n}} }}\n"
      "#undef kw_run\n#undef KW_VARIES\n#define KW_VARIES() extern int kw_declared\n"
      "{4}\n#define __CUDACC__ 1\n"
      "namespace kw_device {{ namespace {{\n#line 1\n{5}\n}} }}\n"
      "static constexpr kw::emulated::Kernel kw_kernels[] = {{\n{6}}};\n"
      "KW_EXPORT int kw_prepare(kw_call* call) {{\n"
      "  return kw::emulated::prepare(call, kw_plan::kw_plan_of_a_call, kw_kernels, std::size(kw_kernels));\n}}\n"
      "KW_EXPORT int kw_run(kw_call* call) {{ return kw::emulated::run(call, kw_kernels, std::size(kw_kernels)); }}\n",
      device, includes_of(text), missing, text, functions, device_text(text, code), kernels);
}

}  // namespace kw::cuda

#include "targets/cuda/emulated/source.h"

#include <fmt/format.h>

#include <regex>
#include <sstream>

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
      i = blank(i, std::min(text.find('\n', i), text.size()));
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

int line_of(const std::string& text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

// What a source uses and this device has not, as errors of their lines; empty: nothing.
std::string what_is_missing(const std::string& text, const std::string& code) {
  struct Unknown {
    const char* pattern;
    const char* why;
  };
  static const Unknown kUnknown[] = {
      {R"(\basm\s*(volatile)?\s*\()", "inline PTX is not emulated: judge this kernel on a GPU"},
      {R"(\b__half2?\b|\b__nv_bfloat16\b|\bnvcuda\b)", "CUDA's half types and matrix fragments are not emulated"},
      {R"(\bprintf\s*\()", "a kernel does not print"},
  };
  std::string errors;
  for (const Unknown& one : kUnknown) {
    std::smatch found;
    if (!std::regex_search(code, found, std::regex(one.pattern))) continue;
    errors +=
        fmt::format("#line {}\n#error \"{}\"\n", line_of(code, static_cast<std::size_t>(found.position())), one.why);
  }
  static const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*<((cuda|mma|cooperative|curand|cub/|thrust/)[^>]*)>)",
                                  std::regex::multiline);
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
    errors += fmt::format("#line {}\n#error \"{} is not emulated: judge this kernel on a GPU\"\n",
                          line_of(text, static_cast<std::size_t>(it->position())), (*it)[1].str());
  }
  return errors;
}

// Headers of the C++ library, to be included outside of the namespaces that the text is put into.
std::string includes_of(const std::string& text) {
  static const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*<([a-z_0-9.]+)>)", std::regex::multiline);
  std::string lines;
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
    const std::string name = (*it)[1];
    if (!name.starts_with("kernelwright") && !name.starts_with("cuda")) lines += fmt::format("#include <{}>\n", name);
  }
  return lines;
}

// The device's text with what a CPU's compiler would take otherwise: shared memory whose size the launch says is a
// pointer to it, and kernels are called by their C++ names, so that none can be that of a function of the C library.
std::string device_text(const std::string& text) {
  static const std::regex dynamic(
      R"(\bextern\s+__shared__\s+((?:(?:__align__|alignas)\s*\(\s*\w+\s*\)\s*)?)([\w:]+(?:\s+[\w:]+)*)\s+(\w+)\s*\[\s*\]\s*;)");
  static const std::regex exported(R"rx(\bextern\s+"C"\s+(?=__global__\b))rx");
  const std::string made =
      std::regex_replace(text, dynamic, "$2* const $3 = reinterpret_cast<$2*>(kw::emulated::dynamic_shared);");
  return std::regex_replace(made, exported, "");
}

}  // namespace

std::vector<std::string> kernels_in(const std::string& text) {
  static const std::regex kernel(
      R"((template\s*<[^;{}]*>\s*)?__global__\s+(?:__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?void\s+(?:__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?(\w+)\s*\()");
  const std::string code = only_code(text);
  std::vector<std::string> names;
  for (std::sregex_iterator it(code.begin(), code.end(), kernel), end; it != end; ++it) {
    if ((*it)[1].matched) continue;  // only its instances have a name to launch by
    if (std::string name = (*it)[2]; std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

Result<std::string> emulated_source(const std::string& text) {
  KW_TRY(const auto data, data_folder());
  KW_TRY(const std::string device, read_file(data / "kernels" / "cuda" / "emulated" / "device.h"));
  KW_TRY(std::string functions, read_file(data / "kernels" / "cuda" / "emulated" / "functions.h"));
  // Both become one text with the kernel: it stands there already.
  functions = std::regex_replace(functions, std::regex("#include \"device.h\"\n"), "");
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
      device, includes_of(text), missing, text, functions, device_text(text), kernels);
}

}  // namespace kw::cuda

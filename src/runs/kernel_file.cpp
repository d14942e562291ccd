#include "runs/kernel_file.h"

#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/inside.h"
#include "base/terminal.h"

namespace kw::runs {

// Sources are written by people and models; what is longer than this is something else.
constexpr std::uint64_t kMostSourceBytes = std::uint64_t{4} << 20;

namespace {

Result<judge::Source> source_of(const std::string& file, std::string text) {
  if (text.find('\0') != std::string::npos) {
    return fail("{}: this is no source text: it has zero bytes in it; kw takes the source of a kernel", file);
  }
  return judge::Source{std::filesystem::path(file).filename().string(), std::move(text)};
}

}  // namespace

Result<judge::Source> read_kernel(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(file, error))) {
    return fail("{}: no such file; `kw init TASK --out {}` writes a plain kernel to start from", file,
                shell_word(file));
  }
  KW_TRY(std::string text, read_file(file, kMostSourceBytes));
  return source_of(file, std::move(text));
}

Result<judge::Source> read_checked_kernel(const std::string& path) {
  KW_TRY(std::string text, read_without_links(path, kMostSourceBytes));
  return source_of(path, std::move(text));
}

std::string form_of(const std::string& device) {
  const auto target = targets::target_of(device);
  const auto data = data_folder();
  std::error_code error;
  const bool has_own = target.ok() && data.ok() &&
                       std::filesystem::exists(*data / "include" / ("kernelwright_" + target->name + ".h"), error);
  return has_own ? target->name : "";
}

std::string contract_of(const std::string& device) {
  const std::string form = form_of(device);
  return form.empty() ? "kernelwright.h" : "kernelwright_" + form + ".h";
}

}  // namespace kw::runs

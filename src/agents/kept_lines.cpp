#include "agents/kept_lines.h"

#include <unistd.h>

#include <sstream>

#include "base/files.h"

namespace kw::agents {
namespace {

constexpr std::uint64_t kMostKeptBytes = std::uint64_t{64} << 20;

}  // namespace

Result<std::vector<std::string>> kept_lines(const std::filesystem::path& file) {
  KW_TRY(const std::string text, read_file(file, kMostKeptBytes, Links::refuse));
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Status keep_lines(const std::filesystem::path& file, const std::string& lines) {
  KW_TRY(const Descriptor out, open_to_append(file));
  if (::write(out.get(), lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
    return fail("{}: cannot be written", file.string());
  return {};
}

}  // namespace kw::agents

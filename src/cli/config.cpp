#include "cli/config.h"

#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/nearest.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;
using Kind = Setting::Kind;
using Values = std::map<std::string, std::string>;

constexpr char kFile[] = "kw.toml";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

const Setting* find_setting(const std::string& name) {
  const auto found = std::ranges::find(all_settings(), name, &Setting::name);
  return found == all_settings().end() ? nullptr : &*found;
}

// A file that somebody else put into a folder above, as in /tmp, is not this user's word.
bool is_trusted(const fs::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return false;
  return ::geteuid() == 0 || about.st_uid == 0 || about.st_uid == ::geteuid();
}

// The user's own first: what comes later wins.
std::vector<fs::path> files() {
  std::vector<fs::path> found;
  const std::string config = variable("XDG_CONFIG_HOME"), home = variable("HOME");
  if (!config.empty() || !home.empty()) {
    const fs::path own = (config.empty() ? fs::path(home) / ".config" : fs::path(config)) / "kernelwright" / kFile;
    if (is_trusted(own)) found.push_back(own);
  }
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error && !folder.empty(); folder = folder.parent_path()) {
    if (is_trusted(folder / kFile)) {
      found.push_back(folder / kFile);
      break;
    }
    if (folder == folder.parent_path()) break;
  }
  return found;
}

std::string place_of(const fs::path& file, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", file.string(), region.begin.line, region.begin.column);
}

Result<std::string> value_of(const Setting& setting, const toml::node& node, const fs::path& folder) {
  const auto text = node.value_exact<std::string>();
  switch (setting.kind) {
    case Kind::text:
      if (text) return *text;
      return fail("{} is a text: {} = \"...\"", setting.name, setting.name);
    case Kind::path:
      if (text && !text->empty()) return (folder / *text).lexically_normal().string();
      return fail("{} is a path: {} = \"...\"", setting.name, setting.name);
    case Kind::number:
      if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
      if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
      return fail("{} is a number: {} = 2", setting.name, setting.name);
    case Kind::yes_or_no:
      if (const auto is = node.value_exact<bool>()) return std::string(*is ? "yes" : "no");
      return fail("{} is true or false", setting.name);
    case Kind::tables:
      if (node.is_table()) return std::string();
      return fail("{} stands in tables: [{}.NAME]", setting.name, setting.name);
  }
  return std::string();
}

Status read_into(Values& values, const fs::path& file) {
  KW_TRY(const std::string text, read_file(file, kMostBytes));
  try {
    const toml::table root = toml::parse(text, file.string());
    std::vector<std::string> names;
    for (const Setting& setting : all_settings()) names.push_back(setting.name);
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      const Setting* setting = find_setting(name);
      if (setting == nullptr) {
        return at(place_of(file, key.source()),
                  fail("no setting is called '{}'{}; kw --help lists them", name, nearest_hint(name, names)));
      }
      auto value = value_of(*setting, node, file.parent_path());
      if (!value.ok()) return at(place_of(file, node.source()), value.error());
      values[name] = *std::move(value);
    }
  } catch (const toml::parse_error& error) {
    return at(place_of(file, error.source()), fail("{}", error.description()));
  }
  return {};
}

// What an environment's word for yes and no may be.
std::string plain_yes_or_no(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "0" || word == "false" || word == "off") return "no";
  if (word == "1" || word == "true" || word == "on") return "yes";
  return word;
}

Status check_variables() {
  for (const Setting& setting : all_settings()) {
    if (setting.kind != Kind::yes_or_no) continue;
    const std::string word = plain_yes_or_no(variable(setting.variable()));
    if (!word.empty() && word != "yes" && word != "no") {
      return fail("{}={}: say yes or no", setting.variable(), variable(setting.variable()));
    }
  }
  return {};
}

}  // namespace

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> settings = {
      {"rival", Kind::text, "frameworks to compare with, as --rival takes them"},
      {"install", Kind::yes_or_no, "no: a command that needs a rival installs none by itself"},
      {"python", Kind::path, "a Python with frameworks of your own: torch is looked for there"},
      {"store", Kind::path, "where the record lies"},
      {"threads", Kind::number, "how many threads a kernel may use in kw eval"},
      {"budget", Kind::number, "seconds that the timing of a kernel may take in kw eval"},
      {"author", Kind::text, "who writes the kernels of a batch"},
      {"model", Kind::tables, "language models: a table [model.NAME] each, see kw ask --help"},
  };
  return settings;
}

std::string Setting::variable() const {
  std::string text = "KW_" + name;
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

Status check_config() {
  KW_CHECK(check_variables());
  Values values;
  for (const fs::path& file : files()) KW_CHECK(read_into(values, file));
  return {};
}

std::string setting(const std::string& name) {
  const Setting* known = find_setting(name);
  assert(known != nullptr);
  if (const std::string said = variable(known->variable()); !said.empty()) {
    return known->kind == Kind::yes_or_no ? plain_yes_or_no(said) : said;
  }
  Values values;
  for (const fs::path& file : files()) {
    // What is wrong with it was said when the program began.
    [[maybe_unused]] const Status status = read_into(values, file);
  }
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

std::string setting(const Arguments& arguments, const std::string& name) {
  if (arguments.has("--" + name)) return arguments.text("--" + name);
  return find_setting(name) == nullptr ? std::string() : setting(name);
}

fs::path config_with(const std::string& kind, const std::string& name) {
  const std::vector<fs::path> all = files();
  for (auto file = all.rbegin(); file != all.rend(); ++file) {
    const auto text = read_file(*file, kMostBytes);
    if (!text.ok()) continue;
    try {
      if (toml::parse(*text)[kind][name].is_table()) return *file;
    } catch (const toml::parse_error&) {
      // That was said when the program began.
    }
  }
  return {};
}

std::string settings_text() {
  std::string text;
  for (const Setting& setting : all_settings()) text += fmt::format("  {:<10} {}\n", setting.name, setting.about);
  return text;
}

}  // namespace kw::cli

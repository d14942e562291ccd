#include "settings/settings.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "base/toml.h"
#include "settings/devices.h"
#include "settings/trust.h"
#include "targets/names.h"

namespace kw::settings {
namespace {

namespace fs = std::filesystem;
using Kind = Setting::Kind;
using Values = std::map<std::string, std::string>;

constexpr char kFile[] = "kw.toml";

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

const Setting* find_setting(const std::string& name) {
  const auto found = std::ranges::find(all_settings(), name, &Setting::name);
  return found == all_settings().end() ? nullptr : &*found;
}

struct ConfigFile {
  fs::path path;
  bool is_own = false;  // the user's, and not one that came with a folder
};

// Where the user's own lies.
fs::path own_config() { return config_folder() / kFile; }

// The user's own first: what comes later wins. A file that others own or may write to is not among them.
std::vector<ConfigFile> files() {
  std::vector<ConfigFile> found;
  if (check_owner(own_config()).ok()) found.push_back({own_config(), true});
  if (const fs::path nearest = folder_config(); !nearest.empty() && check_owner(nearest).ok()) {
    std::error_code error;
    // Who works in the configuration folder works with the user's own.
    if (!fs::equivalent(nearest, own_config(), error)) found.push_back({nearest, false});
  }
  return found;
}

bool is_below(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder, error), whole = fs::weakly_canonical(path, error);
  return !error && std::ranges::mismatch(root, whole).in1 == root.end();
}

// What the setting of a folder's file does beyond that folder; "" where it does nothing there.
std::string reach_of(const Setting& setting, const std::string& value, const fs::path& folder) {
  if (setting.name == "python") return "it names a program that is run";
  if (setting.name == "model") return "it names programs that are run, or addresses to which texts and keys are sent";
  if (setting.name == "device") return "it names devices, and programs that reach them";
  if (setting.name == "target") {
    // It may be one of the user's own names for such a device.
    const auto device = device_named(value);
    if (!device.ok() || targets::reached_by_a_program(*device)) return "it names a device that a program reaches";
  }
  if (setting.kind == Kind::path && !is_below(folder, value)) return "it names a place outside of the folder";
  return {};
}

std::string place_of(const fs::path& file, const toml::source_region& region) {
  return place_in_toml(file.string(), region);
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

// What a file says, and the reach of those settings that need the user's trust.
struct Said {
  Values values;
  Values reaching;  // the reach by the setting's name
};

Result<Said> read_config(const fs::path& file, const std::string& text) {
  Said said;
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
      if (const std::string reach = reach_of(*setting, *value, file.parent_path()); !reach.empty()) {
        said.reaching[name] = reach;
      }
      said.values[name] = *std::move(value);
    }
  } catch (const toml::parse_error& error) {
    return at(place_of(file, error.source()), fail("{}", error.description()));
  }
  return said;
}

// What may be obeyed; the rest is in `ignored`.
Result<Values> obeyed_of(const ConfigFile& file, Values& ignored) {
  KW_TRY(const std::string text, read_file(file.path, kMostConfigBytes));
  KW_TRY(Said said, read_config(file.path, text));
  if (file.is_own || said.reaching.empty() || is_trusted(file.path, text)) return said.values;
  for (const auto& [name, reach] : said.reaching) said.values.erase(name);
  ignored = std::move(said.reaching);
  return said.values;
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
      {"target", Kind::text, "the device that kernels run on, as --on takes it"},
      {"device", Kind::tables, "devices by names of your own: a table [device.NAME] each, see kw devices --help"},
      {"install", Kind::yes_or_no, "no: a command that needs a rival installs none by itself"},
      {"python", Kind::path, "a Python with frameworks of your own: torch is looked for there"},
      {"store", Kind::path, "where the record lies"},
      {"threads", Kind::number, "how many threads a kernel may use in kw eval and kw optimize"},
      {"budget", Kind::number, "seconds that the timing of a kernel may take in kw eval"},
      {"author", Kind::text, "the author of the kernels of a batch"},
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
  for (const ConfigFile& file : files()) {
    Values ignored;
    if (const auto values = obeyed_of(file, ignored); !values.ok()) return values.error();
  }
  return {};
}

std::vector<std::string> config_warnings() {
  std::vector<std::string> warnings;
  std::error_code error;
  for (const fs::path& file : {own_config(), folder_config()}) {
    if (file.empty() || !fs::exists(file, error)) continue;
    if (const Status owner = check_owner(file); !owner.ok()) warnings.push_back(owner.error().message);
  }
  for (const ConfigFile& file : files()) {
    Values ignored;
    if (!obeyed_of(file, ignored).ok()) continue;
    for (const auto& [name, reach] : ignored) {
      warnings.push_back(fmt::format("{}: {} is ignored, since {}; read the file, and allow it with: kw trust {}",
                                     file.path.string(), name, reach, shell_word(file.path.string())));
    }
  }
  return warnings;
}

Result<std::vector<std::string>> settings_that_need_trust(const TextOfFile& file) {
  KW_TRY(const Said said, read_config(fs::absolute(file.path), file.text));
  std::vector<std::string> all;
  for (const auto& [name, reach] : said.reaching) all.push_back(fmt::format("{}: {}", name, reach));
  return all;
}

fs::path folder_config() {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error && !folder.empty(); folder = folder.parent_path()) {
    std::error_code missing;
    if (fs::exists(fs::symlink_status(folder / kFile, missing))) return folder / kFile;
    if (folder == folder.parent_path()) break;
  }
  return {};
}

std::string setting(const std::string& name) {
  const Setting* known = find_setting(name);
  assert(known != nullptr);
  if (const std::string said = variable(known->variable()); !said.empty()) {
    return known->kind == Kind::yes_or_no ? plain_yes_or_no(said) : said;
  }
  std::string value;
  for (const ConfigFile& file : files()) {
    // What is wrong with it was said when the program began.
    Values ignored;
    const auto values = obeyed_of(file, ignored);
    if (values.ok() && values->contains(name)) value = values->at(name);
  }
  return value;
}

bool is_setting(const std::string& name) { return find_setting(name) != nullptr; }

TextOfFile config_with(const std::string& kind, const std::string& name) {
  const std::vector<ConfigFile> all = files();
  for (auto file = all.rbegin(); file != all.rend(); ++file) {
    auto text = read_file(file->path, kMostConfigBytes);
    if (!text.ok() || !(file->is_own || is_trusted(file->path, *text))) continue;
    try {
      if (toml::parse(*text)[kind][name].is_table()) return {file->path, *std::move(text)};
    } catch (const toml::parse_error&) {
      // That was said when the program began.
    }
  }
  return {};
}

std::vector<std::string> tables_of(const std::string& kind) {
  std::set<std::string> names;
  for (const ConfigFile& file : files()) {
    const auto text = read_file(file.path, kMostConfigBytes);
    if (!text.ok() || !(file.is_own || is_trusted(file.path, *text))) continue;
    try {
      const toml::table root = toml::parse(*text);
      if (const toml::table* tables = root[kind].as_table()) {
        for (const auto& [name, node] : *tables) names.insert(std::string(name.str()));
      }
    } catch (const toml::parse_error&) {
      // That was said when the program began.
    }
  }
  return {names.begin(), names.end()};
}

std::string settings_text() {
  std::string text;
  for (const Setting& setting : all_settings()) text += fmt::format("  {:<10} {}\n", setting.name, setting.about);
  return text;
}

}  // namespace kw::settings

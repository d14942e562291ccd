#include "settings/trust.h"

#include "base/files.h"
#include "base/json.h"
#include "store/sha256.h"

namespace kw::settings {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

// The file itself may be a link to another folder's, and what it names is looked for beside the link: so the permission
// is for the link's place, and a link to a trusted file is not trusted.
std::string name_of(const fs::path& file) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(file).parent_path(), error);
  return (error ? fs::absolute(file) : folder / file.filename()).string();
}

Status keep(const Trusted& trusted) {
  std::error_code error;
  fs::create_directories(trust_file().parent_path(), error);
  return write_file(trust_file(), Json(trusted).dump(2) + "\n");
}

}  // namespace

fs::path trust_file() { return config_folder() / "trusted.json"; }

Trusted trusted_files() {
  // A list that others may write is no permission of this user.
  if (!check_owner(trust_file()).ok()) return {};
  const auto text = read_file(trust_file(), 16 * kMostBytes);
  const Json json = text.ok() ? Json::parse_quietly(*text) : Json();
  Trusted trusted;
  if (!json.is_object()) return trusted;
  for (const auto& [path, hash] : json.items()) {
    if (hash.is_string()) trusted[path] = hash.text();
  }
  return trusted;
}

bool is_trusted(const fs::path& file, const std::string& content) {
  const Trusted trusted = trusted_files();
  const auto found = trusted.find(name_of(file));
  return found != trusted.end() && found->second == store::sha256(content);
}

Status trust(const TextOfFile& file) {
  KW_CHECK(check_owner(file.path));
  Trusted trusted = trusted_files();
  trusted[name_of(file.path)] = store::sha256(file.text);
  return keep(trusted);
}

Result<bool> trust_no_more(const fs::path& file) {
  Trusted trusted = trusted_files();
  if (trusted.erase(name_of(file)) == 0) return false;
  KW_CHECK(keep(trusted));
  return true;
}

}  // namespace kw::settings

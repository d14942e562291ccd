#include "store/seal.h"

#include <sys/random.h>

#include <filesystem>

#include "base/files.h"
#include "store/database.h"
#include "store/records.h"
#include "store/sha256.h"
#include "store/store.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyDigits = 64;

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string new_key() {
  unsigned char bytes[kKeyDigits / 2];
  // Without random numbers there is no key, and nothing is sealed.
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return {};
  std::string key;
  for (const unsigned char byte : bytes) key += fmt::format("{:02x}", byte);
  return key;
}

std::string kept_key(const fs::path& file) {
  if (!check_owner(file).ok()) return {};
  const auto text = read_file(file, 4096, Links::refuse);
  return text.ok() && text->size() == kKeyDigits ? *text : std::string();
}

// The user's key, made where there is none. Where it cannot be kept, this process has one of its own: what it judges
// counts as long as it runs.
const std::string& key_in(const fs::path& folder) {
  static std::mutex lock;
  static std::map<fs::path, std::string> known;
  const std::lock_guard guard(lock);
  std::string& key = known[folder];
  if (!key.empty()) return key;
  const fs::path file = folder / "record.key";
  key = kept_key(file);
  if (!key.empty()) return key;
  std::error_code error;
  fs::create_directories(folder, error);
  key = new_key();
  // Another program may have been faster: then its key holds.
  if (!key.empty() && !make_private_file(file, key).ok()) {
    if (const std::string theirs = kept_key(file); !theirs.empty()) key = theirs;
  }
  return key;
}

// Of what a seal holds. The item's label says where a kernel comes from and what was seen beside others.
enum class Sealed { without_label /* before labels meant anything */, whole };

Result<std::string> content_of_verdict(const Database& database, std::int64_t item, Sealed sealed) {
  KW_TRY(Statement row,
         database.prepare(
             "SELECT run.origin, item.position, item.purpose, task.hash, candidate.hash, source.hash, machine.hash, "
             "verdict.at, stage, accepted, terms, time_ns, noise, roof_fraction, kept, key, json, build, item.label "
             "FROM verdict JOIN item ON item.id = verdict.item JOIN run ON run.id = item.run JOIN task ON task.id = "
             "item.task "
             "JOIN machine ON machine.id = verdict.machine LEFT JOIN candidate ON candidate.id = item.candidate "
             "LEFT JOIN source ON source.id = candidate.source "
             "WHERE verdict.item = ? AND verdict.run = item.run AND verdict.task = item.task"));
  row.bind(item);
  KW_TRY(const bool found, row.step());
  if (!found) return fail("there is no verdict on item {}", item);
  const bool whole = sealed == Sealed::whole;
  std::string content = whole ? "labelled verdict;" : "verdict;";
  for (int i = 0; i < row.columns() - (whole ? 0 : 1); ++i) content += parts_joined({row.text(i)});
  KW_TRY(Statement speedups,
         database.prepare("SELECT position, rival.name, rival.version, median, low, high, pairs, claimed, times FROM "
                          "speedup JOIN rival ON rival.id = speedup.rival WHERE item = ? ORDER BY position"));
  speedups.bind(item);
  for (;;) {
    KW_TRY(const bool another, speedups.step());
    if (!another) return content;
    for (int i = 0; i < speedups.columns(); ++i) content += parts_joined({speedups.text(i)});
  }
}

// A seal names the candidate and the machine by their hashes: the rows must be what those say. The task's row, which is
// the same for many verdicts, and the source's, which is large, are checked where they are read.
Result<bool> named_rows_are_right(const Database& database, std::int64_t item) {
  KW_TRY(Statement row,
         database.prepare("SELECT machine.hash, identity, machine.name, facts, candidate.hash, source.hash, file, "
                          "settings, author, notes, candidate.id FROM verdict JOIN item ON item.id = verdict.item "
                          "JOIN machine ON machine.id = verdict.machine "
                          "LEFT JOIN candidate ON candidate.id = item.candidate "
                          "LEFT JOIN source ON source.id = candidate.source WHERE verdict.item = ?"));
  row.bind(item);
  KW_TRY(const bool found, row.step());
  if (!found || hash_of(Machine{row.text(1), row.text(2), row.text(3)}) != row.text(0)) return false;
  if (row.is_null(4)) return true;
  Candidate candidate{
      .file = row.text(6), .source = {}, .settings = row.text(7), .author = row.text(8), .notes = row.text(9)};
  KW_TRY(Statement parents, database.prepare("SELECT candidate.hash FROM parent JOIN candidate ON candidate.id = "
                                             "parent.parent WHERE parent.candidate = ? ORDER BY parent.id"));
  parents.bind(row.integer(10));
  for (;;) {
    KW_TRY(const bool another, parents.step());
    if (!another) break;
    candidate.parents.push_back(parents.text(0));
  }
  return hash_of(candidate, row.text(5)) == row.text(4);
}

}  // namespace

std::string parts_joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += fmt::format("{}:{};", part.size(), part);
  return text;
}

std::string hmac_sha256(std::string_view key, std::string_view content) {
  std::string block = key.size() > kSha256Block ? bytes_of(sha256(key)) : std::string(key);
  block.resize(kSha256Block, '\0');
  std::string inner = block, outer = block;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256(outer + bytes_of(sha256(inner + std::string(content))));
}

std::string seal_of(std::string_view content) {
  const std::string& key = key_in(config_folder());
  return key.empty() ? std::string() : hmac_sha256(key, content);
}

bool is_seal_of(std::string_view content, std::string_view seal) { return !seal.empty() && seal_of(content) == seal; }

std::string content_of_run(const std::string& origin, const NewRun& run) {
  return "run;" + parts_joined({origin, run.command, run.suite, run.author, run.strategy, run.rules});
}

Status seal_verdict(const Database& database, std::int64_t item) {
  KW_TRY(const std::string content, content_of_verdict(database, item, Sealed::whole));
  KW_TRY(Statement change, database.prepare("UPDATE verdict SET seal = ? WHERE item = ?"));
  return change.bind(seal_of(content)).bind(item).run();
}

Result<bool> is_own_verdict(const Database& database, std::int64_t item) {
  KW_TRY(Statement row, database.prepare("SELECT seal FROM verdict WHERE item = ?"));
  row.bind(item);
  KW_TRY(const bool found, row.step());
  if (!found || row.text(0).empty()) return false;
  const std::string seal = row.text(0);
  for (const Sealed sealed : {Sealed::whole, Sealed::without_label}) {
    const auto content = content_of_verdict(database, item, sealed);
    if (content.ok() && is_seal_of(*content, seal)) return named_rows_are_right(database, item);
  }
  return false;
}

}  // namespace kw::store

// The writing of exchange.h.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "store/exchange.h"
#include "store/packed.h"

namespace kw::store {
namespace {

std::string line_of(const Json& json) { return json.dump(); }

Json parsed(const std::string& text) {
  Json json = Json::parse_quietly(text);
  return json.is_discarded() ? Json(nullptr) : json;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// What is no UTF-8 comes back as something else.
bool is_utf8(const std::string& text) { return Json::parse_quietly(Json(text).dump()) == Json(text); }

std::string hex_of(const std::string& bytes) {
  std::string digits;
  for (const char c : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits;
}

// All candidates of a run with their ancestors.
constexpr char kLine[] =
    "WITH RECURSIVE line(id) AS (SELECT candidate FROM item WHERE run = ? AND candidate IS NOT NULL "
    "UNION SELECT parent.parent FROM parent JOIN line ON parent.candidate = line.id) ";

class Exporter {
 public:
  Exporter(const Store& store, std::int64_t run, std::ostream& out) : store_(store), run_(run), out_(out) {}

  Status write() {
    KW_CHECK(write_run());
    KW_CHECK(write_machines());
    KW_CHECK(write_tasks());
    KW_CHECK(write_sources());
    KW_CHECK(write_candidates());
    KW_CHECK(write_rivals());
    KW_CHECK(store_.each_recorded(run_, [&](const Recorded& one) { return write_item(one); }));
    const int before = lines_;
    print({{"kind", "end"}, {"lines", before}});
    return {};
  }

 private:
  void print(const Json& json) {
    out_ << line_of(json) << "\n";
    ++lines_;
  }

  // Calls `each` for every row of a query about this run.
  template <class Each>
  Status rows(const std::string& sql, int bound, Each&& each) {
    KW_TRY(Statement rows, store_.database().prepare(sql));
    for (int i = 0; i < bound; ++i) rows.bind(run_);
    for (;;) {
      KW_TRY(const bool row, rows.step());
      if (!row) return {};
      KW_CHECK(each(rows));
    }
  }

  Status write_run() {
    KW_TRY(const RunSummary run, store_.run(run_));
    print({{"kind", "run"},
           {"format", kExchangeFormat},
           {"origin", run.origin},
           {"began_at", run.began_at},
           {"state", name_of(run.state)},
           {"command", run.about.command},
           {"suite", run.about.suite},
           {"author", run.about.author},
           {"strategy", run.about.strategy},
           {"seed", run.about.seed ? Json(*run.about.seed) : Json(nullptr)},
           {"rules", parsed(run.about.rules)}});
    return {};
  }

  Status write_machines() {
    return rows("SELECT id, identity, name, facts FROM machine WHERE id IN (SELECT machine FROM verdict WHERE run = ?)",
                1, [&](const Statement& row) -> Status {
                  print({{"kind", "machine"},
                         {"number", row.integer(0)},
                         {"identity", row.text(1)},
                         {"name", row.text(2)},
                         {"facts", parsed(row.text(3))}});
                  return {};
                });
  }

  Status write_tasks() {
    return rows("SELECT hash, name, suite, category, text FROM task WHERE id IN (SELECT task FROM item WHERE run = ?)",
                1, [&](const Statement& row) -> Status {
                  KW_TRY(const std::string text, unpack(row.text(4)));
                  print({{"kind", "task"},
                         {"hash", row.text(0)},
                         {"name", row.text(1)},
                         {"suite", row.text(2)},
                         {"category", row.text(3)},
                         {"text", text}});
                  return {};
                });
  }

  Status write_sources() {
    return rows(std::string(kLine) +
                    "SELECT hash, text FROM source WHERE id IN (SELECT source FROM candidate WHERE id IN line "
                    "UNION SELECT source FROM run_rival WHERE run = ?) ORDER BY hash",
                2, [&](const Statement& row) -> Status {
                  KW_TRY(const std::string text, unpack(row.text(1)));
                  Json json = {{"kind", "source"}, {"hash", row.text(0)}};
                  if (is_utf8(text)) {
                    json["text"] = text;
                  } else {
                    json["hex"] = hex_of(text);
                  }
                  print(json);
                  return {};
                });
  }

  // In the order of their rows parents stand before their children.
  Status write_candidates() {
    std::map<std::int64_t, Json> parents;
    KW_CHECK(rows(std::string(kLine) +
                      "SELECT parent.candidate, candidate.hash FROM parent JOIN candidate ON candidate.id = "
                      "parent.parent WHERE parent.candidate IN line ORDER BY parent.id",
                  1, [&](const Statement& row) -> Status {
                    parents[row.integer(0)].push_back(row.text(1));
                    return {};
                  }));
    return rows(std::string(kLine) +
                    "SELECT candidate.id, candidate.hash, source.hash, file, settings, author, notes FROM candidate "
                    "JOIN source ON source.id = source WHERE candidate.id IN line ORDER BY candidate.id",
                1, [&](const Statement& row) -> Status {
                  const auto found = parents.find(row.integer(0));
                  print({{"kind", "candidate"},
                         {"hash", row.text(1)},
                         {"source", row.text(2)},
                         {"file", row.text(3)},
                         {"settings", parsed(row.text(4))},
                         {"author", row.text(5)},
                         {"parents", found == parents.end() ? Json::array() : found->second},
                         {"notes", row.text(6)}});
                  return {};
                });
  }

  Status write_rivals() {
    return rows("SELECT name, hash FROM run_rival JOIN source ON source.id = source WHERE run = ? ORDER BY position", 1,
                [&](const Statement& row) -> Status {
                  print({{"kind", "rival"}, {"name", row.text(0)}, {"source", row.text(1)}});
                  return {};
                });
  }

  Status write_item(const Recorded& one) {
    Json json = {{"kind", "item"},
                 {"position", one.position},
                 {"purpose", name_of(one.purpose)},
                 {"task", text_or_null(one.task_hash)},
                 {"candidate", text_or_null(one.candidate_hash)},
                 {"build", parsed(one.build)},
                 {"label", parsed(one.label)},
                 {"problem", text_or_null(one.problem)},
                 {"verdict", nullptr}};
    if (one.judged) {
      Json against = Json::array();
      for (const Recorded::Against& each : one.speedups) {
        KW_TRY(const std::vector<Pair> pairs, unpack_pairs(each.packed_times));
        Json times = Json::array();
        for (const Pair& pair : pairs) times.push_back(Json::array({pair.a_ns, pair.b_ns}));
        against.push_back({{"rival", each.rival},
                           {"version", each.version},
                           {"median", each.median},
                           {"low", each.low},
                           {"high", each.high},
                           {"pairs", each.pairs},
                           {"claimed", each.claimed},
                           {"times", std::move(times)}});
      }
      json["verdict"] = {
          {"at", one.at},     {"spent_s", one.spent_s}, {"machine", one.machine},      {"terms", one.terms},
          {"kept", one.kept}, {"key", one.key},         {"verdict", parsed(one.json)}, {"against", std::move(against)}};
    }
    print(json);
    return {};
  }

  const Store& store_;
  const std::int64_t run_;
  std::ostream& out_;
  int lines_ = 0;
};

// A field of a table by RFC 4180. Spreadsheets compute a field that begins with one of these signs, which may come from
// anybody's name: such a text gets an apostrophe in front, as spreadsheets themselves mark texts. Numbers stay.
std::string field(std::string text) {
  char* end = nullptr;
  const bool computed = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  if (computed && (std::strtod(text.c_str(), &end), *end != '\0')) text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : std::string(); }

std::string row_of(const std::vector<std::string>& fields) {
  std::string row;
  for (const std::string& one : fields) row += (row.empty() ? "" : ",") + field(one);
  return row + "\r\n";
}

// Letters that every file system and every shell bears.
std::string safe(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result.substr(0, 80);
}

}  // namespace

Status export_json_lines(const Store& store, std::int64_t run, std::ostream& out) {
  return Exporter(store, run, out).write();
}

Status export_table(const Store& store, std::int64_t run, std::ostream& out) {
  std::set<std::string> rivals;
  std::map<std::int64_t, std::string> machines;
  KW_CHECK(store.each_recorded(run, [&](const Recorded& one) -> Status {
    for (const Recorded::Against& each : one.speedups) rivals.insert(each.rival);
    if (one.judged && !machines.contains(one.machine)) {
      KW_TRY(const Machine machine, store.machine(one.machine));
      machines[one.machine] = fmt::format("{} ({})", machine.name, machine.identity.substr(0, 8));
    }
    return {};
  }));
  std::vector<std::string> heads = {"position",      "purpose",  "task",     "suite",     "category", "file",
                                    "source",        "author",   "settings", "build",     "label",    "problem",
                                    "stage",         "accepted", "reason",   "max_error", "time_ns",  "terms",
                                    "roof_fraction", "noise",    "at",       "spent_s",   "machine"};
  for (const std::string& rival : rivals) {
    for (const char* what : {"speedup", "low", "high", "pairs", "claimed", "version"}) {
      heads.push_back(fmt::format("{} {}", rival, what));
    }
  }
  out << row_of(heads);
  return store.each_recorded(run, [&](const Recorded& one) -> Status {
    const Json verdict = one.judged ? parsed(one.json) : Json::object();
    const auto of_verdict = [&](const char* key) {
      if (!verdict.is_object() || !verdict.contains(key) || verdict[key].is_null()) return std::string();
      return verdict[key].is_string() ? verdict[key].get<std::string>() : verdict[key].dump();
    };
    std::vector<std::string> fields = {std::to_string(one.position),
                                       std::string(name_of(one.purpose)),
                                       one.task,
                                       one.suite,
                                       one.category,
                                       one.file,
                                       one.source_hash,
                                       one.author,
                                       one.settings,
                                       one.build,
                                       one.label == "null" ? "" : one.label,
                                       one.problem,
                                       one.stage,
                                       one.judged ? (one.accepted ? "true" : "false") : "",
                                       of_verdict("reason"),
                                       of_verdict("max_error"),
                                       number(one.time_ns),
                                       one.terms,
                                       number(one.roof_fraction),
                                       number(one.noise),
                                       one.at,
                                       one.judged ? fmt::format("{}", one.spent_s) : "",
                                       one.judged ? machines[one.machine] : ""};
    for (const std::string& rival : rivals) {
      const auto found = std::ranges::find(one.speedups, rival, &Recorded::Against::rival);
      if (found == one.speedups.end()) {
        fields.resize(fields.size() + 6);
        continue;
      }
      for (const double value : {found->median, found->low, found->high}) fields.push_back(fmt::format("{}", value));
      fields.push_back(std::to_string(found->pairs));
      fields.push_back(found->claimed ? "true" : "false");
      fields.push_back(found->version);
    }
    out << row_of(fields);
    return {};
  });
}

Result<int> export_kernels(const Store& store, std::int64_t run, const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return fail("{}: cannot be made: {}", folder.string(), code.message());
  int files = 0;
  const auto write_kernel = [&](const Recorded& one) -> Status {
    if (one.source_hash.empty()) return {};
    KW_TRY(const std::string text, store.source(one.source_hash));
    const std::string ending = one.file.ends_with(".c") ? ".c" : ".cpp";
    const std::string outcome = one.judged ? one.stage : "open";
    KW_CHECK(
        write_file(folder / fmt::format("{:04}_{}_{}{}", one.position, safe(one.task), safe(outcome), ending), text));
    ++files;
    return {};
  };
  KW_CHECK(store.each_recorded(run, write_kernel));
  std::ostringstream table;
  KW_CHECK(export_table(store, run, table));
  KW_CHECK(write_file(folder / "index.csv", table.str()));
  return files;
}

}  // namespace kw::store

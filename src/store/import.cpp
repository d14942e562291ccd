// The reading of exchange.h.
#include <map>
#include <sstream>

#include "base/json.h"
#include "store/exchange.h"
#include "store/packed.h"
#include "store/sha256.h"

namespace kw::store {

namespace {

// The readers below throw where a key is missing or of another type; Import::line catches.
std::string text_at(const Json& json, const char* key) { return json.at(key).get<std::string>(); }
std::string text_or_nothing(const Json& json, const char* key) {
  return json.at(key).is_null() ? std::string() : text_at(json, key);
}
std::optional<double> number_or_nothing(const Json& json, const char* key) {
  return json.at(key).is_null() ? std::nullopt : std::optional(json.at(key).get<double>());
}

Result<std::string> from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    char* end = nullptr;
    const std::string two = digits.substr(i, 2);
    bytes += static_cast<char>(std::strtol(two.c_str(), &end, 16));
    if (*end != '\0') return fail("'{}' is not hexadecimal", two);
  }
  if (digits.size() % 2 != 0) return fail("an odd number of hexadecimal digits");
  return bytes;
}

}  // namespace

class Import {
 public:
  explicit Import(Store& store) : store_(store) {}

  Result<Imported> run(const NextLine& next, const std::string& place) {
    KW_TRY(Transaction transaction, Transaction::begin(store_.database_));
    for (std::string one;;) {
      KW_TRY(const bool another, next(one));
      if (!another) break;
      ++number_;
      if (Status read = line(one); !read.ok()) return at(fmt::format("{}:{}", place, number_), read.error());
      if (was_here_) return Imported{run_, true};
    }
    if (!ended_)
      return fail("{}: cut off: behind line {} more must follow, the last being kind \"end\"", place, number_);
    KW_CHECK(store_.insert_event(run_, EventKind::imported, place));
    KW_TRY(Statement change, store_.database_.prepare("UPDATE run SET state = ? WHERE id = ?"));
    KW_CHECK(
        change.bind(std::string(name_of(state_named(state_) == RunState::done ? RunState::done : RunState::stopped)))
            .bind(run_)
            .run());
    KW_CHECK(transaction.commit());
    return Imported{run_, false};
  }

 private:
  Status line(const std::string& text) {
    const Json json = Json::parse_quietly(text);
    if (!json.is_object()) return fail("not a JSON object");
    if (ended_) return fail("nothing may follow the line of kind \"end\"");
    try {
      const std::string kind = text_at(json, "kind");
      if (kind == "run") return take_run(json);
      if (run_ == 0) return fail("the first line must be of kind \"run\": was this written by kw export?");
      if (kind == "machine") return take_machine(json);
      if (kind == "task") return take_task(json);
      if (kind == "source") return take_source(json);
      if (kind == "candidate") return take_candidate(json);
      if (kind == "rival") return take_rival(json);
      if (kind == "item") return take_item(json);
      if (kind == "end") return take_end(json);
      return fail("unknown kind \"{}\"", kind);
    } catch (const JsonError& error) {
      return fail("{}", error.what());
    }
  }

  Status take_run(const Json& json) {
    if (run_ != 0) return fail("a second line of kind \"run\"");
    if (const int format = json.at("format"); format != kExchangeFormat) {
      return fail("written in format {}, and this kw reads {}: install the newer one", format, kExchangeFormat);
    }
    const std::string origin = text_at(json, "origin");
    KW_TRY(Statement find, store_.database_.prepare("SELECT id FROM run WHERE origin = ?"));
    find.bind(origin);
    KW_TRY(was_here_, find.step());
    if (was_here_) {
      run_ = find.integer(0);
      return {};
    }
    state_ = text_at(json, "state");
    const NewRun run = {
        .command = text_at(json, "command"),
        .suite = text_at(json, "suite"),
        .author = text_at(json, "author"),
        .strategy = text_at(json, "strategy"),
        .seed = json.at("seed").is_null() ? std::nullopt : std::optional(json.at("seed").get<std::int64_t>()),
        .rules = json.at("rules").dump()};
    KW_TRY(run_, store_.insert_run(run, origin, text_at(json, "began_at")));
    return {};
  }

  Status take_machine(const Json& json) {
    KW_TRY(machines_[json.at("number")],
           store_.add_machine({text_at(json, "identity"), text_at(json, "name"), json.at("facts").dump()}));
    return {};
  }

  Status take_task(const Json& json) {
    const TaskSnapshot task = {text_at(json, "name"), text_at(json, "suite"), text_at(json, "category"),
                               text_at(json, "text")};
    if (hash_of(task) != text_at(json, "hash")) return fail("the task was changed: it is not what its hash says");
    KW_TRY(tasks_[text_at(json, "hash")], store_.add_task(task));
    return {};
  }

  Status take_source(const Json& json) {
    std::string text;
    if (json.contains("hex")) {
      KW_TRY(text, from_hex(text_at(json, "hex")));
    } else {
      text = text_at(json, "text");
    }
    if (sha256(text) != text_at(json, "hash")) return fail("the source was changed: it is not what its hash says");
    KW_TRY(sources_[text_at(json, "hash")], store_.add_source(text));
    return {};
  }

  Result<std::int64_t> source_named(const std::string& hash) const {
    const auto found = sources_.find(hash);
    if (found == sources_.end()) return fail("no source with the hash {} stands before this line", hash);
    return found->second;
  }

  Status take_candidate(const Json& json) {
    Candidate candidate = {.file = text_at(json, "file"),
                           .source = {},
                           .settings = json.at("settings").dump(),
                           .author = text_at(json, "author"),
                           .parents = json.at("parents").get<std::vector<std::string>>(),
                           .notes = text_at(json, "notes")};
    const std::string source_hash = text_at(json, "source");
    KW_TRY(const std::int64_t source, source_named(source_hash));
    const std::string hash = hash_of(candidate, source_hash);
    if (hash != text_at(json, "hash")) return fail("the candidate was changed: it is not what its hash says");
    // At once, so that its children find it.
    KW_TRY(candidates_[hash], store_.add_candidate(candidate, hash, source));
    return {};
  }

  Status take_rival(const Json& json) {
    KW_TRY(const std::int64_t source, source_named(text_at(json, "source")));
    KW_TRY(Statement insert,
           store_.database_.prepare("INSERT INTO run_rival (run, position, name, source) VALUES (?, ?, ?, ?)"));
    return insert.bind(run_).bind(rivals_++).bind(text_at(json, "name")).bind(source).run();
  }

  Status take_item(const Json& json) {
    const std::string purpose_name = text_at(json, "purpose");
    const std::optional<Purpose> purpose = purpose_named(purpose_name);
    if (!purpose) return fail("an item is for '{}', which this kw does not know", purpose_name);
    NewItem item = {.position = json.at("position"),
                    .purpose = *purpose,
                    .build = json.at("build").dump(),
                    .label = json.at("label").dump(),
                    .problem = text_or_nothing(json, "problem")};
    std::optional<std::int64_t> task, candidate;
    if (const std::string hash = text_or_nothing(json, "task"); !hash.empty()) {
      const auto found = tasks_.find(hash);
      if (found == tasks_.end()) return fail("no task with the hash {} stands before this line", hash);
      task = found->second;
    }
    if (const std::string hash = text_or_nothing(json, "candidate"); !hash.empty()) {
      const auto found = candidates_.find(hash);
      if (found == candidates_.end()) return fail("no candidate with the hash {} stands before this line", hash);
      candidate = found->second;
    }
    if (item.problem.empty() && !(task && candidate)) {
      return fail("an item without a problem needs a task and a candidate");
    }
    KW_TRY(const std::int64_t id, store_.insert_item(run_, item, task, candidate));
    const Json& verdict = json.at("verdict");
    if (verdict.is_null()) return {};
    if (!task) return fail("a verdict on no task");
    KW_TRY(const Recorded recorded, recorded_of(verdict));
    return store_.insert_verdict(id, recorded);
  }

  Result<Recorded> recorded_of(const Json& json) const {
    Recorded one;
    one.at = text_at(json, "at");
    one.spent_s = json.at("spent_s");
    const auto machine = machines_.find(json.at("machine"));
    if (machine == machines_.end()) return fail("no machine {} stands before this line", json.at("machine").dump());
    one.machine = machine->second;
    one.terms = text_at(json, "terms");
    one.kept = json.at("kept");
    one.key = text_at(json, "key");
    const Json& verdict = json.at("verdict");
    one.stage = text_at(verdict, "stage");
    one.accepted = verdict.at("accepted");
    one.time_ns = number_or_nothing(verdict, "time_ns");
    one.noise = number_or_nothing(verdict, "noise");
    one.roof_fraction = number_or_nothing(verdict, "roof_fraction");
    one.json = verdict.dump();
    for (const Json& each : json.at("against")) {
      std::vector<Pair> pairs;
      for (const Json& pair : each.at("times")) pairs.push_back({pair.at(0), pair.at(1)});
      const double median = each.at("median");
      if (!(median > 0)) return fail("a speed-up is above 0, not {}", median);
      one.speedups.push_back({text_at(each, "rival"), text_at(each, "version"), median, each.at("low"), each.at("high"),
                              each.at("pairs"), each.at("claimed"), pack_pairs(pairs)});
    }
    return one;
  }

  Status take_end(const Json& json) {
    const int lines = json.at("lines");
    if (lines != number_ - 1) return fail("{} lines stand before this one, and it says {}", number_ - 1, lines);
    ended_ = true;
    return {};
  }

  Store& store_;
  int number_ = 0;  // of the line
  std::int64_t run_ = 0;
  std::string state_;
  bool was_here_ = false;
  bool ended_ = false;
  int rivals_ = 0;
  std::map<std::int64_t, std::int64_t> machines_;  // their ids here, by those of the file
  // Rows by hashes.
  std::map<std::string, std::int64_t> tasks_;
  std::map<std::string, std::int64_t> sources_;
  std::map<std::string, std::int64_t> candidates_;
};

NextLine lines_in(std::string text) {
  return [stream = std::make_shared<std::istringstream>(std::move(text))](std::string& line) -> Result<bool> {
    return static_cast<bool>(std::getline(*stream, line));
  };
}

Result<Imported> import_json_lines(Store& store, const NextLine& next, const std::string& place) {
  return Import(store).run(next, place);
}

}  // namespace kw::store

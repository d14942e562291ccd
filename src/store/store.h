// The record: everything that happened in a folder of work, in one SQLite file, complete up to the last instant before
// a crash.
//
// A call that writes returns when the change is on the disk, or has changed nothing. Several programs may use a store
// at once. The verdict's JSON comes from the caller: the store knows columns, not the judge.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "store/records.h"

namespace kw::store {

// "2026-01-31T12:00:00.000Z"
std::string time_now();

// The hash under which a candidate is kept: of its source and all that is said of it.
std::string hash_of(const Candidate& candidate);
// The same without its source, of which the hash is enough.
std::string hash_of(const Candidate& candidate, const std::string& source_hash);
std::string hash_of(const Machine& machine);
std::string hash_of(const TaskSnapshot& task);

class Store {
 public:
  // The file in a folder.
  static std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "store.db"; }
  static bool is_in(const std::filesystem::path& folder);

  // Makes the folder and the store where there is none; an older store is brought forward.
  static Result<Store> open(const std::filesystem::path& folder);
  // Fails where there is none, saying how one comes to be.
  static Result<Store> open_existing(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const Database& database() const { return database_; }

  // --- writing -----------------------------------------------------------------------------------------------------
  Result<std::int64_t> add_machine(const Machine& machine);
  // The run with all that is planned, whole or not at all.
  Result<std::int64_t> begin_run(const NewRun& run, std::span<const NewItem> items);
  Result<std::int64_t> add_item(std::int64_t run, const NewItem& item);
  // Fails where the item has a verdict already.
  Status record(std::int64_t item, const Verdict& verdict, const std::string& json, const Circumstances& around);
  // An item with its verdict, both or neither: for a search, which plans as it goes.
  Status add_judged(std::int64_t run, const NewItem& item, const Verdict& verdict, const std::string& json,
                    const Circumstances& around);
  // Makes all that came from elsewhere count as judged here: only where the user has said so.
  struct Adopted {
    int runs = 0;
    int verdicts = 0;
  };
  Result<Adopted> adopt_all();
  // A new state and an event that says so.
  Status set_state(std::int64_t run, RunState state, const std::string& text = "");
  Status note(std::int64_t run, EventKind kind, const std::string& text);
  // With everything that nothing else uses.
  Status remove_run(std::int64_t run);

  // --- looking up --------------------------------------------------------------------------------------------------
  // Newest first.
  Result<std::vector<RunSummary>> runs() const;
  Result<RunSummary> run(std::int64_t id) const;
  // By what a person says: "r3". Unknown names get the nearest ones.
  Result<RunSummary> newest_run() const;
  Result<RunSummary> find_run(const std::string& name) const;
  Result<std::vector<RivalSource>> against(std::int64_t run) const;
  // What has neither a verdict nor a problem, in order.
  Result<std::vector<Item>> open_items(std::int64_t run) const;
  // Every item of the run in order, one at a time.
  using EachRecorded = std::function<Status(const Recorded& recorded)>;
  Status each_recorded(std::int64_t run, const EachRecorded& each) const;
  Result<std::vector<Event>> events(std::int64_t run) const;
  Result<Machine> machine(std::int64_t id) const;
  Result<std::string> source(const std::string& hash) const;
  Result<TaskSnapshot> task(const std::string& hash) const;
  // With its source and the hashes of its parents, in their order.
  Result<Candidate> candidate(const std::string& hash) const;
  // A verdict of this user's own with this key, its times included, and its JSON; none where there is none.
  struct Earlier {
    std::string json;
    std::vector<Recorded::Against> speedups;
  };
  Result<std::optional<Earlier>> earlier(const std::string& key) const;

  // Hashes of the snapshots of a task's name, the one judged last first.
  Result<std::vector<std::string>> snapshots_of(const std::string& task_name) const;
  // Accepted and timed, of one snapshot on one machine, by this user's own kw; the newest first.
  Result<std::vector<AcceptedKernel>> accepted_kernels(const std::string& task_hash,
                                                       const std::string& machine_identity) const;
  // How many accepted verdicts of a task's name do not count: of other machines, other snapshots, other users, or never
  // timed.
  struct Elsewhere {
    std::int64_t other_machines = 0;
    std::int64_t other_snapshots = 0;
    std::int64_t untimed = 0;
    std::int64_t foreign = 0;  // imported, or of a record that came from elsewhere: store/seal.h
  };
  Result<Elsewhere> elsewhere(const std::string& task_name, const std::string& task_hash,
                              const std::string& machine_identity) const;

 private:
  friend class Import;
  Result<std::int64_t> add_task(const TaskSnapshot& task);
  Result<std::int64_t> add_source(const std::string& text);
  Result<std::int64_t> add_candidate(const Candidate& candidate);
  Result<std::int64_t> add_candidate(const Candidate& candidate, const std::string& hash, std::int64_t source);
  Result<std::int64_t> add_rival(const std::string& name, const std::string& version);
  Result<std::int64_t> insert_run(const NewRun& run, const std::string& origin, const std::string& began_at);
  Result<std::int64_t> insert_item(std::int64_t run, const NewItem& item);
  Result<std::int64_t> insert_item(std::int64_t run, const NewItem& item, std::optional<std::int64_t> task,
                                   std::optional<std::int64_t> candidate);
  Status insert_verdict(std::int64_t item, const Recorded& recorded);
  Status insert_event(std::int64_t run, EventKind kind, const std::string& text);

  std::filesystem::path folder_;
  Database database_;
};

}  // namespace kw::store

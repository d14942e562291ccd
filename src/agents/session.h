// One author at work on one task: step, judge, record, and again, until the rounds or the budget are spent.
//
// Every round is passed to the listeners before the next one begins, so that a record is complete up to a crash.
// Several sessions may go on at once over one judge: they build and examine side by side, and time one after the other.
// A session that was broken off goes on from its recorded rounds (round_record.h).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "agents/author.h"
#include "agents/decisions.h"
#include "judge/floor.h"
#include "judge/judge.h"

namespace kw::agents {

// The kernel that an author begins with.
struct Start {
  enum class Kind { nothing, plain, own, best } kind = Kind::nothing;
  std::string source = {};  // of `own`, the user's file, and of `best`, the fastest of the record
};
std::string_view name_of(Start::Kind kind);

struct SessionOptions {
  AuthorKind author;
  int rounds = 0;     // 0: as many as the author usually takes
  judge::Case rules;  // how rounds are judged: threads, caches, time
  // Measured once, beside the first right kernel, so that the author knows what it is up against.
  std::vector<judge::FrameworkRival*> frameworks;
  int tune = 12;  // points of a right kernel's tunables that are tried after each round that brings one; no tokens
  std::filesystem::path repository;  // sources to show besides our own; empty: none
  std::string lessons;               // of like tasks
  Start start;
  std::vector<Round> before;         // rounds of the same task that an earlier program recorded, from 0 on
  judge::Floor* floor = nullptr;     // shared with the other sessions over the same judge
  Decisions* decisions = nullptr;    // of a tape that is recorded or replayed
  Journal* journal = nullptr;        // of the round that has not ended
  std::optional<std::int64_t> seed;  // of sampling
};

// Where the time of a session went; `own_s` is the time of kw itself.
struct Times {
  double whole_s = 0;
  double model_s = 0;
  double judge_s = 0;  // the tuner included
  double own_s() const { return whole_s - model_s - judge_s; }
};

struct SessionResult {
  Work work;  // every round
  Times times;
  std::string over;                   // why it ended early; empty: it did not
  bool hopeless = false;              // the cause would stop other sessions with the same client too
  std::vector<std::string> troubles;  // with the model, in order
  std::string surrogate;              // how reliable its guesses were, of an author that has one
  std::string replay;                 // how many verdicts of now are those of the tape that was played
};

// A second race of a round with the incumbent, three times as long, where the first could not tell them apart.
judge::Case longer_look(judge::Case asked, std::shared_ptr<const judge::Built> incumbent);

// Called after each round; an Error ends the session.
using EachRound = std::function<Status(const Round& round, const judge::Case& asked, double spent_s)>;

// An Error means a broken machine; trouble with the model is in the SessionResult. `task` and `graph` must outlive it.
Result<SessionResult> run_session(judge::Judge& judge, const Task& task, const ops::Graph& graph, llm::Client& client,
                                  const Prompts& prompts, const SessionOptions& options, const EachRound& each,
                                  const std::stop_token& stop = {});

}  // namespace kw::agents

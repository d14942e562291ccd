// Who writes kernels with a language model: one file each in authors/. An author looks at what was done so far and
// takes the next step: it asks the model, and comes back with a kernel or with why there is none. Judging, recording
// and the end of it all are the session's business.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "agents/prompt.h"
#include "base/result.h"
#include "core/task.h"
#include "core/tunables.h"
#include "core/verdict.h"
#include "llm/client.h"
#include "ops/graph.h"

namespace kw::agents {

// Who made a round. Stored by name.
enum class RoundRole {
  start,        // the kernel that the author was given
  coder,        // an author that writes without a plan
  debugger,     // repairs a kernel that was rejected
  accelerator,  // makes a right kernel faster
  tuner,        // other values of a kernel's tunables, without the model
  confirm       // the best, judged once more
};
std::string_view name_of(RoundRole role);
std::optional<RoundRole> role_named(std::string_view name);

// One step: what was planned, what came of it.
struct Round {
  int number = 0;
  int parent = -1;  // the round whose kernel it began with; -1: none
  RoundRole role = RoundRole::coder;
  std::map<std::string, std::string> plan;
  std::string reflection;  // what the next plan says that this round taught
  std::string source;
  Settings settings;
  int edits = 0;        // the kernel came as so many edits; 0: whole
  std::string problem;  // why there is no kernel; then there is no verdict
  std::optional<Verdict> verdict;
  std::string performance;  // for prompts

  bool right() const { return verdict && verdict->accepted(); }
  // Times as fast as the plain kernel, or as the first rival; 0 where it is not right.
  double speed() const;
};

// A task and everything that was tried on it.
struct Work {
  const Task* task = nullptr;
  const ops::Graph* graph = nullptr;
  std::string start;  // the kernel to begin with: the user's own, or the plain one, which is right and slow
  Facts facts;        // "task", "sources", "lessons": the same in every round
  std::vector<Round> rounds;

  // The fastest right one; none while there is none.
  const Round* best() const;
};

// The model, the prompts, and whether it is worth asking on.
class Talk {
 public:
  Talk(llm::Client& client, const Prompts& prompts, std::stop_token stop)
      : client_(client), prompts_(prompts), stop_(std::move(stop)) {}

  const Prompts& prompts() const { return prompts_; }
  // The answer's text; none where there was trouble, which `problem` then tells.
  std::optional<std::string> ask(std::vector<llm::Message> messages, std::string& problem,
                                 std::optional<double> temperature = {});
  // Set when nothing that is asked can be answered any more: why.
  const std::string& over() const { return over_; }
  // And nobody else who asks the same model can be answered either.
  bool hopeless() const { return hopeless_; }
  // What went wrong with requests, in order.
  const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  llm::Client& client_;
  const Prompts& prompts_;
  std::stop_token stop_;
  std::string over_;
  bool hopeless_ = false;
  std::vector<std::string> troubles_;
};

class Author {
 public:
  virtual ~Author() = default;
  // The next step, without number and verdict. May give the last round its reflection.
  // An author may be made in the middle of the work: all that it needs of earlier rounds is in `work`.
  virtual Round next(Work& work, Talk& talk) = 0;
};

struct AuthorKind {
  std::string name;
  std::string about;
  int usual_rounds = 1;
  bool judges_the_start = false;  // the kernel to begin with is judged first, as round 0
  std::unique_ptr<Author> (*make)() = nullptr;
};

namespace authors {
using Maker = AuthorKind (*)();
extern const std::span<const Maker> table;
}  // namespace authors

std::vector<AuthorKind> all_authors();
// By name; an unknown one gets the nearest.
Result<AuthorKind> find_author(const std::string& name);

// Gives the round the kernel that an answer comes down to, or the problem with it; `base` is what edits refer to.
void take_code(Round& round, const std::string& answer, const std::string& base);

// A kernel in one answer to one question, the kernel to begin with in it.
Round ask_for_kernel(const Work& work, Talk& talk, std::optional<double> temperature = {});

// What the judge said, for a prompt: the reason and the errors, or how fast it is.
std::string verdict_text(const Round& round);
// The rounds in a line or two each, the newest last.
std::string history_text(const Work& work);

}  // namespace kw::agents

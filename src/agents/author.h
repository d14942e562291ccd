// Authors: programs that write kernels by asking a language model, one file each in authors/. An author looks at the
// rounds so far and takes the next step: it asks the model, and returns a kernel or the reason why there is none. The
// session judges, records and decides when to stop (session.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agents/talk.h"
#include "agents/work.h"
#include "base/result.h"

namespace kw::agents {

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
  std::optional<double> temperature = {};  // for its questions; none: the endpoint's default
  bool judges_the_start = false;           // the kernel to begin with is judged first, as round 0
  bool mends = false;                      // within a round, the model is asked to repair a kernel that does not build
  bool guesses = false;        // kernels that a surrogate predicts to be slow are not measured (surrogate.h)
  std::string own_model = {};  // the folder of models/ with a model that was trained for this author
  std::unique_ptr<Author> (*make)() = nullptr;
};

namespace authors {
using Maker = AuthorKind (*)();
extern const std::span<const Maker> table;
}  // namespace authors

std::vector<AuthorKind> all_authors();
// By name; the Error for an unknown name offers the nearest.
Result<AuthorKind> find_author(const std::string& name);
// The author's own model, where it lies beside the program's data, as a model's name; else empty.
std::string own_model_of(const AuthorKind& kind);

// Gives the round the kernel that an answer comes down to, or the problem with it; `base` is what edits refer to.
void take_code(Round& round, const std::string& answer, const std::string& base);

// The question of the authors that ask one question: the task, and the kernel to begin with where there is one.
std::string first_question(const Work& work, const Talk& talk, const std::string& other = "");

// A kernel in one answer to one question, the kernel to begin with in it.
Round ask_for_kernel(const Work& work, Talk& talk, std::optional<double> temperature = {});

// Asks until an answer contains code, at most three times. After a useless answer the model is told at once what is
// wrong with it, and which place it may have meant. Problems of earlier tries go to the round's `mended` list.
void ask_for_code(Round& round, const std::string& question, const std::string& base, Talk& talk,
                  std::optional<double> temperature = {});

// A variation of a kernel: `wish` says what to change, `other` is a second kernel to take ideas from; null: none.
Round ask_to_vary(const Work& work, const Round& base, const Round* other, const std::string& wish, Talk& talk);

// The fact "cited": what the repository at hand has for the names and places in the round's errors.
void cite_repository(Facts& facts, const Round& round, const Talk& talk);

// Once more for a kernel that did not build: the errors, and the lines around them. False: the model gave none.
bool ask_to_mend(Round& round, const Work& work, Talk& talk);

}  // namespace kw::agents

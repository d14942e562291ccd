// A folder of sources that a reader may ask about: a map of it within a budget, the files of a folder, where a word
// stands, and the lines of a file or of one function. What a model looks up before it answers.
//
// Paths come from outside: only files of the map are read, and a link is never followed out of the folder.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/tree.h"

namespace kw::inspect {

// One thing to look up.
struct Look {
  enum class Verb { list, find, read } verb = Verb::list;
  std::string what;   // a folder, a word, a file
  std::string scope;  // of a file: the function or type to read; empty: by lines
  int first = 1;      // lines
  int last = 0;       // 0: as many as fit
};
// "LIST source/cpu", "FIND softmax", "READ a.cpp 10-80", "READ a.cpp softmax_row"; none where it is nothing of that.
std::optional<Look> look_of(const std::string& line);

class Repository {
 public:
  // Reads every source below the folder. What was read before in this process is taken over for files whose size and
  // time are the same.
  static Result<Repository> open(const std::filesystem::path& folder);

  std::string name() const { return folder_.filename().string(); }
  const std::vector<TreeFile>& files() const { return *files_; }
  // The files most like the subject with their signatures, and the bodies of the functions most like it, within the
  // budget.
  std::string map(const std::vector<std::string>& subject, int most_tokens) const;
  // What each look shows, together within the budget; of what is not there, the nearest.
  std::string show(const std::vector<Look>& looks, int most_tokens) const;

 private:
  std::string show_one(const Look& look, std::size_t most) const;
  const TreeFile* file_named(const std::string& path) const;
  std::string lines(const TreeFile& file, int first, int last, std::size_t most) const;

  std::filesystem::path folder_;
  std::shared_ptr<const std::vector<TreeFile>> files_;  // sorted by path
};

}  // namespace kw::inspect

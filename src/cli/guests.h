// Which frameworks a command compares kernels with: what the setting rival says, else all that are installed.
//
// A command that needs rivals calls Guests::chosen(arguments) and hands of(task) to the judge. MNN and ONNX Runtime are
// installed on the way where they are missing, unless the setting install says no; without a network a line on stderr
// says so and the command goes on with what there is. What was named and is not there is left out of every verdict,
// by name and with the reason.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "rivals/framework.h"

namespace kw::cli {

class Guests {
 public:
  // The option for a command's table.
  static Option option();
  // Nobody where the command is not to time anything (--untimed).
  static Result<Guests> chosen(const Arguments& arguments);
  // By what --rival could say.
  static Result<Guests> chosen(const std::string& said);

  // What chooses the same again: "mnn,onnxruntime", "best" or "none".
  std::string names() const;

  // Those for a task: all, or with "best" the one that was the fastest of those that run it right, in a timing that is
  // kept; whoever was not timed on this task yet is timed now. The judge measures it again, side by side.
  Result<std::vector<judge::Guest*>> of(const Task& task, int threads) const;
  // Starts their processes, for whoever will need them soon and has other things to do meanwhile.
  void start() const;

 private:
  std::vector<std::unique_ptr<rivals::Framework>> frameworks_;
  std::vector<std::unique_ptr<judge::Guest>> absent_;
  bool best_ = false;
};

}  // namespace kw::cli

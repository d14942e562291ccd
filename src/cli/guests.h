// Which frameworks a command compares kernels with: what --rival says, or KW_RIVAL, or all that are installed.
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
  static Result<Guests> chosen(const Arguments& arguments);
  // By what --rival could say. Installs what is named and not there, unless KW_INSTALL=no.
  static Result<Guests> chosen(const std::string& said);

  // What chooses the same again: "mnn,onnxruntime", "best" or "none".
  std::string names() const;

  // Those for a task: all, or with "best" the fastest that runs it right.
  Result<std::vector<judge::Guest*>> of(const Task& task, int threads) const;

 private:
  std::vector<std::unique_ptr<rivals::Framework>> frameworks_;
  bool best_ = false;
};

}  // namespace kw::cli

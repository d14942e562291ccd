// Where kernels are built: compilers in the sandbox, and the contract's header, precompiled, for them to use.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/tunables.h"
#include "core/verdict.h"
#include "sandbox/sandbox.h"
#include "targets/target.h"

namespace kw::cpu {

using targets::Source;

// A built kernel is a shared library in memory.
class Library final : public targets::Built {
 public:
  Result<std::string> code() const override;

  sandbox::Descriptor file;  // none: did not build
  // Compilers put a constructor of their own in, which has subnormal numbers flushed, where they are told not to care.
  bool flushes = false;
};

class Workshop {
 public:
  // Starts the sandbox. Works without a folder to keep things in, only slower.
  // `more`: further folders that tools see, read-only.
  static Result<Workshop> open(const std::vector<sandbox::Shown>& more = {});

  const sandbox::Sandbox& sandbox() const { return *sandbox_; }
  // The folder of the contracts' headers, as tools see it.
  std::string header_folder() const { return sandbox_->place_of(headers_); }

  // A source that does not compile is a Library with a reason; an Error is a machine without a compiler.
  // `written`: what the source was made of, for messages; none: itself. May be called from several threads.
  Result<std::unique_ptr<Library>> build(const Source& source, const Choice& choice, const Source* written = nullptr);

 private:
  // `precompiled`: the folder of a precompiled header, or empty.
  Result<std::unique_ptr<Library>> compile(const std::string& language, const Source& source, const Source& written,
                                           const Choice& choice, const std::string& precompiled);
  // The folder of the precompiled header for this choice, made now if need be; empty where there can be none.
  std::string precompile(const Choice& choice);

  std::unique_ptr<sandbox::Sandbox> sandbox_;
  sandbox::Shown headers_;             // the folder of kernelwright.h
  bool keeps_ = false;                 // precompiled headers may be written there
  std::unique_ptr<std::mutex> lock_;   // of what follows
  std::set<std::string> precompiled_;  // folders
};

// A tool's run in the sandbox. `words`: the name that the source gets, the name of the file that is made, then the
// command (host/roles.h).
struct ToolRun {
  std::optional<sandbox::Ending> ending;  // none: it did not end in time, and was ended
  sandbox::Descriptor made;
  std::string said;
  std::uint64_t took_ns = 0;
};
Result<ToolRun> run_tool(const sandbox::Sandbox& sandbox, const std::vector<std::string>& words,
                         const std::string& source);
// A program that is a part of kw: beside it, or in libexec of the same prefix.
Result<std::filesystem::path> find_part(const std::string& name);
// The name that a source gets in the sandbox.
std::string safe_name(const std::string& name);
// Why a compiler that ended so made nothing. What compilers themselves say is matched there alone.
Reason reason_of(const sandbox::Ending& ending, const std::string& said, const std::vector<SourceError>& errors);

// Reads "file:line:column: error: message" lines, and shows the source's lines around them.
std::vector<SourceError> compiler_errors(const std::string& said, const Source& source);

}  // namespace kw::cpu

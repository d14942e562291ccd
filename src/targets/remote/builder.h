// Builds for a device, here: kernels, each with our part of its process (kernel/main.cpp) as one static program; and
// the agent. Compilers run in the sandbox. What is ours is built once for an architecture and kept in the cache folder.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "targets/cpu/workshop.h"
#include "targets/remote/architecture.h"
#include "targets/target.h"

namespace kw::remote {

class DeviceBuilt final : public targets::Built {
 public:
  Result<std::string> code() const override { return program; }

  std::string program;
  std::uint64_t number = 0;  // unique among the builds of this process, for all devices
  targets::Source source;    // what it was made of
  Choice choice;
};

class Builder {
 public:
  static Result<std::unique_ptr<Builder>> open();

  // kw's program for a device, with a name that tells its content.
  struct Agent {
    std::string program;
    std::string name;
  };
  Result<Agent> agent(const Architecture& architecture);
  // The one that runs frameworks' native libraries (native/main.cpp). It needs the C library that those need: glibc, or
  // Android's.
  enum class Libc { glibc, bionic };
  Result<Agent> native_runner(const Architecture& architecture, Libc libc);
  // `flags`: of the device's processor.
  Result<std::unique_ptr<DeviceBuilt>> build(const Architecture& architecture, const std::vector<std::string>& flags,
                                             const targets::Source& source, const Choice& choice);

  // The same kernel for a person to read: with names and lines, and without the libraries.
  Result<std::string> readable(const Architecture& architecture, const std::vector<std::string>& flags,
                               const DeviceBuilt& built);

  const sandbox::Sandbox& sandbox() const { return workshop_.sandbox(); }

 private:
  Builder(cpu::Workshop workshop, sandbox::Shown sources, sandbox::Shown parts, std::string version)
      : workshop_(std::move(workshop)),
        sources_(std::move(sources)),
        parts_(std::move(parts)),
        version_(std::move(version)) {}

  // The file of the cache folder that this command makes.
  Result<std::string> made(const Architecture& architecture, const std::string& what, std::vector<std::string> words);
  Result<Agent> program(const std::string& name) const;
  // Runs a script of ours, $@ of which compiles the kernel after its own words.
  Result<cpu::ToolRun> run(const char* script, const std::vector<std::string>& own, const Architecture& architecture,
                           const std::vector<std::string>& flags, const targets::Source& source, const Choice& choice);

  // A file of the cache folder; made of `source` where it is not there yet.
  Result<std::string> part(const Architecture& architecture, const std::string& what,
                           const std::vector<std::string>& sources, const std::vector<std::string>& flags);

  // The folder of the contract's header, precompiled with these flags, as compilers see it; empty: there is none.
  std::string precompiled(const Architecture& architecture, const std::vector<std::string>& flags);

  cpu::Workshop workshop_;
  sandbox::Shown sources_;  // of what is ours
  sandbox::Shown parts_;    // what was made of them
  std::string version_;     // of the sources
  std::mutex lock_;         // of precompiling
};

}  // namespace kw::remote

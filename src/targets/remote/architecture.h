// Kinds of processors that kernels can be built for here: what builds for them, what emulates them, and which flags
// suit the one that a device has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::remote {

// What an agent says of its device: values by name, several where a name comes again (agent/facts.h).
class Said {
 public:
  explicit Said(const std::string& lines = {});

  std::string text(const std::string& name) const;  // the first; empty: not said
  std::uint64_t number(const std::string& name) const;
  std::vector<std::string> all(const std::string& name) const;
  bool empty() const { return values_.empty(); }
  const std::string& lines() const { return lines_; }

 private:
  std::string lines_;
  std::multimap<std::string, std::string> values_;
};

struct Architecture {
  std::string name;                   // "aarch64"
  std::vector<std::string> machines;  // as uname calls it there
  std::string compiler;               // in /usr/bin
  std::string objcopy = {};
  std::string package = {};                      // of Debian, that has both
  std::string emulator = {};                     // in /usr/bin; empty: none
  std::vector<std::string> emulator_words = {};  // its processor
  std::string loader = {};                       // of glibc's dynamic programs
  std::string triple = {};                       // as LLVM and names of tools have it; empty: this machine's
  std::string in_filters = name;                 // as libseccomp calls it
  int address_bits = 64;

  std::string objdump() const { return triple.empty() ? "objdump" : triple + "-objdump"; }
};

const std::vector<Architecture>& all_architectures();
// By its own name or one of uname's. The message names those that there are.
Result<Architecture> architecture_named(const std::string& name);
// What builds for it, or emulates it, and is not here: "apt-get install ..."; empty: all is here.
std::string missing_for(const Architecture& architecture, bool emulated);

// Which instructions the device's processor has, and which core it is.
std::vector<std::string> flags_for(const Architecture& architecture, const Said& said);
// The same for a reader: "NEON, fp16, dotprod".
std::string vectors_of(const Architecture& architecture, const Said& said);
// The core that kernels are timed on, as compilers call it: "cortex-a76"; empty: not known.
std::string core_to_tune_for(const Said& said);
// The same by a name that a person gives: "cortex-a76", "Cortex-A76", "a76". The message names those that there are.
Result<std::string> core_named(const std::string& name);
// "Cortex-A76", of a MIDR_EL1 in hexadecimal as Linux prints it; empty: not known.
std::string core_name(const std::string& midr);

}  // namespace kw::remote

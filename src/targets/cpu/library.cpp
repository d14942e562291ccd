#include "targets/cpu/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace kw::cpu {
namespace {

// Reads structures out of bytes that are not trusted.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  bool read(std::uint64_t offset, T& value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    return std::string(bytes_.substr(offset, bytes_.find('\0', offset) - offset));
  }

 private:
  std::string_view bytes_;
};

constexpr std::string_view kLibraries[] = {"libc.so.6",       "libm.so.6",
                                           "libstdc++.so.6",  "libgcc_s.so.1",
                                           "libgomp.so.1",    "ld-linux-x86-64.so.2",
                                           "libpthread.so.0", "ld-linux-aarch64.so.1"};

// Of the C library: memory, texts, sorting, and what compilers put in by themselves.
constexpr std::string_view kFunctions[] = {"malloc",
                                           "calloc",
                                           "realloc",
                                           "free",
                                           "aligned_alloc",
                                           "posix_memalign",
                                           "memalign",
                                           "abort",
                                           "qsort",
                                           "bsearch",
                                           "abs",
                                           "labs",
                                           "llabs",
                                           "div",
                                           "ldiv",
                                           "lldiv",
                                           "rand_r",
                                           "__stack_chk_fail",
                                           "__assert_fail",
                                           "__gmon_start__",
                                           "__cxa_finalize",
                                           "__tls_get_addr",
                                           "__errno_location",
                                           "sched_yield",
                                           "strtof",
                                           "strtod",
                                           "strtol",
                                           "strtoll",
                                           "__memcpy_chk",
                                           "__memmove_chk",
                                           "__memset_chk",
                                           "__strcpy_chk",
                                           "__strncpy_chk",
                                           "_dl_find_object",
                                           "__once_proxy",
                                           "__libc_single_threaded",
                                           "__dynamic_cast"};
constexpr std::string_view kBeginnings[] = {"mem",   "str",      "_Z",    "__cxa_",  "__gxx_",  "_Unwind_", "GOMP_",
                                            "omp_",  "pthread_", "_ITM_", "__gcc_",  "bcmp",    "__atomic", "__mul",
                                            "__div", "__float",  "__fix", "__trunc", "__extend"};

// Of the mathematical library anything, as this process would find it there.
bool is_of_libm(const std::string& name) {
  static void* const libm = ::dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  void* const symbol = libm == nullptr ? nullptr : ::dlsym(libm, name.c_str());
  Dl_info about{};
  return symbol != nullptr && ::dladdr(symbol, &about) != 0 && about.dli_fname != nullptr &&
         std::strstr(about.dli_fname, "libm") != nullptr;
}

bool may_import(const std::string& name) {
  if (std::ranges::find(kFunctions, name) != std::end(kFunctions)) return true;
  if (std::ranges::any_of(kBeginnings, [&](std::string_view begin) { return name.starts_with(begin); })) {
    // Threads may be made, not aimed at; and keys of threads, of which a process has 1,024, stay after a call. So do
    // handlers and a locale for the whole process, and the place in a text that the whole process is at.
    return !name.starts_with("pthread_kill") && !name.starts_with("pthread_key_") &&
           !name.starts_with("pthread_setaffinity") && !name.starts_with("memfd") &&
           !name.starts_with("_ZSt15set_new_handler") && !name.starts_with("_ZSt13set_terminate") &&
           !name.starts_with("_ZNSt6locale6global") && !name.starts_with("_ZNSt6chrono") && name != "strftime" &&
           name != "strptime" && name != "strtok" && name != "strerror" && name != "strsignal";
  }
  return is_of_libm(name);
}

}  // namespace

std::string check_library(std::string_view content) {
  const Bytes bytes(content);
  Elf64_Ehdr header{};
  if (!bytes.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN) {
    return "the compiler's result is no shared library";
  }
  std::vector<Elf64_Shdr> sections;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!bytes.read(header.e_shoff + static_cast<std::uint64_t>(i) * header.e_shentsize, section)) {
      return "the library's sections are broken";
    }
    sections.push_back(section);
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!bytes.read(header.e_phoff + static_cast<std::uint64_t>(i) * header.e_phentsize, segment)) {
      return "the library's segments are broken";
    }
    const bool writable_code = (segment.p_flags & PF_X) != 0 && (segment.p_flags & PF_W) != 0;
    if (writable_code && (segment.p_type == PT_LOAD || segment.p_type == PT_GNU_STACK)) {
      return "the kernel has memory that is both code and data: a kernel does not write its own code";
    }
  }
  bool runs = false;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_link >= sections.size()) return "the library's sections are broken";
    const std::uint64_t names = sections[section.sh_link].sh_offset;
    if (section.sh_type == SHT_DYNAMIC) {
      for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= section.sh_size; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry{};
        if (!bytes.read(section.sh_offset + at, entry)) return "the library's dynamic section is broken";
        if (entry.d_tag == DT_TEXTREL || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL) != 0)) {
          return "the kernel's code is written while it is loaded (relocations in it): a kernel does not write its own "
                 "code";
        }
        if (entry.d_tag != DT_NEEDED) continue;
        const std::string library = bytes.text(names + entry.d_un.d_val);
        if (std::ranges::find(kLibraries, library) == std::end(kLibraries)) {
          return fmt::format("the kernel needs the library {}: a kernel brings its own code", library);
        }
      }
    }
    if (section.sh_type != SHT_DYNSYM) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      if (!bytes.read(section.sh_offset + at, symbol)) return "the library's symbols are broken";
      const std::string name = bytes.text(names + symbol.st_name);
      if (name.empty()) continue;
      if (symbol.st_shndx == SHN_UNDEF) {
        if (!may_import(name)) return fmt::format("the kernel calls {}, which is not for a kernel to call", name);
      } else if (name == "kw_run") {
        runs = true;
      }
    }
  }
  return runs ? "" : "the kernel does not define kw_run; KW_KERNEL(call) { ... } does";
}

}  // namespace kw::cpu

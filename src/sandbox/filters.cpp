#include "sandbox/filters.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

namespace kw::sandbox {
namespace {

// What a compiler has no use for. Sockets of any kind, other processes' memory, and the machinery of the system.
constexpr const char* kNotForTools[] = {"socket",
                                        "socketpair",
                                        "connect",
                                        "bind",
                                        "listen",
                                        "accept",
                                        "accept4",
                                        "ptrace",
                                        "process_vm_readv",
                                        "process_vm_writev",
                                        "pidfd_getfd",
                                        "kcmp",
                                        "mount",
                                        "umount2",
                                        "pivot_root",
                                        "chroot",
                                        "unshare",
                                        "setns",
                                        "fsopen",
                                        "fsmount",
                                        "fsconfig",
                                        "move_mount",
                                        "open_tree",
                                        "mount_setattr",
                                        "bpf",
                                        "perf_event_open",
                                        "userfaultfd",
                                        "io_uring_setup",
                                        "io_uring_enter",
                                        "io_uring_register",
                                        "keyctl",
                                        "add_key",
                                        "request_key",
                                        "init_module",
                                        "finit_module",
                                        "delete_module",
                                        "kexec_load",
                                        "kexec_file_load",
                                        "reboot",
                                        "swapon",
                                        "swapoff",
                                        "sethostname",
                                        "setdomainname",
                                        "acct",
                                        "quotactl",
                                        "iopl",
                                        "ioperm",
                                        "settimeofday",
                                        "clock_settime",
                                        "adjtimex",
                                        "clock_adjtime",
                                        "name_to_handle_at",
                                        "open_by_handle_at",
                                        "personality",
                                        "fanotify_init",
                                        "syslog",
                                        "vhangup",
                                        "nfsservctl",
                                        "lookup_dcookie",
                                        "mbind",
                                        "memfd_secret",
                                        "memfd_create",
                                        "inotify_init",
                                        "inotify_init1",
                                        "shmget",
                                        "semget",
                                        "msgget",
                                        "mq_open",
                                        "setpriority",
                                        "sched_setscheduler",
                                        "sched_setattr",
                                        "ioprio_set"};

class Rules {
 public:
  // For a machine by its name; empty: this one.
  Rules(std::uint32_t otherwise, const std::string& machine)
      : context_(seccomp_init(otherwise)), arm_(machine == "arm") {
    if (machine.empty() || context_ == nullptr || seccomp_arch_resolve_name(machine.c_str()) == seccomp_arch_native()) {
      return;
    }
    broken_ = seccomp_arch_remove(context_, seccomp_arch_native()) != 0 ||
              seccomp_arch_add(context_, seccomp_arch_resolve_name(machine.c_str())) != 0;
  }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  ~Rules() {
    if (context_ != nullptr) seccomp_release(context_);
  }

  void add(std::uint32_t action, std::initializer_list<const char*> names) {
    for (const char* name : names) add(action, name);
  }
  template <class... Tests>
  void add(std::uint32_t action, const char* name, Tests... tests) {
    const int number = seccomp_syscall_resolve_name(name);
    // A name that this libseccomp does not know is one that the default action covers.
    if (number == __NR_SCMP_ERROR || context_ == nullptr) return;
    const scmp_arg_cmp list[] = {tests..., {}};
    if (seccomp_rule_add_array(context_, action, number, sizeof...(tests), list) != 0) broken_ = true;
    if (arm_) add_of_arm(action, name, tests...);
  }

  Program compiled() {
    Program program;
    if (context_ == nullptr || broken_) return program;
    seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    const int file = ::memfd_create("filter", MFD_CLOEXEC);
    if (file < 0) return program;
    if (seccomp_export_bpf(context_, file) == 0) {
      program.resize(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)) / sizeof(sock_filter));
      const auto size = static_cast<ssize_t>(program.size() * sizeof(sock_filter));
      if (::pread(file, program.data(), static_cast<std::size_t>(size), 0) != size) program.clear();
    }
    ::close(file);
    return program;
  }

 private:
  // With 32 bits some calls have another one in their place, whose arguments that are looked at are the same.
  template <class... Tests>
  void add_of_arm(std::uint32_t action, const std::string& name, Tests... tests) {
    constexpr std::pair<const char*, const char*> kInPlace[] = {{"mmap", "mmap2"},
                                                                {"fstat", "fstat64"},
                                                                {"newfstatat", "fstatat64"},
                                                                {"lseek", "_llseek"},
                                                                {"futex", "futex_time64"}};
    for (const auto& [known, other] : kInPlace) {
      if (name == known) add(action, other, tests...);
    }
  }

  scmp_filter_ctx context_;
  bool arm_;
  bool broken_ = false;
};

// What an allocator needs. Memory is not moved over other memory, and no advice is given that others would feel.
void allow_memory(Rules& rules) {
  rules.add(SCMP_ACT_ALLOW, {"munmap", "brk"});
  rules.add(SCMP_ACT_ALLOW, "mremap", SCMP_A3(SCMP_CMP_MASKED_EQ, MREMAP_FIXED, 0));
  for (int advice : {MADV_NORMAL, MADV_SEQUENTIAL, MADV_RANDOM, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE,
                     MADV_NOHUGEPAGE}) {
    rules.add(SCMP_ACT_ALLOW, "madvise", SCMP_A2(SCMP_CMP_EQ, static_cast<scmp_datum_t>(advice)));
  }
}

// abort() needs these; there is no other process that could be meant.
void allow_abort(Rules& rules) { rules.add(SCMP_ACT_ALLOW, {"rt_sigprocmask", "gettid", "getpid", "tgkill"}); }

void allow_threads(Rules& rules) {
  constexpr unsigned long kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  rules.add(SCMP_ACT_ALLOW, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, kThread, kThread));
  rules.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");  // its flags lie in memory, where no filter can see them
  rules.add(SCMP_ACT_ALLOW, {"set_robust_list", "rseq", "exit", "sched_yield", "sched_getaffinity", "getrandom"});
}

Program tools_filter() {
  Rules rules(SCMP_ACT_ALLOW, {});
  for (const char* name : kNotForTools) rules.add(SCMP_ACT_ERRNO(EPERM), name);
  rules.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  rules.add(SCMP_ACT_ERRNO(EPERM), "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
  return rules.compiled();
}

// Filters add up: what a kernel may do later must be allowed here too.
Program load_filter_program(const std::string& machine, bool files) {
  Rules rules(SCMP_ACT_TRAP, machine);
  allow_memory(rules);
  allow_abort(rules);
  allow_threads(rules);  // how many is the limit of processes' to say
  for (const char* name : {"openat", "readlink", "access", "readlinkat", "faccessat", "faccessat2", "newfstatat"}) {
    rules.add(files ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM), name);
  }
  rules.add(SCMP_ACT_ALLOW, {"mmap", "mprotect", "read", "pread64", "close", "fstat", "lseek", "futex", "exit_group",
                             "dup", "prlimit64", "sysinfo", "rt_sigreturn", "rt_sigaction", "write", "sigaltstack",
                             "seccomp", "restart_syscall"});
  // A program of its own loads its next filter by prctl, which older systems have too.
  if (!files) rules.add(SCMP_ACT_ALLOW, "prctl", SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
  rules.add(SCMP_ACT_ERRNO(EPERM), "sched_setaffinity");
  if (files) rules.add(SCMP_ACT_ERRNO(EPERM), "prctl");
  return rules.compiled();
}

Program kernel_filter(const std::string& machine, bool threads) {
  Rules rules(SCMP_ACT_TRAP, machine);
  allow_memory(rules);
  allow_abort(rules);
  // Memory may be made, never code: private memory that the limit counts, in a new place; and the shared files.
  constexpr unsigned long kKind = MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN;
  rules.add(SCMP_ACT_ALLOW, "mmap", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
            SCMP_A3(SCMP_CMP_MASKED_EQ, kKind, MAP_PRIVATE | MAP_ANONYMOUS));
  for (int shared : {kInputsDescriptor, kOutputsDescriptor}) {
    rules.add(SCMP_ACT_ALLOW, "mmap", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
              SCMP_A3(SCMP_CMP_MASKED_EQ, kKind, MAP_SHARED), SCMP_A4(SCMP_CMP_EQ, static_cast<scmp_datum_t>(shared)));
  }
  rules.add(SCMP_ACT_ALLOW, "mprotect", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  rules.add(SCMP_ACT_ALLOW, {"exit_group", "rt_sigreturn"});
  rules.add(SCMP_ACT_ALLOW, "read", SCMP_A0(SCMP_CMP_EQ, kCommandDescriptor));
  rules.add(SCMP_ACT_ALLOW, "write", SCMP_A0(SCMP_CMP_EQ, kAnswerDescriptor));
  // The language's last words before it aborts; the abort is what counts.
  rules.add(SCMP_ACT_ERRNO(EBADF), "write", SCMP_A0(SCMP_CMP_EQ, 2));
  // One thread that sleeps must not wake up before it gets a command: it may wait, but not for a time.
  if (!threads) rules.add(SCMP_ACT_ALLOW, "futex", SCMP_A3(SCMP_CMP_EQ, 0));
  if (threads) {
    allow_threads(rules);
    // The judge stops and continues them; a wait for a time then goes on by restart_syscall.
    rules.add(SCMP_ACT_ALLOW, {"futex", "restart_syscall"});
    // The C library's own two signals, which it sets up with the first thread.
    for (int own : {32, 33})
      rules.add(SCMP_ACT_ALLOW, "rt_sigaction", SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(own)));
    // libgomp binds nothing here; what it asks is answered with a no.
    rules.add(SCMP_ACT_ERRNO(EPERM), {"sched_setaffinity", "prctl", "prlimit64", "openat"});
  }
  rules.add(SCMP_ACT_ERRNO(EPERM), "sysinfo");  // qsort asks how much memory there is
  return rules.compiled();
}

}  // namespace

Program make_filter(Filter filter, const std::string& machine) {
  switch (filter) {
    case Filter::tools:
      return tools_filter();
    case Filter::load:
      return load_filter_program(machine, true);
    case Filter::kernel:
      return kernel_filter(machine, false);
    case Filter::threads:
      return kernel_filter(machine, true);
    case Filter::start:
      return load_filter_program(machine, false);
  }
  return {};
}

std::string system_call_name(int number, const std::string& machine) {
  const std::uint32_t where = machine.empty() ? seccomp_arch_native() : seccomp_arch_resolve_name(machine.c_str());
  char* name = seccomp_syscall_resolve_num_arch(where, number);
  const std::string text = name != nullptr ? name : "number " + std::to_string(number);
  std::free(name);
  return text;
}

bool load_filter(const Program& program) {
  if (program.empty()) return false;
  const sock_fprog all{static_cast<unsigned short>(program.size()), const_cast<sock_filter*>(program.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) == 0;
}

}  // namespace kw::sandbox

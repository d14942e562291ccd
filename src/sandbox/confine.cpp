#include "sandbox/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace kw::sandbox {
namespace {

// Users that no other process has, neither another child nor another warden's: the system's limit of processes counts
// by user.
constexpr uid_t kFirstUser = 1'879'048'192;
constexpr uid_t kUsersOfAWarden = 64;

bool limit(int which, std::uint64_t most) {
  rlimit before{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(which), &before) != 0) return false;
  const rlimit now{std::min<rlim_t>(most, before.rlim_max), std::min<rlim_t>(most, before.rlim_max)};
  return ::setrlimit(static_cast<__rlimit_resource_t>(which), &now) == 0;
}

// Rights on files that each version of Landlock knows about; asking for more than it knows is an error.
std::uint64_t rights_of(int version) {
  std::uint64_t rights = (std::uint64_t{1} << 13) - 1;  // version 1
  if (version >= 2) rights |= std::uint64_t{1} << 13;   // moving between folders
  if (version >= 3) rights |= std::uint64_t{1} << 14;   // truncating
  return rights;
}

bool allow_below(int ruleset, const std::string& path, std::uint64_t rights) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return true;  // what is not there needs no rule
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = fd;
  const bool added = ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  ::close(fd);
  return added;
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool mount_work_folder(const Confinement& confinement, const Isolation& isolation) {
  if (!isolation.view) return ::chdir(confinement.work_folder.c_str()) == 0;
  const std::string options = "mode=777,nr_inodes=4096,size=" + std::to_string(confinement.limits.disk_bytes);
  return ::mount("tmpfs", confinement.work_folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0 &&
         ::chdir(confinement.work_folder.c_str()) == 0;
}

bool limit_resources(const Limits& limits) {
  // RLIMIT_AS would count address space that is only set aside; RLIMIT_DATA counts memory that can be written.
  return limit(RLIMIT_DATA, limits.memory_bytes) && limit(RLIMIT_FSIZE, limits.disk_bytes) &&
         limit(RLIMIT_NPROC, limits.processes) && limit(RLIMIT_CPU, limits.cpu_seconds) && limit(RLIMIT_CORE, 0) &&
         limit(RLIMIT_NOFILE, 256) && limit(RLIMIT_MEMLOCK, 0) && limit(RLIMIT_STACK, 64u << 20) &&
         limit(RLIMIT_MSGQUEUE, 0);
}

bool drop_rights(const Confinement& confinement, const Isolation& isolation) {
  if (::geteuid() == 0 && isolation.user) {
    const uid_t user = kFirstUser + static_cast<uid_t>(confinement.warden) * kUsersOfAWarden +
                       static_cast<uid_t>(confinement.slot) % kUsersOfAWarden;
    if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0) {
      return false;
    }
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  ::syscall(SYS_capset, &header, none);
  ::prctl(PR_SET_DUMPABLE, 0);
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool filter_files(const Confinement& confinement, const Isolation& isolation) {
  if (isolation.landlock == 0) return true;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = rights_of(isolation.landlock);
  const long ruleset = ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
  if (ruleset < 0) return false;
  const int set = static_cast<int>(ruleset);
  constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
  constexpr std::uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
  bool made = true;
  if (confinement.files == Files::own) {
    made = allow_below(set, isolation.view ? "/" : confinement.work_folder, kRead);
    // Without a view the loader must still find the language's libraries.
    if (!isolation.view) {
      for (const char* folder : {"/usr", "/lib", "/lib64", "/etc/ld.so.cache"}) {
        made = made && allow_below(set, folder, folder[1] == 'e' ? kReadFile : kRead);
      }
    }
  } else {
    // As root of the view everything shown may be read; without one, only what tools need.
    for (const char* folder : {"/usr", "/bin", "/lib", "/lib64", "/etc/alternatives"}) {
      made = made && allow_below(set, folder, kRead | LANDLOCK_ACCESS_FS_EXECUTE);
    }
    // What is shown is kw's own, tools among it.
    for (const std::string& folder : confinement.shown) {
      made = made && allow_below(set, folder, kRead | LANDLOCK_ACCESS_FS_EXECUTE);
    }
    for (const char* file : {"/etc/ld.so.cache", "/dev/zero", "/dev/urandom"}) {
      made = made && allow_below(set, file, kReadFile);
    }
    made = made && allow_below(set, "/dev/null", kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE) &&
           allow_below(set, confinement.work_folder, rights_of(isolation.landlock));
  }
  made = made && ::syscall(SYS_landlock_restrict_self, set, 0) == 0;
  ::close(set);
  return made;
}

}  // namespace kw::sandbox

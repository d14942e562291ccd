#include "sandbox/view.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kw::sandbox {
namespace {

namespace fs = std::filesystem;

bool write_text(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

// Root unshares as it is; other users first get a user namespace of their own.
bool unshare_as_allowed(int flags) {
  if (::geteuid() == 0) return ::unshare(flags) == 0;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | flags) != 0) return false;
  write_text("/proc/self/setgroups", "deny");
  return write_text("/proc/self/uid_map", "65534 " + std::to_string(user) + " 1") &&
         write_text("/proc/self/gid_map", "65534 " + std::to_string(group) + " 1");
}

// A folder or file of the machine, opened before anything is mounted over it.
struct Source {
  int fd;
  std::string inside;
  bool folder;
};

void add_source(std::vector<Source>& sources, const std::string& outside, const std::string& inside) {
  struct stat about {};
  const int fd = ::open(outside.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  if (::fstat(fd, &about) != 0) {
    ::close(fd);
    return;
  }
  sources.push_back({fd, inside, S_ISDIR(about.st_mode)});
}

bool bind_read_only(const Source& source, const std::string& root) {
  const std::string target = root + source.inside;
  std::error_code ignored;
  fs::create_directories(source.folder ? target : fs::path(target).parent_path().string(), ignored);
  if (!source.folder) std::ofstream(target).flush();
  const std::string from = "/proc/self/fd/" + std::to_string(source.fd);
  if (::mount(from.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (source.folder) attributes.attr_set |= MOUNT_ATTR_NODEV;
  return ::syscall(SYS_mount_setattr, AT_FDCWD, target.c_str(), AT_RECURSIVE, &attributes, sizeof attributes) == 0;
}

bool build_view(const std::vector<Shown>& shown) {
  std::vector<Source> sources;
  std::vector<std::pair<std::string, std::string>> links;
  for (const char* folder : {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"}) {
    std::error_code error;
    if (fs::is_symlink(folder, error)) {
      links.emplace_back(folder, fs::read_symlink(folder, error).string());
    } else {
      add_source(sources, folder, folder);
    }
  }
  for (const char* path : {"/etc/alternatives", "/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom"}) {
    add_source(sources, path, path);
  }
  for (const Shown& one : shown) add_source(sources, one.outside, one.inside);

  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  std::string root;
  for (const char* place : {"/mnt", "/tmp", "/var/tmp", "/run"}) {
    if (::mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755") == 0) {
      root = place;
      break;
    }
  }
  if (root.empty()) return false;
  for (const Source& source : sources) {
    if (!bind_read_only(source, root)) return false;
    ::close(source.fd);
  }
  std::error_code error;
  for (const auto& [name, to] : links) fs::create_symlink(to, root + name, error);
  fs::create_directory(root + kWorkFolder, error);
  fs::create_symlink(kWorkFolder, root + "/tmp", error);
  ::mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr);

  if (::chdir(root.c_str()) != 0) return false;
  // Where the root is no mount of its own (a chroot), pivot_root fails and chroot has to do.
  if (::syscall(SYS_pivot_root, ".", ".") == 0) {
    ::umount2(".", MNT_DETACH);
  } else if (::chroot(".") != 0) {
    return false;
  }
  return ::chdir("/") == 0;
}

// Root of a container may have lost the right to change its user.
bool may_change_user() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct now[2] = {};
  if (::geteuid() != 0 || ::syscall(SYS_capget, &header, now) != 0) return false;
  constexpr unsigned kNeeded = 1u << CAP_SETUID | 1u << CAP_SETGID;
  return (now[0].effective & kNeeded) == kNeeded;
}

}  // namespace

void enter_view(const std::vector<Shown>& shown, Isolation& isolation) {
  isolation.user = may_change_user();
  if (unshare_as_allowed(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)) {
    isolation.network = true;
    isolation.user = true;
  } else if (!unshare_as_allowed(CLONE_NEWNS)) {
    return;
  }
  isolation.processes = true;  // tried with the first child
  isolation.view = build_view(shown);
}

}  // namespace kw::sandbox

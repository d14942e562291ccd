#include "sandbox/isolation.h"

namespace kw::sandbox {

std::string Isolation::name() const {
  if (full()) return "full";
  if (seccomp && (view || landlock > 0)) return "filtered";
  return "weak";
}

std::vector<Isolation::Part> Isolation::parts() const {
  const std::string namespaces = "root, or unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1)";
  return {
      {"own processes", processes, namespaces},
      {"read-only view of files", view, namespaces},
      {"no network", network, namespaces},
      {"user without rights", user, namespaces},
      {"system calls filtered", seccomp, "a kernel with CONFIG_SECCOMP_FILTER, and a container that allows seccomp"},
      {"files filtered (Landlock)", landlock > 0, "Linux 5.13 or newer with Landlock among its security modules"},
  };
}

}  // namespace kw::sandbox

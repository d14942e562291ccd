// The process of a kernel on a device: one static program of the kernel, the C and C++ libraries and this. The agent
// starts it with the descriptors that host/control.h names; in place of a library it finds the filters of system calls
// (two programs, each after its length).
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdlib>

#include "targets/cpu/host/host.h"

extern "C" {
int kw_run(kw_call* call);
__attribute__((weak)) int kw_prepare(kw_call* call);
extern const int kw_varies __attribute__((weak));
}

namespace kw::host {
namespace {

// Plain zeros until they are read, before constructors run: none may set them again.
struct FilterProgram {
  std::uint32_t length;
  sock_filter words[1024];
} start_filter, kernel_filter;

bool read_filter(FilterProgram& filter) {
  if (::read(kLibrary, &filter.length, sizeof filter.length) != sizeof filter.length) return false;
  const std::size_t bytes = filter.length * sizeof(sock_filter);
  if (filter.length > std::size(filter.words)) return false;
  return bytes == 0 || ::read(kLibrary, filter.words, bytes) == static_cast<ssize_t>(bytes);
}

// Where the system has no filters, the agent knows (it tries before it sends any): then there is nothing to load.
bool load_filter(FilterProgram& filter) {
  if (filter.length == 0) return true;
  const sock_fprog all{static_cast<unsigned short>(filter.length), filter.words};
  return ::prctl(PR_SET_SECCOMP, 2, &all) == 0;
}

// Before any constructor of the kernel.
void begin() {
  void* shared = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, kControl, 0);
  if (shared == MAP_FAILED) ::_exit(kCrashed + 2);
  control = static_cast<Control*>(shared);
  ::close(kControl);
  control->stack_end = limit_stack();
  control->stage = Stage::load;
  if (!read_filter(start_filter) || !read_filter(kernel_filter)) ::_exit(kCrashed + 3);
  ::close(kLibrary);
  catch_faults();
  // The allocator asks for random numbers once, which no filter allows.
  void* volatile first = std::malloc(16);
  std::free(first);
  if (!load_filter(start_filter)) ::_exit(kCrashed + 4);
}

}  // namespace
}  // namespace kw::host

__attribute__((section(".preinit_array"), used)) static void (*const kw_begin)() = kw::host::begin;

int main() {
  using namespace kw::host;
  static Host host;
  host.take(kw_run, kw_prepare, &kw_varies != nullptr);
  reset_registers();
  catch_faults();
  control->stage = Stage::loaded;
  if (!load_filter(kernel_filter)) ::_exit(kCrashed + 5);
  Host::answer();
  host.serve();
}

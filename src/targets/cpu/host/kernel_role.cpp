// The role that loads a candidate's library and serves it (host.h).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "targets/cpu/host/host.h"
#include "targets/cpu/host/roles.h"

namespace kw::host {
namespace {

constexpr char kLibraryFile[] = "kernel.so";

std::uint64_t stack_end = 0;
std::uint64_t library_begin = 0;

// The host's own code, as the linker has laid it out.
extern "C" const char __executable_start, etext;

// The judge asks where the kernel is (Cell::run_sampled). Where it is in our own code says nothing.
void on_sample(int, siginfo_t*, [[maybe_unused]] void* context) {
#if defined(__x86_64__)
  const auto at = static_cast<std::uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  const bool ours =
      at >= reinterpret_cast<std::uint64_t>(&__executable_start) && at < reinterpret_cast<std::uint64_t>(&etext);
  const std::uint32_t place = control->sample_count;
  if (control->stage != Stage::run || ours || place >= kMostSamples) return;
  control->samples[place] = at - library_begin;
  control->sample_count = place + 1;
#endif
}

// What waits for a command goes on waiting.
void answer_samples() {
  struct sigaction action {};
  action.sa_sigaction = on_sample;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  ::sigaction(SIGPROF, &action, nullptr);
}

bool before(sandbox::Job& job) {
  if (job.descriptors.size() < 6) return false;
  stack_end = limit_stack();
  const int file = ::open(kLibraryFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  struct stat about {};
  if (::fstat(kLibrary, &about) != 0) return false;
  void* content = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, kLibrary, 0);
  if (content == MAP_FAILED) return false;
  const bool written = ::write(file, content, static_cast<std::size_t>(about.st_size)) == about.st_size;
  ::munmap(content, static_cast<std::size_t>(about.st_size));
  ::close(file);
  ::close(kLibrary);
#if defined(__x86_64__)
  // The contract allows no clocks: reading the time stamp counter faults from here on, where the system can do that.
  ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#endif
  // Nothing else of the file system is there from here on.
  return written && (!job.isolation->view || ::chroot(".") == 0);
}

// Words for the judge, or null.
const char* load(const char* file, Host& host) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return ::dlerror();
  const auto run = reinterpret_cast<Host::Function>(::dlsym(library, "kw_run"));
  if (run == nullptr) return "the kernel does not define kw_run";
  Dl_info about{};
  if (::dladdr(reinterpret_cast<const void*>(run), &about) != 0)
    library_begin = reinterpret_cast<std::uint64_t>(about.dli_fbase);
  host.take(run, reinterpret_cast<Host::Function>(::dlsym(library, "kw_prepare")),
            ::dlsym(library, "kw_varies") != nullptr);
  return nullptr;
}

int run_kernel(sandbox::Job& job) {
  void* shared = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, kControl, 0);
  if (shared == MAP_FAILED) return kCrashed + 2;
  control = static_cast<Control*>(shared);
  ::close(kControl);
  control->stack_end = stack_end;
  catch_faults();
  static Host host;
  control->stage = Stage::load;
  const std::string file = job.isolation->view ? "/kernel.so" : job.work_folder + "/" + kLibraryFile;
  if (const char* problem = load(file.c_str(), host); problem != nullptr) {
    control->failed = 1;
    std::snprintf(control->message, sizeof control->message, "%s", problem);
  }
  reset_registers();
  catch_faults();
  answer_samples();
  control->stage = Stage::loaded;
  const auto filter = control->threads > 1 ? sandbox::Filter::threads : sandbox::Filter::kernel;
  if (job.isolation->seccomp && !sandbox::load_filter(sandbox::filter_of(filter))) return kCrashed + 3;
  Host::answer();
  host.serve();
}

}  // namespace

sandbox::Role kernel_role() {
  return {.name = "kernel",
          .files = sandbox::Files::own,
          .filter = sandbox::Filter::load,
          .before = before,
          .run = run_kernel};
}

}  // namespace kw::host

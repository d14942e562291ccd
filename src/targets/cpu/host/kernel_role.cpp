// The role that loads a candidate's library and serves it (host.h).
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

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

// The system keeps coarse clocks in pages of every process, where no instruction gives their reading away. The pages
// go: a kernel that looks for them finds nothing there. All processes of kernels are forked from this one, and have
// them at the same place.
struct Pages {
  std::uint64_t begin = 0, end = 0;
};
std::vector<Pages> pages_of_clocks() {
  std::vector<Pages> found;
#if defined(__x86_64__)  // elsewhere nothing was tried
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Pages pages;
    if (line.find("[vvar") == std::string::npos) continue;
    if (std::sscanf(line.c_str(), "%lx-%lx", &pages.begin, &pages.end) == 2) found.push_back(pages);
  }
#endif
  return found;
}
std::vector<Pages> clocks;

// Addresses where nothing is and nothing will be; `at`: null for any.
void take(void* at, std::size_t size_bytes) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  ::mmap(at, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

// All of these processes come from one, which would give all of them the same addresses and the same secret numbers of
// the C library: whatever depends on those would be right in all of a judging, or wrong in all of it. How much deeper
// the stack is to be is the answer, in bytes.
[[gnu::no_stack_protector]] std::size_t become_another() {
  constexpr std::uint32_t kPage = 4096, kMostPages = 1024, kMostHeapPages = 16, kMostStackPages = 6, kGaps = 32,
                          kPagesOfAGap = 4;
  std::uint32_t numbers[8] = {};
  if (::getrandom(numbers, sizeof numbers, 0) != sizeof numbers) return 0;
  // The library will lie below these, and in no gap between others, which would be the same in all processes.
  for (std::uint32_t i = 0; i < kGaps; ++i) take(nullptr, kPagesOfAGap * kPage);
  take(nullptr, (1 + numbers[0] % kMostPages) * kPage);
  static void* volatile kept = std::malloc(numbers[1] % kMostHeapPages * kPage + numbers[2] % 64 * 16 + 1);
  static_cast<void>(kept);
  if (auto* random = reinterpret_cast<void*>(::getauxval(AT_RANDOM)); random != nullptr) {
    std::memcpy(random, numbers + 3, 16);
  }
#if defined(__x86_64__)
  // What marks the ends of stack frames, but for its lowest byte, and what hides addresses of functions.
  const std::uint64_t guard = (std::uint64_t{numbers[3]} << 32 | numbers[4]) << 8;
  const std::uint64_t mask = std::uint64_t{numbers[5]} << 32 | numbers[6];
  asm volatile("movq %0, %%fs:0x28; movq %1, %%fs:0x30" : : "r"(guard), "r"(mask));
#endif
  return numbers[7] % kMostStackPages * kPage;
}

bool before(sandbox::Job& job) {
  if (job.descriptors.size() < 6) return false;
  for (const Pages& pages : clocks) take(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin);
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

// Never returns: the frames above it have the marks of before.
int run_kernel(sandbox::Job& job) {
  void* deeper = ::alloca(become_another() + 1);
  asm volatile("" : : "r"(deeper) : "memory");
  void* shared = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, kControl, 0);
  if (shared == MAP_FAILED) ::_exit(kCrashed + 2);
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
  // A constructor may have changed them.
  host.note_registers();
  catch_faults();
  answer_samples();
  control->stage = Stage::loaded;
  const auto filter = control->threads > 1 ? sandbox::Filter::threads : sandbox::Filter::kernel;
  if (job.isolation->seccomp && !sandbox::load_filter(sandbox::filter_of(filter))) ::_exit(kCrashed + 3);
  Host::answer();
  host.serve();
}

}  // namespace

// Before the sandbox is closed: later there is no /proc to look at.
sandbox::Role kernel_role() {
  clocks = pages_of_clocks();
  return {.name = "kernel",
          .files = sandbox::Files::own,
          .filter = sandbox::Filter::load,
          .before = before,
          .run = run_kernel};
}

}  // namespace kw::host

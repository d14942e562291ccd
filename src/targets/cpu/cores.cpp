#include "targets/cpu/cores.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace kw::cpu {
namespace {

// One for all users of the machine. Where it cannot be had, timing goes on without: it guards only against ourselves.
sandbox::Descriptor take_lock() {
  for (const char* folder : {"/run/lock", "/tmp"}) {
    const std::string file = std::string(folder) + "/kernelwright-timing.lock";
    sandbox::Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!lock) lock = sandbox::Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!lock) continue;
    // A process that holds it for minutes is not timing.
    for (int i = 0; i < 6000; ++i) {
      if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
      ::usleep(20'000);
    }
  }
  return {};
}

}  // namespace

TimingTurn::TimingTurn() : lock_(take_lock()) {
  CPU_ZERO(&before_);
  ::sched_getaffinity(0, sizeof before_, &before_);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<unsigned>(core), &before_)) cores.push_back(core);
  }
  if (cores.empty()) cores = {0};
  // Interrupts like the first core; the kernel gets the last.
  clock_core_ = cores.front();
  kernel_core_ = cores.back();
}

TimingTurn::~TimingTurn() { ::sched_setaffinity(0, sizeof before_, &before_); }

void move_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(core), &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
}

}  // namespace kw::cpu

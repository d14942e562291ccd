#include "targets/cpu/cell.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "targets/cpu/call_image.h"
#include "targets/cpu/ending.h"
#include "targets/cpu/host/rest.h"

namespace kw::cpu {
namespace {

using namespace std::chrono_literals;

// What a kernel may allocate beyond scratch memory and what it keeps.
constexpr std::uint64_t kOwnMemory = std::uint64_t{1} << 30;
constexpr std::uint64_t kMoreScratch = std::uint64_t{24} << 20;
// The time that threads that wait for work may spin, all together, before they sleep.
constexpr std::uint64_t kMostRestlessNs = 10'000'000;
constexpr auto kMostRestlessTime = 2s;
constexpr long kSamplePauseNs = 15'000;  // between two looks at where a kernel is, at least
constexpr auto kSampledAwake = 2ms;

std::uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t ns_of(Clock::time_point time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }

bool has_ended(int watch) {
  pollfd waiting{watch, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// Spins until `value` is `wanted`; looks now and then whether it still can become so.
bool spin(const std::atomic<std::uint32_t>& value, std::uint32_t wanted, std::uint64_t deadline_ns, int watch) {
  for (;;) {
    for (int i = 0; i < 50000; ++i) {
      if (value.load(std::memory_order_acquire) == wanted) return true;
      host::rest();
    }
    if (now_ns() > deadline_ns || has_ended(watch)) return value.load(std::memory_order_acquire) == wanted;
  }
}

int entries_of(const std::string& folder) {
  std::error_code error;
  int count = 0;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    ++count;
  }
  return error ? -1 : count;
}

// A number of /proc/PROCESS/status; -1: not there.
int status_number(const std::string& process, const std::string& name) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::atoi(line.c_str() + name.size() + 1);
  }
  return -1;
}

// A thread's /proc/…/stat says that it runs or wants to.
bool runs(int stat_file) {
  char text[256];
  const ssize_t size = ::pread(stat_file, text, sizeof text, 0);
  if (size <= 0) return false;
  // The name before it may hold anything but ends with the last parenthesis.
  const std::string_view stat(text, static_cast<std::size_t>(size));
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string_view::npos && stat.substr(name_end).starts_with(") R");
}

}  // namespace

void Cell::Unmap::operator()(host::Control* control) const { ::munmap(control, sizeof(host::Control)); }

Result<Cell> Cell::open(const sandbox::Sandbox& sandbox, const sandbox::Descriptor& library, const Arena& inputs,
                        int threads, std::uint64_t memory_bytes) {
  Cell cell;
  KW_TRY(Arena outputs, Arena::make(false));
  cell.outputs_ = std::make_unique<Arena>(std::move(outputs));
  KW_TRY(cell.shared_, sandbox::memory_file(sizeof(host::Control)));
  void* shared = ::mmap(nullptr, sizeof(host::Control), PROT_READ | PROT_WRITE, MAP_SHARED, cell.shared_.get(), 0);
  if (shared == MAP_FAILED) return fail("no memory to share with a candidate: {}", ::strerror(errno));
  cell.control_.reset(static_cast<host::Control*>(shared));
  cell.control_->threads = static_cast<std::uint32_t>(threads);
  cell.command_ = sandbox::Descriptor(::eventfd(0, EFD_CLOEXEC));
  cell.answer_ = sandbox::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int descriptors[] = {cell.command_.get(), cell.answer_.get(),          cell.shared_.get(),
                             inputs.descriptor(), cell.outputs_->descriptor(), library.get()};
  const sandbox::Limits limits{.memory_bytes = memory_bytes + kOwnMemory,
                               .disk_bytes = std::uint64_t{64} << 20,
                               // The host's own and those it lends, and twice those of the kernel: where each call
                               // makes its threads anew, those of the call before have been joined but may not be gone
                               // from the system's count.
                               .processes = static_cast<std::uint32_t>(threads > 1 ? 3 * threads : 1),
                               .cpu_seconds = 600};
  KW_TRY(cell.child_, sandbox.run("kernel", limits, {}, descriptors));
  cell.threads_ = threads;
  cell.state_ = sandbox::Descriptor(::open(fmt::format("/proc/{}/stat", cell.pid()).c_str(), O_RDONLY | O_CLOEXEC));
  return cell;
}

Reason Cell::loaded(Clock::time_point deadline) {
  Reason reason = answer(deadline);
  if (reason.empty() && control_->failed) reason = {ReasonCode::refused_to_load, {{"said", message()}}};
  return reason;
}

Reason Cell::arrange(const Layout& layout, const targets::Instance& instance, Clock::time_point deadline) {
  const std::vector<std::byte> image = targets::image_of(instance);
  host::Control& control = *control_;
  layout_ = &layout;
  instance_ = &instance;
  assert(layout.regions.size() <= host::kMostRegions && image.size() <= host::kMostImageBytes &&
         layout.calls.size() <= host::kMostCalls);
  control.region_count = static_cast<std::uint32_t>(layout.regions.size());
  std::ranges::copy(layout.regions, control.regions);
  control.call_count = static_cast<std::uint32_t>(layout.calls.size());
  control.instances = static_cast<std::uint32_t>(layout.instances);
  control.tensor_count = static_cast<std::uint32_t>(layout.calls[0].inputs.size() + layout.calls[0].outputs.size());
  std::uint64_t* address = control.addresses;
  for (const Layout::Call& call : layout.calls) {
    for (const Buffer& buffer : call.inputs) *address++ = buffer.address;
    for (const Buffer& buffer : call.outputs) *address++ = buffer.address;
  }
  for (std::size_t i = 0; i < instance.constant.size(); ++i) control.constant[i] = instance.constant[i];
  control.shapes_wanted = std::ranges::any_of(instance.outputs, &TensorType::from_values);
  control.dirty_heap = !layout.as_timed;
  // As much as the contract says, or more.
  control.scratch_bytes = scratch_bytes(instance.all_bytes()) + (instance.all_bytes() / 4 % 3) * kMoreScratch;
  control.kept_bytes = kept_bytes(instance.constant_bytes());
  control.image_bytes = image.size();
  std::memcpy(control.image, image.data(), image.size());
  command(host::Command::arrange);
  Reason reason = answer(deadline);
  if (reason.empty() && control.failed) reason = {ReasonCode::prepare_failed, {{"said", message()}}};
  return reason;
}

void Cell::poison_scratch(std::uint8_t value) {
  control_->poison = value;
  control_->poisons_first = 1;
}

Reason Cell::run(std::uint32_t first, std::uint32_t count, Clock::time_point deadline) {
  start(first, count, false);
  Reason reason = finish(deadline);
  control_->poisons_first = 0;
  return reason;
}

Reason Cell::run_watched(std::uint32_t call, Clock::time_point deadline) {
  control_->rewritten = 0;
  control_->watched = 1;
  Reason reason = run(call, 1, deadline);
  control_->watched = 0;
  const std::uint32_t rewritten = control_->rewritten;
  if (!reason.empty() || rewritten == 0) return reason;
  return {ReasonCode::neighbours_rewritten,
          {{"output", std::min<std::size_t>(rewritten - 1, instance_->outputs.size() - 1)}}};
}

std::optional<std::vector<std::uint64_t>> Cell::run_sampled(std::uint32_t first, std::uint32_t count,
                                                            Clock::time_point deadline) {
  control_->sample_count = 0;
  start(first, count, false);
  pollfd waiting[] = {{answer_.get(), POLLIN, 0}, {child_.watch(), POLLIN, 0}};
  const Clock::time_point begin = Clock::now();
  for (Clock::time_point now = begin; now < deadline; now = Clock::now()) {
    // Not in step with the kernel's loops. Of short calls nothing would be seen if this thread slept.
    const std::chrono::nanoseconds pause(kSamplePauseNs + now.time_since_epoch().count() % kSamplePauseNs);
    const bool sleeps = now - begin > kSampledAwake;
    while (!sleeps && Clock::now() - now < pause) host::rest();
    const timespec longest{0, sleeps ? static_cast<long>(pause.count()) : 0};
    if (::ppoll(waiting, 2, &longest, nullptr) != 0) break;
    // By its descriptor: the number of a process that has just ended may be another's.
    ::syscall(SYS_pidfd_send_signal, child_.watch(), SIGPROF, nullptr, 0);
  }
  if (!finish(deadline).empty()) return std::nullopt;
  const std::uint32_t found = std::min(control_->sample_count, host::kMostSamples);
  return std::vector<std::uint64_t>(control_->samples, control_->samples + found);
}

Reason Cell::stand(std::uint32_t first, std::uint32_t count, Clock::time_point deadline) {
  control_->first = first;
  control_->count = count;
  command(host::Command::stand);
  return answer(deadline);
}

Reason Cell::warm(std::uint32_t first, std::uint32_t count, Clock::time_point deadline) {
  control_->first = first;
  control_->count = count;
  command(host::Command::warm);
  return answer(deadline);
}

void Cell::start(std::uint32_t first, std::uint32_t count, bool spins) {
  control_->first = first;
  control_->count = count;
  control_->spin = spins;
  for (std::uint32_t i = first; i < first + count; ++i) control_->statuses[i] = -1;
  command(host::Command::run);
}

bool Cell::ready(Clock::time_point deadline) {
  return spin(control_->ready, sequence_, ns_of(deadline), child_.watch());
}

Cell::Lap Cell::go(Clock::time_point deadline) {
  Lap lap;
  lap.begin_ns = now_ns();
  control_->go.store(sequence_, std::memory_order_release);
  lap.done = spin(control_->done, sequence_, ns_of(deadline), child_.watch());
  lap.end_ns = now_ns();
  return lap;
}

Reason Cell::finish(Clock::time_point deadline) {
  const std::uint32_t first = control_->first, count = control_->count;
  if (Reason reason = answer(deadline); !reason.empty()) return reason;
  for (std::uint32_t i = first; i < first + count && i < host::kMostCalls; ++i) {
    if (control_->statuses[i] == KW_OK) continue;
    return {ReasonCode::returned_error, {{"status", control_->statuses[i]}, {"said", message()}}};
  }
  return {};
}

void Cell::command(host::Command command) {
  control_->command = command;
  control_->sequence = ++sequence_;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(command_.get(), &one, sizeof one);
}

Reason Cell::answer(Clock::time_point deadline) {
  pollfd waiting[] = {{answer_.get(), POLLIN, 0}, {child_.watch(), POLLIN, 0}};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = ::poll(waiting, 2, static_cast<int>(std::clamp<long long>(left, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      end();
      return {ReasonCode::timed_out, {{"where", stage_text(control_->stage)}}};
    }
    if (waiting[0].revents & POLLIN) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const ssize_t got = ::read(answer_.get(), &ignored, sizeof ignored);
      return {};
    }
    return ended();
  }
}

Reason Cell::ended() {
  return reason_of_end(*control_, child_.wait(Clock::now() + 5s), {layout_, instance_},
                       sandbox::system_call_name(control_->fault.system_call));
}

std::string Cell::message() const {
  return {control_->message, ::strnlen(control_->message, sizeof control_->message)};
}

void Cell::end() {
  child_.kill();
  child_.wait(Clock::now() + 5s);
}

std::uint64_t Cell::cpu_ns() const {
  timespec time{};
  clockid_t clock{};
  if (::clock_getcpuclockid(pid(), &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

int Cell::thread_count() const { return entries_of(fmt::format("/proc/{}/task", pid())); }
int Cell::descriptor_count() const { return entries_of(fmt::format("/proc/{}/fd", pid())); }

std::optional<std::uint64_t> Cell::memory_held() const {
  const int kilobytes = status_number(std::to_string(pid()), "VmData");
  if (kilobytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(kilobytes) << 10;
}

int Cell::filter_count() const {
  const int ours = status_number("self", "Seccomp_filters"),
            theirs = status_number(std::to_string(pid()), "Seccomp_filters");
  return ours < 0 || theirs < 0 ? -1 : theirs - ours;
}

void Cell::pin(int core) const {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(core), &cores);
  ::sched_setaffinity(pid(), sizeof cores, &cores);
}

bool Cell::all_asleep() const {
  if (runs(state_.get())) return false;
  if (threads_ == 1) return true;
  std::error_code error;
  const std::string folder = fmt::format("/proc/{}/task", pid());
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const sandbox::Descriptor thread(::open((entry->path() / "stat").c_str(), O_RDONLY | O_CLOEXEC));
    if (runs(thread.get())) return false;
  }
  return true;
}

Reason Cell::come_to_rest() const {
  const std::uint64_t before = cpu_ns();
  // A process that got no core all this time has not worked either.
  const auto deadline = Clock::now() + kMostRestlessTime;
  while (!all_asleep() && Clock::now() < deadline) {
    if (cpu_ns() - before > kMostRestlessNs) {
      return {ReasonCode::keeps_working, {}};
    }
    ::usleep(100);
  }
  return {};
}

void Cell::hold() const { ::kill(pid(), SIGSTOP); }
void Cell::release() const { ::kill(pid(), SIGCONT); }

}  // namespace kw::cpu

// kw-device: kw's agent on a device. One static program that needs nothing there: no rights, no compiler, no libraries.
// It keeps the tensors, starts each kernel in a process of its own, has it run and reads the clock; what any of it
// means is decided by the judge, which asks over standard input and output (protocol.h). System calls are those of
// Linux 4.14.
//
//   kw-device FOLDER CORE [PROGRAM WORDS...]
//
// FOLDER: where kernels' programs are kept, each agent's in a folder of its own, which ends with it. CORE: where
// kernels are timed; -1: on the strongest. PROGRAM: what starts kernels (an emulator); without it they are started
// themselves.
#include <cctype>
#include <map>
#include <memory>

#include "targets/cpu/roof/roof_rounds.h"
#include "targets/remote/agent/kernel_process.h"
#include "targets/remote/agent/session_folder.h"
#include "targets/remote/agent/stream.h"
#include "targets/remote/agent/worker_process.h"

namespace kw::remote {
namespace {

constexpr std::size_t kMostPrograms = 64;

class Agent {
 public:
  Agent(std::string folder, int core, std::vector<std::string> runner)
      : folder_(std::move(folder)), runner_(std::move(runner)) {
    cores_ = usable_cores();
    kernel_core_ = std::find(cores_.begin(), cores_.end(), core) != cores_.end() ? core : strongest_core();
    clock_core_ = kernel_core_;
    for (const int other : cores_) {
      if (other != kernel_core_) clock_core_ = other;
    }
    // With nothing to load, a system that has filters complains of the address, one that has none of the question.
    filters_ = ::prctl(PR_SET_SECCOMP, 2, nullptr) != 0 && errno == EFAULT;
  }

  [[noreturn]] void serve() {
    send(kGreeting, sizeof kGreeting - 1);
    send_text(facts_text(folder_, filters_));
    for (;;) {
      Head head{};
      receive(&head, sizeof head);
      if (head.size > kMostMessageBytes) leave(1);
      serve(head);
    }
  }

 private:
  void serve(const Head& head) {
    switch (head.ask) {
      case Ask::write:
        return write(head);
      case Ask::program:
        return keep(head);
      case Ask::file:
        return put_file(head);
      default:
        break;
    }
    if (head.size > kMostOtherBytes) leave(1);
    Pieces pieces(head.size);
    switch (head.ask) {
      case Ask::weather:
        return send_text(weather());
      case Ask::roofs:
        return send_text(measure(pieces.next<RoofRequest>()));
      case Ask::size:
        return resize(head.id, pieces.next<Size>().bytes);
      case Ask::forget:
        inputs_.erase(head.id);
        return;
      case Ask::fill:
        return fill(inputs_.count(head.id) ? inputs_.at(head.id).get() : nullptr, pieces.next<Place>());
      case Ask::poison:
        return fill(kernels_.count(head.id) ? &kernels_.at(head.id)->outputs() : nullptr, pieces.next<Place>());
      case Ask::drop:
        kernels_.erase(head.id);
        return;
      case Ask::dismiss:
        workers_.erase(head.id);
        return;
      default:
        return answer(head, pieces);
    }
  }

  static void send_text(const std::string& text) {
    const std::uint64_t size = text.size();
    send(&size, sizeof size);
    send(text.data(), size);
  }

  std::string weather() const {
    move_to(kernel_core_);
    std::string text = weather_text(kernel_core_);
    move_to(clock_core_);
    return text;
  }

  // "fma VALUE..." and "level LEVEL PATTERN VALUE...", one value a round; nothing where there is no memory for it.
  std::string measure(const RoofRequest& request) const {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
    cpu::RoofPlan plan{
        .rounds = static_cast<int>(std::clamp<std::uint32_t>(request.rounds, 1, 1000)),
        .timing_ns = static_cast<std::int64_t>(std::min<std::uint64_t>(request.timing_ns, 1'000'000'000)),
        .most_ns = static_cast<std::int64_t>(std::min<std::uint64_t>(request.most_ns, 600'000'000'000))};
    for (std::uint32_t i = 0; i < std::min<std::size_t>(request.levels, kMostLevels); ++i) {
      plan.working_sets.push_back(std::clamp<std::uint64_t>(request.working_sets[i], 1 << 14, kMostBytes));
    }
    if (plan.working_sets.empty() || !std::is_sorted(plan.working_sets.begin(), plan.working_sets.end())) return {};
    move_to(kernel_core_);
    const auto rounds = cpu::measure_rounds(plan);
    move_to(clock_core_);
    if (!rounds) return {};
    std::string text = "fma" + numbers(rounds->fma_gflops) + "\n";
    for (std::size_t level = 0; level < rounds->levels.size(); ++level) {
      for (std::size_t pattern = 0; pattern < std::size(cpu::kPatterns); ++pattern) {
        text += "level " + std::to_string(level) + " " + std::to_string(pattern) +
                numbers(rounds->levels[level].gbps[pattern]) + "\n";
      }
    }
    return text;
  }

  static std::string numbers(const std::vector<double>& values) {
    std::string text;
    for (const double value : values) text += " " + std::to_string(value);
    return text;
  }

  void resize(std::uint32_t id, std::uint64_t bytes) {
    std::shared_ptr<SharedFile>& file = inputs_[id];
    if (file == nullptr) {
      file = std::make_shared<SharedFile>();
      if (!file->make(folder_)) problem_ = "memory for the inputs";
    }
    if (!file->resize(bytes)) problem_ = "memory for the inputs";
  }

  void write(const Head& head) {
    Place place{};
    if (head.size < sizeof place) return skip(head.size);
    receive(&place, sizeof place);
    unsigned char* at = inputs_.count(head.id) ? inputs_.at(head.id)->at(place.offset, place.bytes) : nullptr;
    if (at == nullptr || place.bytes != head.size - sizeof place) return skip(head.size - sizeof place);
    receive(at, place.bytes);
  }

  static void fill(const SharedFile* file, const Place& place) {
    unsigned char* at = file != nullptr ? file->at(place.offset, place.bytes) : nullptr;
    if (at != nullptr) std::memset(at, static_cast<int>(place.value), place.bytes);
  }

  // Only names that cannot lead anywhere.
  std::string path_of(const Program& program) const {
    std::string name(program.name, ::strnlen(program.name, sizeof program.name));
    const bool plain = !name.empty() && std::all_of(name.begin(), name.end(),
                                                    [](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
    return plain ? folder_ + "/kernel-" + name : std::string();
  }

  // The next bytes of the stream, as a file. Under another name first, so that half of a file is never found.
  bool receive_file(std::uint64_t left, const std::string& path, mode_t mode) const {
    const std::string draft = folder_ + "/draft-" + std::to_string(::getpid());
    const int fd = path.empty() ? -1 : ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool good = fd >= 0;
    char block[65536];
    while (left > 0) {
      const std::uint64_t now = std::min<std::uint64_t>(left, sizeof block);
      receive(block, now);
      left -= now;
      for (std::uint64_t done = 0; good && done < now;) {
        const ssize_t put = ::write(fd, block + done, now - done);
        good = put > 0;
        if (good) done += static_cast<std::uint64_t>(put);
      }
    }
    if (fd >= 0) good = ::close(fd) == 0 && good;
    good = good && ::rename(draft.c_str(), path.c_str()) == 0;
    if (!good) {
      const int why = errno;
      ::unlink(draft.c_str());
      errno = why;
    }
    return good;
  }

  void keep(const Head& head) {
    Program program{};
    if (head.size < sizeof program) return skip(head.size);
    receive(&program, sizeof program);
    const std::string path = path_of(program);
    if (!receive_file(head.size - sizeof program, path, 0700)) {
      problem_ = std::string("room for a kernel's program: ") + std::strerror(errno);
      return;
    }
    kept_.push_back(path);
    if (kept_.size() > kMostPrograms) {
      ::unlink(kept_.front().c_str());
      kept_.erase(kept_.begin());
    }
  }

  // In kw's folder on the device, where it stays.
  void put_file(const Head& head) {
    File file{};
    if (head.size < sizeof file) return skip(head.size);
    receive(&file, sizeof file);
    const std::string path(file.path, ::strnlen(file.path, sizeof file.path));
    const std::string home = folder_.substr(0, folder_.rfind('/'));
    if (!receive_file(head.size - sizeof file, made_way(home, path), 0700)) {
      problem_ = "room for " + path + ": " + std::strerror(errno);
    }
  }

  void answer(const Head& head, Pieces& pieces) {
    Report report{};
    report.exit_code = -1;
    report.changed = -1;
    report.threads = report.descriptors = -1;
    report.watches_clock = clock_core_ != kernel_core_;
    std::vector<char> more;
    const auto found = kernels_.find(head.id);
    if (!problem_.empty()) {
      report.outcome = Outcome::no_memory;
      std::snprintf(report.message, sizeof report.message, "%s", problem_.c_str());
      problem_.clear();
    } else if (head.ask == Ask::load) {
      load(head.id, pieces, report);
    } else if (head.ask == Ask::read) {
      read(head.id, pieces.next<Place>(), report, more);
    } else if (head.ask == Ask::worker) {
      start_worker(head.id, pieces, report);
    } else if (head.ask == Ask::talk) {
      talk(head.id, pieces, report, more);
    } else if (found == kernels_.end()) {
      report.outcome = Outcome::unknown;
    } else {
      ask_kernel(head.ask, *found->second, pieces, report, more);
    }
    report.read_bytes =
        more.size() - report.statuses * sizeof(std::int32_t) - report.shapes * sizeof(host::FoundShapes);
    send(&report, sizeof report);
    send(more.data(), more.size());
  }

  static std::uint64_t deadline(std::uint32_t most_ms) { return now_ns() + std::uint64_t{most_ms} * 1'000'000; }

  static void fail(Report& report, Outcome outcome, const char* why) {
    report.outcome = outcome;
    std::snprintf(report.message, sizeof report.message, "%s", why);
  }

  void load(std::uint32_t id, Pieces& pieces, Report& report) {
    const Load load = pieces.next<Load>();
    const std::string path = path_of(load.program);
    if (path.empty() || ::access(path.c_str(), X_OK) != 0) {
      report.outcome = Outcome::unknown;
      return;
    }
    const std::uint64_t words = std::uint64_t{load.start_filter_words} + load.kernel_filter_words;
    if (inputs_.count(load.inputs) == 0) resize(load.inputs, 0);
    if (pieces.left() != words * sizeof(sock_filter) || !problem_.empty()) {
      return fail(report, Outcome::failed, "a request that does not fit together");
    }
    std::string filters;
    const char* from = pieces.rest();
    for (std::uint32_t count : {load.start_filter_words, load.kernel_filter_words}) {
      const std::size_t bytes = count * sizeof(sock_filter);
      if (!filters_) count = 0;
      filters.append(reinterpret_cast<const char*>(&count), sizeof count);
      if (count > 0) filters.append(from, bytes);
      from += bytes;
    }
    auto kernel =
        std::make_unique<KernelProcess>(inputs_.at(load.inputs), static_cast<int>(std::max(load.threads, 1u)));
    std::vector<std::string> start = runner_;
    start.push_back(path);
    if (const char* missing = kernel->start(start, folder_, filters, load.memory_bytes); missing != nullptr) {
      return fail(report, Outcome::no_memory, missing);
    }
    kernel->answer(deadline(load.most_ms), report);
    report.descriptors = kernel->entries("fd");
    report.filters = filters_ ? kernel->filter_count() : -1;
    kernels_[id] = std::move(kernel);
  }

  void read(std::uint32_t id, const Place& place, Report& report, std::vector<char>& more) const {
    const auto found = inputs_.find(id);
    const unsigned char* at = found != inputs_.end() ? found->second->at(place.offset, place.bytes) : nullptr;
    if (at == nullptr) return fail(report, Outcome::failed, "bytes that are not there");
    append(more, at, place.bytes);
  }

  void start_worker(std::uint32_t id, Pieces& pieces, Report& report) {
    const auto request = pieces.next<StartWorker>();
    const std::vector<std::string> texts = texts_in(pieces);
    if (request.word_count == 0 || texts.size() != std::uint64_t{request.word_count} + request.variable_count) {
      return fail(report, Outcome::failed, "a request that does not fit together");
    }
    const auto variables = texts.begin() + request.word_count;
    auto worker = std::make_unique<WorkerProcess>();
    const std::string missing =
        worker->start({texts.begin(), variables}, {variables, texts.end()}, request.memory_bytes, cores_);
    if (!missing.empty()) return fail(report, Outcome::failed, missing.c_str());
    workers_[id] = std::move(worker);
  }

  void talk(std::uint32_t id, Pieces& pieces, Report& report, std::vector<char>& more) {
    const auto request = pieces.next<Talk>();
    const auto found = workers_.find(id);
    if (found == workers_.end()) {
      report.outcome = Outcome::unknown;
      return;
    }
    std::vector<int> files;
    if (request.inputs != 0 || request.outputs != 0) {
      if (inputs_.count(request.inputs) == 0 || inputs_.count(request.outputs) == 0) {
        return fail(report, Outcome::failed, "tensors that are not there");
      }
      files = {inputs_.at(request.inputs)->read_only(), inputs_.at(request.outputs)->file()};
    }
    if (request.pinned != 0) found->second->pin(kernel_core_);
    found->second->ask({pieces.rest(), pieces.left()}, files, deadline(request.most_ms), report, more);
    if (report.outcome != Outcome::answered) workers_.erase(found);
  }

  void ask_kernel(Ask ask, KernelProcess& kernel, Pieces& pieces, Report& report, std::vector<char>& more) {
    kernel.go_on();
    switch (ask) {
      case Ask::arrange:
        return arrange(kernel, pieces, report);
      case Ask::scratch: {
        const auto scratch = pieces.next<Scratch>();
        kernel.control().poison = scratch.value;
        kernel.command(host::Command::poison);
        return kernel.answer(deadline(scratch.most_ms), report);
      }
      case Ask::run:
        return run(kernel, pieces, report, more);
      case Ask::look: {
        const auto request = pieces.next<Run>();
        return look(kernel, request, pieces, report, more);
      }
      case Ask::ready:
        return ready(kernel, pieces.next<Ready>(), report);
      case Ask::time:
        return time(kernel, pieces.next<Time>(), report, more);
      case Ask::behaviour:
        report.threads = kernel.entries("task");
        report.descriptors = kernel.entries("fd");
        report.memory_held = kernel.memory_held();
        report.restless = !kernel.comes_to_rest();
        if (!kernel.lives()) kernel.ended(report);
        return;
      default:
        return fail(report, Outcome::failed, "a request that this agent does not know");
    }
  }

  static void arrange(KernelProcess& kernel, Pieces& pieces, Report& report) {
    const auto request = pieces.next<Arrange>();
    host::Control& control = kernel.control();
    if (request.region_count > host::kMostRegions || request.call_count > host::kMostCalls ||
        request.tensor_count > host::kMostTensors || request.constant_count > host::kMostTensors ||
        request.address_count != request.call_count * request.tensor_count ||
        request.image_bytes > host::kMostImageBytes) {
      return fail(report, Outcome::failed, "an arrangement that is too large");
    }
    std::vector<host::Region> regions(request.region_count);
    std::vector<std::uint64_t> addresses(request.address_count);
    pieces.take(regions.data(), regions.size() * sizeof(host::Region));
    pieces.take(addresses.data(), addresses.size() * sizeof(std::uint64_t));
    pieces.take(control.constant, request.constant_count * sizeof(std::uint32_t));
    pieces.take(control.image, request.image_bytes);
    if (!pieces.good()) return fail(report, Outcome::failed, "a request that ends early");
    if (!kernel.outputs().resize(request.output_bytes))
      return fail(report, Outcome::no_memory, "memory for the outputs");
    std::copy(regions.begin(), regions.end(), control.regions);
    std::copy(addresses.begin(), addresses.end(), control.addresses);
    control.region_count = request.region_count;
    control.call_count = request.call_count;
    control.tensor_count = request.tensor_count;
    control.instances = request.instances;
    control.shapes_wanted = request.shapes_wanted;
    control.scratch_bytes = request.scratch_bytes;
    control.kept_bytes = request.kept_bytes;
    control.image_bytes = request.image_bytes;
    kernel.arranged(std::move(regions), std::move(addresses), request.tensor_count);
    kernel.command(host::Command::arrange);
    kernel.answer(deadline(request.most_ms), report);
  }

  // The range of calls as it can be meant.
  static bool holds(const KernelProcess& kernel, std::uint32_t first, std::uint32_t count) {
    return first <= kernel.call_count() && count <= kernel.call_count() - first;
  }

  static void give_command(KernelProcess& kernel, std::uint32_t first, std::uint32_t count, bool spin) {
    host::Control& control = kernel.control();
    control.first = first;
    control.count = count;
    control.spin = spin;
    for (std::uint32_t i = first; i < first + count; ++i) control.statuses[i] = -1;
    kernel.command(host::Command::run);
  }

  static void append(std::vector<char>& more, const void* from, std::uint64_t bytes) {
    const auto* begin = static_cast<const char*>(from);
    more.insert(more.end(), begin, begin + bytes);
  }

  static void note_calls(KernelProcess& kernel, std::uint32_t first, std::uint32_t count, Report& report,
                         std::vector<char>& more) {
    host::Control& control = kernel.control();
    report.statuses = count;
    append(more, control.statuses + first, count * sizeof(std::int32_t));
    if (control.shapes_wanted == 0) return;
    report.shapes = count;
    append(more, control.found + first, count * sizeof(host::FoundShapes));
  }

  static void run(KernelProcess& kernel, Pieces& pieces, Report& report, std::vector<char>& more) {
    const auto request = pieces.next<Run>();
    if (!holds(kernel, request.first, request.count)) return fail(report, Outcome::failed, "calls that are not there");
    kernel.control().rewritten = 0;
    kernel.control().watched = request.watched;
    give_command(kernel, request.first, request.count, false);
    kernel.answer(deadline(request.most_ms), report);
    kernel.control().watched = 0;
    if (report.outcome != Outcome::answered) return;
    note_calls(kernel, request.first, request.count, report, more);
    look(kernel, request, pieces, report, more);
  }

  static void look(KernelProcess& kernel, const Run& request, Pieces& pieces, Report& report, std::vector<char>& more) {
    for (std::uint32_t i = 0; i < request.checks && pieces.good(); ++i) {
      const auto place = pieces.next<Place>();
      const unsigned char* at = kernel.outputs().at(place.offset, place.bytes);
      if (at == nullptr || report.changed >= 0) continue;
      const auto value = static_cast<unsigned char>(place.value);
      if (!std::all_of(at, at + place.bytes, [&](unsigned char one) { return one == value; })) {
        report.changed = static_cast<std::int32_t>(i);
      }
    }
    for (std::uint32_t i = 0; i < request.reads && pieces.good(); ++i) {
      const auto place = pieces.next<Place>();
      const unsigned char* at = kernel.outputs().at(place.offset, place.bytes);
      if (at != nullptr) append(more, at, place.bytes);
    }
    if (!pieces.good()) fail(report, Outcome::failed, "a request that ends early");
  }

  void ready(KernelProcess& kernel, const Ready& request, Report& report) const {
    if (!holds(kernel, 0, request.count)) return fail(report, Outcome::failed, "calls that are not there");
    kernel.pin(kernel_core_);
    const std::uint64_t until = deadline(request.most_ms), begin = now_ns(), cpu_begin = kernel.cpu_ns();
    const auto going_on = [&] { return report.outcome == Outcome::answered; };
    if (request.warm_call != kNoCall && holds(kernel, request.warm_call, 1)) {
      give_command(kernel, request.warm_call, 1, false);
      kernel.answer(until, report);
    }
    // Its own time: on a busy device it may have waited for the core. Where that is not known, the clock's.
    const std::uint64_t cpu_end = kernel.cpu_ns();
    report.ns = static_cast<double>(cpu_end > cpu_begin ? cpu_end - cpu_begin : now_ns() - begin);
    for (const host::Command command : {host::Command::warm, host::Command::stand}) {
      if (!going_on() || (command == host::Command::warm && request.warm == 0)) continue;
      kernel.control().first = 0;
      kernel.control().count = request.count;
      kernel.command(command);
      kernel.answer(until, report);
    }
    if (going_on()) rest(kernel, report);
  }

  // Nothing of a kernel may run while others have their turns, or while inputs are written.
  static void rest(KernelProcess& kernel, Report& report) {
    report.restless = !kernel.comes_to_rest();
    kernel.stop();
  }

  // The tensors of the first calls as near, or as far, as the lap is to find them.
  void settle(const KernelProcess& kernel, const Time& request) const {
    std::uint64_t bytes = 0;
    std::vector<std::vector<host::Block>> calls;
    for (std::uint32_t call = 0; call < request.count; ++call) {
      calls.push_back(kernel.tensors_of(call));
      for (const host::Block& block : calls.back()) bytes += block.size_bytes;
    }
    if (request.settle == Settle::near && bytes <= host::kMostWarmBytes) {
      for (int pass = 0; pass < host::kWarmPasses; ++pass) {
        for (const std::vector<host::Block>& call : calls) {
          host::read_side_by_side({call.data(), call.size()}, host::kLineBytes);
        }
      }
    }
    if (request.settle != Settle::far) return;
    // More than the core's own caches hold, read and written.
    static std::vector<unsigned char> ballast(std::size_t{32} << 20);
    for (std::size_t i = 0; i < ballast.size(); i += host::kLineBytes) ++ballast[i];
  }

  void time(KernelProcess& kernel, const Time& request, Report& report, std::vector<char>& more) const {
    if (!holds(kernel, 0, request.count)) return fail(report, Outcome::failed, "calls that are not there");
    const bool spins = clock_core_ != kernel_core_ && kernel.threads() < static_cast<int>(cores_.size());
    report.watches_clock = spins;
    kernel.pin(kernel_core_);
    kernel.stop();
    move_to(kernel_core_);
    settle(kernel, request);
    move_to(clock_core_);
    host::Control& control = kernel.control();
    const std::uint64_t cpu_start = kernel.cpu_ns(), until = deadline(request.most_ms);
    std::uint64_t cpu_ready = cpu_start, cpu_done = cpu_start;
    const long interrupted = times_interrupted();
    const std::uint64_t begin = now_ns();
    bool came = !spins;
    kernel.go_on();
    give_command(kernel, 0, request.count, spins);
    if (spins && spin(kernel, control.ready, until)) {
      if (kernel.threads() > 1) cpu_ready = kernel.cpu_ns();
      const std::uint64_t lap_begin = now_ns();
      control.go.store(kernel.sequence(), std::memory_order_release);
      came = spin(kernel, control.done, until);
      report.ns = static_cast<double>(now_ns() - lap_begin);
      if (kernel.threads() > 1) cpu_done = kernel.cpu_ns();
    }
    kernel.answer(until, report);
    report.came = came;
    if (report.outcome != Outcome::answered) return;
    const auto wall_ns = static_cast<double>(now_ns() - begin);
    report.clean = times_interrupted() == interrupted;
    note_calls(kernel, 0, request.count, report, more);
    rest(kernel, report);
    // The system brings a process's account up to date when it leaves the core.
    move_to(kernel_core_);
    const auto cpu_ns = static_cast<double>(kernel.cpu_ns() - cpu_start);
    move_to(clock_core_);
    if (!spins) report.ns = kernel.threads() == 1 ? cpu_ns : wall_ns;
    report.outside_ns = kernel.threads() == 1 ? std::max(cpu_ns - report.ns, 0.0)
                        : spins               ? cpu_ns - static_cast<double>(cpu_done - cpu_ready)
                                              : std::max(cpu_ns - report.ns * kernel.threads(), 0.0);
  }

  static bool spin(KernelProcess& kernel, const std::atomic<std::uint32_t>& value, std::uint64_t deadline_ns) {
    const std::uint32_t wanted = kernel.sequence();
    for (;;) {
      for (int i = 0; i < 20000; ++i) {
        if (value.load(std::memory_order_acquire) == wanted) return true;
        host::rest();
      }
      if (now_ns() > deadline_ns || !kernel.lives()) return value.load(std::memory_order_acquire) == wanted;
    }
  }

  std::string folder_;
  std::vector<std::string> runner_;
  std::vector<int> cores_;
  int kernel_core_ = 0, clock_core_ = 0;
  bool filters_ = false;
  std::string problem_;  // of a request that was not answered: said with the next answer
  std::vector<std::string> kept_;
  std::map<std::uint32_t, std::shared_ptr<SharedFile>> inputs_;
  std::map<std::uint32_t, std::unique_ptr<KernelProcess>> kernels_;
  std::map<std::uint32_t, std::unique_ptr<WorkerProcess>> workers_;
};

}  // namespace
}  // namespace kw::remote

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "kw-device is a part of kw, which starts it on devices\n");
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  if (!kw::remote::session.make(argv[1])) {
    std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(errno));
    return 1;
  }
  kw::remote::Agent agent(kw::remote::session.path(), std::atoi(argv[2]), {argv + 3, argv + argc});
  agent.serve();
}

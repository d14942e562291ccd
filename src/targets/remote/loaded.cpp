#include "targets/remote/loaded.h"

#include <algorithm>
#include <cstring>

#include "sandbox/filters.h"
#include "targets/cpu/call_image.h"
#include "targets/cpu/cell.h"
#include "targets/cpu/ending.h"

namespace kw::remote {
namespace {

using namespace std::chrono_literals;

// The deadline of requests in which the kernel does not run.
constexpr auto kMostOwnTime = 30s;
// Outputs up to this come with the answer to a run, unasked.
constexpr std::uint64_t kSmallOutputBytes = 128 << 10;
constexpr std::size_t kFewCalls = 4;

// A time that a device reported, between 0 and an hour: anything may come over a link, and NaN would spoil medians.
bool is_a_time(double ns) { return ns >= 0 && ns <= 3.6e12; }
Reason no_time() { return {ReasonCode::lost, {{"where", "as the agent sends times that are none"}}}; }

// The filters of system calls that a kernel's process gets where the device has such; made once for an architecture.
struct Filters {
  sandbox::Program start, kernel;
};
const Filters& filters_of(const std::string& machine, bool threads) {
  static std::mutex lock;
  static std::map<std::pair<std::string, bool>, Filters> made;
  const std::lock_guard guard(lock);
  Filters& filters = made[{machine, threads}];
  if (filters.start.empty()) {
    filters.start = sandbox::make_filter(sandbox::Filter::start, machine);
    filters.kernel = sandbox::make_filter(threads ? sandbox::Filter::threads : sandbox::Filter::kernel, machine);
  }
  return filters;
}

}  // namespace

LoadedOnDevice::LoadedOnDevice(std::shared_ptr<Connection> connection, const Architecture& architecture,
                               const DeviceBuilt& built, const DeviceCalls& calls, const targets::Limits& limits,
                               int times_slower)
    : connection_(std::move(connection)),
      architecture_(architecture),
      built_(built),
      id_(connection_->new_id()),
      inputs_(calls.id()),
      limits_(limits),
      times_slower_(times_slower),
      control_(std::make_unique<host::Control>()) {}

LoadedOnDevice::~LoadedOnDevice() { connection_->post(Ask::drop, id_, {}); }

std::uint32_t LoadedOnDevice::most_ms(Clock::time_point deadline) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left * times_slower_, 1, 3'600'000));
}

std::optional<Answer> LoadedOnDevice::ask(Ask ask, const Message& message, Clock::time_point deadline, Reason* reason,
                                          std::uint64_t most_read) const {
  std::optional<Answer> answer =
      connection_->ask(ask, id_, message.bytes(), std::chrono::milliseconds(most_ms(deadline)), most_read);
  if (!answer) {
    *reason = {ReasonCode::lost, {{"where", "when the link to " + connection_->device() + " broke"}}};
    return std::nullopt;
  }
  const Report& report = answer->report;
  control_->stage = report.stage;
  control_->failed = report.failed;
  control_->varies = report.varies;
  control_->registers_changed = report.registers_changed;
  control_->rewritten = report.rewritten;
  control_->stack_end = report.stack_end;
  control_->fault = report.fault;
  static_assert(sizeof control_->message == sizeof report.message);
  std::memcpy(control_->message, report.message, sizeof report.message);
  switch (report.outcome) {
    case Outcome::answered:
    case Outcome::unknown:
      return answer;
    case Outcome::timed_out:
      *reason = {ReasonCode::timed_out, {{"where", cpu::stage_text(report.stage)}}};
      return std::nullopt;
    case Outcome::ended: {
      sandbox::Ending ending;
      ending.exit_code = report.exit_code;
      ending.signal = report.signal;
      const cpu::Surroundings near{calls_ != nullptr ? &calls_->layout() : nullptr, instance_};
      *reason = cpu::reason_of_end(*control_, ending, near,
                                   sandbox::system_call_name(report.fault.system_call, architecture_.in_filters));
      return std::nullopt;
    }
    case Outcome::no_memory:
      *reason = {ReasonCode::lost, {{"where", fmt::format("as {} has no {}", connection_->device(), report.message)}}};
      return std::nullopt;
    case Outcome::failed:
      break;
  }
  *reason = {ReasonCode::lost,
             {{"where", fmt::format("as kw's agent on {} says: {}", connection_->device(), report.message)}}};
  return std::nullopt;
}

Reason LoadedOnDevice::finish_loading(Clock::time_point deadline) {
  const Filters& filters = filters_of(architecture_.in_filters, limits_.threads > 1);
  Load load{};
  std::snprintf(load.program.name, sizeof load.program.name, "%llu", static_cast<unsigned long long>(built_.number));
  load.inputs = inputs_;
  load.threads = static_cast<std::uint32_t>(limits_.threads);
  load.most_ms = most_ms(deadline);
  load.start_filter_words = static_cast<std::uint32_t>(filters.start.size());
  load.kernel_filter_words = static_cast<std::uint32_t>(filters.kernel.size());
  load.memory_bytes = cpu::scratch_bytes(limits_.memory_bytes) + cpu::kept_bytes(limits_.constant_bytes);
  Message message;
  message.add(load);
  for (const sandbox::Program* one : {&filters.start, &filters.kernel}) {
    message.add(one->data(), one->size() * sizeof(sock_filter));
  }
  const auto send_program = [&] {
    const Message name = Message().add(load.program);
    connection_->post(Ask::program, 0, name.bytes(), built_.program);
  };
  if (connection_->note_program(built_.number)) send_program();
  Reason reason;
  std::optional<Answer> answer = ask(Ask::load, message, deadline, &reason);
  if (answer && answer->report.outcome == Outcome::unknown) {
    send_program();  // the agent keeps the last ones only
    answer = ask(Ask::load, message, deadline, &reason);
  }
  if (!answer) return reason;
  if (answer->report.outcome == Outcome::unknown) {
    return {ReasonCode::lost, {{"where", fmt::format("as {} does not keep its program", connection_->device())}}};
  }
  if (control_->failed) return {ReasonCode::refused_to_load, {{"said", std::string(control_->message)}}};
  // One for starting, one more for running: a constructor that never returns has only the first.
  if (const int count = answer->report.filters; count >= 0 && count < 2) return {ReasonCode::filter_missing, {}};
  descriptors_ = answer->report.descriptors;
  watches_clock_ = answer->report.watches_clock != 0;
  return {};
}

Result<Reason> LoadedOnDevice::arrange(const targets::Calls& calls, const targets::Instance& instance,
                                       Clock::time_point deadline) {
  calls_ = &dynamic_cast<const DeviceCalls&>(calls);
  instance_ = &instance;
  const cpu::Layout& layout = calls_->layout();
  poisons_.assign(layout.calls.size(), std::nullopt);
  left_.assign(layout.calls.size(), {});
  const std::vector<std::byte> image = targets::image_of(instance, architecture_.address_bits);
  const std::size_t tensors = layout.calls[0].inputs.size() + layout.calls[0].outputs.size();
  Arrange arrange{};
  arrange.most_ms = most_ms(deadline);
  arrange.region_count = static_cast<std::uint32_t>(layout.regions.size());
  arrange.address_count = static_cast<std::uint32_t>(layout.calls.size() * tensors);
  arrange.constant_count = static_cast<std::uint32_t>(instance.constant.size());
  arrange.call_count = static_cast<std::uint32_t>(layout.calls.size());
  arrange.tensor_count = static_cast<std::uint32_t>(tensors);
  arrange.instances = static_cast<std::uint32_t>(layout.instances);
  arrange.shapes_wanted = std::ranges::any_of(instance.outputs, &TensorType::from_values);
  arrange.scratch_bytes = cpu::scratch_bytes(instance.all_bytes());
  arrange.kept_bytes = cpu::kept_bytes(instance.constant_bytes());
  arrange.output_bytes = layout.output_bytes;
  arrange.image_bytes = image.size();
  Message message;
  message.add(arrange).add(layout.regions.data(), layout.regions.size() * sizeof(host::Region));
  for (const cpu::Layout::Call& call : layout.calls) {
    for (const cpu::Buffer& buffer : call.inputs) message.add(buffer.address);
    for (const cpu::Buffer& buffer : call.outputs) message.add(buffer.address);
  }
  for (const bool constant : instance.constant) message.add(std::uint32_t{constant});
  message.add(image.data(), image.size());
  Reason reason;
  if (!ask(Ask::arrange, message, deadline, &reason)) return reason;
  if (control_->failed) return Reason{ReasonCode::prepare_failed, {{"said", std::string(control_->message)}}};
  return Reason{};
}

Reason LoadedOnDevice::poison_scratch(std::uint8_t value, Clock::time_point deadline) {
  Reason reason;
  ask(Ask::scratch, Message().add(Scratch{most_ms(deadline), value}), deadline, &reason);
  return reason;
}

std::vector<Place> LoadedOnDevice::around(std::size_t call, std::uint8_t value, std::vector<Reason>* meaning) const {
  std::vector<Place> places;
  const std::vector<cpu::Buffer>& outputs = calls_->layout().calls[call].outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const cpu::Buffer& buffer = outputs[i];
    const std::uint64_t end = buffer.offset + buffer.size_bytes;
    places.push_back({buffer.region_offset, buffer.offset - buffer.region_offset, value, 0});
    places.push_back({end, buffer.region_offset + buffer.region_bytes - end, value, 0});
    meaning->push_back({ReasonCode::wrote_before, {{"output", i}}});
    meaning->push_back({ReasonCode::wrote_after, {{"output", i}}});
  }
  return places;
}

Reason LoadedOnDevice::note_calls(std::size_t first, std::size_t count, const Answer& answer) {
  const Report& report = answer.report;
  const char* at = answer.more.data();
  for (std::size_t i = 0; i < std::min<std::size_t>(count, report.statuses); ++i, at += sizeof(std::int32_t)) {
    std::memcpy(&control_->statuses[first + i], at, sizeof(std::int32_t));
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(count, report.shapes); ++i, at += sizeof(host::FoundShapes)) {
    std::memcpy(&control_->found[first + i], at, sizeof(host::FoundShapes));
  }
  if (report.statuses != count) return {ReasonCode::lost, {{"where", "as the agent counts its calls otherwise"}}};
  for (std::size_t i = first; i < first + count; ++i) {
    if (control_->statuses[i] == KW_OK) continue;
    return {ReasonCode::returned_error, {{"status", control_->statuses[i]}, {"said", std::string(control_->message)}}};
  }
  return {};
}

Reason LoadedOnDevice::registers() const {
  return control_->registers_changed != 0 ? Reason{ReasonCode::registers_changed, {}} : Reason{};
}

Reason LoadedOnDevice::run(std::size_t first, std::size_t count, Clock::time_point deadline) {
  return run(first, count, false, deadline);
}

std::optional<Reason> LoadedOnDevice::run_watched(std::size_t call, Clock::time_point deadline) {
  if (architecture_.name != "x86_64" || limits_.threads > 1) return std::nullopt;
  return run(call, 1, true, deadline);
}

Reason LoadedOnDevice::run(std::size_t first, std::size_t count, bool watched, Clock::time_point deadline) {
  std::vector<Place> checks, reads;
  std::vector<Reason> meaning;
  std::vector<std::size_t> checked;  // the call of each check
  std::uint64_t bytes = 0;
  const std::vector<cpu::Layout::Call>& calls = calls_->layout().calls;
  for (const cpu::Buffer& buffer : calls[first].outputs) bytes += buffer.size_bytes;
  const bool eager = count <= kFewCalls && bytes * count <= kSmallOutputBytes;
  for (std::size_t call = first; call < first + count; ++call) {
    left_[call] = {};
    if (!eager) continue;
    if (poisons_[call]) {
      for (const Place& place : around(call, *poisons_[call], &meaning)) {
        checks.push_back(place);
        checked.push_back(call);
      }
    }
    for (const cpu::Buffer& buffer : calls[call].outputs) reads.push_back({buffer.offset, buffer.size_bytes, 0, 0});
  }
  Message message;
  message.add(Run{most_ms(deadline), static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count), watched,
                  static_cast<std::uint32_t>(checks.size()), static_cast<std::uint32_t>(reads.size())});
  message.add(checks.data(), checks.size() * sizeof(Place)).add(reads.data(), reads.size() * sizeof(Place));
  Reason reason;
  const std::uint64_t wanted = eager ? bytes * count : 0;
  const std::optional<Answer> answer = ask(Ask::run, message, deadline, &reason, wanted);
  if (!answer) return reason;
  if (reason = note_calls(first, count, *answer); !reason.empty()) return reason;
  if (watched && control_->rewritten != 0) {
    return {ReasonCode::neighbours_rewritten,
            {{"output", std::min<std::size_t>(control_->rewritten - 1, instance_->outputs.size() - 1)}}};
  }
  if (reason = registers(); !reason.empty() || !eager) return reason;
  if (answer->report.read_bytes != wanted) return {ReasonCode::lost, {{"where", "as the agent sends other outputs"}}};
  const char* at = answer->more.data() + (answer->more.size() - wanted);
  for (std::size_t call = first; call < first + count; ++call) {
    Left& left = left_[call];
    // Watching writes changes what lies around outputs.
    left.known = poisons_[call].has_value() && !watched;
    left.poison = poisons_[call].value_or(0);
    for (const cpu::Buffer& buffer : calls[call].outputs) {
      left.outputs.emplace_back(at, at + buffer.size_bytes);
      at += buffer.size_bytes;
    }
  }
  const auto changed = static_cast<std::size_t>(answer->report.changed);
  if (answer->report.changed >= 0 && changed < checks.size()) {
    // Of the calls after it nothing is known.
    for (std::size_t call = checked[changed] + 1; call < first + count; ++call) left_[call].known = false;
    left_[checked[changed]].overrun = meaning[changed];
  }
  return {};
}

targets::FoundShape LoadedOnDevice::found_shape(std::size_t call, std::size_t output) const {
  const host::FoundShapes& answer = control_->found[call];
  const std::int32_t rank = answer.ranks[output];
  if (rank < 0 || rank > KW_MAX_RANK) return {.rank = rank};
  return {.rank = rank, .lengths = {answer.shapes[output], answer.shapes[output] + rank}};
}

std::optional<std::uint64_t> LoadedOnDevice::memory_held() const {
  Reason reason;
  const auto answer = ask(Ask::behaviour, Message(), Clock::now() + kMostOwnTime, &reason);
  if (!answer || answer->report.memory_held == 0) return std::nullopt;
  return answer->report.memory_held;
}

Reason LoadedOnDevice::behaviour() {
  Reason reason;
  const auto answer = ask(Ask::behaviour, Message(), Clock::now() + kMostOwnTime, &reason);
  if (!answer) return reason;
  const Report& report = answer->report;
  if (report.threads > (limits_.threads > 1 ? 2 * limits_.threads : 1)) {
    return {ReasonCode::threads_left, {{"threads", report.threads}, {"allowed", limits_.threads}}};
  }
  if (descriptors_ >= 0 && report.descriptors != descriptors_) return {ReasonCode::descriptors_left, {}};
  return report.restless != 0 ? Reason{ReasonCode::keeps_working, {}} : Reason{};
}

void LoadedOnDevice::poison(std::size_t call, std::uint8_t value, bool whole) {
  left_[call] = {};
  if (whole) poisons_[call] = value;
  for (const cpu::Buffer& buffer : calls_->layout().calls[call].outputs) {
    const Place place{whole ? buffer.region_offset : buffer.offset, whole ? buffer.region_bytes : buffer.size_bytes,
                      value, 0};
    connection_->post(Ask::poison, id_, {reinterpret_cast<const char*>(&place), sizeof place});
  }
}

Reason LoadedOnDevice::overrun(std::size_t call, std::uint8_t value) const {
  if (left_[call].known && left_[call].poison == value) return left_[call].overrun;
  std::vector<Reason> meaning;
  const std::vector<Place> checks = around(call, value, &meaning);
  Message message;
  message.add(Run{.checks = static_cast<std::uint32_t>(checks.size())})
      .add(checks.data(), checks.size() * sizeof(Place));
  Reason reason;
  const auto answer = ask(Ask::look, message, Clock::now() + kMostOwnTime, &reason);
  if (!answer) return reason;
  const auto changed = static_cast<std::size_t>(answer->report.changed);
  return answer->report.changed >= 0 && changed < meaning.size() ? meaning[changed] : Reason{};
}

void LoadedOnDevice::read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const {
  if (const Left& left = left_[call]; output < left.outputs.size() && left.outputs[output].size() >= bytes.size()) {
    std::memcpy(bytes.data(), left.outputs[output].data(), bytes.size());
    return;
  }
  const cpu::Buffer& buffer = calls_->layout().calls[call].outputs[output];
  Message message;
  message.add(Run{.reads = 1}).add(Place{buffer.offset, bytes.size(), 0, 0});
  Reason reason;
  const auto answer = ask(Ask::look, message, Clock::now() + kMostOwnTime, &reason, bytes.size());
  // Where the link is broken, the next request says so; until then nothing looks right.
  if (!answer || answer->more.size() != bytes.size()) return std::ranges::fill(bytes, std::byte{0xff}), void();
  std::memcpy(bytes.data(), answer->more.data(), bytes.size());
}

Reason LoadedOnDevice::make_ready(std::size_t count, std::optional<std::size_t> warm_call, bool warm, double* warm_ns,
                                  Clock::time_point deadline) {
  Reason reason;
  const Ready request{most_ms(deadline), static_cast<std::uint32_t>(count),
                      warm_call ? static_cast<std::uint32_t>(*warm_call) : kNoCall, warm};
  const auto answer = ask(Ask::ready, Message().add(request), deadline, &reason);
  if (!answer) return reason;
  if (!is_a_time(answer->report.ns)) return no_time();
  *warm_ns = answer->report.ns;
  return answer->report.restless != 0 ? Reason{ReasonCode::keeps_working, {}} : Reason{};
}

targets::Lap LoadedOnDevice::time(std::size_t count, Settle settle, Clock::time_point deadline) {
  for (std::size_t call = 0; call < count; ++call) left_[call] = {};
  targets::Lap lap;
  const auto answer =
      ask(Ask::time, Message().add(Time{most_ms(deadline), static_cast<std::uint32_t>(count), settle, 0}), deadline,
          &lap.reason);
  if (!answer) return lap;
  const Report& report = answer->report;
  watches_clock_ = report.watches_clock != 0;
  lap.reason = note_calls(0, count, *answer);
  if (lap.reason.empty()) lap.reason = registers();
  if (lap.reason.empty() && report.restless != 0) lap.reason = {ReasonCode::keeps_working, {}};
  if (lap.reason.empty() && report.came == 0) lap.reason = {ReasonCode::skipped_its_calls, {}};
  if (!is_a_time(report.ns) || !is_a_time(report.outside_ns)) {
    lap.reason = no_time();
    return lap;
  }
  lap.ns = report.ns;
  lap.outside_ns = report.outside_ns;
  lap.clean = report.clean != 0;
  return lap;
}

}  // namespace kw::remote

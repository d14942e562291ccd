#include "targets/remote/workers.h"

#include <algorithm>
#include <cstring>

#include "base/terminal.h"

namespace kw::remote {
namespace {

using namespace std::chrono_literals;

constexpr auto kMostStartTime = 10s;
constexpr auto kMostReadTime = 30s;
constexpr std::uint64_t kMostAnswerBytes = 1 << 20;

std::uint32_t milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, 3'600'000));
}

// What an agent says comes from the device: for people, in a line.
std::string words_of(const Report& report) {
  switch (report.outcome) {
    case Outcome::no_memory:
      return fmt::format("the device has no {}", fit_for_a_line(report.message));
    case Outcome::failed:
      return fit_for_a_line(report.message);
    case Outcome::ended:
      if (report.signal > 0 && report.signal < 65) return fmt::format("crashed ({})", ::strsignal(report.signal));
      return report.exit_code >= 0 ? fmt::format("ended by itself ({})", report.exit_code) : "its worker is gone";
    default:
      return "its worker is gone";
  }
}

class DeviceWorker final : public targets::Worker {
 public:
  DeviceWorker(std::shared_ptr<Connection> connection, std::uint32_t id)
      : connection_(std::move(connection)), id_(id) {}
  ~DeviceWorker() override { connection_->post(Ask::dismiss, id_, {}); }

  targets::WorkerAnswer ask(const std::string& command, const targets::SharedCalls* shared,
                            Clock::time_point deadline) override {
    using Kind = targets::WorkerAnswer::Kind;
    if (!alive()) return {Kind::gone, "its worker is gone"};
    Talk talk{.most_ms = milliseconds_until(deadline), .pinned = pinned_};
    if (shared != nullptr) {
      talk.inputs = static_cast<std::uint32_t>(shared->inputs_file);
      talk.outputs = static_cast<std::uint32_t>(shared->outputs_file);
    }
    const Message message = Message().add(talk).add(command.data(), command.size());
    const auto answer =
        connection_->ask(Ask::talk, id_, message.bytes(), std::chrono::milliseconds(talk.most_ms), kMostAnswerBytes);
    const Outcome outcome = answer ? answer->report.outcome : Outcome::failed;
    if (outcome == Outcome::answered) return {Kind::answered, {answer->more.begin(), answer->more.end()}};
    alive_ = false;
    if (!answer) return {Kind::gone, "the link to " + connection_->device() + " broke"};
    if (outcome == Outcome::timed_out) return {Kind::slow, "did not answer in time"};
    return {Kind::gone, words_of(answer->report)};
  }

  bool alive() const override { return alive_ && !connection_->broken(); }
  void pin(int) override { pinned_ = 1; }

 private:
  std::shared_ptr<Connection> connection_;
  std::uint32_t id_;
  std::uint32_t pinned_ = 0;
  bool alive_ = true;
};

}  // namespace

DeviceOutputs::DeviceOutputs(std::shared_ptr<Connection> connection, const DeviceCalls& calls)
    : connection_(std::move(connection)), id_(connection_->new_id()) {
  const cpu::Layout& layout = calls.layout();
  for (const cpu::Layout::Call& call : layout.calls) calls_.push_back(call.outputs);
  const Size size{layout.output_bytes};
  connection_->post(Ask::size, id_, Message().add(size).bytes());
}

void DeviceOutputs::poison(std::size_t call, std::uint8_t value, bool around) {
  for (const cpu::Buffer& buffer : calls_[call]) {
    const Place place{.offset = around ? buffer.region_offset : buffer.offset,
                      .bytes = around ? buffer.region_bytes : buffer.size_bytes,
                      .value = value};
    connection_->post(Ask::fill, id_, Message().add(place).bytes());
  }
}

void DeviceOutputs::read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const {
  const Place place{.offset = calls_[call][output].offset, .bytes = bytes.size()};
  const auto answer = connection_->ask(Ask::read, id_, Message().add(place).bytes(), kMostReadTime, bytes.size());
  // Where the link is broken, nothing looks right.
  if (!answer || answer->more.size() != bytes.size()) return std::ranges::fill(bytes, std::byte{0xff}), void();
  std::memcpy(bytes.data(), answer->more.data(), bytes.size());
}

// The agent's own folder is one of a session in it.
std::string DeviceWorkers::folder() const {
  const std::string session = connection_->facts().text("folder");
  return session.substr(0, session.rfind('/'));
}

void DeviceWorkers::put(const std::string& path, std::span<const char> bytes) {
  File file{};
  std::snprintf(file.path, sizeof file.path, "%s", path.c_str());
  connection_->post(Ask::file, 0, Message().add(file).bytes(), bytes);
}

Result<std::unique_ptr<targets::Worker>> DeviceWorkers::start(const std::vector<std::string>& words,
                                                              const std::vector<std::string>& variables) {
  StartWorker request{.word_count = static_cast<std::uint32_t>(words.size()),
                      .variable_count = static_cast<std::uint32_t>(variables.size()),
                      .memory_bytes = connection_->facts().number("memory_bytes") / 2};
  Message message;
  message.add(request);
  for (const auto* list : {&words, &variables}) {
    for (const std::string& text : *list) message.add(text.c_str(), text.size() + 1);
  }
  const std::uint32_t id = connection_->new_id();
  const auto answer = connection_->ask(Ask::worker, id, message.bytes(), kMostStartTime);
  if (!answer) return fail("the link to {} broke", connection_->device());
  if (answer->report.outcome != Outcome::answered) return fail("{}", words_of(answer->report));
  return std::unique_ptr<targets::Worker>(new DeviceWorker(connection_, id));
}

// A program whose C library is not there does not start; the other one may.
Result<std::string> DeviceWorkers::native_runner() {
  if (architecture_.address_bits == 32) return fail("native libraries are run on devices of 64 bits only");
  std::string why;
  for (const Builder::Libc libc : {Builder::Libc::glibc, Builder::Libc::bionic}) {
    KW_TRY(const Builder::Agent runner, builder_.native_runner(architecture_, libc));
    put(runner.name, runner.program);
    const std::string path = folder() + "/" + runner.name;
    const auto tried = start({path}, {});
    if (tried.ok()) return path;
    why = tried.error().message;
  }
  return fail("{}", why);
}

}  // namespace kw::remote

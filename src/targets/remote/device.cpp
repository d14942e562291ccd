#include "targets/remote/device.h"

#include <sys/file.h>

#include <set>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "targets/cpu/device.h"
#include "targets/cpu/machine_code.h"
#include "targets/remote/about.h"
#include "targets/remote/device_roofs.h"
#include "targets/remote/heat.h"
#include "targets/remote/loaded.h"
#include "targets/remote/room.h"

namespace kw::remote {
namespace {

using namespace std::chrono_literals;
using targets::Warmth;

// A core's own cache, where the device does not tell.
constexpr std::uint64_t kUsualCacheBytes = std::uint64_t{512} << 10;
// Of an emulated processor: time limits are made for hardware.
constexpr int kEmulatorTimesSlower = 4;
// A device that was there before is waited for: it may sleep, or start again. Where a try takes long, as with a slow
// device or on a busy machine, there are some more.
constexpr auto kMostPatience = 180s;
constexpr int kLeastTries = 20;
constexpr auto kBetweenTries = 2s;

// One at a time on a device, also of several kw here.
class DeviceTurn final : public targets::Turn {
 public:
  // `link`: of a device that is watched while it works; null: it is not watched.
  DeviceTurn(const std::string& device, std::shared_ptr<Connection> link) {
    if (link != nullptr) heat_.emplace(watching(std::move(link)));
    auto file = open_lock_file(cache_folder() / fmt::format("device-{:016x}.turn", hash_of(device)));
    if (file.ok()) {
      file_ = std::move(*file);
      while (::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    }
  }

  void admit(targets::LoadedKernel& kernel) override { watches_clock_ = of(kernel).watches_clock(); }
  Result<Reason> arrange(targets::LoadedKernel& kernel, const targets::Calls& calls, const targets::Instance& instance,
                         Clock::time_point deadline) override {
    return kernel.arrange(calls, instance, deadline);
  }
  Reason make_ready(targets::LoadedKernel& kernel, std::size_t count, std::optional<std::size_t> warm_call,
                    Warmth warmth, double* warm_ns, Clock::time_point deadline) override {
    *warm_ns = 0;
    if (heat_) deadline += heat_->wait_until_cool();
    return of(kernel).make_ready(count, warm_call, warmth == Warmth::warm, warm_ns, deadline);
  }
  void before_writing() override {}
  void settle(const targets::Calls&, targets::LoadedKernel&, std::size_t, Warmth warmth) override {
    settle_ = warmth == Warmth::cold ? Settle::far : Settle::near;
  }
  targets::Lap time(targets::LoadedKernel& kernel, std::size_t count, Clock::time_point deadline) override {
    return of(kernel).time(count, std::exchange(settle_, Settle::none), deadline);
  }
  bool watches_clock() const override { return watches_clock_; }
  int core() const override { return 0; }
  std::optional<Conditions> conditions() const override { return heat_ ? heat_->conditions() : std::nullopt; }

 private:
  static Heat::World watching(std::shared_ptr<Connection> link) {
    return {.look = [link = std::move(link)]() -> std::optional<Weather> {
              const auto said = link->tell(Ask::weather, {}, 1s);
              return said.ok() ? weather_said(*said) : std::nullopt;
            },
            .now = Clock::now,
            .sleep = [](Clock::duration most) { std::this_thread::sleep_for(most); }};
  }

  static LoadedOnDevice& of(targets::LoadedKernel& kernel) { return dynamic_cast<LoadedOnDevice&>(kernel); }

  Descriptor file_;
  std::optional<Heat> heat_;
  Settle settle_ = Settle::none;  // before the next lap
  bool watches_clock_ = true;
};

// The devices that have answered this process before.
bool was_there(const std::string& name, bool now) {
  static std::mutex lock;
  static std::set<std::string> seen;
  const std::lock_guard guard(lock);
  if (now) seen.insert(name);
  return seen.contains(name);
}

}  // namespace

Result<std::unique_ptr<targets::Device>> RemoteDevice::open(const std::string& name) {
  KW_TRY(Address address, address_of(name));
  KW_TRY(std::unique_ptr<Builder> builder, Builder::open());
  const bool waits = was_there(address.name, false);
  const auto until = Clock::now() + kMostPatience;
  for (int tries = 1;; ++tries) {
    auto connected = connect(*builder, address);
    if (connected.ok()) {
      was_there(address.name, true);
      keep_facts(address.name, connected->connection->facts());
      return std::unique_ptr<targets::Device>(
          new RemoteDevice(std::move(address), std::move(builder), std::move(*connected)));
    }
    if (!waits || (Clock::now() >= until && tries >= kLeastTries)) return connected.error();
    std::this_thread::sleep_for(kBetweenTries);
  }
}

std::string RemoteDevice::isolation() const { return filters() ? "filtered" : "weak"; }

std::vector<targets::IsolationPart> RemoteDevice::isolation_parts() const {
  std::vector<targets::IsolationPart> parts = {
      {"a process of its own, with limits", true, ""},
      {"unmapped memory around tensors", true, ""},
      {"filtered system calls", filters(), "a kernel of the device with seccomp filters; emulators have none"}};
  if (address_.kind == Address::Kind::emulated) {
    parts.push_back({"kw's sandbox around the emulator", true, ""});
  } else {
    parts.push_back({"a user of its own", false, "rights that kw does not ask for on a device"});
  }
  return parts;
}

Status RemoteDevice::accepts(const targets::Instance& instance) const {
  KW_CHECK(cpu::fits_the_contract(instance));
  return fits_in_process(instance, connected_.architecture.address_bits);
}

Result<std::unique_ptr<const targets::Built>> RemoteDevice::build(const targets::Source& source, const Choice& choice) {
  KW_TRY(std::unique_ptr<DeviceBuilt> built,
         builder_->build(connected_.architecture, flags_for(connected_.architecture, connected_.connection->facts()),
                         source, choice));
  return std::unique_ptr<const targets::Built>(std::move(built));
}

Result<targets::CodeNotes> RemoteDevice::look_into(const targets::Built& built,
                                                   const targets::CodeQuestion& question) const {
  const Architecture& architecture = connected_.architecture;
  if (architecture.address_bits == 32) return fail("the code of {} cannot be read by kw", architecture.name);
  const Said& said = connected_.connection->facts();
  std::vector<std::string> flags = flags_for(architecture, said);
  cpu::CodeReader reader{.objdump = architecture.objdump(),
                         .package = architecture.package,
                         .model = {.core = core_to_tune_for(said), .triple = architecture.triple}};
  if (!question.core.empty()) {
    if (architecture.name != "aarch64") return fail("cores of {} have no models by name", architecture.name);
    KW_TRY(reader.model.core, core_named(question.core));
    flags.push_back("-mtune=" + reader.model.core);
  }
  KW_TRY(const std::string content, builder_->readable(architecture, flags, dynamic_cast<const DeviceBuilt&>(built)));
  return cpu::notes_on(content, reader);
}

Result<std::unique_ptr<targets::Calls>> RemoteDevice::make_calls() {
  return std::unique_ptr<targets::Calls>(new DeviceCalls(connected_.connection, connected_.architecture.address_bits));
}

Result<std::unique_ptr<targets::Outputs>> RemoteDevice::make_outputs(const targets::Calls& calls) {
  return std::unique_ptr<targets::Outputs>(
      new DeviceOutputs(connected_.connection, dynamic_cast<const DeviceCalls&>(calls)));
}

Result<std::unique_ptr<targets::LoadedKernel>> RemoteDevice::load(const targets::Built& built,
                                                                  const targets::Calls& calls,
                                                                  const targets::Limits& limits) {
  return std::unique_ptr<targets::LoadedKernel>(
      new LoadedOnDevice(connected_.connection, connected_.architecture, dynamic_cast<const DeviceBuilt&>(built),
                         dynamic_cast<const DeviceCalls&>(calls), limits, claims_speed() ? 1 : kEmulatorTimesSlower));
}

std::unique_ptr<targets::Turn> RemoteDevice::take_turn(int) {
  return std::make_unique<DeviceTurn>(address_.name, claims_speed() ? connected_.connection : nullptr);
}

std::optional<double> RemoteDevice::least_time_ns(const Cost& cost, int threads) const {
  const auto least = least_time(address_.name, cost, threads);
  return least.ok() ? std::optional(least->ns()) : std::nullopt;
}

// Half of the core's own cache, so that the calls of a group find their tensors as warm as a single call would.
std::uint64_t RemoteDevice::group_bytes() const {
  return std::max(own_cache_bytes(connected_.connection->facts()), kUsualCacheBytes) / 2;
}

}  // namespace kw::remote

#include "targets/made_up/device.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

namespace kw::made_up {
namespace {

using targets::Clock;
using Script = std::map<std::string, double>;

// What is left of a device's life, for all of its kernels.
struct Life {
  explicit Life(int most) : requests(most) {}
  // False: it is gone. From any thread.
  bool request() {
    int left = requests;
    while (left > 0 && !requests.compare_exchange_weak(left, left - 1)) continue;
    return left != 1 && left != 0;
  }
  void end() { requests = 0; }
  bool over() const { return requests == 0; }

  std::atomic<int> requests;  // that it still answers, less one; below 0: any number
};

std::mutex plan_lock;
std::vector<int> planned;
int opened = 0;

Reason lost() { return {ReasonCode::lost, {{"where", "when the link broke"}}}; }

class ScriptBuilt final : public targets::Built {
 public:
  ScriptBuilt(const targets::Source& source, const Choice& choice) : text_(source.text) {
    std::istringstream lines(source.text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word;
      double number = 1;
      if (!(words >> word) || word.starts_with("#")) continue;
      words >> number;
      script[word] = number;
    }
    if (const auto times = choice.values.find("SPEED_UP"); times != choice.values.end() && script.contains("lap_ns"))
      script["lap_ns"] /= static_cast<double>(times->second);
    if (script.contains("does_not_build")) {
      reason = {ReasonCode::does_not_compile, {{"place", source.name + ":1: "}, {"message", "it says so"}}};
      errors.push_back({source.name, 1, "it says so", "does_not_build"});
    }
  }
  Result<std::string> code() const override { return text_; }

  Script script;

 private:
  std::string text_;
};

class Memory final : public targets::Calls {
 public:
  Status lay_out(const targets::Instance& instance, std::span<const targets::Placement> places, Random&) override {
    calls.assign(places.size(), {});
    for (auto& call : calls) {
      for (const TensorType& type : instance.inputs) call.emplace_back(type.dtype, type.shape);
    }
    return {};
  }
  std::size_t count() const override { return calls.size(); }
  void write(std::size_t call, std::size_t input, const Tensor& value) override { calls[call][input] = value; }
  void surround(std::size_t, std::size_t, std::uint8_t, std::uint8_t) override {}
  void erase(std::size_t call, std::size_t input) override {
    std::ranges::fill(calls[call][input].bytes(), std::byte{0});
  }
  std::optional<targets::SharedCalls> shared_with(const targets::Outputs&) const override { return std::nullopt; }

  std::vector<std::vector<Tensor>> calls;
};

class MemoryOutputs final : public targets::Outputs {
 public:
  MemoryOutputs(const targets::Instance* instance, std::size_t count, std::shared_ptr<Life> life)
      : life_(std::move(life)) {
    if (instance == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) {
      auto& call = calls.emplace_back();
      for (const TensorType& type : instance->outputs) call.emplace_back(type.dtype, type.shape);
    }
    overran.resize(count);
  }
  void poison(std::size_t call, std::uint8_t value, bool) override {
    for (Tensor& tensor : calls[call]) std::ranges::fill(tensor.bytes(), static_cast<std::byte>(value));
  }
  Reason overrun(std::size_t call, std::uint8_t) const override {
    return overran[call] ? Reason{ReasonCode::wrote_after, {{"output", 0}}} : Reason{};
  }
  void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const override {
    if (!life_->request()) return std::ranges::fill(bytes, std::byte{0xff}), void();
    std::memcpy(bytes.data(), calls[call][output].bytes().data(), bytes.size());
  }

  std::vector<std::vector<Tensor>> calls;
  std::vector<bool> overran;

 private:
  std::shared_ptr<Life> life_;
};

class ScriptKernel final : public targets::LoadedKernel {
 public:
  ScriptKernel(Script lines, std::shared_ptr<Life> life) : script(std::move(lines)), life_(std::move(life)) {}

  Reason finish_loading(Clock::time_point) override { return life_->request() ? Reason{} : lost(); }
  bool varies() const override { return false; }
  Result<Reason> arrange(const targets::Calls& calls, const targets::Instance& instance, Clock::time_point) override {
    calls_ = dynamic_cast<const Memory*>(&calls);
    outputs_ = std::make_unique<MemoryOutputs>(&instance, calls.count(), life_);
    return Reason{};
  }
  Reason poison_scratch(std::uint8_t, Clock::time_point) override { return {}; }
  Reason run(std::size_t first, std::size_t count, Clock::time_point) override {
    if (script.contains("ends_its_device")) life_->end();
    if (!life_->request()) return lost();
    if (script.contains("never_ends")) return {ReasonCode::timed_out, {{"where", "in its script"}}};
    if (script.contains("crashes")) return {ReasonCode::aborted, {{"where", "in its script"}}};
    for (std::size_t call = first; call < first + count; ++call) {
      ++runs_;
      compute(call, script.contains("wrong") || is("wrong_in_run", runs_));
      if (is("negated_in_run", runs_)) negate_zeros(call);
    }
    return {};
  }
  targets::Outputs& outputs() override { return *outputs_; }
  targets::FoundShape found_shape(std::size_t, std::size_t) const override { return {}; }
  std::optional<std::uint64_t> memory_held() const override {
    return script.contains("leaks") ? static_cast<std::uint64_t>(runs_ * script.at("leaks")) : 0;
  }
  Reason behaviour() override { return {}; }

  targets::Lap lap(std::size_t count, int race) {
    if (Reason reason = run(0, 0, {}); !reason.empty()) return {.reason = std::move(reason)};
    const auto at = [&](const char* name, double otherwise) {
      return script.contains(name) ? script.at(name) : otherwise;
    };
    if (count == 0) return {.ns = at("empty_ns", 300)};
    for (std::size_t call = 0; call < count; ++call) {
      compute(call, script.contains("wrong") || timed_++ >= static_cast<std::int64_t>(at("wrong_after", 1e18)));
    }
    const double chance = 1 + 0.01 * random_.uniform(0, 1);
    targets::Lap lap{.ns = at("empty_ns", 300) + static_cast<double>(count) * at("lap_ns", 10'000) * chance,
                     .outside_ns = at("outside_ns", 0)};
    if (is("scattered_in_race", race)) lap.ns *= ++scattered_ % 2 == 0 ? 0.6 : 1.6;
    if (const auto every = static_cast<std::int64_t>(at("disturbed_every", 0)); every > 0 && ++laps_ % every == 0) {
      lap.ns *= 10;
      lap.clean = false;
    }
    return lap;
  }

  Script script;

 private:
  bool is(const char* name, double value) const { return script.contains(name) && script.at(name) == value; }

  void compute(std::size_t call, bool wrong) {
    const auto x = calls_->calls[call][0].as<float>();
    auto y = outputs_->calls[call][0].as<float>();
    const auto is_tiny = [](float value) { return std::fpclassify(value) == FP_SUBNORMAL; };
    wrong = wrong || (script.contains("wrong_beyond") && static_cast<double>(x.size()) > script.at("wrong_beyond")) ||
            (script.contains("wrong_for_tiny") && std::ranges::any_of(x, is_tiny)) ||
            (script.contains("wrong_for_power") && std::ranges::any_of(x, [&](float value) {
               return std::isnormal(value) && std::ilogb(value) == script.at("wrong_for_power");
             }));
    if (script.contains("wrong_for_twice_the_last")) {
      wrong = wrong || (x.size() > 8 && std::ranges::equal(x, last_, [](float a, float b) { return a == 2 * b; }));
      last_.assign(x.begin(), x.end());
    }
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::max(x[i], 0.0F) + (wrong ? 1.0F : 0.0F);
    outputs_->overran[call] = script.contains("overruns");
  }

  void negate_zeros(std::size_t call) {
    for (float& y : outputs_->calls[call][0].as<float>()) y = y == 0 ? -0.0F : y;
  }

  std::shared_ptr<Life> life_;
  const Memory* calls_ = nullptr;
  std::unique_ptr<MemoryOutputs> outputs_;
  std::vector<float> last_;  // the first input of the call before
  double runs_ = 0;
  std::int64_t timed_ = 0;
  std::int64_t laps_ = 0;
  std::int64_t scattered_ = 0;
  Random random_{7};
};

class ScriptTurn final : public targets::Turn {
 public:
  explicit ScriptTurn(int race) : race_(race) {}
  void admit(targets::LoadedKernel&) override {}
  Result<Reason> arrange(targets::LoadedKernel& kernel, const targets::Calls& calls, const targets::Instance& instance,
                         Clock::time_point deadline) override {
    return kernel.arrange(calls, instance, deadline);
  }
  Reason make_ready(targets::LoadedKernel&, std::size_t, std::optional<std::size_t>, targets::Warmth, double* warm_ns,
                    Clock::time_point) override {
    *warm_ns = 0;
    return {};
  }
  void before_writing() override {}
  void settle(const targets::Calls&, targets::LoadedKernel&, std::size_t, targets::Warmth) override {}
  targets::Lap time(targets::LoadedKernel& kernel, std::size_t count, Clock::time_point) override {
    return dynamic_cast<ScriptKernel&>(kernel).lap(count, race_);
  }
  bool watches_clock() const override { return true; }
  int core() const override { return 0; }

 private:
  int race_;
};

class ScriptDevice final : public targets::Device {
 public:
  ScriptDevice(std::string name, int requests) : name_(std::move(name)), life_(std::make_shared<Life>(requests)) {}

  std::string name() const override { return name_; }
  std::string isolation() const override { return "none needed"; }
  Status accepts(const targets::Instance&) const override { return {}; }
  Result<std::unique_ptr<const targets::Built>> build(const targets::Source& source, const Choice& choice) override {
    return std::unique_ptr<const targets::Built>(new ScriptBuilt(source, choice));
  }
  Result<std::unique_ptr<targets::Calls>> make_calls() override {
    return std::unique_ptr<targets::Calls>(new Memory());
  }
  Result<std::unique_ptr<targets::Outputs>> make_outputs(const targets::Calls&) override {
    return std::unique_ptr<targets::Outputs>(new MemoryOutputs(nullptr, 0, life_));
  }
  Result<std::unique_ptr<targets::LoadedKernel>> load(const targets::Built& built, const targets::Calls&,
                                                      const targets::Limits&) override {
    return std::unique_ptr<targets::LoadedKernel>(
        new ScriptKernel(dynamic_cast<const ScriptBuilt&>(built).script, life_));
  }
  std::unique_ptr<targets::Turn> take_turn(int) override { return std::make_unique<ScriptTurn>(++races_); }
  std::uint64_t group_bytes() const override { return 1 << 20; }
  std::size_t most_calls() const override { return 16; }
  std::size_t builds_at_once() const override { return 3; }
  std::optional<double> least_time_ns(const Cost&, int threads) const override { return 1000.0 / threads; }
  bool alive() override { return !life_->over(); }
  // A script says how wide its vectors are, as machine code would.
  Result<targets::CodeNotes> look_into(const targets::Built& built, const targets::CodeQuestion&) const override {
    const Script& script = dynamic_cast<const ScriptBuilt&>(built).script;
    const auto whole = [&](const char* word) {
      const auto found = script.find(word);
      return found == script.end() ? 0 : static_cast<int>(found->second);
    };
    std::string loop = fmt::format("\"vector_bits\": {}, \"moved_bits\": {}", whole("width"), whole("moves"));
    if (const int line = whole("hot_line"); line > 0)
      loop += fmt::format(", \"share\": 0.9, \"first_line\": {0}, \"last_line\": {0}", line);
    return targets::CodeNotes{.text = fmt::format("a loop of {} bits\n", whole("width")),
                              .json = fmt::format("{{\"loops\": [{{{}}}]}}", loop)};
  }

 private:
  std::string name_;
  std::shared_ptr<Life> life_;
  std::atomic<int> races_ = 0;
};

}  // namespace

Result<std::unique_ptr<targets::Device>> open(const std::string& name) {
  const std::lock_guard guard(plan_lock);
  ++opened;
  int requests = -1;
  if (!planned.empty()) {
    requests = planned.front();
    planned.erase(planned.begin());
  }
  return std::unique_ptr<targets::Device>(new ScriptDevice(name, requests));
}

void let_devices_go(std::vector<int> requests) {
  const std::lock_guard guard(plan_lock);
  planned = std::move(requests);
  opened = 0;
}

int devices_opened() {
  const std::lock_guard guard(plan_lock);
  return opened;
}

}  // namespace kw::made_up

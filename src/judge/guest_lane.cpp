#include "judge/guest_lane.h"

#include <algorithm>
#include <cstring>

#include "judge/kept_verdicts.h"
#include "ops/compare.h"
#include "ops/graph.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;

// Its worker is given up when an answer takes longer.
constexpr auto kMostTime = 20s;

}  // namespace

Result<std::vector<Tensor>> outputs_of(const Guest& guest, const Layout& layout, const Instance& instance,
                                       const Arena& outputs, std::size_t call) {
  const std::vector<Shape> found = guest.shapes(call);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    const TensorType& type = instance.outputs[i];
    const Shape shape = type.from_values && i < found.size() ? found[i] : type.shape;
    if (!check_shape(shape).ok() || shape.count() > type.shape.count()) {
      return fail("output {} has the shape {}", i, shape.text());
    }
    Tensor tensor(type.dtype, shape);
    const std::byte* bytes = outputs.at(layout.calls[call].outputs[i].offset);
    std::memcpy(tensor.bytes().data(), bytes, tensor.bytes().size());
    const auto is_no_bool = [](std::byte value) { return value > std::byte{1}; };
    if (type.dtype == DType::boolean && std::ranges::any_of(tensor.bytes(), is_no_bool)) {
      return fail("output {} has bools that are neither 0 nor 1", i);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<GuestLane> GuestLane::open(Guest& guest, const Instance& instance, int threads) {
  KW_TRY(Arena outputs, Arena::make(false));
  GuestLane lane(guest, std::move(outputs));
  if (const Outcome outcome = guest.enter(instance, threads)) {
    lane.drop(outcome->kind == Trouble::Kind::refused ? outcome->text : kThisTime + outcome->text);
  }
  return lane;
}

void GuestLane::drop(std::string why) {
  if (in()) dropped_ = why.empty() ? "failed" : std::move(why);
}

void GuestLane::arrange(const Layout& layout, const Instance& instance, const Arena& inputs, int threads, int core) {
  outputs_->cut_to(layout.output_bytes);
  if (!in()) return;
  if (threads == 1) guest_->pin(core);
  if (const Outcome outcome = guest_->arrange(layout, instance, inputs, *outputs_, Clock::now() + kMostTime)) {
    drop(kThisTime + outcome->text);
  }
}

void GuestLane::poison(const Layout& layout, int calls, std::uint8_t value) const {
  for (int call = 0; call < calls; ++call) {
    for (const Buffer& buffer : layout.calls[static_cast<std::size_t>(call)].outputs) {
      std::memset(outputs_->at(buffer.offset), value, buffer.size_bytes);
    }
  }
}

void GuestLane::lap(int calls) {
  double time_ns = 0;
  const auto count = static_cast<std::uint32_t>(calls);
  const Outcome outcome = guest_->run(0, count, count, &time_ns, Clock::now() + kMostTime);
  if (outcome) return drop(kThisTime + outcome->text);
  laps_ns_.push_back(std::max(time_ns, 1.0) / calls);
  overheads_ns_.push_back(guest_->overhead_ns());
}

double GuestLane::overhead_ns() const { return median_of(overheads_ns_); }

Status GuestLane::check(const Layout& layout, const Instance& instance, std::size_t call, std::vector<Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (instance.constant[i]) inputs[i] = guest_->weights()[i];
  }
  const auto expected = ops::evaluate(instance.graph, inputs);
  if (!expected.ok()) return {};
  ++checked_;
  const auto got = outputs_of(*guest_, layout, instance, *outputs_, call);
  if (!got.ok()) return drop("wrong: " + got.error().message), Status();
  for (std::size_t i = 0; i < got->size(); ++i) {
    const ops::Comparison comparison = ops::compare((*expected)[i], (*got)[i]);
    if (comparison.right()) continue;
    drop(fmt::format("wrong: output {}: {}", i, comparison.text((*expected)[i])));
    break;
  }
  return {};
}

std::optional<Ratio> GuestLane::ratio(const std::vector<Pair>& pairs, bool as_called, std::uint64_t seed) const {
  if (!in() || pairs.size() < kFewestPairs) return std::nullopt;
  std::vector<Pair> counted = pairs;
  const double overhead_ns = as_called ? 0 : this->overhead_ns();
  for (Pair& pair : counted) pair.b_ns = std::max(pair.b_ns - overhead_ns, 1.0);
  return ratio_of_pairs(counted, seed);
}

GuestResult GuestLane::result(std::vector<Pair> pairs, std::uint64_t seed) const {
  GuestResult result{.name = guest_->name(), .version = guest_->version(), .dropped = dropped_};
  const auto ratio = this->ratio(pairs, false, seed), as_called = this->ratio(pairs, true, seed);
  if (!ratio) {
    if (result.dropped.empty()) result.dropped = std::string(kThisTime) + "there was no time for enough pairs";
    return result;
  }
  std::vector<double> times_ns;
  for (const Pair& pair : pairs) times_ns.push_back(pair.b_ns);
  result.time_ns = median_of(times_ns);
  result.overhead_ns = overhead_ns();
  result.ratio = *ratio;
  result.as_called = *as_called;
  result.pairs = std::move(pairs);
  return result;
}

}  // namespace kw::judge

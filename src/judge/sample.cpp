#include "judge/sample.h"

#include <algorithm>

#include "judge/examine.h"
#include "judge/secret.h"
#include "ops/draw.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;
using targets::Clock;

constexpr auto kMostSampling = 40ms;          // of running, if a call takes no longer
constexpr auto kMostOnABusyMachine = 1200ms;  // where that brought too few
constexpr std::size_t kTooFewSamples = 100;
constexpr auto kMostSampledCall = 10s;                                // the examination has seen it end
constexpr std::size_t kEnoughSamples = 400;                           // samples: a share is then known to a few percent
constexpr std::uint64_t kMostSampledBytes = std::uint64_t{16} << 20;  // of tensors: what a last cache holds
constexpr std::size_t kMostSampledCalls = 128;  // in one go, so that starting and stopping is little of it

}  // namespace

Result<std::vector<std::uint64_t>> sample_calls(const Task& task, targets::Device& device, const targets::Built& built,
                                                int threads) {
  KW_TRY(const targets::Instance instance, instance_for(device, task, task.lengths, threads));
  KW_TRY(const std::unique_ptr<targets::Calls> calls, device.make_calls());
  KW_TRY(const std::unique_ptr<targets::LoadedKernel> kernel,
         device.load(
             built, *calls,
             {.threads = threads, .memory_bytes = instance.all_bytes(), .constant_bytes = instance.constant_bytes()}));
  if (!kernel->finish_loading(Clock::now() + kMostSampledCall).empty()) return std::vector<std::uint64_t>();
  // More calls than are timed in one go: of a few short ones hardly anything would be seen.
  const std::uint64_t bytes = std::max(device.group_bytes(), kMostSampledBytes);
  const std::uint64_t room = std::max<std::uint64_t>(bytes / (instance.call_bytes() + 1), 1);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>({room, kMostSampledCalls, device.most_calls()}));
  const std::vector<targets::Placement> places(count, targets::Placement::aligned);
  Random random(secret());
  KW_CHECK(calls->lay_out(instance, places, random));
  const std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, ops::InputClass::typical, secret());
  for (std::size_t call = 0; call < calls->count(); ++call) {
    for (std::size_t i = 0; i < inputs.size(); ++i) calls->write(call, i, inputs[i]);
  }
  KW_TRY(const Reason arranged, kernel->arrange(*calls, instance, Clock::now() + kMostSampledCall));
  std::vector<std::uint64_t> samples;
  const Clock::time_point begin = Clock::now();
  while (arranged.empty() && samples.size() < kEnoughSamples) {
    const auto some = kernel->run_sampled(0, count, Clock::now() + kMostSampledCall);
    if (!some) break;
    samples.insert(samples.end(), some->begin(), some->end());
    if (Clock::now() > begin + (samples.size() < kTooFewSamples ? kMostOnABusyMachine : kMostSampling)) break;
  }
  return samples;
}

}  // namespace kw::judge

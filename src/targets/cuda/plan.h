// What a kernel's plan wants launched, read from the bytes that it left and held to what the device allows. Whoever
// wrote the plan is not trusted: every number is checked here, before anything is launched.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/reason.h"
#include "targets/instance.h"

namespace kw::cuda {

enum class ArgumentKind { input, output, scratch, kept, value, tensor_map, found_shape };

struct Argument {
  ArgumentKind kind = ArgumentKind::value;
  std::int64_t at = 0;     // which tensor, or the offset in scratch or kept memory
  std::string value = {};  // its bytes
  // Of a TMA descriptor: what it points to is `of`, with `at`.
  ArgumentKind of = ArgumentKind::value;
  int dtype = 0;
  int rank = 0;
  std::array<std::int64_t, 5> lengths = {}, box = {};
  std::array<std::int64_t, 4> strides = {};
  int swizzle = 0;
  int l2_promotion = 0;
  bool fill_nan = false;
};

struct Launch {
  std::string kernel;
  bool once = false;  // it prepares, and is not timed
  std::array<std::int64_t, 3> grid = {}, block = {}, cluster = {};
  std::int64_t shared_bytes = 0;
  std::vector<Argument> arguments;
};

struct Plan {
  std::vector<Launch> launches;
  std::int64_t scratch_bytes = 0;
  std::int64_t kept_bytes = 0;
};

// What a plan may ask for on a device, and for a call.
struct PlanLimits {
  std::int64_t threads_in_block = 1024;
  std::int64_t shared_bytes = 48 << 10;
  std::int64_t scratch_bytes = 0;
  std::int64_t kept_bytes = 0;
  std::array<std::int64_t, 3> grid = {2147483647, 65535, 65535};
};

inline constexpr std::int64_t kMostPlanBytes = 256 << 10;
inline constexpr std::size_t kMostLaunches = 512;

// The call as the plan's process gets it: a call's image (targets/cpu/call_image.h) with the values of small constants.
// `constants` are the bytes of each input, empty where it is no constant or too large.
std::vector<std::byte> description_of(const targets::Instance& instance, const std::vector<std::string>& constants);
inline constexpr std::uint64_t kMostSeenConstantBytes = 4096;

// An Error says what is wrong with it, for the author of the plan.
Result<Plan> read_plan(std::span<const std::byte> bytes, const targets::Instance& instance, const PlanLimits& limits);

// For the process that launches it.
Json json_of(const Plan& plan);
Plan plan_of(const Json& json);

}  // namespace kw::cuda

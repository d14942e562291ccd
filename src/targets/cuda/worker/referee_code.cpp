#include "targets/cuda/worker/referee_code.h"

#include <algorithm>
#include <bit>

#include "base/ziggurat.h"

namespace kw::cuda {
namespace {

constexpr std::int64_t kCheckThreads = 256;
constexpr std::int64_t kMostCheckBlocks = 1 << 16;

// The structures of kernels/cuda/judge/drawn.cuh.
struct DrawnWords {
  std::int64_t key, uniform;
  double first, last, low, high;
};
struct Layers {
  double ends[kZigguratLayers + 1];
};

DrawnWords drawn_of(const Json& words) {
  const auto word = [&](std::size_t i) { return words.at(i).get<std::int64_t>(); };
  const auto number = [&](std::size_t i) { return std::bit_cast<double>(word(i)); };
  return {word(0), word(1), number(2), number(3), number(4), number(5)};
}

Layers layers() {
  Layers all{};
  std::ranges::copy(ziggurat_ends(), all.ends);
  return all;
}

}  // namespace

api::Result RefereeCode::load(const void* code) {
  unload();
  return driver_.cuModuleLoadDataEx(&module_, code, 0, nullptr, nullptr);
}

void RefereeCode::unload() {
  if (module_ != nullptr) driver_.cuModuleUnload(module_);
  module_ = nullptr;
}

api::Result RefereeCode::launch(const char* kernel, std::int64_t count, void** arguments) {
  if (count == 0) return 0;
  api::Function function = nullptr;
  if (const auto result = driver_.cuModuleGetFunction(&function, module_, kernel)) return result;
  const api::LaunchConfiguration how{
      .grid_x = static_cast<unsigned>(std::min((count + kCheckThreads - 1) / kCheckThreads, kMostCheckBlocks)),
      .block_x = static_cast<unsigned>(kCheckThreads)};
  return driver_.cuLaunchKernelEx(&how, function, arguments, nullptr);
}

api::Result RefereeCode::draw(const Json& drawn, api::Address to, api::Address wide, std::int64_t count) {
  DrawnWords of = drawn_of(drawn);
  Layers ends = layers();
  void* arguments[] = {&to, &wide, &of, &ends, &count};
  return launch("kw_draw", count, arguments);
}

api::Result RefereeCode::still_drawn(const Json& drawn, api::Address x, std::int64_t count, api::Address found) {
  DrawnWords of = drawn_of(drawn);
  Layers ends = layers();
  void* arguments[] = {&x, &of, &ends, &count, &found};
  return launch("kw_still_drawn", count, arguments);
}

api::Result RefereeCode::widen(api::Address from, std::int64_t type, api::Address to, std::int64_t count) {
  void* arguments[] = {&from, &type, &to, &count};
  return launch("kw_widen", count, arguments);
}

api::Result RefereeCode::same(api::Address a, api::Address b, std::int64_t type, std::int64_t bytes, std::int64_t count,
                              api::Address found) {
  void* arguments[] = {&a, &b, &type, &bytes, &count, &found};
  return launch("kw_same", count, arguments);
}

api::Result RefereeCode::compare(api::Address got, std::int64_t type, api::Address expected, const Bounds& bounds,
                                 std::int64_t count, api::Address found) {
  Bounds own = bounds;
  void* arguments[] = {&got, &type, &expected, &own.floor, &own.share, &own.limit, &count, &found};
  return launch("kw_compare", count, arguments);
}

}  // namespace kw::cuda

#include "targets/cuda/roofs.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "targets/cuda/about.h"
#include "targets/cuda/builder.h"
#include "targets/cuda/calls.h"
#include "targets/cuda/device.h"
#include "targets/cuda/driver.h"
#include "targets/cuda/plan.h"
#include "targets/cuda/worker_process.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using targets::Roof;

constexpr int kRounds = 12;
constexpr double kStableSpread = 0.05;
constexpr std::int64_t kMemoryBytes = std::int64_t{1} << 30;  // of a buffer in memory
constexpr std::int64_t kCacheShare = 8;                       // of one in the cache, of that
constexpr char kProducts[] = "tensor cores";
constexpr char kFloats[] = "float32 multiply-adds";

// One kernel of kernels/cuda/roofs.cu, launched once.
struct Loop {
  Roof roof;  // without its figures
  std::string kernel;
  std::int64_t bytes = 0;   // of the input, and of the output
  std::int64_t number = 0;  // its last argument: passes over the buffers, or rounds of arithmetic
  std::int64_t blocks = 0, threads = 0;
  double work = 0;  // bytes moved or operations done
};

std::vector<Loop> loops_for(std::int64_t multiprocessors, std::int64_t cache_bytes) {
  std::vector<Loop> loops;
  const auto moving = [&](const char* of, const char* what, const char* kernel, std::int64_t bytes, std::int64_t passes,
                          double share, std::uint64_t holds) {
    loops.push_back({.roof = {.kind = Roof::Kind::moving, .of = of, .what = what, .unit = "GB/s", .holds_bytes = holds},
                     .kernel = kernel,
                     .bytes = bytes,
                     .number = passes,
                     .blocks = multiprocessors * 8,
                     .threads = 256,
                     .work = share * static_cast<double>(bytes * passes)});
  };
  const std::int64_t near = cache_bytes / kCacheShare / 4096 * 4096;
  const auto cache = static_cast<std::uint64_t>(cache_bytes);
  for (const auto& [what, kernel, share] :
       {std::tuple{"read", "kw_read", 1.0}, {"write", "kw_write", 1.0}, {"copy", "kw_copy", 2.0}}) {
    moving("L2", what, kernel, near, 64, share, cache);
  }
  for (const auto& [what, kernel, share] :
       {std::tuple{"read", "kw_read", 1.0}, {"write", "kw_write", 1.0}, {"copy", "kw_copy", 2.0}}) {
    moving("memory", what, kernel, kMemoryBytes, 1, share, 0);
  }
  const auto arithmetic = [&](const char* of, const char* what, const char* kernel, std::int64_t rounds,
                              std::int64_t threads, double operations_of_a_block) {
    const std::int64_t blocks = multiprocessors * (threads == 256 ? 1 : 2);
    loops.push_back({.roof = {.kind = Roof::Kind::arithmetic, .of = of, .what = what, .unit = "GFLOP/s"},
                     .kernel = kernel,
                     .bytes = 4096,
                     .number = rounds,
                     .blocks = blocks,
                     .threads = threads,
                     .work = operations_of_a_block * static_cast<double>(blocks * rounds)});
  };
  // As the kernels there count: 16 multiply-adds a thread and round; a product of 64 x 256 x 8 or x 16 by each of two
  // warp groups.
  arithmetic(kFloats, "", "kw_fma", 4096, 1024, 1024 * 16 * 2.0);
  arithmetic(kProducts, "tf32", "kw_tf32", 8192, 256, 2 * 2 * 64 * 256 * 8.0);
  arithmetic(kProducts, "bfloat16", "kw_bf16", 8192, 256, 2 * 2 * 64 * 256 * 16.0);
  return loops;
}

// Its time in nanoseconds, one a round; empty: the GPU has no such instructions.
Result<std::vector<double>> times_of(WorkerProcess& worker, const Loop& loop) {
  const auto value = [](std::int64_t number) {
    return Argument{.kind = ArgumentKind::value,
                    .value = std::string(reinterpret_cast<const char*>(&number), sizeof number)};
  };
  Plan plan;
  plan.launches.push_back(
      {.kernel = loop.kernel,
       .grid = {loop.blocks, 1, 1},
       .block = {loop.threads, 1, 1},
       .cluster = {1, 1, 1},
       .arguments = {
           {.kind = ArgumentKind::input}, {.kind = ArgumentKind::output}, value(loop.bytes / 16), value(loop.number)}});
  SharedMemory nothing;
  KW_CHECK(nothing.resize(4096));
  const int files[] = {nothing.file(), nothing.file()};
  const Json tensor = {{"bytes", loop.bytes}, {"element", 16}, {"constant", false}};
  const Json places = Json::array({static_cast<int>(targets::Placement::aligned)});
  const auto arranged = worker.ask({{"ask", "arrange"},
                                    {"places", places},
                                    {"inputs", Json::array({tensor})},
                                    {"outputs", Json::array({tensor})},
                                    {"plan", json_of(plan)}},
                                   files, Clock::now() + 30s);
  if (!arranged) return fail("the GPU's worker is gone");
  if (arranged->contains("refused")) return std::vector<double>();
  if (!arranged->empty()) return fail("roofs cannot be measured: {}", arranged->dump());
  std::vector<double> times;
  for (int i = 0; i <= kRounds; ++i) {
    const auto timed =
        worker.ask({{"ask", "time"}, {"first", 0}, {"count", 1}, {"cold", false}}, {}, Clock::now() + 30s);
    if (!timed || !timed->contains("ns")) return fail("roofs cannot be measured: {}", timed ? timed->dump() : "gone");
    if (i > 0) times.push_back(timed->value("ns", 0.0));  // the first warms up
  }
  return times;
}

fs::path file_of(const std::string& device) {
  return cache_folder() / fmt::format("roofs-{:016x}.json", hash_of(device_facts(device).identity));
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json json_of(const targets::RoofTable& table) {
  Json figures = Json::array();
  for (const Roof& roof : table.roofs) {
    figures.push_back({{"kind", roof.kind == Roof::Kind::arithmetic ? "arithmetic" : "moving"},
                       {"of", roof.of},
                       {"what", roof.what},
                       {"best", roof.best},
                       {"unit", roof.unit},
                       {"spread", roof.spread},
                       {"stable", roof.stable},
                       {"holds_bytes", roof.holds_bytes}});
  }
  return {{"measured_at", table.measured_at}, {"scope", table.scope}, {"figures", std::move(figures)}};
}

}  // namespace

std::string text_of(const targets::RoofTable& table) { return json_of(table).dump(); }

Result<targets::RoofTable> roofs_in(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    targets::RoofTable table{.measured_at = json.at("measured_at"), .scope = json.at("scope")};
    for (const Json& one : json.at("figures")) {
      const bool arithmetic = one.at("kind").get<std::string>() == "arithmetic";
      table.roofs.push_back({.kind = arithmetic ? Roof::Kind::arithmetic : Roof::Kind::moving,
                             .of = one.at("of"),
                             .what = one.at("what"),
                             .best = one.at("best"),
                             .unit = one.at("unit"),
                             .spread = one.at("spread"),
                             .stable = one.at("stable"),
                             .holds_bytes = one.at("holds_bytes")});
    }
    if (table.roofs.empty()) return fail("there are no roofs in it");
    table.json = text;
    return table;
  } catch (const JsonError&) {
    return fail("it holds no roofs");
  }
}

Result<targets::RoofTable> known_roofs(const std::string& device) {
  KW_TRY(const int number, gpu_number(device));
  const auto text = read_file(file_of(device), 1 << 20);
  if (!text.ok()) return fail("the roofs of cuda:{} were not measured yet: kw doctor --on cuda:{}", number, number);
  return roofs_in(*text);
}

Result<targets::RoofTable> measure_roofs(const std::string& device) {
  KW_TRY(const int number, gpu_number(device));
  if (const std::string why = why_no_gpu(); !why.empty()) return fail("{}", why);
  KW_TRY(const std::unique_ptr<WorkerProcess> worker, WorkerProcess::start(number));
  KW_TRY(const Json facts, worker->facts(Clock::now() + 30s));
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const std::string source, read_file(data / "kernels" / "cuda" / "roofs.cu"));
  KW_TRY(Builder builder, Builder::open(architecture_of(facts)));
  KW_TRY(const std::unique_ptr<CudaBuilt> built, builder.build({"roofs.cu", source}, {}));
  if (!built->ok()) return fail("the kernels that measure roofs do not build: {}", kw::text_of(built->reason));
  KW_TRY(const Descriptor code, sandbox::memory_file(built->cubin));
  const int files[] = {code.get()};
  const auto loaded = worker->ask({{"ask", "load"}}, files, Clock::now() + 30s);
  if (!loaded || !loaded->empty()) return fail("the kernels that measure roofs do not load");
  targets::RoofTable table{.measured_at = time_now(), .scope = "the whole GPU"};
  for (Loop& loop :
       loops_for(facts.value("multiprocessors", std::int64_t{1}), facts.value("l2_bytes", std::int64_t{32} << 20))) {
    KW_TRY(std::vector<double> times, times_of(*worker, loop));
    if (times.empty()) continue;
    const double least = std::ranges::min(times);
    loop.roof.best = loop.work / least;
    loop.roof.spread = median_of(times) / least - 1;
    loop.roof.stable = loop.roof.spread <= kStableSpread;
    table.roofs.push_back(std::move(loop.roof));
  }
  table.json = text_of(table);
  std::error_code ignored;
  fs::create_directories(cache_folder(), ignored);
  KW_CHECK(write_file(file_of(device), table.json));
  return table;
}

targets::LeastTime least_time(const targets::RoofTable& roofs, const Cost& cost) {
  double multiply_adds = 0, read = 0, written = 0, moved = 0, cache = 0;
  for (const Roof& roof : roofs.roofs) {
    if (roof.kind == Roof::Kind::arithmetic) {
      const double products = roof.of != kProducts ? roof.best : roof.what == "tf32" ? roof.best / 3 : 0;
      multiply_adds = std::max(multiply_adds, products);
    } else if (roof.holds_bytes > 0) {
      cache = std::max(cache, static_cast<double>(roof.holds_bytes));
    } else {
      moved = std::max(moved, roof.best);
      read = std::max(read, roof.what == "copy" ? roof.best / 2 : roof.what == "read" ? roof.best : 0);
      written = std::max(written, roof.what == "copy" ? roof.best / 2 : roof.what == "write" ? roof.best : 0);
    }
  }
  targets::LeastTime least;
  if (multiply_adds > 0) least.arithmetic_ns = cost.flops / multiply_adds;
  if (read > 0) least.moving_ns = cost.read_bytes / read;
  if (cost.written_bytes > cache && moved > 0 && written > 0) {
    least.moving_ns = std::max({least.moving_ns, cost.bytes() / moved, cost.written_bytes / written});
  }
  return least;
}

Result<targets::LeastTime> least_time(const std::string& device, const Cost& cost) {
  KW_TRY(const targets::RoofTable roofs, known_roofs(device));
  return least_time(roofs, cost);
}

}  // namespace kw::cuda

#include "targets/remote/device_roofs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "targets/cpu/about.h"
#include "targets/cpu/kept_roofs.h"
#include "targets/remote/about.h"
#include "targets/remote/address.h"
#include "targets/remote/device.h"

namespace kw::remote {
namespace {

namespace fs = std::filesystem;

constexpr char kOfAnEmulator[] = "these are an emulator's roofs: they say nothing of a real device";
// A phone is measured for as long as this machine is; an emulator would take minutes.
constexpr cpu::Effort kOfDevices = {.most_memory_bytes = std::uint64_t{256} << 20, .most_ns = 20'000'000'000};
constexpr cpu::Effort kOfEmulators = {
    .rounds = 3, .timing_ns = 200'000, .most_memory_bytes = std::uint64_t{32} << 20, .most_ns = 5'000'000'000};

fs::path roofs_file(const std::string& device) {
  return cache_folder() / "devices" / fmt::format("{:016x}.roofs.json", hash_of(device));
}

Result<cpu::Roofs> kept_roofs(const Address& address) {
  const fs::path file = roofs_file(address.name);
  const std::string how = fmt::format("; kw doctor --on \"{}\" measures them", address.name);
  std::error_code error;
  if (!fs::exists(file, error)) return fail("the roofs of {} have not been measured{}", address.name, how);
  const auto kept = cpu::read_kept_roofs(facts_for_roofs(address.name, kept_facts(address.name)), file);
  if (!kept.ok()) return fail("{}{}", kept.error().message, how);
  return *kept;
}

targets::RoofTable with_note(const Address& address, targets::RoofTable table) {
  if (address.kind == Address::Kind::emulated) table.notes.push_back(kOfAnEmulator);
  return table;
}

}  // namespace

cpu::CpuFacts facts_for_roofs(const std::string& device, const Said& said) {
  const std::vector<std::string> cores = said.all("core");
  cpu::CpuFacts facts{.model = device + "\n" + said.text("machine") + "\n" + said.text("model"),
                      .logical_cores = static_cast<int>(cores.size()),
                      .usable_cores = static_cast<int>(cores.size()),
                      .vector = {},
                      .caches = {},
                      .memory_bytes = said.number("memory_bytes"),
                      .memory_available_bytes = said.number("memory_bytes") / 2};
  for (const DeviceCache& cache : caches_of(said)) {
    if (facts.caches.size() + 1 == kMostLevels) break;  // memory is one too
    facts.caches.push_back({.level = cache.level, .kind = cache.kind, .size_bytes = cache.size_bytes, .shared_by = 1});
  }
  return facts;
}

Result<cpu::RoofRounds> rounds_said(const Said& said, std::size_t levels) {
  const auto numbers = [](std::istringstream& words, std::vector<double>* to) {
    for (double value = 0; words >> value;) to->push_back(value);
    return words.eof() && !to->empty() && to->size() <= 1000 &&
           std::ranges::all_of(*to, [](double value) { return std::isfinite(value) && value > 0; });
  };
  const Error strange = fail("the device's answer to measuring is none");
  cpu::RoofRounds rounds;
  rounds.levels.resize(levels);
  std::istringstream arithmetic(said.text("fma"));
  if (!numbers(arithmetic, &rounds.fma_gflops)) return strange;
  for (const std::string& line : said.all("level")) {
    std::istringstream words(line);
    std::size_t level = 0, pattern = 0;
    if (!(words >> level >> pattern) || level >= levels || pattern >= std::size(cpu::kPatterns)) return strange;
    std::vector<double>& values = rounds.levels[level].gbps[pattern];
    if (!values.empty() || !numbers(words, &values)) return strange;
  }
  for (const cpu::RoofRounds::Level& level : rounds.levels) {
    for (const std::vector<double>& values : level.gbps) {
      if (values.empty()) return strange;
    }
  }
  return rounds;
}

Result<targets::RoofTable> known_roofs(const std::string& device) {
  KW_TRY(const Address address, address_of(device));
  KW_TRY(const cpu::Roofs roofs, kept_roofs(address));
  return with_note(address, cpu::roof_table(roofs));
}

Result<targets::RoofTable> measure_roofs(const std::string& name) {
  KW_TRY(const Address address, address_of(name));
  KW_TRY(const std::unique_ptr<targets::Device> device, RemoteDevice::open(name));
  const auto turn = device->take_turn(1);
  Connection& connection = dynamic_cast<RemoteDevice&>(*device).connection();
  const cpu::CpuFacts facts = facts_for_roofs(address.name, connection.facts());
  const cpu::Effort effort = address.kind == Address::Kind::emulated ? kOfEmulators : kOfDevices;
  const std::vector<cpu::LevelRoof> levels = cpu::levels_to_measure(facts, effort.most_memory_bytes);
  const cpu::RoofPlan plan = cpu::plan_for(levels, effort);
  RoofRequest request{.rounds = static_cast<std::uint32_t>(plan.rounds),
                      .levels = static_cast<std::uint32_t>(levels.size()),
                      .timing_ns = static_cast<std::uint64_t>(plan.timing_ns),
                      .most_ns = static_cast<std::uint64_t>(plan.most_ns),
                      .working_sets = {}};
  std::ranges::copy(plan.working_sets, request.working_sets);
  KW_TRY(const Said said,
         connection.tell(Ask::roofs, Message().add(request).bytes(), std::chrono::nanoseconds(3 * plan.most_ns)));
  if (said.empty()) {
    return fail("{}: no memory to measure with: the system refused {} MB", address.name,
                plan.working_sets.back() >> 20);
  }
  const auto rounds = rounds_said(said, levels.size());
  if (!rounds.ok()) return at(address.name, rounds.error());
  return with_note(address, cpu::joined_and_kept(cpu::roofs_of(*rounds, levels), facts, roofs_file(address.name)));
}

Result<targets::LeastTime> least_time(const std::string& device, const Cost& cost, int threads) {
  KW_TRY(const Address address, address_of(device));
  if (address.kind == Address::Kind::emulated) return fail("{}: no speed is claimed of an emulator", address.name);
  KW_TRY(const cpu::Roofs roofs, kept_roofs(address));
  return cpu::least_time(roofs, cost, threads);
}

}  // namespace kw::remote

#include "targets/cuda/about.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "targets/cpu/about.h"
#include "targets/cuda/builder.h"
#include "targets/cuda/driver.h"
#include "targets/cuda/emulated/device.h"
#include "targets/cuda/sanitizer.h"
#include "targets/cuda/worker_process.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

constexpr char kDriverFolder[] = "/proc/driver/nvidia";

// The value after "Name:" in a file of such lines; empty: none.
std::string value_in(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// The driver's account of each GPU, in the order of their places on the bus, which is ours too.
std::vector<std::string> gpus() {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(kDriverFolder) / "gpus", error))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  std::vector<std::string> all;
  for (const fs::path& folder : folders) {
    if (auto text = read_file(folder / "information", 1 << 16); text.ok()) all.push_back(std::move(*text));
  }
  return all;
}

// What the driver says of a GPU when it is asked, which takes a third of a second: asked once for this identity, and
// kept. Empty: it does not answer.
Json said_of(int number, const std::string& identity) {
  const fs::path file = cache_folder() / fmt::format("gpu-{:016x}.json", hash_of(identity));
  if (const auto text = read_file(file, 1 << 16); text.ok()) {
    if (Json kept = Json::parse_quietly(*text); kept.is_object()) return kept;
  }
  if (!why_no_gpu().empty()) return Json::object();
  const auto worker = WorkerProcess::start(number);
  const auto said =
      worker.ok() ? (*worker)->facts(Clock::now() + std::chrono::seconds(30)) : Result<Json>(worker.error());
  if (!said.ok()) return Json::object();
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  [[maybe_unused]] const Status kept = write_file(file, said->dump());
  return *said;
}

}  // namespace

Result<int> gpu_number(const std::string& name) {
  if (name == "cuda") return 0;
  const std::string digits = name.starts_with("cuda:") ? name.substr(5) : "";
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) {
    return fail("{}: GPUs are called cuda, cuda:0, cuda:1 and so on, or {}", name, kEmulated);
  }
  return number;
}

targets::DeviceFacts device_facts(const std::string& device) {
  targets::DeviceFacts facts;
  if (device == kEmulated) {
    facts.name = "an emulated GPU";
    facts.rows = {{"GPU", "emulated on this machine's CPU, one thread after the other; no speed is claimed"},
                  {"CPU", cpu::device_facts().name}};
    facts.identity = std::string(kEmulated) + "\n" + cpu::device_facts().identity;
    facts.json = Json({{"name", facts.name}, {"emulated", true}}).dump();
    return facts;
  }
  const std::vector<std::string> all = gpus();
  const auto asked = gpu_number(device);
  const std::size_t number = asked.ok() ? static_cast<std::size_t>(*asked) : 0;
  std::string version;
  if (const auto text = read_file(fs::path(kDriverFolder) / "version", 4096); text.ok()) {
    version = text->substr(0, text->find('\n'));
  }
  if (number < all.size()) {
    facts.name = value_in(all[number], "Model");
    facts.rows.push_back({"GPU", facts.name});
    facts.rows.push_back({"bus", value_in(all[number], "Bus Location")});
    facts.identity = facts.name + "\n" + value_in(all[number], "GPU UUID");
  }
  Json said = Json::object();
  if (number < all.size()) said = said_of(static_cast<int>(number), facts.identity + version);
  const auto count = [&](const char* name) { return said.value(name, std::int64_t{0}); };
  if (!said.empty()) {
    facts.rows.push_back(
        {"compute", fmt::format("capability {}.{}, {} multiprocessors at {} MHz at most", count("major"),
                                count("minor"), count("multiprocessors"), count("clock_khz") / 1000)});
    facts.rows.push_back(
        {"memory", fmt::format("{:.0f} GiB, {} bits at {} MHz", said.value("memory_bytes", 0.0) / (1 << 30),
                               count("memory_bus_bits"), count("memory_clock_khz") / 1000)});
    facts.rows.push_back({"caches", fmt::format("L2 {} MiB; {} KiB of shared memory a block", count("l2_bytes") >> 20,
                                                count("shared_bytes") >> 10)});
  }
  if (!version.empty()) facts.rows.push_back({"driver", version});
  if (const std::string why = why_no_gpu(); !why.empty()) {
    facts.notes.push_back(why);
  } else if (number >= all.size()) {
    facts.notes.push_back(fmt::format("the driver does not list a GPU {}", number));
  }
  Json json = {{"name", facts.name}, {"driver", version}, {"gpus", all.size()}, {"facts", said}};
  facts.json = json.dump();
  return facts;
}

targets::Tools tools(bool only_builders) {
  targets::ToolState nvrtc{.name = "nvrtc",
                           .use = "compiles CUDA kernels",
                           .package = "CUDA's toolkit",
                           .required = true,
                           .builds_kernels = true};
  targets::Tools all;
  if (const auto found = find_toolkit(); found.ok()) {
    nvrtc.path = found->library;
    nvrtc.version = fs::path(found->library).filename().string();
    nvrtc.works = true;
  } else {
    nvrtc.missed = true;
    all.install = found.error().message;
  }
  all.list.push_back(std::move(nvrtc));
  if (only_builders) return all;
  targets::ToolState sanitizer{.name = "compute-sanitizer", .use = "kw eval --sanitize", .package = "CUDA's toolkit"};
  if (const auto found = find_sanitizer(); found.ok()) {
    sanitizer.path = *found;
    sanitizer.works = true;
  }
  all.list.push_back(std::move(sanitizer));
  return all;
}

}  // namespace kw::cuda

#include "targets/cuda/builder.h"

#include <algorithm>
#include <cstdlib>
#include <future>

#include "base/files.h"
#include "compose/parts.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

// What the plan is compiled with, whatever the kernel chose for its device code.
Choice plan_choice(const Choice& choice) { return {.values = choice.values, .compiler = "g++", .flags = {"-O1"}}; }

// The library in a folder, the newest version where there are several; empty: none.
std::string library_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("libnvrtc.so") && name.find("alt") == std::string::npos)
      found.push_back(entry.path().string());
  }
  return found.empty() ? "" : std::ranges::max(found);
}

std::optional<Toolkit> toolkit_in(const fs::path& root) {
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
    const std::string library = library_in(root / folder);
    if (library.empty()) continue;
    std::error_code error;
    Toolkit found{.library = fs::canonical(library, error).string()};
    for (const char* include : {"include", "targets/x86_64-linux/include"}) {
      if (fs::exists(root / include / "cuda_fp16.h", error)) {
        found.include_folder = fs::canonical(root / include, error).string();
        break;
      }
    }
    return found;
  }
  return std::nullopt;
}

Status check_flag(const std::string& flag) {
  constexpr std::string_view kLimit = "--maxrregcount=";
  const std::string registers = flag.starts_with(kLimit) ? flag.substr(kLimit.size()) : "";
  const bool is_number = !registers.empty() && registers.find_first_not_of("0123456789") == std::string::npos;
  if (flag == "--use_fast_math" || flag == "--fmad=false" || is_number) return {};
  return fail("{}: CUDA kernels may choose --use_fast_math, --fmad=false and --maxrregcount=N", flag);
}

}  // namespace

BuildOptions build_options() {
  return {.compilers = {"nvrtc"}, .here = {"nvrtc"}, .flags = {"", "--use_fast_math"}, .check_flag = check_flag};
}

Result<Toolkit> find_toolkit() {
  if (const char* own = std::getenv("KW_CUDA"); own != nullptr && *own != 0) {
    if (const auto found = toolkit_in(own)) return *found;
    return fail("$KW_CUDA is {}, which has no lib/libnvrtc.so", own);
  }
  std::vector<fs::path> roots = {"/usr/local/cuda", "/opt/cuda"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/local", error)) {
    if (entry.path().filename().string().starts_with("cuda-")) roots.push_back(entry.path());
  }
  for (const fs::path& root : roots) {
    if (const auto found = toolkit_in(root)) return *found;
  }
  if (const std::string library = library_in("/usr/lib/x86_64-linux-gnu"); !library.empty()) {
    return Toolkit{.library = library,
                   .include_folder = fs::exists("/usr/include/cuda_fp16.h", error) ? "/usr/include" : ""};
  }
  return fail(
      "CUDA's compiler NVRTC is not on this machine; install CUDA's toolkit, or `pip install --target DIR "
      "nvidia-cuda-nvrtc nvidia-cuda-runtime` and set KW_CUDA=DIR/nvidia/cu13");
}

Result<Builder> Builder::open(std::string architecture) {
  Builder builder;
  KW_TRY(builder.toolkit_, find_toolkit());
  builder.architecture_ = std::move(architecture);
  KW_TRY(const fs::path tool, cpu::find_part("kw-nvrtc"));
  builder.tool_folder_ = {tool.parent_path().string(), "/kw-parts"};
  builder.library_folder_ = {fs::path(builder.toolkit_.library).parent_path().string(), "/nvrtc"};
  std::vector<sandbox::Shown> shown = {builder.tool_folder_, builder.library_folder_};
  if (!builder.toolkit_.include_folder.empty()) {
    builder.include_folder_ = {builder.toolkit_.include_folder, "/cuda-include"};
    shown.push_back(builder.include_folder_);
  }
  KW_TRY(cpu::Workshop workshop, cpu::Workshop::open(shown));
  builder.workshop_ = std::make_unique<cpu::Workshop>(std::move(workshop));
  return builder;
}

Result<Builder::Compiled> Builder::compile(const targets::Source& source, const targets::Source& written,
                                           const Choice& choice) const {
  const sandbox::Sandbox& box = workshop_->sandbox();
  Compiled compiled;
  const std::string name = cpu::safe_name(source.name);
  std::vector<std::string> words = {
      name,
      "made",
      box.place_of(tool_folder_) + "/kw-nvrtc",
      box.place_of(library_folder_) + "/" + fs::path(toolkit_.library).filename().string(),
      name,
      "made",
      "--gpu-architecture=" + architecture_,
      "--std=c++20",
      "--device-as-default-execution-space",  // also of lambdas and constexpr functions that do not say it
      "--generate-line-info",
      "--disable-warnings",
      "--ptxas-options=-v",
      "-I" + workshop_->header_folder()};
  if (!include_folder_.outside.empty()) {
    words.push_back("-I" + box.place_of(include_folder_));
    words.push_back("-I" + box.place_of(include_folder_) + "/cccl");
  }
  for (const std::string& flag : choice.flags) words.push_back(flag);
  for (const auto& [tunable, value] : choice.values) words.push_back(fmt::format("-DKW_SET_{}=~,{}", tunable, value));
  KW_TRY(const cpu::ToolRun run, cpu::run_tool(box, words, source.text));
  if (!run.ending) {
    compiled.reason = {ReasonCode::compiler_timed_out, {{"seconds", run.took_ns / 1'000'000'000}}};
    return compiled;
  }
  if (run.ending->well()) {
    KW_TRY(compiled.cubin, sandbox::content_of(run.made, std::uint64_t{64} << 20));
    compiled.resources = resources_in(run.said);
    return compiled;
  }
  if (run.ending->exit_code == 3) return fail("NVRTC cannot be used: {}", run.said.substr(0, 500));
  if (run.ending->exit_code == 111) return fail("kw-nvrtc cannot be started in the sandbox");
  compiled.errors = cpu::compiler_errors(run.said, written);
  compiled.reason = cpu::reason_of(*run.ending, run.said, compiled.errors);
  return compiled;
}

Result<std::unique_ptr<CudaBuilt>> Builder::build(const targets::Source& written, const Choice& choice) {
  const auto begin = targets::Clock::now();
  KW_TRY(std::string whole, compose::with_parts_inlined(written.text, cpu::safe_name(written.name)));
  const targets::Source source{written.name, std::move(whole)};
  auto device_code = std::async(std::launch::async, [&] { return compile(source, written, choice); });
  Result<std::unique_ptr<cpu::Library>> plan = workshop_->build(source, plan_choice(choice), &written);
  Result<Compiled> compiled = device_code.get();
  if (!compiled.ok()) return fail("{}", compiled.error().message);
  if (!plan.ok()) return fail("{}", plan.error().message);
  auto built = std::make_unique<CudaBuilt>();
  built->build_ns = static_cast<std::uint64_t>((targets::Clock::now() - begin).count());
  if (!compiled->reason.empty()) {
    built->reason = std::move(compiled->reason);
    built->errors = std::move(compiled->errors);
  } else if (!(*plan)->ok()) {
    built->reason = (*plan)->reason;
    built->errors = (*plan)->errors;
  } else {
    built->cubin = std::move(compiled->cubin);
    built->resources = std::move(compiled->resources);
    built->plan = std::move(*plan);
  }
  return built;
}

}  // namespace kw::cuda

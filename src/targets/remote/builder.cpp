#include "targets/remote/builder.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"

namespace kw::remote {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostProgramBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{256} << 20;
constexpr std::size_t kMostPrecompiled = 8;
constexpr char kHeader[] = "kernelwright.h";

// Only the contract's names of a kernel are seen by the rest of the program: a function of its own that is called like
// one of the C library's stays its own. Our part comes first, so that it begins before anything of the kernel.
constexpr char kBuild[] =
    "compiler=$1 threads=$2 objcopy=$3 ours=$4; shift 4\n"
    "\"$compiler\" \"$@\" -c -o kernel.o || exit 1\n"
    "\"$objcopy\" --keep-global-symbol=kw_run --keep-global-symbol=kw_prepare --keep-global-symbol=kw_varies"
    " --remove-section=.preinit_array kernel.o || exit 1\n"
    "exec \"$compiler\" $threads -static -s -Wl,-z,now,-z,relro,--gc-sections,--build-id=none \"$ours\" kernel.o -o "
    "made\n";

// Against stand-ins of the C library that have its functions' names and nothing else: the program then takes whichever
// version of them a device has.
constexpr char kBuildNative[] =
    "compiler=$1 loader=$2 libc=$3 libdl=$4 sources=$5 main=$6\n"
    "stand_in() { made=$1 name=$2; shift 2; for one; do printf '.globl %s\\n.type %s, %%function\\n%s:\\n' $one $one "
    "$one; "
    "done > $made.s; \"$compiler\" -shared -nostdlib -Wl,-soname,$name $made.s -o $made; }\n"
    "stand_in dl.so $libdl dlopen dlsym dlerror || exit 1\n"
    "stand_in c.so $libc malloc calloc free mmap munmap lseek close recvmsg send clock_gettime strtod strtol strtoul"
    " snprintf memcpy memmove memset memcmp memchr strlen strchr strcmp _exit || exit 1\n"
    "exec \"$compiler\" -std=c++20 -O2 -w -I\"$sources\" -fno-exceptions -fno-rtti -fno-threadsafe-statics"
    " -fno-stack-protector -fno-asynchronous-unwind-tables -D_GLIBCXX_EXTERN_TEMPLATE=0 -U_FORTIFY_SOURCE -fPIE -pie"
    " -nostdlib -s -Wl,-e,kw_start -Wl,--dynamic-linker=$loader"
    " -Wl,-z,now,-z,max-page-size=16384,--build-id=none,--gc-sections,--no-as-needed \"$main\" c.so dl.so -lgcc -o "
    "made\n";
// Libraries stay outside: loops of theirs are not the kernel's, and calls keep their names.
constexpr char kReadable[] =
    "compiler=$1 threads=$2; shift 2\n"
    "\"$compiler\" \"$@\" -g1 -c -o kernel.o || exit 1\n"
    "exec \"$compiler\" $threads -no-pie -nostartfiles -Wl,-e,kw_run kernel.o -o made\n";

const std::vector<std::string>& our_flags() {
  static const std::vector<std::string> flags = {"-fvisibility=hidden", "-ffunction-sections", "-w",
                                                 "-fdiagnostics-color=never"};
  return flags;
}

// The text of all that is compiled for a device, in the order of names.
Result<std::string> sources_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const char* part : {"targets/remote/agent", "targets/remote/kernel", "targets/remote/native", "targets/cpu/host",
                           "targets/cpu/roof"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / part, error)) files.push_back(entry.path());
    if (error) return fail("{}: {}; install kw again", (folder / part).string(), error.message());
  }
  std::ranges::sort(files);
  std::string all;
  for (const fs::path& file : files) {
    KW_TRY(const std::string text, read_file(file));
    all += file.filename().string() + "\n" + text;
  }
  return all;
}

Error missing(const Architecture& architecture) {
  return fail("kernels for {} need a compiler that is not here; on Debian: apt-get install {}", architecture.name,
              architecture.package);
}

}  // namespace

Result<std::unique_ptr<Builder>> Builder::open() {
  KW_TRY(const fs::path data, data_folder());
  std::error_code error;
  const fs::path sources = fs::canonical(data / "device", error);
  if (error) return fail("{}: {}; install kw again", (data / "device").string(), error.message());
  KW_TRY(const std::string text, sources_in(sources));
  KW_TRY(const std::string contract, read_file(data / "include" / "kernelwright.h"));
  const fs::path parts = cache_folder() / "device-parts";
  fs::create_directories(parts, error);
  if (error) return fail("{}: {}", parts.string(), error.message());
  const sandbox::Shown shown_sources{sources.string(), "/kw-device"}, shown_parts{parts.string(), "/kw-parts"};
  KW_TRY(cpu::Workshop workshop, cpu::Workshop::open({shown_sources, shown_parts}));
  return std::unique_ptr<Builder>(new Builder(std::move(workshop), shown_sources, shown_parts,
                                              fmt::format("{:016x}", hash_of(contract, hash_of(text)))));
}

Result<std::string> Builder::made(const Architecture& architecture, const std::string& what,
                                  std::vector<std::string> words) {
  const std::string compiler = "/usr/bin/" + architecture.compiler;
  if (::access(compiler.c_str(), X_OK) != 0) return missing(architecture);
  const std::string name =
      fmt::format("{}-{}-{:016x}", what, architecture.name, hash_of(version_ + targets::state_of(compiler)));
  const fs::path file = fs::path(parts_.outside) / name;
  std::error_code error;
  if (fs::exists(file, error)) return name;
  words.insert(words.begin(), {"unused.cpp", "made"});
  KW_TRY(cpu::ToolRun run, cpu::run_tool(sandbox(), words, ""));
  if (!run.ending || !run.ending->well()) {
    return fail("kw's own part for {} does not build: {}", architecture.name,
                run.ending ? run.said.substr(0, 2000) : "the compiler took too long");
  }
  KW_TRY(const std::string content, sandbox::content_of(run.made, kMostProgramBytes));
  KW_CHECK(write_file(file, content));
  return name;
}

Result<std::string> Builder::part(const Architecture& architecture, const std::string& what,
                                  const std::vector<std::string>& sources, const std::vector<std::string>& flags) {
  const std::string folder = sandbox().place_of(sources_);
  std::vector<std::string> words = {"/usr/bin/" + architecture.compiler, "-std=c++20", "-O2", "-w",
                                    // Also where a long has 32 bits files may be longer.
                                    "-D_FILE_OFFSET_BITS=64"};
  words.insert(words.end(), {"-I" + folder, "-I" + workshop_.header_folder(), "-o", "made"});
  for (const std::string& source : sources) words.push_back(folder + "/" + source);
  words.insert(words.end(), flags.begin(), flags.end());
  return made(architecture, what, std::move(words));
}

Result<Builder::Agent> Builder::program(const std::string& name) const {
  KW_TRY(std::string program, read_file(fs::path(parts_.outside) / name, kMostProgramBytes));
  return Agent{std::move(program), name};
}

Result<Builder::Agent> Builder::agent(const Architecture& architecture) {
  KW_TRY(const std::string name, part(architecture, "agent",
                                      {"targets/remote/agent/main.cpp", "targets/cpu/roof/roof_kernels.cpp",
                                       "targets/cpu/roof/roof_rounds.cpp"},
                                      {"-static", "-s"}));
  return program(name);
}

Result<Builder::Agent> Builder::native_runner(const Architecture& architecture, Libc libc) {
  const bool android = libc == Libc::bionic;
  const std::string sources = sandbox().place_of(sources_);
  KW_TRY(const std::string name,
         made(architecture, android ? "native-android" : "native",
              {"/bin/sh", "-c", kBuildNative, "sh", "/usr/bin/" + architecture.compiler,
               android ? "/system/bin/linker64" : architecture.loader, android ? "libc.so" : "libc.so.6",
               android ? "libdl.so" : "libdl.so.2", sources, sources + "/targets/remote/native/main.cpp"}));
  return program(name);
}

std::string Builder::precompiled(const Architecture& architecture, const std::vector<std::string>& flags) {
  const std::lock_guard guard(lock_);
  const std::string compiler = "/usr/bin/" + architecture.compiler;
  std::string key = version_ + targets::state_of(compiler);
  for (const std::string& flag : flags) key += " " + flag;
  const std::string name = fmt::format("header-{}-{:016x}", architecture.name, hash_of(key));
  const fs::path folder = fs::path(parts_.outside) / name, file = folder / "kernelwright.h.gch";
  const std::string inside = sandbox().place_of(parts_) + "/" + name;
  std::error_code error;
  if (fs::exists(file, error)) return inside;
  std::size_t kept = 0;
  for (const auto& entry : fs::directory_iterator(parts_.outside, error)) kept += entry.is_directory(error);
  if (kept >= kMostPrecompiled) return {};
  const auto data = data_folder();
  const auto text = data.ok() ? read_file(*data / "include" / kHeader) : Result<std::string>(data.error());
  fs::create_directories(folder, error);
  if (!text.ok() || !write_file(folder / kHeader, *text).ok()) return {};
  std::vector<std::string> words = {"unused.cpp", "made", compiler};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"-x", "c++-header", inside + "/" + kHeader, "-o", "made"});
  const auto run = cpu::run_tool(sandbox(), words, "");
  if (!run.ok() || !run->ending || !run->ending->well()) return {};
  const auto made = sandbox::content_of(run->made, kMostHeaderBytes);
  return made.ok() && write_file(file, *made).ok() ? inside : std::string();
}

Result<cpu::ToolRun> Builder::run(const char* script, const std::vector<std::string>& own,
                                  const Architecture& architecture, const std::vector<std::string>& flags,
                                  const targets::Source& source, const Choice& choice) {
  const bool c = fs::path(source.name).extension() == ".c";
  const std::string file = cpu::safe_name(source.name);
  const bool threads = std::ranges::find(choice.flags, "-fopenmp") != choice.flags.end();
  std::vector<std::string> how = {c ? "-std=gnu17" : "-std=c++20"};
  how.insert(how.end(), flags.begin(), flags.end());
  how.insert(how.end(), our_flags().begin(), our_flags().end());
  how.insert(how.end(), choice.flags.begin(), choice.flags.end());
  const std::string header = c ? "" : precompiled(architecture, how);
  std::vector<std::string> words = {file,
                                    "made",
                                    "/bin/sh",
                                    "-c",
                                    script,
                                    "sh",
                                    "/usr/bin/" + architecture.compiler,
                                    threads ? "-fopenmp" : "-pthread"};
  words.insert(words.end(), own.begin(), own.end());
  words.insert(words.end(), how.begin(), how.end());
  words.insert(words.end(), {"-x", c ? "c" : "c++", file, "-fmax-errors=20"});
  // The first folder that has the header is where a compiler looks for the precompiled one.
  if (!header.empty()) words.push_back("-I" + header);
  words.push_back("-I" + workshop_.header_folder());
  if (!c) words.insert(words.end(), {"-include", kHeader});
  for (const auto& [name, value] : choice.values) words.push_back(fmt::format("-DKW_SET_{}=~,{}", name, value));
  KW_TRY(cpu::ToolRun run, cpu::run_tool(sandbox(), words, source.text));
  if (run.ending && run.ending->exit_code >= 120 && run.ending->exit_code < 126) {
    return fail("the sandbox could not be closed around the compiler (step {})", run.ending->exit_code - 120);
  }
  return run;
}

Result<std::unique_ptr<DeviceBuilt>> Builder::build(const Architecture& architecture,
                                                    const std::vector<std::string>& flags,
                                                    const targets::Source& source, const Choice& choice) {
  KW_TRY(const std::string ours, part(architecture, "kernel", {"targets/remote/kernel/main.cpp"}, {"-c"}));
  KW_TRY(cpu::ToolRun made, run(kBuild, {"/usr/bin/" + architecture.objcopy, sandbox().place_of(parts_) + "/" + ours},
                                architecture, flags, source, choice));
  auto built = std::make_unique<DeviceBuilt>();
  built->build_ns = made.took_ns;
  built->source = source;
  built->choice = choice;
  static std::atomic<std::uint64_t> last = 0;
  built->number = ++last;
  if (!made.ending) {
    built->reason = {ReasonCode::compiler_timed_out, {{"seconds", made.took_ns / 1'000'000'000}}};
    return built;
  }
  if (made.ending->well()) {
    KW_TRY(built->program, sandbox::content_of(made.made, kMostProgramBytes));
    return built;
  }
  built->errors = cpu::compiler_errors(made.said, source);
  built->reason = cpu::reason_of(*made.ending, made.said, built->errors);
  return built;
}

Result<std::string> Builder::readable(const Architecture& architecture, const std::vector<std::string>& flags,
                                      const DeviceBuilt& built) {
  KW_TRY(cpu::ToolRun made, run(kReadable, {}, architecture, flags, built.source, built.choice));
  if (!made.ending || !made.ending->well()) {
    return fail("the kernel does not build with lines: {}", made.said.substr(0, 500));
  }
  return sandbox::content_of(made.made, kMostProgramBytes);
}

}  // namespace kw::remote

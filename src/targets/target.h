// A place where kernels run, in the judge's terms. The judge knows only this file: which cases to try, what is right,
// in which order to time and when to stop is its own; how a kernel is built, locked up, called and timed is the
// target's.
//
// A target is a folder of src/targets: its target.cpp defines a function with the folder's name that returns a Target,
// and the build finds it. tests/target_conformance_test.cpp runs over all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "compose/techniques.h"
#include "core/cost.h"
#include "core/reason.h"
#include "core/tensor.h"
#include "core/tunables.h"
#include "core/verdict.h"
#include "targets/about.h"
#include "targets/instance.h"
#include "targets/names.h"
#include "targets/worker.h"

namespace kw::targets {

using Clock = std::chrono::steady_clock;

struct Source {
  std::string name;  // of the file, for messages; its ending says the language
  std::string text;
};

// A built kernel, or why there is none. What it is made of is the target's.
class Built {
 public:
  virtual ~Built() = default;

  bool ok() const { return reason.empty(); }
  // The code as bytes.
  virtual Result<std::string> code() const = 0;

  Reason reason;  // none: it was built
  std::vector<SourceError> errors;
  std::uint64_t build_ns = 0;
};

// How a call's buffers lie in memory, so that each way of running over an end, and each use of an aligned access,
// shows.
enum class Placement {
  aligned,  // nothing is there before it
  at_end,   // nothing is there after it
  shifted,  // some elements after an aligned address
};

// The outputs of some calls, as one of those who run them writes them.
class Outputs {
 public:
  virtual ~Outputs() = default;
  // Every byte of a call's outputs; with `around` also all that can be reached around them.
  virtual void poison(std::size_t call, std::uint8_t value, bool around) = 0;
  // Says where a byte around a call's outputs is no longer what it was poisoned with; none: nowhere.
  virtual Reason overrun(std::size_t call, std::uint8_t value) const = 0;
  // The first bytes of an output.
  virtual void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const = 0;
};

// Some calls of one shape in the device's memory: the inputs, which every compared kernel reads and none can
// write.
class Calls {
 public:
  virtual ~Calls() = default;
  // Anew, for these places. Constant inputs lie once, for all calls, in the way of the first. Fails without memory.
  virtual Status lay_out(const Instance& instance, std::span<const Placement> places, Random& random) = 0;
  // The same for two prepared instances of one kernel: the first half of the calls has its constants, the second half
  // others. False, and nothing is laid out: this device cannot.
  virtual Result<bool> lay_out_two(const Instance& /*instance*/, std::span<const Placement> /*places*/,
                                   Random& /*random*/) {
    return false;
  }
  virtual std::size_t count() const = 0;
  virtual void write(std::size_t call, std::size_t input, const Tensor& value) = 0;
  // What can be reached around an input gets these bytes: a kernel that reads there must not find zeros.
  virtual void surround(std::size_t call, std::size_t input, std::uint8_t before, std::uint8_t after) = 0;
  virtual void erase(std::size_t call, std::size_t input) = 0;
  // For a framework, which runs in a process of its own; none where this memory cannot be shared so.
  virtual std::optional<SharedCalls> shared_with(const Outputs& outputs) const = 0;
};

// The shape that a kernel says one of its outputs has. Not to be trusted.
struct FoundShape {
  std::int64_t rank = 0;
  std::vector<std::int64_t> lengths;  // as many as the rank says, or as are possible
};

struct MemoryUse {
  std::uint64_t scratch_bytes = 0;
  std::uint64_t kept_bytes = 0;
  bool prepares = false;  // it has kw_prepare
};

// A kernel, locked up. Whatever goes wrong is the Reason that its functions return; after that it is gone.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;

  // Asked once, before anything else.
  virtual Reason finish_loading(Clock::time_point deadline) = 0;
  virtual bool varies() const = 0;  // it does not promise the same bits
  // Shows it the calls, and lets it prepare from the constants that are written there. Both must outlive what follows.
  // An Error: there is no memory for its outputs.
  virtual Result<Reason> arrange(const Calls& calls, const Instance& instance, Clock::time_point deadline) = 0;
  virtual Reason poison_scratch(std::uint8_t value, Clock::time_point deadline) = 0;
  // Calls [first, first + count), untimed.
  virtual Reason run(std::size_t first, std::size_t count, Clock::time_point deadline) = 0;
  // The same of one call, with an eye on every write to its outputs: right before each, the bytes beside them change,
  // so that a kernel that writes back what it read there before shows. None: this device cannot.
  virtual std::optional<Reason> run_watched(std::size_t /*call*/, Clock::time_point /*deadline*/) {
    return std::nullopt;
  }
  // As `run`; where in the code the kernel was at moments on the way, as bytes from the code's beginning. Not to be
  // trusted. None: it failed, or this device cannot tell.
  virtual std::optional<std::vector<std::uint64_t>> run_sampled(std::size_t /*first*/, std::size_t /*count*/,
                                                                Clock::time_point /*deadline*/) {
    return std::nullopt;
  }
  virtual Outputs& outputs() = 0;
  virtual FoundShape found_shape(std::size_t call, std::size_t output) const = 0;
  // Bytes that it holds besides tensors, by the system's account; none where that is not known.
  virtual std::optional<std::uint64_t> memory_held() const { return std::nullopt; }
  // How much scratch memory its calls took at most so far, and how much it keeps; none where that is not known. As the
  // kernel's own process says it.
  virtual std::optional<MemoryUse> memory_used() const { return std::nullopt; }
  // What it has left behind that it may not, when it has answered.
  virtual Reason behaviour() = 0;
};

// A call that is made under the eyes of a device's own tools.
struct SanitizedCall {
  const Instance* instance = nullptr;
  std::vector<Tensor> inputs;
};

// What one of them said.
struct ToolFindings {
  std::string tool;                      // "memcheck"
  std::vector<std::string> errors = {};  // each a few lines
  int count = 0;                         // of all errors, told or not
  std::string problem = {};              // why it could not look; empty: it did
};

enum class Warmth { warm, cold };

struct Lap {
  Reason reason;                       // why there is none
  double ns = 0;                       // of all its calls
  std::optional<double> warm_ns = {};  // the same with warm caches, where both were timed and `ns` is the cold one
  double outside_ns = 0;               // work seen before and after the calls
  bool clean = true;                   // nothing interrupted the thread that read the clock
};

// The right to time on a device, for one at a time, as long as it lives.
class Turn {
 public:
  virtual ~Turn() = default;

  virtual void admit(LoadedKernel& kernel) = 0;
  // As LoadedKernel::arrange; after it nothing of the kernel runs until it is its turn.
  virtual Result<Reason> arrange(LoadedKernel& kernel, const Calls& calls, const Instance& instance,
                                 Clock::time_point deadline) = 0;
  // All that comes before the inputs of a lap: a call of `warm_call`, whose time goes to *warm_ns, and making ready.
  virtual Reason make_ready(LoadedKernel& kernel, std::size_t count, std::optional<std::size_t> warm_call,
                            Warmth warmth, double* warm_ns, Clock::time_point deadline) = 0;
  // Inputs are written next, from where the kernel will read them.
  virtual void before_writing() = 0;
  // Inputs and outputs of the first calls as near, or as far away, as the lap is to find them.
  virtual void settle(const Calls& calls, LoadedKernel& kernel, std::size_t count, Warmth warmth) = 0;
  // The first `count` calls, maybe none.
  virtual Lap time(LoadedKernel& kernel, std::size_t count, Clock::time_point deadline) = 0;
  // Times are not read on the kernel's own core, so that an empty lap can be measured.
  virtual bool watches_clock() const = 0;
  // The core that a framework's process is to run on.
  virtual int core() const = 0;
  // What the device was like since the turn began; none where it is not watched.
  virtual std::optional<Conditions> conditions() const { return std::nullopt; }
};

struct Limits {
  int threads = 1;
  std::uint64_t memory_bytes = 0;  // of the largest call's tensors, constants among them
  std::uint64_t constant_bytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;       // "cpu"
  virtual std::string isolation() const = 0;  // how well kernels are locked up here: "full"
  // Fails where the calls of this shape do not fit into the contract.
  virtual Status accepts(const Instance& instance) const = 0;
  // A source that does not build is a Built with a reason; an Error is a machine that cannot build. From any thread.
  virtual Result<std::unique_ptr<const Built>> build(const Source& source, const Choice& choice) = 0;
  virtual Result<std::unique_ptr<Calls>> make_calls() = 0;
  virtual Result<std::unique_ptr<Outputs>> make_outputs(const Calls& calls) = 0;
  virtual Result<std::unique_ptr<LoadedKernel>> load(const Built& built, const Calls& calls, const Limits& limits) = 0;
  virtual std::unique_ptr<Turn> take_turn(int threads) = 0;
  // What the tensors of a group of timed calls may take, and how many calls there may be.
  virtual std::uint64_t group_bytes() const = 0;
  virtual std::size_t most_calls() const = 0;
  // How many kernels may be built and examined at the same time; nothing is timed meanwhile.
  virtual std::size_t builds_at_once() const;
  // No kernel can take less; none where it is not known for this number of threads.
  virtual std::optional<double> least_time_ns(const Cost& cost, int threads) const = 0;
  // False where times say nothing of a real device (an emulator): kernels are timed, and no difference is claimed.
  virtual bool claims_speed() const { return true; }
  // False: whatever locks kernels up is gone, and nothing more can be judged with this device.
  virtual bool alive() = 0;
  // Kernels are timed with cold caches, and then with warm ones, in every lap.
  virtual bool times_cold_and_warm() const { return false; }
  // The tools that look for errors while a kernel runs call these shapes, each with its inputs, and what they found.
  // An Error: this device has none, or they do not run.
  virtual Result<std::vector<ToolFindings>> sanitize(const Built& /*built*/, std::span<const SanitizedCall> /*calls*/) {
    return fail("{} has no tools that look for errors while a kernel runs", name());
  }
  // Where frameworks' processes run, if that is elsewhere than on this machine; null: they do not run on this device.
  virtual WorkerHost* workers() { return nullptr; }
  // What `isolation` consists of.
  virtual std::vector<IsolationPart> isolation_parts() const { return {}; }
  // What the compiler made of a kernel, and what slows it down.
  virtual Result<CodeNotes> look_into(const Built& built, const CodeQuestion& question) const;
};

// Functions that a target does not have are empty: then nothing is known of that.
struct Target {
  std::string name;                    // "cpu"; devices are called so, or NAME:WHICH
  std::vector<std::string> languages;  // endings of sources: ".cpp", ".c"
  std::function<Result<std::unique_ptr<Device>>(const std::string& device)> open;
  // All that makes a verdict another one here: the machine and the tools that build. Quick, and opens nothing.
  std::function<std::string(const std::string& device)> identity;

  bool is_usual = false;                  // of one target: kernels run there where no device is named
  std::string usual_device = {};          // where only the target is named; empty: it is called like the target
  std::string names = {};                 // of its devices, for help: "ssh:USER@HOST, adb:SERIAL"
  std::vector<std::string> offered = {};  // devices that are listed without a table in kw.toml
  std::vector<std::string> schemes = {};  // what else its devices' names may begin with: "ssh" of ssh:HOST
  // What follows opens no device.
  // Why no kernel can run on such a device of this machine; "": one can. Building may still be possible.
  std::function<std::string(const std::string& device)> missing = {};
  std::function<DeviceFacts(const std::string& device)> facts = {};
  // As they were measured before; the message says how they get known.
  std::function<Result<RoofTable>(const std::string& device)> known_roofs = {};
  // Measures anew, joins that with what was measured before, and keeps it.
  std::function<Result<RoofTable>(const std::string& device)> measure_roofs = {};
  std::function<Result<LeastTime>(const std::string& device, const Cost& cost, int threads)> least_time = {};
  // Asks each tool for its version, which takes a moment; only those that build kernels, or all that are of use.
  std::function<Tools(bool only_builders)> tools = {};
  std::function<BuildOptions()> build_options = {};
  // The right, straightforward kernel of a task, as source text; empty: the one in C++ that compose/plain.h makes.
  std::function<Result<std::string>(const ops::Graph& graph)> plain_kernel = {};
  std::string techniques = {};     // the folder of kernels/ with this target's techniques; empty: there are none
  bool offers_parts = false;       // kernels may include those of compose/parts.h
  compose::Composer compose = {};  // how their kernels are written; empty: in C++ (compose/compose.h)
  // The command with which a person builds NAME + the source's ending; empty: kernels cannot be taken away.
  std::function<std::string(const std::string& name, const Choice& choice)> build_command = {};
  // Memory for calls that other processes may map, as Device::make_calls and make_outputs: frameworks are tried there.
  std::function<Result<std::unique_ptr<Calls>>()> make_shared_calls = {};
  std::function<Result<std::unique_ptr<Outputs>>(const Calls& calls)> make_shared_outputs = {};
  // Frameworks run on this device, beside the kernels (Device::workers).
  std::function<bool(const std::string& device)> runs_frameworks = {};
  // The GPU of this machine beside whose kernels frameworks run (rivals/gpu); none: not beside such a device's.
  std::function<std::optional<int>(const std::string& device)> gpu = {};
  std::string takeaway = {};  // a folder of kernels/ with what comes beside a kernel that is taken away
  // Removes what kw keeps on a device, and says which folder that was; "": there was none. Empty: nothing is kept.
  std::function<Result<std::string>(const std::string& device)> clean = {};

  std::string first_device() const { return usual_device.empty() ? name : usual_device; }
};

// All targets of the build.
std::vector<Target> all_targets();
// The target of a device, "cpu" or "cuda:0"; where there is none, a message names those that there are.
Result<Target> target_of(const std::string& device);
Result<std::unique_ptr<Device>> open_device(const std::string& name);
// The device for a source by its ending: `wanted` where that target takes it, or, where it was not `insisted` on, the
// first device of the target whose language it is.
Result<std::string> device_for(const std::string& source_file, const std::string& wanted, bool insisted);
// "kernel.cpp": a file of the device's first language.
std::string source_name(const std::string& device, const std::string& stem);
// By its ending, of any target.
bool is_source(const std::string& file);

// The functions of a device's target; where it has none, or there is no such target, nothing, or a message.
std::string identity_of(const std::string& device);
DeviceFacts facts_of(const std::string& device);
Result<RoofTable> known_roofs(const std::string& device);
Result<LeastTime> least_time(const std::string& device, const Cost& cost, int threads = 1);
BuildOptions build_options(const std::string& device);

// A file as it is now, for an identity: writing it anew makes it another one.
std::string state_of(const std::string& file);
// Of all files of a folder that kw came with, likewise; nothing where there is no such folder.
std::string states_in(const std::filesystem::path& folder);

// What a kernel left in its outputs for a call, with the shapes that it found; *problem says what is impossible there.
std::vector<Tensor> read_outputs(const Outputs& outputs, const Instance& instance, std::size_t call,
                                 const std::function<FoundShape(std::size_t output)>& found, Reason* problem);

}  // namespace kw::targets

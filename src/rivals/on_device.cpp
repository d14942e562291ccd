#include "rivals/on_device.h"

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/terminal.h"
#include "rivals/answers.h"
#include "rivals/wheels.h"
#include "rivals/worker.h"
#include "targets/target.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using judge::FrameworkFailure;
using judge::FrameworkStatus;

constexpr auto kMostAskTime = 60s;
constexpr auto kMostUnpackTime = 300s;
constexpr auto kMostConvertTime = 120s;
constexpr std::uint64_t kMostFileBytes = std::uint64_t{2} << 30;
// Beside the trials: it has run there.
constexpr char kReady[] = "ready.txt";

const std::vector<std::string>& worker_variables() {
  static const std::vector<std::string> all = {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8",
                                               "OMP_NUM_THREADS=1",  "MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"};
  return all;
}

Result<Json> asked(targets::Worker& worker, const Json& command, Clock::duration most) {
  const targets::WorkerAnswer said = worker.ask(command.dump(), nullptr, Clock::now() + most);
  if (said.kind != targets::WorkerAnswer::Kind::answered) return fail("{}", said.text);
  return answer_in(said.text);
}

fs::path kept_on(const std::string& device, const std::string& name) {
  return cache_folder() / "rivals" / fmt::format("on-{:016x}", hash_of(targets::facts_of(device).identity)) / name;
}

class OnDevice : public Site {
 public:
  OnDevice(const RivalFile& rival, const DeviceSetup& setup) : rival_(rival), setup_(setup) {}

  fs::path kept() const override { return kept_on(setup_.there.device, rival_.name); }
  bool enter(targets::Device& device) override {
    const bool another = device_ != &device;
    device_ = &device;
    return another;
  }
  Result<Stage> make_stage(const targets::Instance& instance, int calls) override {
    if (device_ == nullptr) return fail("no device is connected");
    Stage stage;
    KW_TRY(stage.calls, device_->make_calls());
    KW_CHECK(lay_out(*stage.calls, instance, calls));
    KW_TRY(stage.outputs, device_->make_outputs(*stage.calls));
    return stage;
  }

 protected:
  Result<targets::WorkerHost*> host() const {
    targets::WorkerHost* found = device_ != nullptr ? device_->workers() : nullptr;
    if (found == nullptr) return fail("no framework can run beside kernels on {}", setup_.there.device);
    return found;
  }
  Status put(const std::string& path, const fs::path& file) const {
    KW_TRY(targets::WorkerHost * host, host());
    KW_TRY(const std::string bytes, read_file(file, kMostFileBytes));
    host->put(path, bytes);
    return {};
  }
  // Of a model, on the device.
  static std::string place_of(const fs::path& folder) { return "rivals/models/" + folder.filename().string(); }
  void note_ready() const {
    std::error_code error;
    fs::create_directories(kept(), error);
    [[maybe_unused]] const Status noted = write_file(kept() / kReady, rival_.version());
  }

  RivalFile rival_;
  DeviceSetup setup_;
  targets::Device* device_ = nullptr;
};

class ByPython final : public OnDevice {
 public:
  using OnDevice::OnDevice;

  std::string wanted_version() const override { return rival_.version(); }
  std::string remedy() const override { return {}; }

  Result<std::unique_ptr<targets::Worker>> start() override {
    KW_TRY(targets::WorkerHost * host, host());
    KW_TRY(const fs::path program, worker_program());
    for (const char* file : {"device.py", "worker.py", "onnx_reader.py", "torch_graph.py", "torch_layers.py"}) {
      KW_CHECK(put(std::string("rivals/shared/") + file, program.parent_path() / file));
    }
    KW_CHECK(put("rivals/" + rival_.name + ".py", rival_.file));
    KW_TRY(const Found found, find(*host));
    const std::string folder = host->folder() + "/rivals/";
    KW_TRY(auto worker, host->start({found.python, "-I", "-B", folder + "shared/worker.py",
                                     folder + rival_.name + ".py", "3", found.path},
                                    worker_variables()));
    note_ready();
    return worker;
  }

  FrameworkStatus bring(const fs::path& folder, ModelFiles* files) override {
    const auto host = this->host();
    if (host.ok()) {
      const std::string place = place_of(folder);
      *files = {.model = (*host)->folder() + "/" + place + "/task.onnx", .folder = (*host)->folder() + "/" + place};
      if (put(place + "/task.onnx", folder / "task.onnx").ok()) return std::nullopt;
    }
    return FrameworkFailure{.kind = FrameworkFailure::Kind::crashed, .text = "its model cannot be sent"};
  }

 private:
  struct Found {
    std::string python;
    std::string path;  // where modules are, with colons
  };

  // The framework on the device: of its own Python, or unpacked by kw, now or before.
  Result<Found> find(targets::WorkerHost& host) const {
    const std::string python = setup_.there.python.empty() ? "python3" : setup_.there.python;
    auto helper = host.start({python, "-B", host.folder() + "/rivals/shared/device.py"}, {"LANG=C.UTF-8"});
    if (!helper.ok()) {
      return fail("{} has no Python that kw can start ({}); a library of {} there can be named in its table of kw.toml",
                  setup_.there.device, helper.error().message, rival_.name);
    }
    KW_TRY(
        const Json about,
        asked(**helper, {{"do", "about"}, {"packages", {{package(), rival_.version()}, {"numpy", ""}}}}, kMostAskTime));
    KW_TRY(const DevicePython there, device_python_in(about, host.architecture()));
    if (there.has) return Found{python, there.path};
    const std::string name =
        fmt::format("{}-{:08x}-py{}", rival_.name, hash_of(stamp_of(rival_)) & 0xffffffff, there.version);
    const std::string folder = host.folder() + "/rivals/" + name;
    KW_TRY(const Json have,
           asked(**helper, {{"do", "have"}, {"folder", folder}, {"stamp", stamp_of(rival_)}}, kMostAskTime));
    const Json* there_already = have.find("have");
    if (there_already == nullptr || !there_already->is_boolean() || !there_already->get<bool>()) {
      KW_CHECK(install(host, **helper, there, name));
    }
    return Found{python, folder};
  }

  std::string package() const {
    for (const std::string& word : rival_.packages) {
      if (const std::size_t at = word.find("=="); at != std::string::npos) return word.substr(0, at);
    }
    return rival_.name;
  }

  Status install(targets::WorkerHost& host, targets::Worker& helper, const DevicePython& there,
                 const std::string& name) const {
    if (!setup_.may_install) {
      return fail("it is not installed on {}, and the setting install forbids it", setup_.there.device);
    }
    setup_.tell(fmt::format("installing {} {} on {} to compare with, once; --rival none goes without", rival_.name,
                            rival_.version(), fit_for_a_line(setup_.there.device)));
    KW_TRY(const std::vector<fs::path> wheels, wheels_for(rival_, there));
    const std::string part = host.folder() + "/rivals/" + name + ".part";
    for (std::size_t i = 0; i < wheels.size(); ++i) {
      const std::string place = fmt::format("rivals/{}.part/{}.whl", name, i);
      KW_CHECK(put(place, wheels[i]));
      KW_TRY(
          const Json unpacked,
          asked(helper, {{"do", "unpack"}, {"wheel", host.folder() + "/" + place}, {"folder", part}}, kMostUnpackTime));
    }
    KW_TRY(const Json finished, asked(helper,
                                      {{"do", "finish"},
                                       {"part", part},
                                       {"folder", host.folder() + "/rivals/" + name},
                                       {"stamp", stamp_of(rival_)}},
                                      kMostUnpackTime));
    return {};
  }
};

class ByLibrary final : public OnDevice {
 public:
  using OnDevice::OnDevice;

  fs::path kept() const override {
    return OnDevice::kept().string() + fmt::format("-{:08x}", hash_of(library()) & 0xffffffff);
  }
  // The user's own: whichever it is.
  std::string wanted_version() const override { return {}; }
  std::string remedy() const override {
    return fmt::format("{} = \"{}\" is what kw.toml names", rival_.name, library());
  }

  Result<std::unique_ptr<targets::Worker>> start() override {
    KW_TRY(targets::WorkerHost * host, host());
    KW_TRY(const std::string runner, host->native_runner());
    // What the library needs may lie beside it.
    std::vector<std::string> variables = worker_variables();
    variables.push_back("LD_LIBRARY_PATH=" + fs::path(library()).parent_path().string());
    return host->start({runner, rival_.name, library()}, variables);
  }

  FrameworkStatus bring(const fs::path& folder, ModelFiles* files) override {
    const auto lost = [](std::string why) {
      return FrameworkFailure{.kind = FrameworkFailure::Kind::crashed, .text = std::move(why)};
    };
    const auto host = this->host();
    if (!host.ok()) return lost(host.error().message);
    std::vector<fs::path> made = {folder / "task.onnx"};
    if (rival_.name != "onnxruntime") {
      if (FrameworkStatus refused = convert(folder, &made)) return refused;
    }
    const std::string place = place_of(folder);
    for (const fs::path& file : made) {
      if (const Status sent = put(place + "/" + file.filename().string(), file); !sent.ok()) {
        return lost(sent.error().message);
      }
    }
    *files = {.model = (*host)->folder() + "/" + place + "/" + made.front().filename().string(),
              .folder = (*host)->folder() + "/" + place};
    return std::nullopt;
  }

 private:
  std::string library() const {
    const auto found = setup_.there.libraries.find(rival_.name);
    return found != setup_.there.libraries.end() ? found->second : std::string();
  }

  // By the framework's converter, which is part of its environment on this machine.
  FrameworkStatus convert(const fs::path& folder, std::vector<fs::path>* made) const {
    const auto failure = [](FrameworkFailure::Kind kind, std::string why) {
      return FrameworkFailure{.kind = kind, .text = std::move(why)};
    };
    if (!rival_.installed()) {
      return failure(FrameworkFailure::Kind::slow,
                     fmt::format("its models are converted on this machine: kw rivals install {}", rival_.name));
    }
    auto worker = LocalWorker::start(rival_);
    if (!worker.ok()) return failure(FrameworkFailure::Kind::crashed, worker.error().message);
    const Json command = {{"do", "convert"}, {"model", (folder / "task.onnx").string()}, {"folder", folder.string()}};
    const targets::WorkerAnswer said = (*worker)->ask(command.dump(), nullptr, Clock::now() + kMostConvertTime);
    if (said.kind != targets::WorkerAnswer::Kind::answered) return failure(FrameworkFailure::Kind::slow, said.text);
    const auto answer = answer_in(said.text);
    if (!answer.ok()) return failure(FrameworkFailure::Kind::refused, answer.error().message);
    if (const std::string folded = folded_in(*answer); !folded.empty()) {
      return failure(FrameworkFailure::Kind::refused, folded);
    }
    *made = files_in(*answer, folder);
    if (made->empty()) return failure(FrameworkFailure::Kind::refused, "its converter made no model");
    return std::nullopt;
  }

  // Only of that folder, whatever the worker says.
  static std::vector<fs::path> files_in(const Json& answer, const fs::path& folder) {
    std::vector<fs::path> files;
    const Json* names = answer.find("files");
    if (names == nullptr || !names->is_array()) return files;
    for (const Json& one : *names) {
      if (one.is_string()) files.push_back(folder / fs::path(one.text()).filename());
    }
    return files;
  }
};

}  // namespace

std::unique_ptr<Site> on_device(const RivalFile& rival, const DeviceSetup& setup) {
  if (setup.there.libraries.contains(rival.name)) return std::make_unique<ByLibrary>(rival, setup);
  return std::make_unique<ByPython>(rival, setup);
}

std::vector<std::string> ready_on(const DeviceFrameworks& there) {
  std::vector<std::string> names;
  for (const auto& [name, library] : there.libraries) names.push_back(name);
  std::error_code error;
  const auto all = all_rivals();
  if (!all.ok()) return names;
  for (const RivalFile& rival : *all) {
    const auto version = read_file(kept_on(there.device, rival.name) / kReady);
    if (version.ok() && *version == rival.version() && !there.libraries.contains(rival.name)) {
      names.push_back(rival.name);
    }
  }
  return names;
}

}  // namespace kw::rivals

// Frameworks on a device behind a link, beside the kernels that they are compared with. The device is a shell of this
// machine; its Python and its native library are those of the environment that the tests of rivals install once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/scratch.h"
#include "compose/plain.h"
#include "judge/judge.h"
#include "rivals/framework.h"
#include "rivals/on_device.h"
#include "suites/catalog.h"
#include "targets/remote/connect.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;

class SlowRivalsOnDevices : public testing::Test {
 protected:
  SlowRivalsOnDevices() {
    std::ofstream(folder_.path() / "shell") << "#!/bin/sh\nHOME=" << folder_.path().string() << " exec sh\n";
    fs::permissions(folder_.path() / "shell", fs::perms(0700));
  }

  static RivalFile ready(const std::string& name) {
    const RivalFile rival = *find_rival(name);
    const Status status = install(rival);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return rival;
  }

  DeviceFrameworks device() const { return {.device = "command:" + (folder_.path() / "shell").string()}; }
  // kw's on the device.
  fs::path folder_there() const { return folder_.path() / ".cache" / fmt::format("kw-device-{}", ::geteuid()); }

  static Verdict judged(const RivalFile& rival, const DeviceSetup& setup, const std::string& task_name = "Relu") {
    Framework framework = Framework::open_at(on_device(rival, setup), rival);
    Task task = *suites::find_task(task_name);
    if (task_name == "Relu") {
      for (auto& [name, value] : task.lengths) value = std::min<std::int64_t>(value, 40);
    }
    auto judge = judge::Judge::open(setup.there.device);
    EXPECT_TRUE(judge.ok()) << judge.error().message;
    judge::Case one{.device = setup.there.device, .task = &task};
    one.source = {"plain.cpp", *compose::plain_kernel(*ops::resolve(task))};
    one.frameworks = {&framework};
    one.pairs = 20;
    const auto verdict = judge->judge(one);
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
    return *verdict;
  }

  static void expect_compared(const Verdict& verdict, const std::string& name, const std::string& version) {
    ASSERT_EQ(verdict.speedups.size(), 2u) << (verdict.left_out.empty() ? "" : verdict.left_out[0].why);
    const Speedup& speedup = verdict.speedups[1];
    EXPECT_EQ(speedup.rival, name);
    ASSERT_TRUE(speedup.called);
    EXPECT_EQ(speedup.called->version, version);
    EXPECT_GT(speedup.called->time_ns, 0);
    EXPECT_EQ(speedup.times.size(), static_cast<std::size_t>(speedup.pairs));
  }

  static std::string why_left_out(const Verdict& verdict) {
    EXPECT_EQ(verdict.speedups.size(), 1u);
    return verdict.left_out.size() == 1 ? verdict.left_out[0].why : "";
  }

  static fs::path cache() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "rivals-cache"; }

  const ScratchFolder folder_;
  const ScratchVariable cache_{"XDG_CACHE_HOME", cache().string()};
};

TEST_F(SlowRivalsOnDevices, AreRunByThePythonThatTheDeviceHas) {
  const RivalFile rival = ready("onnxruntime");
  DeviceFrameworks there = device();
  there.python = rival.python().string();
  expect_compared(judged(rival, {.there = there, .may_install = false}), "onnxruntime", rival.version());
  // With weights in the model.
  expect_compared(judged(rival, {.there = there, .may_install = false}, "Dense_Convolution_2D"), "onnxruntime",
                  rival.version());
  EXPECT_EQ(ready_on(there), std::vector<std::string>{"onnxruntime"});
}

TEST_F(SlowRivalsOnDevices, AreRunFromANativeLibrary) {
  const RivalFile rival = ready("onnxruntime");
  DeviceFrameworks there = device();
  for (const auto& file : fs::recursive_directory_iterator(rival.environment() / "lib")) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("libonnxruntime.so")) there.libraries["onnxruntime"] = file.path().string();
  }
  ASSERT_FALSE(there.libraries.empty());
  expect_compared(judged(rival, {.there = there}), "onnxruntime", rival.version());
  there.libraries["onnxruntime"] = "/nonexistent/libonnxruntime.so";
  EXPECT_NE(why_left_out(judged(rival, {.there = there})).find("/nonexistent/libonnxruntime.so"), std::string::npos);
}

// A wheel of the device's own, from an index in a folder.
TEST_F(SlowRivalsOnDevices, AreInstalledOnTheDeviceFromWheelsOfTheirList) {
  const RivalFile real = ready("onnxruntime");  // its Python has numpy
  const fs::path hash = folder_.path() / "hash";
  ASSERT_EQ(std::system(fmt::format("python3 {}/tests/devices/make_wheel.py {} > {}", KW_SOURCE_DIR,
                                    folder_.path().string(), hash.string())
                            .c_str()),
            0);
  RivalFile rival{.name = "nimble", .about = "nimble", .file = folder_.path() / "nimble.py"};
  rival.packages = {"nimble==1.0"};
  rival.lock = "nimble==1.0 --hash=sha256:" + read_file(hash)->substr(0, 64) + "\n";
  std::ofstream(rival.file) << "import importlib.metadata\nimport worker\nimport nimble\n"
                               "class TheRival(worker.Rival):\n"
                               "    def version(self): return importlib.metadata.version('nimble')\n"
                               "    def load(self, *words): pass\n"
                               "    def bind(self, inputs, outputs): return inputs, outputs\n"
                               "    def run(self, call): nimble.relu(call[0][0], call[1][0])\n";
  DeviceFrameworks there = device();
  there.python = real.python().string();
  EXPECT_NE(why_left_out(judged(rival, {.there = there, .may_install = false})).find("it is not installed on"),
            std::string::npos);
  const ScratchVariable index("PIP_INDEX_URL", "file://" + folder_.path().string() + "/simple");
  std::string told;
  expect_compared(judged(rival, {.there = there, .tell = [&](const std::string& line) { told += line; }}), "nimble",
                  "1.0");
  EXPECT_NE(told.find("installing nimble 1.0 on"), std::string::npos) << told;
  EXPECT_TRUE(fs::exists(folder_there() / "rivals"));
  ASSERT_TRUE(remote::clean(*remote::address_of(there.device)).ok());
  EXPECT_FALSE(fs::exists(folder_there()));
  // A wheel that is another one than the list says is not installed.
  rival.lock = "nimble==1.0 --hash=sha256:" + std::string(64, '0') + "\n";
  EXPECT_NE(why_left_out(judged(rival, {.there = there})).find("pip does not find its wheels"), std::string::npos);
}

TEST_F(SlowRivalsOnDevices, AreLeftOutWhereTheDeviceHasNoPython) {
  DeviceFrameworks there = device();
  there.python = "/nonexistent/python3";
  const std::string why = why_left_out(judged(*find_rival("onnxruntime"), {.there = there}));
  EXPECT_NE(why.find("has no Python that kw can start"), std::string::npos) << why;
}

}  // namespace
}  // namespace kw::rivals

#include "mcp/desk.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/json.h"
#include "base/scratch.h"
#include "mcp/tool.h"
#include "targets/made_up/device.h"

namespace kw::mcp {
namespace {

using namespace std::chrono_literals;

Submission relu(const Desk& desk) {
  return {.task = *desk.find_task("Relu"), .source = {"kernel.cpp", "int x = ;"}, .timed = false};
}

TEST(Desk, RefusesWhatIsSubmittedAfterItsEnd) {
  const ScratchFolder folder;
  const auto desk = *Desk::open({.store_folder = folder.path()});
  desk->stop();
  EXPECT_FALSE(desk->submit("somebody", relu(*desk)).ok());
}

// It is stopped while a submission is being written down: another program holds the record meanwhile.
TEST(Desk, LeavesNoJobWaitingWhenItIsStoppedDuringASubmission) {
  const ScratchFolder folder;
  const auto desk = *Desk::open({.store_folder = folder.path()});
  const auto other = store::Store::open(folder.path());
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other->database().execute("BEGIN IMMEDIATE").ok());
  std::optional<Result<JobStatus>> submitted;
  std::jthread submitting([&] { submitted = desk->submit("somebody", relu(*desk)); });
  std::this_thread::sleep_for(200ms);
  std::jthread stopping([&] { desk->stop(); });
  std::this_thread::sleep_for(200ms);
  ASSERT_TRUE(other->database().execute("ROLLBACK").ok());
  submitting.join();
  stopping.join();
  if (submitted->ok()) {
    EXPECT_EQ(name_of((*submitted)->state), "stopped") << "no worker would ever take it";
  }
}

// The task of `relu` with 8 elements.
Task small_relu(const Desk& desk) {
  Task task = *relu(desk).task;
  for (auto& [name, value] : task.lengths) value = 8;
  return task;
}

// In judging and in tuning: what is in the record stays, and the job goes on from there with another device.
TEST(Desk, GoesOnWithAJobWhoseDeviceWentAway) {
  const ScratchFolder home;
  const Task task = small_relu(**Desk::open({.device = "made_up", .store_folder = home.path()}));
  const judge::Source source = {"kernel.txt", "lap_ns 10000\nKW_TUNE(SPEED_UP, 1, 1, 2, 4);\n"};
  int judging = 0;  // the fewest requests that judging takes
  for (int step = 1 << 15; step > 0; step /= 2) {
    made_up::let_devices_go({judging + step});
    const judge::Case one{.device = "made_up", .task = &task, .source = source, .timed = false};
    if (!judge::Judge::open("made_up")->judge(one).ok()) judging += step;
  }
  for (const int request : {1, judging / 2, judging + 100, judging + 400, judging + 1000}) {
    made_up::let_devices_go({request});
    const ScratchFolder folder;
    const auto desk = *Desk::open({.device = "made_up", .store_folder = folder.path()});
    const auto submitted = desk->submit(
        "somebody",
        {.task = &task, .source = source, .timed = false, .tuning = Tuning{.candidates = 3, .seconds = 20}});
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    const auto over = desk->wait(submitted->id, Desk::Clock::now() + 60s, {}, {});
    ASSERT_TRUE(over.ok());
    EXPECT_EQ(name_of(over->state), "judged") << request << ": " << over->problem;
    EXPECT_EQ(over->problem, "") << request;
    EXPECT_TRUE(over->tuned) << request;
    EXPECT_EQ(made_up::devices_opened(), 2) << request;
  }
  made_up::let_devices_go({});
}

Tool tool_named(const std::string& name) {
  for (const tools::Maker make : tools::table) {
    if (Tool tool = make(); tool.name == name) return tool;
  }
  return {};
}

// As it was seen: our own authors are told a kernel's loops, and an agent was not.
TEST(Desk, TellsTheLoopsOfARightKernelToAnAgent) {
  const ScratchFolder folder;
  const auto desk = *Desk::open({.device = "made_up", .store_folder = folder.path()});
  const Task small = small_relu(*desk);
  const auto notes_on = [&](const std::string& script) {
    const auto submitted =
        desk->submit("somebody", {.task = &small, .source = {"kernel.txt", script}, .timed = false, .look_into = true});
    const auto over = desk->wait(submitted->id, Desk::Clock::now() + 60s, {}, {});
    EXPECT_TRUE(over.ok() && over->verdict);
    const Json arguments = {{"id", submitted->id}};
    Json answer;
    const auto text =
        tool_named("read_notes")
            .run({.arguments = arguments, .desk = *desk, .client = "somebody", .stop = {}, .progress = {}}, answer);
    EXPECT_TRUE(text.ok());
    EXPECT_EQ(text->find("a loop of") != std::string::npos, answer.contains("code")) << *text;
    return answer.value("code", "");
  };
  EXPECT_EQ(notes_on("lap_ns 10000\nwidth 512"), "a loop of 512 bits");
  EXPECT_EQ(notes_on("lap_ns 10000\nwidth 512\nwrong"), "");
}

// A kernel that ends each device is given up after some, and those after it get their verdicts.
TEST(Desk, GivesUpAJobThatEndsItsDevice) {
  const ScratchFolder folder;
  const auto desk = *Desk::open({.device = "made_up", .store_folder = folder.path()});
  const Task small = small_relu(*desk);
  const auto bad = desk->submit(
      "somebody", {.task = &small, .source = {"kernel.txt", "lap_ns 10000\nends_its_device"}, .budget_s = 0.02});
  ASSERT_TRUE(bad.ok());
  const auto ended = desk->wait(bad->id, Desk::Clock::now() + 60s, {}, {});
  EXPECT_EQ(name_of(ended->state), "failed");
  EXPECT_NE(ended->problem.find("went away"), std::string::npos) << ended->problem;
  const auto good =
      desk->submit("somebody", {.task = &small, .source = {"kernel.txt", "lap_ns 10000"}, .budget_s = 0.02});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(name_of(desk->wait(good->id, Desk::Clock::now() + 60s, {}, {})->state), "judged");
}

}  // namespace
}  // namespace kw::mcp

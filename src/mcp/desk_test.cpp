#include "mcp/desk.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/scratch.h"

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

}  // namespace
}  // namespace kw::mcp

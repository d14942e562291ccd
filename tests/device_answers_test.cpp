// What is made of an agent's answers, with the answers written by hand: a device may send anything.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "suites/catalog.h"
#include "targets/remote/loaded.h"

namespace kw::remote {
namespace {

using namespace std::chrono_literals;

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Report good_report() {
  Report report{};
  report.exit_code = report.changed = -1;
  report.filters = 2;
  report.came = 1;
  report.ns = 1000;
  return report;
}

targets::Instance small_relu() {
  Task task = *suites::find_task("Relu");
  for (auto& [name, length] : task.lengths) length = 4;
  return *targets::make_instance(task, task.lengths, 1);
}

TEST(WhatADeviceComplainsOf, TakesNoMoreThanItsPlace) {
  auto link = Link::start({"/bin/sh", "-c", "head -c 100000000 /dev/zero >&2; echo $?"});
  ASSERT_TRUE(link.ok()) << link.error().message;
  const auto wrote_all = (*link)->receive_line(Clock::now() + 30s);
  ASSERT_TRUE(wrote_all.has_value());
  EXPECT_NE(*wrote_all, "0") << "all of it was kept in memory";
}

TEST(WhatADeviceComplainsOf, IsShown) {
  auto link = Link::start({"/bin/sh", "-c", "echo no such host >&2; echo"});
  ASSERT_TRUE(link.ok()) << link.error().message;
  EXPECT_EQ((*link)->said().find('\0'), std::string::npos);
  ASSERT_TRUE((*link)->receive_line(Clock::now() + 30s).has_value());
  EXPECT_EQ((*link)->said(), "no such host");
}

// A kernel on a device whose answers are these bytes, after a good greeting.
class AnswersOfADevice : public testing::Test {
 protected:
  void answers(const std::string& bytes, const std::string& facts = "machine aarch64\npage_bytes 4096\n") {
    auto file = *sandbox::memory_file(kGreeting + bytes_of(std::uint64_t{facts.size()}) + facts + bytes);
    ::lseek(file.get(), 0, SEEK_SET);
    Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    connection_ = *Connection::meet(Link::over(std::move(nowhere), std::move(file)), "by hand", Clock::now() + 5s);
    calls_.emplace(connection_);
    Random random(7);
    const targets::Placement places[] = {targets::Placement::aligned, targets::Placement::aligned};
    ASSERT_TRUE(calls_->lay_out(instance_, places, random).ok());
    kernel_.emplace(connection_, all_architectures().front(), built_, *calls_, targets::Limits{}, 1);
    ASSERT_TRUE(kernel_->finish_loading(Clock::now() + 5s).empty());
    ASSERT_TRUE(kernel_->arrange(*calls_, instance_, Clock::now() + 5s)->empty());
  }
  static std::string loaded() { return bytes_of(good_report()) + bytes_of(good_report()); }
  static std::string lap(double ns, double outside_ns) {
    Report report = good_report();
    report.statuses = 2;
    report.ns = ns;
    report.outside_ns = outside_ns;
    return bytes_of(report) + std::string(2 * sizeof(std::int32_t), '\0');
  }

  const targets::Instance instance_ = small_relu();
  const DeviceBuilt built_;
  std::shared_ptr<Connection> connection_;
  std::optional<DeviceCalls> calls_;
  std::optional<LoadedOnDevice> kernel_;
};

TEST_F(AnswersOfADevice, AreLapsWhereTheyAreGood) {
  answers(loaded() + lap(1000, 5));
  const targets::Lap lap = kernel_->time(2, Settle::near, Clock::now() + 5s);
  EXPECT_TRUE(lap.reason.empty()) << text_of(lap.reason);
  EXPECT_EQ(lap.ns, 1000);
  EXPECT_EQ(lap.outside_ns, 5);
}

TEST_F(AnswersOfADevice, AreNoLapsWithTimesThatAreNone) {
  for (const double ns : {std::numeric_limits<double>::quiet_NaN(), -1.0, 1e300}) {
    for (const bool outside : {false, true}) {
      answers(loaded() + lap(outside ? 1000 : ns, outside ? ns : 0));
      const targets::Lap lap = kernel_->time(2, Settle::near, Clock::now() + 5s);
      EXPECT_EQ(lap.reason.code, ReasonCode::lost);
      EXPECT_EQ(lap.ns, 0);
    }
  }
}

TEST_F(AnswersOfADevice, EndTheLinkWhereTheyAreLargerThanWasAskedFor) {
  Report report = good_report();
  report.read_bytes = 1 << 20;
  answers(loaded() + bytes_of(report) + std::string(1 << 20, 'x'));
  EXPECT_EQ(kernel_->run(0, 2, Clock::now() + 5s).code, ReasonCode::lost);
  EXPECT_TRUE(connection_->broken());
}

TEST_F(AnswersOfADevice, ThatEndEarlyAreALostLink) {
  answers(loaded() + lap(1000, 0).substr(0, 100));
  EXPECT_EQ(kernel_->time(2, Settle::near, Clock::now() + 5s).reason.code, ReasonCode::lost);
  EXPECT_TRUE(connection_->broken());
}

TEST_F(AnswersOfADevice, HoldNothingThatATerminalObeys) {
  answers(loaded(), "machine aarch64\nmodel A\x1b[31mphone\n");
  EXPECT_EQ(connection_->facts().text("model"), "A\\u001b[31mphone");
}

}  // namespace
}  // namespace kw::remote

#include "judge/affordable.h"

#include <gtest/gtest.h>

#include "suites/catalog.h"

namespace kw::judge {
namespace {

constexpr Means kSmallMachine{.memory_bytes = 4e9, .reference_s = 20};

TEST(AnAffordableTask, IsOneWhoseReferenceAndMemoryFit) {
  EXPECT_TRUE(check_affordable(*suites::find_task("Softmax"), kSmallMachine).ok());
}

TEST(ATaskOfAGpu, IsRefusedInOneLineWithSmallerLengths) {
  const Task task = *suites::find_task("L1_19_ReLU");
  const Status refused = check_affordable(task, kSmallMachine);
  ASSERT_FALSE(refused.ok());
  const std::string& message = refused.error().message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_NE(message.find("L1_19_ReLU is too large to be judged here"), std::string::npos) << message;
  EXPECT_NE(message.find("--dim D="), std::string::npos) << message;
}

TEST(ATaskOfAGpu, IsAffordableOnceItIsMadeSmaller) {
  for (const char* name : {"L1_1_Matmul_square", "L1_19_ReLU", "L1_97_Attention", "L2_1_Conv2D_ReLU_BiasAdd"}) {
    const Task task = made_affordable(*suites::find_task(name), kSmallMachine);
    EXPECT_EQ(task.name, std::string(name) + "_small");
    const Status fine = check_affordable(task, kSmallMachine);
    EXPECT_TRUE(fine.ok()) << fine.error().message;
  }
}

TEST(ATaskThatFits, IsNotMadeSmaller) {
  EXPECT_EQ(made_affordable(*suites::find_task("Softmax"), kSmallMachine).name, "Softmax");
}

TEST(ThisMachine, HasMemory) { EXPECT_GT(means_of_this_machine().memory_bytes, 1e8); }

}  // namespace
}  // namespace kw::judge

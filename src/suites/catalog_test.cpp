#include "suites/catalog.h"

#include <gtest/gtest.h>

#include <set>

namespace kw::suites {
namespace {

std::vector<Task> some_tasks() {
  const auto task = [](const std::string& name, const std::string& category) {
    Task one;
    one.name = name;
    one.category = category;
    return one;
  };
  return {task("Conv", "Convolution"), task("Conv3D", "Convolution"), task("Relu", "Activation"),
          task("Tile", "Tensor"), task("Tan", "Trigonometry")};
}

// Their names with spaces; an Error's words.
std::string chosen(const std::string& wanted) {
  const auto tasks = tasks_named(some_tasks(), wanted);
  if (!tasks.ok()) return "error: " + tasks.error().message;
  std::string names;
  for (const Task& task : *tasks) names += (names.empty() ? "" : " ") + task.name;
  return names;
}

TEST(TasksNamed, AreThoseOfANameACategoryOrABeginning) {
  EXPECT_EQ(chosen(""), "Conv Conv3D Relu Tile Tan");
  EXPECT_EQ(chosen("Relu,Tan"), "Relu Tan");
  EXPECT_EQ(chosen("Convolution"), "Conv Conv3D");
  EXPECT_EQ(chosen("Conv*"), "Conv Conv3D");
}

TEST(TasksNamed, ANameGoesBeforeACategoryThatBeginsSo) {
  EXPECT_EQ(chosen("Conv"), "Conv");
  EXPECT_EQ(chosen("conv"), "Conv");
  EXPECT_EQ(chosen("convo"), "Conv Conv3D");
}

TEST(TasksNamed, AreTakenInAnotherPrecision) {
  EXPECT_EQ(chosen("Relu@tf32,Tan"), "Relu@tf32 Tan");
  EXPECT_EQ(chosen("Conv*@bfloat16"), "Conv@bfloat16 Conv3D@bfloat16");
  EXPECT_TRUE(chosen("Relu@fp8").starts_with("error: Relu@fp8: ")) << chosen("Relu@fp8");
}

TEST(FindTask, TakesATaskInAnotherPrecision) {
  const auto tf32 = find_task("L1_1_Matmul_square@tf32", {{"N", 8}});
  ASSERT_TRUE(tf32.ok()) << tf32.error().message;
  EXPECT_EQ(tf32->name, "L1_1_Matmul_square@tf32");
  EXPECT_EQ(tf32->precision, Precision::tf32);
  EXPECT_EQ(tf32->values[0].dtype, DType::float32);
  const auto half = find_task("L2_1_Conv2D_ReLU_BiasAdd@bfloat16");
  ASSERT_TRUE(half.ok()) << half.error().message;
  EXPECT_EQ(half->precision, Precision::of_types);
  for (const Value& value : half->values) EXPECT_EQ(value.dtype, DType::bfloat16) << value.name;
  EXPECT_FALSE(find_task("Relu@double").ok());
}

TEST(TasksNamed, AreFoundInAnyCase) {
  EXPECT_EQ(chosen("relu"), "Relu");
  EXPECT_EQ(chosen("conv*"), "Conv Conv3D");
  EXPECT_EQ(chosen("t"), "Tile Tan");
}

TEST(TasksNamed, ThatDoNotExistGetTheNearestNames) {
  EXPECT_EQ(chosen("Rellu"), "error: no task or category is called 'Rellu'; nearest: Relu; `kw tasks` lists them");
  EXPECT_EQ(chosen("Relu,,Tan").substr(0, 39), "error: no task or category is called ''");
}

TEST(ASuiteOfSeveralFiles, IsOne) {
  const auto suite = find_suite("kernelbench");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  std::set<int> levels;
  for (const Task& task : suite->tasks) levels.insert(task.level);
  EXPECT_EQ(levels, (std::set{1, 2, 3}));
  EXPECT_FALSE(suite->about.empty());
  EXPECT_FALSE(find_suite("mobile").ok()) << "the beginning of a name is no suite";
}

TEST(ALevel, ChoosesTasks) {
  std::vector<Task> tasks = some_tasks();
  EXPECT_EQ(tasks_of_level(tasks, 1).error().message, "--level 1: these tasks have no levels");
  tasks[0].level = 1;
  tasks[1].level = 3;
  const auto chosen = tasks_of_level(tasks, 3);
  ASSERT_TRUE(chosen.ok());
  ASSERT_EQ(chosen->size(), 1u);
  EXPECT_EQ(chosen->at(0).name, "Conv3D");
  EXPECT_EQ(tasks_of_level(tasks, 2).error().message, "--level 2: there are levels 1, 3");
}

TEST(ATask, TakesOtherValuesOfItsNamedLengths) {
  const auto task = find_task("L1_19_ReLU", {{"D", 7}});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->lengths, (Lengths{{"D", 7}, {"N", 4096}}));
  EXPECT_EQ(find_task("L1_19_ReLU", {{"X", 7}}).error().message,
            "task 'L1_19_ReLU' has no open length 'X'; it has D, N");
}

TEST(CategoriesNamed, AreTheOneOfThatNameElseAllThatBeginSo) {
  const std::vector<Suite> suites = {Suite{.tasks = some_tasks()}};
  EXPECT_EQ(*categories_named(suites, "convolution"), std::vector<std::string>{"Convolution"});
  EXPECT_EQ(*categories_named(suites, "conv"), std::vector<std::string>{"Convolution"});
  EXPECT_EQ(*categories_named(suites, "T"), (std::vector<std::string>{"Tensor", "Trigonometry"}));
  EXPECT_EQ(categories_named(suites, "x").error().message,
            "no category is called 'x'; there are Activation, Convolution, Tensor, Trigonometry");
  EXPECT_FALSE(categories_named(suites, "").ok());
}

}  // namespace
}  // namespace kw::suites

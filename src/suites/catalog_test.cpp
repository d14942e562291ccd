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

TEST(TasksNamed, AreFoundInAnyCase) {
  EXPECT_EQ(chosen("relu"), "Relu");
  EXPECT_EQ(chosen("conv*"), "Conv Conv3D");
  EXPECT_EQ(chosen("t"), "Tile Tan");
}

TEST(TasksNamed, ThatDoNotExistGetTheNearestNames) {
  EXPECT_EQ(chosen("Rellu"), "error: no task or category is called 'Rellu'; nearest: Relu; `kw tasks` lists them");
  EXPECT_EQ(chosen("Relu,,Tan").substr(0, 39), "error: no task or category is called ''");
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

#include "suites/task_snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ops/graph.h"
#include "suites/catalog.h"

namespace kw::suites {
namespace {

TEST(TaskSnapshot, GivesBackEveryTaskOfEverySuite) {
  const auto suites = installed_suites();
  ASSERT_TRUE(suites.ok());
  for (const Suite& suite : *suites) {
    for (const Task& task : suite.tasks) {
      const std::string text = snapshot_of(task);
      const auto back = task_of_snapshot(text);
      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(snapshot_of(*back), text);
      const auto graph = ops::resolve(*back);
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      EXPECT_EQ(graph->output_type(0), ops::resolve(task)->output_type(0));
    }
  }
}

TEST(TaskSnapshot, KeepsThePrecision) {
  const auto kept = task_of_snapshot(snapshot_of(*find_task("Gemm@tf32")));
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_EQ(kept->precision, Precision::tf32);
}

TEST(TaskSnapshot, KeepsValuesBitForBit) {
  Task task{.name = "x"};
  Value value{.name = "w", .role = Role::weight, .constant = Tensor(DType::float32, Shape{3})};
  value.constant.set_real(0, 0.1);
  value.constant.set_real(1, -0.0);
  value.constant.set_real(2, std::numeric_limits<double>::infinity());
  task.values.push_back(value);
  Node node{.op = "Pad"};
  node.attributes["value"] = {-std::numeric_limits<double>::infinity(), {}};
  node.attributes["reals"] = {std::vector<double>{0.1, 1e300}, {}};
  task.nodes.push_back(node);
  const auto back = task_of_snapshot(snapshot_of(task));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(std::ranges::equal(back->values[0].constant.bytes(), value.constant.bytes()));
  EXPECT_EQ(std::get<double>(back->nodes[0].attributes.at("value").value), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<std::vector<double>>(back->nodes[0].attributes.at("reals").value),
            (std::vector<double>{0.1, 1e300}));
}

TEST(TaskSnapshot, RefusesWhatIsDamaged) {
  const std::string text = snapshot_of(*find_task("Gemm"));
  for (const std::string& broken :
       {std::string(), std::string("{}"), text.substr(0, text.size() / 2), std::string(R"({"format":9})")}) {
    EXPECT_FALSE(task_of_snapshot(broken).ok());
  }
}

}  // namespace
}  // namespace kw::suites

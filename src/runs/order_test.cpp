#include "runs/order.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "suites/catalog.h"
#include "suites/task_snapshot.h"

namespace kw::runs {
namespace {

// As the store gives it back.
store::RunSummary summary_of(store::NewRun run) { return {.id = 7, .about = std::move(run)}; }

TEST(Order, OfABatchComesBackAsItWas) {
  Order order{.suite = "mine", .fresh = false, .rivals = "mnn,onnxruntime"};
  order.rules.threads = 4;
  order.rules.cold = true;
  order.rules.budget_s = 0.25;
  order.rules.pairs = 40;
  order.rules.timed = false;
  const auto back = order_of(summary_of(run_of(order, "kw eval")));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->kind, store::RunKind::batch);
  EXPECT_EQ(back->rules.threads, 4);
  EXPECT_TRUE(back->rules.cold);
  EXPECT_EQ(back->rules.budget_s, 0.25);
  EXPECT_EQ(back->rules.pairs, 40);
  EXPECT_FALSE(back->rules.timed);
  EXPECT_FALSE(back->fresh);
  EXPECT_EQ(back->rivals, "mnn,onnxruntime");
}

TEST(Order, RefusesNumbersThatNoCommandWrites) {
  const Order order{.kind = store::RunKind::batch};
  const store::RunSummary run = summary_of(run_of(order, "kw eval"));
  ASSERT_TRUE(order_of(run).ok());
  for (const auto& [name, value] : {std::pair{"threads", "2147483647"},
                                    {"threads", "4294967297"},
                                    {"budget_s", "1e300"},
                                    {"budget_s", "-1"},
                                    {"pairs", "0"}}) {
    store::RunSummary changed = run;
    Json rules = Json::parse(run.about.rules);
    rules[name] = Json::parse(value);
    changed.about.rules = rules.dump();
    EXPECT_FALSE(order_of(changed).ok()) << name << " " << value;
  }
}

TEST(Order, OfASearchComesBackAsItWas) {
  Order order{.kind = store::RunKind::search, .suite = "mine", .tasks = {*suites::find_task("Relu")}};
  order.kernel = judge::Source{"mine.cpp", "// mine"};
  order.out = "/somewhere/Relu-kernel";
  order.search = {.author = "file", .strategy = "local", .budget = "20", .within_s = 60, .seed = 5};
  const auto back = order_of(summary_of(run_of(order, "kw optimize")));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->kind, store::RunKind::search);
  ASSERT_EQ(back->tasks.size(), 1u);
  EXPECT_EQ(back->tasks[0].name, "Relu");
  ASSERT_TRUE(back->kernel);
  EXPECT_EQ(back->kernel->text, "// mine");
  EXPECT_EQ(back->out, "/somewhere/Relu-kernel");
  EXPECT_EQ(back->search.strategy, "local");
  EXPECT_EQ(back->search.budget, "20");
  EXPECT_EQ(back->search.within_s, 60);
  EXPECT_EQ(back->search.seed, 5);
}

TEST(Order, OfAnAuthorComesBackAsItWas) {
  Order order{.kind = store::RunKind::rounds, .tasks = {*suites::find_task("Relu")}};
  order.author = {.author = "moka", .model = "openai:x", .asked = "x-1", .rounds = 3, .in_flight = 8, .tokens = 1000};
  const store::RunSummary run = summary_of(run_of(order, "kw bench"));
  EXPECT_EQ(run.about.author, "moka with x-1");
  EXPECT_EQ(run.kind(), store::RunKind::rounds);
  const auto back = order_of(run);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->author.model, "openai:x");
  EXPECT_EQ(back->author.rounds, 3);
  EXPECT_EQ(back->author.in_flight, 8);
  EXPECT_EQ(back->author.tokens, 1000);
  EXPECT_FALSE(back->author.usd);
}

// What kw wrote before orders had a version.
TEST(Order, OfTheFirstVersionIsUnderstood) {
  const Json task = {
      {"name", "Relu"}, {"category", "Activation"}, {"text", suites::snapshot_of(*suites::find_task("Relu"))}};
  Json rules = {{"threads", 1},  {"cold", false},    {"budget_s", 0.4}, {"pairs", nullptr},
                {"timed", true}, {"rivals", "none"}, {"fresh", true},   {"tasks", Json::array({task})}};
  rules["agents"] = {{"author", "passk"}, {"model", "command:cat"}, {"asked", "cat"},  {"rounds", "2"},
                     {"in_flight", "4"},  {"tokens", "300"},        {"no_stream", ""}, {"usd", "0.5"}};
  const auto authored = order_of(summary_of({.author = "passk with cat", .strategy = "rounds", .rules = rules.dump()}));
  ASSERT_TRUE(authored.ok()) << authored.error().message;
  EXPECT_EQ(authored->author.rounds, 2);
  EXPECT_EQ(authored->author.in_flight, 4);
  EXPECT_EQ(authored->author.tokens, 300);
  EXPECT_EQ(authored->author.usd, 0.5);
  EXPECT_TRUE(authored->author.no_stream);
  EXPECT_EQ(authored->out, "");

  rules["search"] = {{"budget", "3s"}, {"kernel", {{"file", "a.cpp"}, {"source", "// a"}}}};
  const auto searched = order_of(summary_of({.author = "file", .strategy = "auto", .seed = 9, .rules = rules.dump()}));
  ASSERT_TRUE(searched.ok()) << searched.error().message;
  EXPECT_EQ(searched->search.budget, "3s");
  EXPECT_EQ(searched->search.seed, 9);
  EXPECT_EQ(searched->kernel->name, "a.cpp");

  const auto batch = order_of(
      summary_of({.rules = R"({"threads":2,"cold":false,"budget_s":2.0,"pairs":null,"timed":true,"fresh":false})"}));
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(batch->rules.threads, 2);
  EXPECT_EQ(batch->rivals, "none");
}

TEST(Order, OfANewerVersionOrDamagedIsRefused) {
  EXPECT_NE(order_of(summary_of({.rules = R"({"version":99})"})).error().message.find("newer kw"), std::string::npos);
  EXPECT_NE(order_of(summary_of({.rules = "nonsense"})).error().message.find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace kw::runs

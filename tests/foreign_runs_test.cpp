// Runs whose record was changed by somebody else: what was not judged here is judged again, and nothing of it is handed
// out as a result.
#include <gtest/gtest.h>

#include "agents/author_run.h"
#include "base/scratch.h"
#include "runs/run.h"
#include "runs/search_run.h"
#include "runs/stop.h"
#include "suites/catalog.h"

namespace kw {
namespace {

constexpr char kModel[] = "command:false";

class AChangedRecord : public testing::Test {
 protected:
  AChangedRecord() {
    order_.tasks = {*suites::find_task("Relu"), *suites::find_task("Celu")};
    order_.rules.device = "made_up";
  }

  // One that was begun here, with a winner of the first task.
  std::unique_ptr<runs::Run> run_with_winner(const std::string& author) {
    store::NewRun begun = runs::run_of(order_, "by hand");
    begun.author = author;
    auto run = runs::Run::begin(workplace_, begun, {}, stop_);
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
    judge::Case one = order_.rules;
    one.task = &order_.tasks[0];
    one.source = {"kernel.txt", "lap_ns 5"};
    store::NewItem item = runs::planned(0, one, R"({"round":0,"role":"confirm"})");
    item.purpose = store::Purpose::confirm;
    const Verdict verdict{.task = "Relu", .target = "made_up", .stage = VerdictStage::accepted, .time_ns = 5};
    const Status added = (*run)->add_judged(std::move(item), one, verdict, 0.1);
    EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().message);
    return *std::move(run);
  }
  void change() {
    ASSERT_TRUE(store_.database().execute("UPDATE verdict SET time_ns = 1").ok());
    ASSERT_TRUE(store_.run(1)->is_own) << "the run itself is as it was";
  }

  const ScratchFolder folder_;
  store::Store store_ = *store::Store::open(folder_.path());
  runs::Workplace workplace_{store_, "made_up"};
  runs::Stop stop_;
  runs::Order order_;
};

TEST_F(AChangedRecord, FinishesNoTaskOfASearch) {
  order_.kind = store::RunKind::search;
  order_.search = {.author = "templates", .strategy = "auto", .budget = "1"};
  order_.kernel = judge::Source{"kernel.txt", "lap_ns 5"};
  const auto run = run_with_winner("templates");
  const runs::Rivals none;
  runs::SearchWork before(none, {});
  ASSERT_TRUE(before.prepare(*run).ok());
  EXPECT_EQ(before.items(), 1u) << "of two tasks one is finished";
  EXPECT_EQ(before.results().size(), 1u);
  change();
  runs::SearchWork after(none, {});
  ASSERT_TRUE(after.prepare(*run).ok());
  EXPECT_EQ(after.items(), 2u);
  EXPECT_TRUE(after.results().empty());
}

TEST_F(AChangedRecord, HasNoKernelOfAnAuthor) {
  order_.kind = store::RunKind::rounds;
  order_.author.author = "oneshot";
  order_.author.asked = order_.author.model = kModel;
  auto client = *llm::Client::open(*llm::endpoint_named(kModel));
  const agents::Prompts prompts = *agents::Prompts::open();
  const auto run = run_with_winner("oneshot with " + client.name());
  const runs::Rivals none;
  agents::AuthorWork before(order_.author, none, client, prompts);
  const Status prepared = before.prepare(*run);
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_TRUE(before.results()[0].accepted());
  change();
  agents::AuthorWork after(order_.author, none, client, prompts);
  ASSERT_TRUE(after.prepare(*run).ok());
  EXPECT_FALSE(after.results()[0].accepted());
}

}  // namespace
}  // namespace kw

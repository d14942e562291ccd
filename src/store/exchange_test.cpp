#include "store/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/files.h"
#include "base/random.h"
#include "base/scratch.h"
#include "store/by_hand.h"

namespace kw::store {
namespace {

class Exchange : public testing::Test {
 protected:
  Exchange() {
    std::vector<NewItem> items = {item_by_hand(1, "// one\n"),
                                  item_by_hand(2, "// tw\xff\n"),
                                  item_by_hand(4, "four"),
                                  {.position = 5, .problem = "not a JSON object"}};
    items[2].candidate->parents = {hash_of(*items[0].candidate)};
    const auto run = here_.begin_run({.command = "kw eval --batch x",
                                      .seed = 7,
                                      .rules = R"({"threads":1})",
                                      .against = {{"rival.cpp", "// a rival"}}},
                                     items);
    EXPECT_TRUE(run.ok()) << run.error().message;
    const std::int64_t machine = *here_.add_machine(machine_by_hand());
    const auto open = here_.open_items(*run);
    for (int i = 0; i < 2; ++i) {
      const Verdict verdict = verdict_by_hand(100 + i, 2);
      EXPECT_TRUE(
          here_
              .record(open->at(static_cast<std::size_t>(i)).id, verdict, json_by_hand(verdict), around_by_hand(machine))
              .ok());
    }
  }
  static Store open(const ScratchFolder& folder) { return *Store::open(folder.path()); }
  static std::string lines_of(const Store& store, std::int64_t run = 1) {
    std::ostringstream out;
    const Status status = export_json_lines(store, run, out);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return out.str();
  }

  const ScratchFolder folder_, other_;
  Store here_ = open(folder_);
  Store there_ = open(other_);
};

TEST_F(Exchange, TakesBackAllOfARun) {
  const std::string lines = lines_of(here_);
  // Another run is there already, so that every number is another one.
  ASSERT_TRUE(there_.begin_run({.command = "first"}, std::vector{item_by_hand(1, "x")}).ok());
  const auto imported = import_json_lines(there_, lines_in(lines), "r1.jsonl");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(imported->run, 2);
  EXPECT_FALSE(imported->was_here);
  std::string again = lines_of(there_, 2);
  // Only the state (no process works on it now) and the machine's number may differ.
  const auto without = [](std::string text, const std::string& part) {
    for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
    return text;
  };
  EXPECT_EQ(without(again, "\"state\":\"stopped\","), without(lines, "\"state\":\"open\","));
  EXPECT_EQ(there_.open_items(2)->size(), 1u);
  EXPECT_EQ(there_.against(2)->at(0), (RivalSource{"rival.cpp", "// a rival"}));
}

TEST_F(Exchange, KnowsARunThatIsThereAlready) {
  const std::string lines = lines_of(here_);
  ASSERT_TRUE(import_json_lines(there_, lines_in(lines), "x").ok());
  const auto again = import_json_lines(there_, lines_in(lines), "x");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->was_here);
  EXPECT_EQ(there_.runs()->size(), 1u);
  EXPECT_TRUE(import_json_lines(here_, lines_in(lines), "x")->was_here);
}

TEST_F(Exchange, NamesABrokenLineAndImportsNothing) {
  const std::string lines = lines_of(here_);
  std::vector<std::string> all;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += part + "\n";
    return text;
  };
  // Every line, broken in four ways.
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::string& broken : {std::string("nonsense"), std::string("{}"), all[i].substr(0, all[i].size() / 2),
                                      std::string(R"({"kind":"surprise"})")}) {
      std::vector<std::string> changed = all;
      changed[i] = broken;
      const auto imported = import_json_lines(there_, lines_in(joined(changed)), "r1.jsonl");
      ASSERT_FALSE(imported.ok()) << broken;
      EXPECT_TRUE(imported.error().message.starts_with(fmt::format("r1.jsonl:{}: ", i + 1)))
          << imported.error().message;
    }
  }
  // Cut off between lines, and a line that is missing.
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(
        import_json_lines(there_, lines_in(joined({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i)})), "x")
            .ok());
    std::vector<std::string> missing = all;
    missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(import_json_lines(there_, lines_in(joined(missing)), "x").ok()) << i;
  }
  for (const char* table : {"run", "item", "source", "candidate", "task", "verdict", "machine", "event"}) {
    EXPECT_EQ(*there_.database().number(std::string("SELECT count(*) FROM ") + table), 0) << table;
  }
}

TEST_F(Exchange, RefusesASourceThatWasChanged) {
  std::string lines = lines_of(here_);
  lines.replace(lines.find("// one"), 6, "// two");
  const auto imported = import_json_lines(there_, lines_in(lines), "x");
  ASSERT_FALSE(imported.ok());
  EXPECT_NE(imported.error().message.find("not what its hash says"), std::string::npos) << imported.error().message;
}

TEST_F(Exchange, WritesATable) {
  std::ostringstream out;
  ASSERT_TRUE(export_table(here_, 1, out).ok());
  std::istringstream lines(out.str());
  std::string head, first;
  std::getline(lines, head);
  std::getline(lines, first);
  EXPECT_TRUE(head.starts_with("position,purpose,task,")) << head;
  EXPECT_TRUE(head.ends_with("plain speedup,plain low,plain high,plain pairs,plain claimed,plain version\r")) << head;
  EXPECT_NE(first.find("\"{\"\"TILE\"\":\"\"8\"\"}\""), std::string::npos) << first;
  EXPECT_EQ(std::ranges::count(out.str(), '\n'), 5);
}

TEST_F(Exchange, WritesNoFieldThatASpreadsheetComputes) {
  ASSERT_TRUE(here_.database().execute("UPDATE candidate SET author = '=cmd|x!A0', file = '@SUM(1)'").ok());
  std::ostringstream out;
  ASSERT_TRUE(export_table(here_, 1, out).ok());
  EXPECT_NE(out.str().find(",'=cmd|x!A0,"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find(",'@SUM(1),"), std::string::npos) << out.str();
}

TEST_F(Exchange, WritesNoKernelOutsideOfItsFolder) {
  ASSERT_TRUE(here_.database().execute("UPDATE verdict SET stage = '/../../x'; UPDATE task SET name = '../y'").ok());
  const auto files = export_kernels(here_, 1, folder_.path() / "kernels");
  ASSERT_TRUE(files.ok()) << files.error().message;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder_.path())) {
    EXPECT_TRUE(file.path().extension() != ".cpp" || file.path().parent_path().filename() == "kernels") << file.path();
  }
}

TEST_F(Exchange, WritesAFolderOfKernels) {
  const auto files = export_kernels(here_, 1, folder_.path() / "kernels");
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(*files, 3);
  EXPECT_EQ(*read_file(folder_.path() / "kernels/0001_Relu_accepted.cpp"), "// one\n");
  EXPECT_EQ(*read_file(folder_.path() / "kernels/0004_Relu_open.cpp"), "four");
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "kernels/index.csv"));
}

TEST_F(Exchange, WhatIsImportedCountsForNothing) {
  std::string forged = lines_of(here_);
  for (std::size_t at; (at = forged.find("\"time_ns\":100")) != std::string::npos;)
    forged.replace(at, 13, "\"time_ns\":1.0");
  ASSERT_TRUE(import_json_lines(there_, lines_in(forged), "forged.jsonl").ok());
  EXPECT_FALSE(there_.run(1)->is_own);
  const std::string relu = hash_of(task_by_hand());
  EXPECT_TRUE(there_.accepted_kernels(relu, "this")->empty());
  EXPECT_EQ(there_.elsewhere("Relu", relu, "this")->foreign, 2);
  EXPECT_EQ(here_.accepted_kernels(relu, "this")->size(), 2u) << "where they were judged they count";
}

TEST_F(Exchange, RefusesDeepAndMistypedLines) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& line : {deep, "{\"kind\":" + deep + "}", "{\"kind\":\"run\",\"rules\":" + deep + "}",
                                  std::string("{\"kind\":7}"), std::string("{\"kind\":\"run\",\"format\":\"x\"}"),
                                  std::string("{\"kind\":\"run\",\"format\":1,\"origin\":[]}"), std::string("{}"),
                                  std::string("null"), std::string("\"\"")}) {
    const auto imported = import_json_lines(there_, lines_in(line), "x");
    ASSERT_FALSE(imported.ok());
    EXPECT_TRUE(imported.error().message.starts_with("x:1: ")) << imported.error().message;
  }
}

// Damaged records: an Error with the line or a run that counts for nothing, and never a crash.
TEST_F(Exchange, BearsDamage) {
  const std::string lines = lines_of(here_);
  Random random(5);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = lines;
    for (std::int64_t k = random.integer(1, 4); k > 0; --k) {
      const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(damaged.size()) - 10));
      if (random.chance(0.5)) {
        damaged[at] = static_cast<char>(random.bits());
      } else {
        damaged.erase(at, static_cast<std::size_t>(random.integer(1, 9)));
      }
    }
    const auto imported = import_json_lines(there_, lines_in(damaged), "x");
    refused += imported.ok() ? 0 : 1;
    EXPECT_TRUE(imported.ok() || imported.error().message.starts_with("x:"));
  }
  EXPECT_GT(refused, 50);
  EXPECT_TRUE(there_.accepted_kernels(hash_of(task_by_hand()), "this")->empty());
}

}  // namespace
}  // namespace kw::store

#include "corpus/task_text.h"

#include <gtest/gtest.h>

#include <iostream>

#include "corpus/prompt.h"
#include "ops/graph.h"
#include "suites/catalog.h"

namespace kw::corpus {
namespace {

TEST(TaskText, TellsATaskInLines) {
  const Task task = *suites::find_task("Gemm");
  const std::string text = *text_of(task);
  EXPECT_NE(text.find("input "), std::string::npos) << text;
  EXPECT_NE(text.find("node "), std::string::npos) << text;
  EXPECT_EQ(text.find(task.note.empty() ? "note" : task.note), std::string::npos) << "what people say is left out";
  const Task again = *task_of_text(text);
  EXPECT_EQ(*text_of(again), text);
  EXPECT_EQ(again.name, name_of_text(task, text));
}

// text_of itself compares what comes back with what was told.
TEST(TaskText, GivesBackNearlyEveryTaskOfTheSuites) {
  int told = 0, all = 0;
  for (const suites::Suite& suite : *suites::installed_suites()) {
    for (const Task& task : suite.tasks) {
      ++all;
      const auto text = text_of(task);
      if (!text.ok()) {
        std::cout << text.error().message << "\n";
        continue;
      }
      ++told;
      EXPECT_TRUE(ops::resolve(*task_of_text(*text)).ok()) << *text;
    }
  }
  EXPECT_GT(told, all * 95 / 100) << told << " of " << all;
}

TEST(TaskText, NamesTheLineOfWhatIsWrong) {
  const auto problem = [](const char* text) { return task_of_text(text).error().message; };
  EXPECT_NE(problem("input x: float32[8]\nnoed y = Relu(x)\noutput y\n").find("task:2:"), std::string::npos);
  EXPECT_NE(problem("input x: float99[8]\n").find("task:1:"), std::string::npos);
  EXPECT_NE(problem("input x: float32[8]\noutput x\n").find("node"), std::string::npos);
  EXPECT_NE(problem("input x: float32[8]\nnode y = Relu(x)\n").find("output"), std::string::npos);
  EXPECT_NE(problem("opset seven\n").find("task:1:"), std::string::npos);
  EXPECT_FALSE(task_of_text(std::string(100'000, 'x')).ok());
}

TEST(Prompt, ListsHeadersOfTheTasksOperators) {
  const std::string prompt = *prompt_of(*suites::find_task("Softmax"), "cpu");
  EXPECT_NE(prompt.find("header <kw/math_exp.h>\n"), std::string::npos) << prompt;
  EXPECT_EQ(prompt.find("math_trig"), std::string::npos) << prompt;
  EXPECT_TRUE(prompt.ends_with(*text_of(*suites::find_task("Softmax"))));
  EXPECT_LT(prompt.size(), 1200u);
}

}  // namespace
}  // namespace kw::corpus

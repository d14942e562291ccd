#include "compose/techniques.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::compose {
namespace {

Result<Technique> technique_of(const std::string& text) {
  const ScratchFolder folder;
  EXPECT_TRUE(write_file(folder.path() / "made_up.h", text).ok());
  return read_technique(folder.path() / "made_up.h");
}

// Why it is no technique, without the folder.
std::string problem_of(const std::string& text) {
  const auto technique = technique_of(text);
  if (technique.ok()) return "none";
  const std::string& message = technique.error().message;
  return message.substr(message.find("made_up.h"));
}

TEST(Techniques, SayWhatTheyServeAndWhere) {
  const auto technique = technique_of(
      "// Unique: sorted, then\n// counted.\n//\n// More about it, with a colon: here.\n//\n"
      "// serves: Unique, TopK\n// types: float32, int64\n// when: rank0 == 1\n// order: 10\n// parts: any\n"
      "inline void prepare_TopK();\n// whem: this is behind the opening comment\n");
  ASSERT_TRUE(technique.ok()) << technique.error().message;
  EXPECT_EQ(technique->idea, "Unique: sorted, then counted.");
  EXPECT_EQ(technique->serves, (std::vector<std::string>{"Unique", "TopK"}));
  EXPECT_EQ(technique->types, (std::vector<DType>{DType::float32, DType::int64}));
  EXPECT_EQ(technique->when, "rank0 == 1");
  EXPECT_EQ(technique->order, 10);
  EXPECT_TRUE(technique->any_part);
  EXPECT_EQ(technique->prepares, (std::vector<std::string>{"TopK"}));
}

TEST(Techniques, WithAMisspeltDirectiveAreErrors) {
  EXPECT_EQ(problem_of("// Idea.\n//\n// serves: Conv\n// whem: group == 1\n"),
            "made_up.h:4: whem: no directive of techniques; nearest: when");
  EXPECT_EQ(problem_of("// Idea.\n//\n// serves: Conv\n//\n// When: group == 1\n"),
            "made_up.h:5: When: no directive of techniques; nearest: when");
  EXPECT_EQ(problem_of("// Idea.\n//\n// wehn:group == 1\n// serves: Conv\n").substr(0, 37),
            "made_up.h:3: wehn: no directive of te");
  EXPECT_EQ(problem_of("// Idea.\n// serves: Conv\n"),
            "made_up.h:1: \"Idea.\" among directives: an empty comment line separates them from prose");
  EXPECT_EQ(problem_of("// Idea.\n//\n// serves: Conv\n// when: group == 1 &&\n//       rank0 == 4\n"),
            "made_up.h:5: \"rank0 == 4\" among directives: an empty comment line separates them from prose");
}

TEST(Techniques, TakeDirectivesWithoutASpace) {
  EXPECT_EQ(technique_of("// Idea.\n//\n// serves: Conv\n// when:group == 1\n")->when, "group == 1");
}

TEST(Techniques, WithAWrongValueAreErrors) {
  const std::string begin = "// Idea.\n//\n// serves: Conv\n";
  EXPECT_EQ(problem_of(begin + "// order: first\n"), "made_up.h:4: order: first: no number");
  EXPECT_EQ(problem_of(begin + "// types: float31\n"), "made_up.h:4: float31: no element type");
  EXPECT_EQ(problem_of(begin + "// parts: some\n"), "made_up.h:4: parts: some: only \"any\" is known");
  EXPECT_EQ(problem_of(begin + "// when:\n"), "made_up.h:4: when: nothing follows");
  EXPECT_EQ(problem_of(begin + "// order: 1\n// order: 2\n"), "made_up.h:5: order is given twice");
  EXPECT_EQ(problem_of(begin + "// fuses: beside\n"), "made_up.h:4: fuses: beside: \"before\" and \"after\" are known");
}

TEST(Techniques, OfTheHouseAreAllRead) {
  const auto techniques = read_techniques("cpu");
  ASSERT_TRUE(techniques.ok()) << techniques.error().message;
  EXPECT_GT(techniques->size(), 30u);
}

}  // namespace
}  // namespace kw::compose

#include "core/tunables.h"

#include "core/tunable_defaults.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

constexpr char kSource[] = R"source(
#include <kernelwright.h>
KW_TUNE(TILE, 8, 4, 8, 16);  // KW_TUNE(NOT, 1, 2) in a comment
/* KW_TUNE(NEITHER, 1); */
KW_TUNE( DEPTH , (1 << 3) );
KW_REQUIRE(TILE * DEPTH <= 128 && (TILE % 4) == 0);
KW_COMPILER("g++", "clang++");
KW_FLAGS("-O3", "-O2 -ffast-math");
#define MORE KW_TUNE(IN_A_MACRO, 1)
const char* text = "KW_TUNE(QUOTED, 1, 2)";
)source";

TEST(Tunables, AreReadFromTheSource) {
  const auto tunables = read_tunables(kSource);
  ASSERT_TRUE(tunables.ok()) << tunables.error().message;
  ASSERT_EQ(tunables->list.size(), 2u);
  EXPECT_EQ(tunables->list[0].name, "TILE");
  EXPECT_EQ(tunables->list[0].fallback, 8);
  EXPECT_EQ(tunables->list[0].values, (std::vector<std::int64_t>{4, 8, 16}));
  EXPECT_EQ(tunables->list[0].line, 3);
  EXPECT_EQ(tunables->list[1].fallback, 8);
  EXPECT_EQ(tunables->list[1].values, (std::vector<std::int64_t>{8}));
  EXPECT_EQ(tunables->requirements.at(0).text, "TILE * DEPTH <= 128 && (TILE % 4) == 0");
  EXPECT_EQ(tunables->compilers, (std::vector<std::string>{"g++", "clang++"}));
  EXPECT_EQ(tunables->flags, (std::vector<std::string>{"-O3", "-O2 -ffast-math"}));
}

TEST(Tunables, TellWhatIsWrongAndWhere) {
  for (const auto& [source, words] : std::vector<std::pair<std::string, std::string>>{
           {"KW_TUNE(A);", "line 1: KW_TUNE takes a name"},
           {"\nKW_TUNE(A, x);", "line 2: x: x is no tunable and no number"},
           {"KW_TUNE(A, 1);\nKW_TUNE(A, 2);", "line 2: A is a tunable already"},
           {"KW_TUNE(A, 1", "line 1: KW_TUNE is not closed"},
           {"KW_FLAGS(-O3);", "takes texts in quotes"}}) {
    const auto tunables = read_tunables(source);
    ASSERT_FALSE(tunables.ok()) << source;
    EXPECT_NE(tunables.error().message.find(words), std::string::npos) << tunables.error().message;
  }
}

BuildOptions made_up_options() {
  return {
      .compilers = {"g++", "clang++"}, .flags = {"-O3", "-O2"}, .check_flag = [](const std::string& flag) -> Status {
        if (flag.starts_with("--")) return fail("{}: not a flag", flag);
        return {};
      }};
}

TEST(Choice, TakesDefaultsAndSettings) {
  const auto tunables = *read_tunables(kSource);
  const auto plain = choose(tunables, {}, made_up_options());
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain->values.at("TILE"), 8);
  EXPECT_EQ(plain->compiler, "g++");
  EXPECT_EQ(plain->flags, (std::vector<std::string>{"-O3"}));
  const auto set =
      choose(tunables, {{"TILE", "16"}, {"compiler", "clang++"}, {"flags", "-O2 -mno-avx"}}, made_up_options());
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(set->values.at("TILE"), 16);
  EXPECT_EQ(set->flags, (std::vector<std::string>{"-O2", "-mno-avx"}));
}

TEST(Choice, RefusesWhatCannotBe) {
  const auto tunables = *read_tunables(kSource);
  for (const auto& [settings, words] :
       std::vector<std::pair<Settings, std::string>>{{{{"TILE", "32"}}, "break KW_REQUIRE(TILE * DEPTH"},
                                                     {{{"TILE", "many"}}, "a tunable is an integer"},
                                                     {{{"TIEL", "4"}}, "nearest: TILE"},
                                                     {{{"compiler", "icc"}}, "no such compiler"},
                                                     {{{"flags", "-O3 --evil"}}, "--evil: not a flag"}}) {
    const auto choice = choose(tunables, settings, made_up_options());
    ASSERT_FALSE(choice.ok()) << words;
    EXPECT_NE(choice.error().message.find(words), std::string::npos) << choice.error().message;
  }
}

TEST(Expression, IsThatOfC) {
  const std::map<std::string, std::int64_t> values = {{"A", 6}, {"B", 4}};
  for (const auto& [text, value] : std::vector<std::pair<std::string, std::int64_t>>{{"A * B <= 24", 1},
                                                                                     {"A*B<24", 0},
                                                                                     {"!(A % B == 2)", 0},
                                                                                     {"A > B ? A - B : B - A", 2},
                                                                                     {"1 << B", 16},
                                                                                     {"-A + 2 * -B", -14},
                                                                                     {"A && B || 0", 1},
                                                                                     {"A & B", 4},
                                                                                     {"0x10 | 1", 17},
                                                                                     {"A / B * B", 4},
                                                                                     {"A == 6 && B != 5", 1}}) {
    const auto got = evaluate_expression(text, values);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(*got, value) << text;
  }
  for (const char* text : {"", "A +", "(A", "A / 0", "C", "A B", "A ? B", "A % (B - 4)"}) {
    EXPECT_FALSE(evaluate_expression(text, values).ok()) << text;
  }
  for (char c : {'(', '~', '-', '!'}) EXPECT_FALSE(evaluate_expression(std::string(100000, c) + "1", values).ok());
}

TEST(Tunables, AreFixedToConstants) {
  const std::string source =
      "// KW_TUNE(A, 1) in a comment stays\nKW_TUNE(TILE, 8, 4, 8);  // rows\nKW_FLAGS(\"-O2\");\nKW_REQUIRE(TILE > "
      "1);\n";
  const Tunables tunables = *read_tunables(source);
  const auto fixed = with_tunables_fixed(source, *choose(tunables, {{"TILE", "4"}}, made_up_options()));
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ(*fixed,
            "// KW_TUNE(A, 1) in a comment stays\n[[maybe_unused]] static constexpr int TILE = 4;  // rows\n"
            "KW_REQUIRE(TILE > 1);\n");
}

TEST(Tunables, GetOtherDefaultsInTheSource) {
  const BuildOptions options = made_up_options();
  const std::string source =
      "// KW_TUNE(A, 1) stays\n#include <kernelwright.h>\nKW_TUNE(TILE, 8, 4, 8);  // rows\nKW_TUNE(B, 3);\n";
  EXPECT_EQ(*with_defaults(source, {{"TILE", "4"}, {"B", "5"}}, options),
            "// KW_TUNE(A, 1) stays\n#include <kernelwright.h>\nKW_TUNE(TILE, 4, 4, 8);  // rows\nKW_TUNE(B, 5, 3);\n");
  EXPECT_EQ(*with_defaults(source, {}, options), source);
  // A source that is built without settings is what the old one was with them.
  const Settings settings = {{"TILE", "4"}, {"compiler", options.compilers.back()}};
  const Choice before = *choose(*read_tunables(source), settings, options);
  const std::string tuned = *with_defaults(source, settings, options);
  const Choice after = *choose(*read_tunables(tuned), {}, options);
  EXPECT_EQ(after.compiler, before.compiler);
  EXPECT_EQ(after.values, before.values);
  EXPECT_EQ(read_tunables(tuned)->compilers.size(), options.compilers.size()) << tuned;
  EXPECT_EQ(*with_defaults("KW_COMPILER(\"a\", \"b\");\n", {{"compiler", "b"}}, options),
            "KW_COMPILER(\"b\", \"a\");\n");
}

TEST(Settings, AreNamesAndValues) {
  EXPECT_EQ(parse_settings({"A=1", "flags=-DX=2"})->at("flags"), "-DX=2");
  EXPECT_FALSE(parse_settings({"A"}).ok());
  EXPECT_FALSE(parse_settings({"=1"}).ok());
}

}  // namespace
}  // namespace kw

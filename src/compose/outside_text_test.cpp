#include "compose/outside_text.h"

#include <gtest/gtest.h>

#include <regex>

namespace kw::compose {
namespace {

// What a hostile or unlucky model may call its tensors.
const std::vector<std::string> kHostile = {
    "",
    "template",
    "unsigned",
    "kept",
    "all",
    "count",
    "at",
    "call",
    "kw",
    "std",
    "int64_t",
    "FUSED_BLOCK",
    "in_step",
    "assert",
    "KW_SECOND_",
    "__LINE__",
    "_Exit",
    "9lives",
    "a.b/c:0",
    "\xc3\xa4\xe2\x80\xae",
    "x\n#include \"/etc/passwd\"\nint y",
    "x; system(\"true\"); int y",
    "*/ int z; /*",
    "x ?\?/\nint z;",
    "x \\\nint z;",
    "\"); abort(); (\"",
    "@INPUTS@",
    std::string("zero\0byte", 9),
    std::string(10'000, 'n'),
    std::string(10'000, '\n'),
};

TEST(OutsideText, BecomesIdentifiersThatNothingElseHas) {
  // A letter with digits, or words with single underscores between them and one at the end.
  const std::regex safe("[a-z][0-9]*|[a-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_");
  Identifiers identifiers;
  std::set<std::string> seen;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& name : kHostile) {
      const std::string made = identifiers.add(name);
      EXPECT_TRUE(std::regex_match(made, safe)) << made;
      EXPECT_LT(made.size(), 80u);
      EXPECT_TRUE(seen.insert(made).second) << made;
    }
  }
}

TEST(OutsideText, KeepsNamesReadable) {
  Identifiers identifiers;
  EXPECT_EQ(identifiers.add("x"), "x");
  EXPECT_EQ(identifiers.add("X"), "x_2_");
  EXPECT_EQ(identifiers.add("w12"), "w12");
  EXPECT_EQ(identifiers.add("scores"), "scores_");
  EXPECT_EQ(identifiers.add("layer.0/Conv_output"), "layer_0_Conv_output_");
  EXPECT_EQ(identifiers.add("template"), "template_");
  const std::string layer = "/model/encoder/layers/layers.11/self_attention/output_projection/";
  EXPECT_EQ(identifiers.add(layer + "MatMul_0"), "r_layers_layers_11_self_attention_output_projection_MatMul_0_");
}

TEST(OutsideText, StaysInTheLineOfARemark) {
  for (const std::string& name : kHostile) {
    const std::string made = remark(name);
    EXPECT_TRUE(std::ranges::all_of(made, [](char c) { return c >= ' ' && c <= '~'; })) << made;
    EXPECT_EQ(made.find_first_of("\\?*@`\""), std::string::npos) << made;
    EXPECT_LT(made.size(), 500u);
  }
  EXPECT_EQ(remark("model.onnx:#3, N = 4"), "model.onnx:#3, N = 4");
}

TEST(OutsideText, StaysInTheQuotesOfALiteral) {
  const std::regex safe(R"re("([^"\\\n\r?]|\\[0-3][0-7][0-7])*")re");
  for (const std::string& name : kHostile) {
    if (name.size() > 100) continue;  // deep for a std::regex
    EXPECT_TRUE(std::regex_match(string_literal(name), safe)) << string_literal(name);
  }
  EXPECT_EQ(string_literal("ij,jk->ik"), "\"ij,jk->ik\"");
  EXPECT_EQ(string_literal("a\"\n1"), "\"a\\042\\0121\"");
}

TEST(OutsideText, NamesFilesPlainly) {
  for (const std::string& name : kHostile) EXPECT_TRUE(std::regex_match(file_stem(name), std::regex("\\w{1,60}")));
  EXPECT_EQ(file_stem("../../etc/x"), "______etc_x");
}

}  // namespace
}  // namespace kw::compose

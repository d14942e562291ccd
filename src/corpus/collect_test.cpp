// Lines of a record that was made up by hand.
#include "corpus/collect.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "corpus/task_text.h"
#include "store/by_hand.h"
#include "suites/task_snapshot.h"

namespace kw::corpus {
namespace {

constexpr char kRelu[] = "input x: float32[N=64, D=128] normal\noutput y\nnode y = Relu(x)\n";
constexpr char kReluTall[] = "input x: float32[N=512, D=16] normal\noutput y\nnode y = Relu(x)\n";
constexpr char kReluWide[] = "input x: float32[N=3, D=4096] normal\noutput y\nnode y = Relu(x)\n";
constexpr char kChain[] = "input x: float32[N=64, D=128] normal\noutput y\nnode h = Relu(x)\nnode y = Exp(h)\n";

std::string kernel_text(const std::string& body) {
  return "#include <kernelwright.h>\n\nKW_TUNE(UNROLL, 4, 1, 2, 4);\n\nKW_KERNEL(call) {\n  const auto x = "
         "call.input<float>(0);\n  auto y = call.output<float>(0);\n  for (int64_t i = 0; i < x.count(); ++i) {\n    " +
         body + "\n  }\n}\n";
}

class ACorpus : public testing::Test {
 protected:
  struct Kernel {
    std::string task;
    std::string source;
    double speedup = 2;
    std::string label = "null";
    VerdictStage stage = VerdictStage::accepted;
  };

  void record(const std::vector<Kernel>& kernels, const std::string& author = "somebody") {
    std::vector<store::NewItem> items;
    for (const Kernel& kernel : kernels) {
      const Task task = *task_of_text(kernel.task);
      items.push_back(store::item_by_hand(std::ssize(items) + 1, kernel.source));
      items.back().candidate->settings = R"({"UNROLL":"2"})";
      items.back().task = store::TaskSnapshot{task.name, "", "", suites::snapshot_of(task)};
      items.back().label = kernel.label;
    }
    const auto run = store_.begin_run({.command = "kw eval --batch x.jsonl", .author = author}, items);
    ASSERT_TRUE(run.ok()) << run.error().message;
    const auto open = store_.open_items(*run);
    const std::int64_t machine = *store_.add_machine(store::machine_by_hand());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      Verdict verdict = store::verdict_by_hand(1000, kernels[i].speedup);
      verdict.stage = kernels[i].stage;
      const Json json = {{"target", "cpu"}, {"stage", name_of(verdict.stage)}};
      ASSERT_TRUE(store_.record(open->at(i).id, verdict, json.dump(), store::around_by_hand(machine)).ok());
    }
  }

  Collected collected(const CollectRules& rules = {.split = {.operators = 0, .structures = 0}}) {
    auto result = collect(store_, rules);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return *std::move(result);
  }

  const ScratchFolder folder_;
  store::Store store_ = *store::Store::open(folder_.path() / "store");
};

TEST_F(ACorpus, TakesWhatIsRightAndFastEnough) {
  record({{kRelu, kernel_text("y[i] = x[i] < 0 ? 0 : x[i];"), 3},
          {kRelu, kernel_text("y[i] = slow(x[i]) + slow(x[i]) * slow(y[i]);"), 0.9},
          {kRelu, kernel_text("wrong();"), 9, "null", VerdictStage::hidden}});
  const Collected all = collected();
  ASSERT_EQ(all.lines.size(), 1u);
  const Line& line = all.lines[0];
  EXPECT_NE(line.answer.find("KW_TUNE(UNROLL, 2,"), std::string::npos) << "what was set is the source's own now";
  EXPECT_TRUE(line.prompt.ends_with(kRelu));
  EXPECT_EQ(line.task_text, kRelu);
  EXPECT_NEAR(line.low, 2.97, 1e-9);
  EXPECT_EQ(line.against, "plain");
  EXPECT_EQ(line.licence, "NOASSERTION");
  EXPECT_EQ(line.origin, "the record, by somebody");
  EXPECT_EQ(all.counts.judged, 3);
  EXPECT_EQ(all.counts.right, 2);
  EXPECT_EQ(all.counts.fast_enough, 1);
  EXPECT_TRUE(collected({.against = "mnn"}).lines.empty());
  EXPECT_TRUE(collected({.target = "cuda"}).lines.empty());
  EXPECT_TRUE(collected({.longest = 100}).lines.empty());
  EXPECT_TRUE(collected({.faster = 3}).lines.empty());
}

// What says where a kernel comes from, and under which licence, is changed by nobody else.
TEST_F(ACorpus, TakesNoOriginFromARecordThatWasChanged) {
  record({{kRelu, kernel_text("y[i] = x[i] < 0 ? 0 : x[i];"), 3}});
  ASSERT_TRUE(store_.database().execute("UPDATE run SET author = 'templates', strategy = 'auto'").ok());
  ASSERT_EQ(collected().lines.size(), 1u) << "the verdict is ours";
  EXPECT_EQ(collected().lines[0].licence, "NOASSERTION");
  ASSERT_TRUE(store_.database().execute("UPDATE item SET label = '{\"technique\":\"row_softmax\"}'").ok());
  EXPECT_TRUE(collected().lines.empty());
}

TEST_F(ACorpus, KeepsTheFastestOfWhatIsNearlyTheSame) {
  const std::string one = kernel_text("y[i] = x[i] < 0 ? 0 : x[i];");
  const std::string other = kernel_text("y[i] = x[i] < 0 ? 0 : x[i]; // 17");
  record({{kRelu, one, 2}, {kRelu, other, 3}, {kReluTall, one, 4}, {kReluWide, one, 1.5}});
  const Collected two = collected();
  ASSERT_EQ(two.lines.size(), 2u) << "of one kind, two tasks";
  EXPECT_EQ(two.lines[0].task_text, kReluTall);
  EXPECT_EQ(two.lines[1].task_text, kRelu);
  EXPECT_NEAR(two.lines[1].median, 3, 1e-9) << "of one task the fastest";
  EXPECT_EQ(collected({.most_alike = 1, .split = {.operators = 0}}).lines.size(), 1u);
}

TEST_F(ACorpus, SaysWhereOurOwnKernelsComeFrom) {
  record({{kRelu, kernel_text("y[i] = x[i];"), 2, label_of("unary_rectifier", "drawn, lengths of Relu")}}, "corpus");
  const Collected all = collected();
  ASSERT_EQ(all.lines.size(), 1u);
  EXPECT_EQ(all.lines[0].technique, "unary_rectifier");
  EXPECT_EQ(all.lines[0].licence, "Apache-2.0");
  EXPECT_EQ(all.lines[0].origin, "techniques of kernels/cpu: unary_rectifier; task: drawn, lengths of Relu");
}

TEST_F(ACorpus, IsWrittenInThreeFormsThatCanBeChecked) {
  record({{kRelu, kernel_text("y[i] = x[i] < 0 ? 0 : x[i];"), 3},
          {kChain, kernel_text("y[i] = exp(x[i] < 0 ? 0 : x[i]);"), 3}});
  const CollectRules rules{.split = {.operators = 0, .structures = 0, .named = {"Exp"}}};
  const Collected all = collected(rules);
  ASSERT_EQ(all.lines.size(), 2u);
  const auto out = folder_.path() / "out";
  const auto exported = export_to(out, all, rules, *forms_named("all"));
  ASSERT_TRUE(exported.ok()) << exported.error().message;
  EXPECT_EQ(exported->lines.at("sft.train.jsonl"), 1);
  EXPECT_EQ(exported->lines.at("sft.held_out.jsonl"), 1);
  for (const char* form : {"sft", "infill", "chat"}) {
    const auto facts = check_file(out / (std::string(form) + ".train.jsonl"));
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_EQ(name_of(facts->form), form);
    EXPECT_EQ(facts->operators, (std::map<std::string, std::int64_t>{{"Relu", facts->lines}}));
  }
  const Json sft = Json::parse(*read_file(out / "sft.held_out.jsonl"));
  EXPECT_EQ(sft["unseen"], "operator");
  EXPECT_EQ(sft["split"], "held_out");
  // Every hole's text gives the kernel again.
  LineReader reader = *LineReader::open(out / "infill.train.jsonl", 1 << 20);
  int holes = 0;
  for (std::string text; *reader.next(text); ++holes) {
    const Json line = Json::parse(text);
    EXPECT_EQ(line["prefix"].text() + line["answer"].text() + line["suffix"].text(), all.lines[0].answer);
  }
  EXPECT_EQ(holes, 3) << "the kernel's body, its loop, its tunable";
  const Json chat = Json::parse(*read_file(out / "chat.train.jsonl"));
  EXPECT_EQ(chat["messages"][0]["content"], all.lines[0].prompt);
}

TEST_F(ACorpus, HasBrokenLinesNamed) {
  record({{kRelu, kernel_text("y[i] = x[i];"), 3}});
  const CollectRules rules{.split = {.operators = 0}};
  const auto out = folder_.path() / "out";
  ASSERT_TRUE(export_to(out, collected(rules), rules, {LineForm::sft}).ok());
  const auto file = out / "sft.train.jsonl";
  const std::string line = *read_file(file);
  const auto problem = [&](const std::string& text) {
    EXPECT_TRUE(write_file(file, text).ok());
    const auto facts = check_file(file);
    return facts.ok() ? std::string() : facts.error().message;
  };
  EXPECT_EQ(problem(line + line), "");
  EXPECT_EQ(problem(line + line.substr(0, line.size() / 2)).find(file.string() + ":2: it is no JSON, or was cut off"),
            0u);
  EXPECT_EQ(problem(line + "\n{}\n"), file.string() + ":3: \"prompt\" is missing");
  EXPECT_EQ(problem("[1]\n"), file.string() + ":1: it is no object");
  EXPECT_NE(problem("").find("there is no line in it"), std::string::npos);
  EXPECT_NE(problem(R"({"prompt": "a", "answer": 7})").find(":1: \"answer\" is no text"), std::string::npos);
}

// A file of lines whose licences are megabytes long took as much memory as it was long.
TEST(CorpusFile, KeepsLittleOfNamesThatAreLongAndMany) {
  const ScratchFolder folder;
  std::string lines;
  for (int i = 0; i < 12'000; ++i) {
    lines += Json{{"prompt", "a"},
                  {"answer", "b"},
                  {"licence", std::to_string(i) + (i == 7 ? std::string(100'000, 'L') : "")},
                  {"origin", "o"},
                  {"split", "train"}}
                 .dump() +
             "\n";
  }
  ASSERT_TRUE(write_file(folder.path() / "c.jsonl", lines).ok());
  const auto facts = check_file(folder.path() / "c.jsonl");
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->lines, 12'000);
  EXPECT_EQ(facts->licences.size(), 10'001u);
  EXPECT_EQ(facts->licences.at("others"), 2'000);
  for (const auto& [name, count] : facts->licences) EXPECT_LE(name.size(), 100u);
}

TEST(LineForms, AreNamed) {
  EXPECT_EQ(forms_named("")->size(), 3u);
  EXPECT_EQ(names_in("Relu,,Det,"), (std::vector<std::string>{"Relu", "Det"}));
  EXPECT_EQ(*forms_named("chat,sft"), (std::vector<LineForm>{LineForm::chat, LineForm::sft}));
  EXPECT_NE(forms_named("sft,chta").error().message.find("nearest: chat"), std::string::npos);
}

}  // namespace
}  // namespace kw::corpus

// What a model may look up before it answers, with a model that is made up.
#include "agents/talk.h"

#include <gtest/gtest.h>

#include <functional>

#include "agents/looking.h"
#include "base/files.h"
#include "base/scratch.h"
#include "llm/providers.h"

namespace kw::agents {
namespace {

using llm::Role;

std::function<llm::Answer(const llm::Request&)>& model() {
  static std::function<llm::Answer(const llm::Request&)> one;
  return one;
}
llm::Answer ask_model(const llm::Endpoint&, const llm::Request& request, const std::stop_token&) {
  return model()(request);
}
const llm::Provider kWithTools{.name = "made_up", .takes_tools = true, .ask = ask_model};
const llm::Provider kWithoutTools{.name = "made_up", .ask = ask_model};

llm::Answer text(const std::string& said) {
  llm::Answer answer;
  answer.text = said;
  return answer;
}
llm::Answer calling(std::vector<llm::ToolCall> calls) {
  llm::Answer answer;
  answer.calls = std::move(calls);
  return answer;
}

TEST(AQuestionsName, IsReadAsItIsWritten) {
  const QuestionName name{"model.onnx:a, b", 12, 3};
  EXPECT_EQ(name.text(), "model.onnx:a, b, round 12, question 3");
  const auto read = QuestionName::read(name.text());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->task, name.task);
  EXPECT_EQ(read->round, 12);
  EXPECT_EQ(read->number, 3);
  for (const char* other : {"", "Softmax", "Softmax, round 1", "Softmax, round 1, question 2, and more"}) {
    EXPECT_FALSE(QuestionName::read(other).has_value()) << other;
  }
}

class ATalk : public testing::Test {
 protected:
  ATalk() : prompts_(*Prompts::open()) {
    std::filesystem::create_directories(folder_.path() / "source");
    EXPECT_TRUE(write_file(folder_.path() / "source" / "softmax.cpp",
                           "int other() { return 1; }\n\nint softmax_row(int n) {\n  return n + 41;\n}\n")
                    .ok());
    repository_ = *inspect::Repository::open(folder_.path());
  }

  std::optional<std::string> ask(const llm::Provider& provider) {
    llm::Client client = *llm::Client::open({.provider = &provider, .model = "looks"});
    Talk talk(client, prompts_, {.task = "Softmax", .repository = &*repository_}, {});
    problem_.clear();
    return talk.ask({{Role::user, "write it"}}, problem_);
  }

  const ScratchFolder folder_;
  const Prompts prompts_;
  std::optional<inspect::Repository> repository_;
  std::string problem_;
};

TEST_F(ATalk, ShowsWhatToolsAreCalledFor) {
  std::vector<llm::Request> asked;
  model() = [&](const llm::Request& request) {
    asked.push_back(request);
    if (asked.size() > 1) return text("the answer");
    return calling({{"a", "read_file", R"({"file": "source/softmax.cpp", "function": "softmax_row"})"},
                    {"b", "find_text", R"({"text": "other"})"},
                    {"c", "format_disk", "{}"},
                    {"d", "read_file", "no JSON"}});
  };
  EXPECT_EQ(ask(kWithTools), "the answer");
  ASSERT_EQ(asked.size(), 2u);
  ASSERT_EQ(asked[0].tools.size(), 3u);
  const std::vector<llm::Message>& messages = asked[1].messages;
  ASSERT_EQ(messages.size(), 6u);
  EXPECT_EQ(messages[1].calls.size(), 4u) << "what it asked stands in the conversation";
  EXPECT_EQ(messages[2].role, Role::tool);
  EXPECT_EQ(messages[2].call, "a");
  EXPECT_NE(messages[2].text.find("return n + 41"), std::string::npos) << messages[2].text;
  EXPECT_EQ(messages[2].text.find("other()"), std::string::npos) << "one function was asked for";
  EXPECT_NE(messages[3].text.find("source/softmax.cpp"), std::string::npos) << messages[3].text;
  EXPECT_NE(messages[4].text.find("there is no tool format_disk"), std::string::npos);
  EXPECT_NE(messages[5].text.find("no JSON object"), std::string::npos);
  EXPECT_NE(messages[5].text.find("You may look 3 more times"), std::string::npos) << messages[5].text;
}

TEST_F(ATalk, ShowsWhatIsAskedForInPlainTextWhereThereAreNoTools) {
  std::vector<llm::Request> asked;
  model() = [&](const llm::Request& request) {
    asked.push_back(request);
    return text(asked.size() > 1 ? "the answer" : "```look\nREAD source/softmax.cpp softmax_row\n```\n");
  };
  EXPECT_EQ(ask(kWithoutTools), "the answer");
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_TRUE(asked[0].tools.empty());
  EXPECT_EQ(asked[1].messages.back().role, Role::user);
  EXPECT_NE(asked[1].messages.back().text.find("return n + 41"), std::string::npos);
}

TEST_F(ATalk, AsksAServerWithoutToolsInPlainText) {
  int asked = 0;
  model() = [&](const llm::Request& request) {
    ++asked;
    return request.tools.empty() ? text("the answer")
                                 : llm::troubled(llm::Trouble::Kind::request, "tools param requires --jinja flag");
  };
  EXPECT_EQ(ask(kWithTools), "the answer") << problem_;
  EXPECT_EQ(asked, 2);
}

TEST_F(ATalk, AnswersNoFloodOfCalls) {
  std::vector<llm::Request> asked;
  model() = [&](const llm::Request& request) {
    asked.push_back(request);
    if (asked.size() > 1) return text("the answer");
    return calling(std::vector<llm::ToolCall>(100'000, {"a", "list_files", ""}));
  };
  EXPECT_EQ(ask(kWithTools), "the answer");
  ASSERT_EQ(asked.size(), 2u);
  ASSERT_EQ(asked[1].messages.size(), 1u + 1 + 8);
  EXPECT_EQ(asked[1].messages[1].calls.size(), 8u) << "each call in the conversation needs its answer";
  EXPECT_NE(asked[1].messages.back().text.find("99992 more calls were not looked up"), std::string::npos)
      << asked[1].messages.back().text;
}

// Another program exchanges a folder for a link after the map was made.
TEST_F(ATalk, ShowsNothingThatALinkHasComeInPlaceOf) {
  const ScratchFolder outside;
  ASSERT_TRUE(write_file(outside.path() / "softmax.cpp", "int secret = 77;\n").ok());
  std::filesystem::remove_all(folder_.path() / "source");
  std::filesystem::create_directory_symlink(outside.path(), folder_.path() / "source");
  const std::string shown =
      repository_->show({*inspect::look_of("READ source/softmax.cpp"), *inspect::look_of("FIND secret")}, 2000);
  EXPECT_EQ(shown.find("77"), std::string::npos) << shown;
  EXPECT_NE(shown.find("cannot be read"), std::string::npos) << shown;
}

TEST_F(ATalk, EndsTheLooking) {
  int asked = 0;
  model() = [&](const llm::Request&) {
    ++asked;
    return calling({{"a", "list_files", ""}});
  };
  EXPECT_EQ(ask(kWithTools), "") << "a model that never answers has said nothing";
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace kw::agents

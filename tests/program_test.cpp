#include "cli/program.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "base/terminal.h"
#include "cli/values.h"
#include "command_line/complete.h"
#include "command_line/parse.h"

namespace kw::cli {
namespace {

struct Answer {
  int code;
  std::string out;
  std::string err;
};

Answer run(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int code = run_program(words, out, err);
  return {code, out.str(), err.str()};
}

std::vector<std::string> offered(const std::vector<std::string>& words) {
  return completions(all_commands(), words, values_for);
}

std::vector<std::string> split(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(Program, ShowsHelpForNothingAndForHelp) {
  EXPECT_EQ(run({}).out, help_text());
  EXPECT_EQ(run({"--help"}).out, help_text());
  for (const Command& command : all_commands()) {
    EXPECT_NE(help_text().find(command.name), std::string::npos);
    EXPECT_EQ(run({command.name, "--help"}).out, help_text(command));
  }
}

TEST(Program, RunsTheTwoExamplesOfEveryHelp) {
  // What doctor measures is kept in a folder of the test's own.
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", folder.path().string());
  const ScratchVariable store("KW_STORE", "");
  // It is not the times that are tested here.
  const ScratchVariable budget("KW_BUDGET", "0.1");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  // The kernel that some examples speak of; those of eval and model make what they need.
  ASSERT_EQ(run({"init", "Relu", "--out", "relu.cpp"}).code, kYes);
  // The runs that examples speak of: r1 is done, r2 is the same with its verdict taken away.
  ASSERT_TRUE(write_file("batch.jsonl", R"({"task": "Relu", "file": "relu.cpp"})").ok());
  ASSERT_EQ(run({"eval", "--batch", "batch.jsonl", "--untimed"}).code, kYes);
  std::string lines = run({"export", "r1"}).out;
  const auto replace = [&](const std::string& begin, const std::string& end, const std::string& by) {
    const std::size_t at = lines.find(begin) + begin.size();
    lines.replace(at, lines.find(end, at) - at, by);
  };
  replace("\"origin\":\"", "\"", "another");
  replace("\"problem\":null,\"verdict\":", "}\n{\"kind\":\"end\"", "null");
  ASSERT_TRUE(write_file("r2.jsonl", lines).ok());
  const Answer imported = run({"import", "r2.jsonl"});
  ASSERT_EQ(imported.code, kYes) << imported.err;
  for (const Command& command : all_commands()) {
    EXPECT_GE(command.examples.size(), 2u) << command.name;
    for (const std::string& example : command.examples) {
      std::vector<std::string> words = split(example);
      ASSERT_EQ(words.at(0), "kw");
      words.erase(words.begin());
      const Answer answer = run(words);
      EXPECT_NE(answer.code, kBroken) << example << ": " << answer.err;
      EXPECT_FALSE(answer.out.empty()) << example;
    }
  }
  std::filesystem::current_path(before);
}

TEST(Program, SaysWhereWhatIsMissingComesFrom) {
  EXPECT_EQ(
      run({"eval", "Relu", "not-there.cpp"}).err,
      "kw: not-there.cpp: no such file; `kw init TASK --out not-there.cpp` writes a plain kernel to start from\n");
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", folder.path().string());
  const ScratchVariable install("KW_INSTALL", "no");
  const std::string model = (folder.path() / "relu.onnx").string();
  ASSERT_EQ(run({"show", "Relu", "--onnx", model}).code, kYes);
  const std::string none = run({"model", model}).err;
  EXPECT_TRUE(none.starts_with("kw: onnxruntime: it is not installed")) << none;
}

TEST(Program, OffersTheNearestNames) {
  EXPECT_EQ(run({"taks"}).err, "kw: no command is called 'taks'; nearest: tasks; `kw --help` lists them\n");
  EXPECT_EQ(run({"tasks", "--jsno"}).err, "kw: no option is called '--jsno'; nearest: --json; see `kw tasks --help`\n");
  const Answer answer = run({"show", "Sofmax"});
  EXPECT_EQ(answer.code, kBroken);
  EXPECT_NE(answer.err.find("nearest: Softmax"), std::string::npos) << answer.err;
  // What shares next to nothing with any name has no nearest one.
  EXPECT_EQ(run({"tasks", "--foo"}).err, "kw: no option is called '--foo'; see `kw tasks --help`\n");
  EXPECT_EQ(run({"show", "Nosuch"}).err, "kw: no task is called 'Nosuch'; `kw tasks` lists them\n");
}

TEST(Program, WritesHelpThatFitsATerminal) {
  for (const Command& command : all_commands()) {
    const std::string all = help_text(command);
    std::istringstream lines(all.substr(0, all.find("\nexamples:")));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << command.name << ": " << line;
  }
}

TEST(Program, ExplainsOnlyCommandsThatItHas) {
  EXPECT_EQ(run({"help", "tasks"}).out, help_text(*std::ranges::find(all_commands(), "tasks", &Command::name)));
  EXPECT_EQ(run({"help", "taks"}).err, run({"taks"}).err);
  EXPECT_EQ(run({"version"}).out, run({"--version"}).out);
  EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
}

TEST(Program, SaysWhatIsMissingOrTheWrongWayRound) {
  EXPECT_EQ(run({"show"}).err, "kw: TASK is missing: which task; see `kw show --help`\n");
  EXPECT_EQ(run({"corpus"}).err, "kw: ACTION is missing: build, show or export; see `kw corpus --help`\n");
  EXPECT_EQ(run({"inspect", "code"}).err, "kw: kw inspect code: say of which kernel\n");
  // Found before rivals are installed.
  EXPECT_EQ(run({"mcp", "--task", "Sofmax"}).err,
            "kw: no task is called 'Sofmax'; nearest: Softmax; `kw tasks` lists them\n");
  EXPECT_EQ(run({"eval", "relu.cpp", "Relu"}).err, "kw: the task comes first: kw eval Relu relu.cpp\n");
  EXPECT_EQ(run({"rivals", "instal"}).err,
            "kw: kw rivals instal: say list, install, check or remove; nearest: install\n");
}

TEST(Program, RefusesWrongUse) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"show"},
           {"show", "Softmax", "Relu"},
           {"show", "Softmax", "--dim"},
           {"show", "Softmax", "--dim", "N"},
           {"show", "Softmax", "--dim", "Q=1"},
           {"show", "Softmax", "--dim", "D=99999999999999"},
           {"show", "Softmax", "--dim", "D=1000000000", "--onnx", "never_written.onnx"},
           {"show", "Softmax", "--json=1"},
           {"show", "Softmax", "--json", "--json"},
           {"tasks", "--category", "Nonsense"},
           {"tasks", "no-such-suite"},
           {"tasks", "/no/such/file.toml"},
           {"show", "/no/such/model.onnx:0"},
       }) {
    const Answer answer = run(words);
    EXPECT_EQ(answer.code, kBroken);
    EXPECT_TRUE(answer.err.starts_with("kw: ")) << answer.err;
    EXPECT_EQ(answer.out, "");
  }
}

TEST(Tasks, GivesJsonWithItsKeys) {
  const Answer answer = run({"tasks", "--json"});
  ASSERT_EQ(answer.code, kYes) << answer.err;
  const auto list = Json::parse(answer.out);
  ASSERT_EQ(list.size(), 190u);
  for (const auto& task : list) {
    for (const char* key : {"name", "category", "operator", "inputs", "outputs", "flops", "bytes"}) {
      EXPECT_TRUE(task.contains(key)) << key;
    }
    for (const auto& input : task["inputs"]) {
      EXPECT_TRUE(input.contains("name") && input.contains("dtype") && input.contains("shape") &&
                  input.contains("role"));
    }
  }
}

TEST(Tasks, KeepsToACategory) {
  const auto list = Json::parse(run({"tasks", "--category", "Matrix", "--json"}).out);
  EXPECT_EQ(list.size(), 19u);
  // By its beginning, upper or lower case alike; more than one category may begin so.
  EXPECT_EQ(Json::parse(run({"tasks", "--category", "matr", "--json"}).out).size(), 19u);
  std::set<std::string> categories;
  for (const Json& task : Json::parse(run({"tasks", "--category", "T", "--json"}).out))
    categories.insert(task["category"]);
  EXPECT_EQ(categories, (std::set<std::string>{"Tensor", "Trigonometry"}));
}

TEST(Tasks, AreFoundByNamesOfAnyCase) { EXPECT_EQ(run({"show", "relu"}).out, run({"show", "Relu"}).out); }

TEST(Show, ExplainsWithAnExample) {
  const Answer answer = run({"show", "Relu"});
  ASSERT_EQ(answer.code, kYes) << answer.err;
  for (const char* part : {"Relu", "tensors", "tolerance", "work", "example", "float32[64, 1024]"}) {
    EXPECT_NE(answer.out.find(part), std::string::npos) << part << "\n" << answer.out;
  }
}

TEST(Show, TakesOtherLengths) {
  const auto task = Json::parse(run({"show", "Relu", "--dim", "N=3", "--json"}).out);
  EXPECT_EQ(task["inputs"][0]["shape"][0], 3);
}

TEST(Completion, OffersCommandsOptionsAndTasks) {
  EXPECT_EQ(offered({"ta"}), std::vector<std::string>{"tasks"});
  EXPECT_EQ(offered({"tasks", "--cat"}), std::vector<std::string>{"--category"});
  EXPECT_EQ(offered({"eval", "--on"}), std::vector<std::string>{"--on"}) << "the second name of a flag";
  const std::vector<std::string> names = offered({"show", "Softm"});
  EXPECT_NE(std::ranges::find(names, "Softmax"), names.end());
  EXPECT_EQ(offered({"show", "Relu", "--onnx", ""}), std::vector<std::string>{":files"});
  const std::vector<std::string> categories = offered({"tasks", "--category", "M"});
  EXPECT_EQ(categories.at(0), "Matrix");
}

TEST(Arguments, ANumberThatIsNoneIsRefusedByTheNameOfItsFlag) {
  int seen = 0;
  for (const Command& command : all_commands()) {
    for (const Option& option : command.options) {
      if (!option.takes_number()) continue;
      ++seen;
      for (const char* word : {"abc", "", "5x", "0x10", " 5", "nan", "1e999"}) {
        const auto parsed = parse_arguments(command, {option.name + "=" + word});
        ASSERT_FALSE(parsed.ok()) << command.name << " " << option.name << " " << word;
        EXPECT_NE(parsed.error().message.find(option.name), std::string::npos) << parsed.error().message;
      }
    }
  }
  EXPECT_GE(seen, 15) << "seeds, rounds, tokens, threads and others";
}

TEST(Arguments, ANumberOutOfRangeIsRefusedByTheNameOfItsFlag) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> orders = {
      {{"optimize", "Relu", "--seed", "1.5"}, "--seed"},
      {{"optimize", "Relu", "--seed", "99999999999999999999"}, "--seed"},
      {{"bench", "--seed", "-1"}, "--seed"},
      {{"optimize", "Relu", "--budget", "abc"}, "--budget"},
      {{"bench", "--budget", "1.5"}, "--budget"},
      {{"bench", "--within", "abc"}, "--within"},
      {{"eval", "Relu", "none.cpp", "--threads", "1.5"}, "--threads"},
      {{"eval", "Relu", "none.cpp", "--pairs", "8.5"}, "--pairs"},
      {{"eval", "Relu", "none.cpp", "--budget", "-1"}, "--budget"},
      {{"show", "Conv2d", "--dim", "N=1x"}, "--dim"},
      {{"mcp", "--http", "99999"}, "PORT"},
      {{"ask", "hello", "--model", "command:cat", "--most-tokens", "0"}, "--most-tokens"},
      {{"optimize", "Relu", "--author", "moka", "--model", "command:cat", "--in-flight", "1.5"}, "--in-flight"},
      {{"optimize", "Relu", "--author", "moka", "--model", "command:cat", "--model-usd", "0"}, "--model-usd"},
  };
  const ScratchVariable rival("KW_RIVAL", "none");
  for (const auto& [words, flag] : orders) {
    std::ostringstream out, err;
    EXPECT_EQ(run_program(words, out, err), kBroken) << flag;
    EXPECT_NE(err.str().find(flag), std::string::npos) << err.str();
  }
}

// As it was seen: who gave --over alone was told what --optimize and --standalone need.
TEST(Program, SaysThatAModelOverARangeIsWritten) {
  const auto said = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"model", "none.onnx", "--over", "batch=1..8"};
    words.insert(words.end(), more.begin(), more.end());
    std::ostringstream out, err;
    EXPECT_EQ(run_program(words, out, err), kBroken);
    return err.str();
  };
  EXPECT_NE(said({}).find("--over write a model: say where with --out DIR"), std::string::npos) << said({});
  EXPECT_NE(said({"--untimed"}).find("--over run the model: leave --untimed out"), std::string::npos);
}

TEST(Program, PrintsNothingThatATerminalObeys) {
  for (const std::string hostile : {"\x1b]0;owned\x07",
                                    "\xc2\x9b"
                                    "2J",
                                    "\xe2\x80\xae"
                                    "txt.exe",
                                    "a\rb"}) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{hostile},
                                                  {"show", hostile},
                                                  {"tasks", "--" + hostile},
                                                  {"eval", hostile, hostile},
                                                  {"best", hostile},
                                                  {"ask", "x", "--model", hostile},
                                                  {"runs", "--store", hostile}}) {
      std::ostringstream out, err;
      run_program(words, out, err);
      const std::string printed = out.str() + err.str();
      EXPECT_EQ(printed, fit_for_terminal(printed)) << words[0];
    }
  }
}

TEST(Program, SaysInALineThatMemoryIsOut) {
  const ScratchFolder folder;
  const auto file = folder.path() / "huge.onnx";
  ASSERT_TRUE(write_file(file, "x").ok());
  std::filesystem::resize_file(file, std::uintmax_t{1} << 30);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit little{std::uint64_t{768} << 20, std::uint64_t{768} << 20};
    ::setrlimit(RLIMIT_AS, &little);
    std::ostringstream out, err;
    const int code = run_program({"show", file.string() + ":0"}, out, err);
    ::_exit(err.str().find("not enough memory") != std::string::npos ? code : 99);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kBroken);
}

TEST(Program, WaitsForNoFifo) {
  const ScratchFolder folder;
  for (const char* name : {"x.cpp", "x.onnx", "x.toml", "x.jsonl"}) {
    ASSERT_EQ(::mkfifo((folder.path() / name).c_str(), 0644), 0);
  }
  const std::string at = folder.path().string() + "/";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"eval", "Relu", at + "x.cpp", "--no-store"},
                                             {"eval", "--batch", at + "x.jsonl", "--no-store"},
                                             {"show", at + "x.onnx:0"},
                                             {"show", at + "x.toml:X"},
                                             {"inspect", "task", at + "x.onnx:0"},
                                             {"import", at + "x.jsonl", "--store", at + "store"}}) {
    std::ostringstream out, err;
    EXPECT_EQ(run_program(words, out, err), kBroken) << words[0];
    EXPECT_NE(err.str().find("is a FIFO, not a file"), std::string::npos) << words[0] << ": " << err.str() << out.str();
  }
}

}  // namespace
}  // namespace kw::cli

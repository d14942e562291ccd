// The borders of corpora and of the reward service.
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "corpus/code_text.h"
#include "corpus/gym.h"
#include "corpus/holes.h"
#include "corpus/line.h"
#include "corpus/task_text.h"
#include "fuzz/borders.h"
#include "ops/graph.h"

namespace kw::fuzz {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

constexpr char kTaskText[] =
    "input x: float32[N=64, D=512] normal\nconstant s: int64[2] = [64, D]\noutput y\nnode r = Reshape(x, s)\n"
    "node y = Softmax<axis=-1>(r)\n";

// What a text tells is told again in the same words.
void take_task_text(std::string_view text) {
  const auto task = corpus::task_of_text(text);
  if (!task.ok() || !ops::resolve(*task).ok()) return;
  const auto told = corpus::text_of(*task);
  if (told.ok()) promise(*corpus::text_of(*corpus::task_of_text(*told)) == *told);
}

// Two zero bytes part what stands before a hole, in it and after it.
void take_hole(std::string_view text) {
  const std::size_t first = std::min(text.find('\0'), text.size());
  const std::string_view rest = text.substr(std::min(first + 1, text.size()));
  const std::size_t second = std::min(rest.find('\0'), rest.size());
  const std::string_view prefix = text.substr(0, first), middle = rest.substr(0, second);
  const std::string_view suffix = rest.substr(std::min(second + 1, rest.size()));
  const auto whole = corpus::filled(prefix, middle, suffix);
  if (whole.ok()) promise(*corpus::middle_of(*whole, prefix, suffix) == middle);
  for (const corpus::Hole& hole : corpus::holes_of(std::string(middle))) {
    promise(hole.begin <= hole.end && hole.end <= middle.size());
  }
  (void)corpus::shortened(middle);
}

// The service is ending: a request is read whole, and nothing is judged.
Take requests(const fs::path& scratch) {
  std::shared_ptr<mcp::Desk> desk = *mcp::Desk::open({.store_folder = scratch, .command = "fuzz"});
  desk->stop();
  return [desk](std::string_view line) {
    corpus::Gym gym(*desk, {});
    const Json answer = gym.answer(std::string(line), 1);
    promise(answer.contains("line") && (answer.contains("error") || answer["reward"] == 0));
  };
}

Take lines(const fs::path& scratch) {
  return [file = scratch / "corpus.jsonl"](std::string_view text) {
    if (!write_file(file, text).ok()) return;
    const auto facts = corpus::check_file(file);
    if (facts.ok()) promise(!corpus::text_of(*facts).empty() && facts->lines > 0);
  };
}

}  // namespace

std::vector<Border> corpus_borders(const fs::path& project) {
  const std::string line =
      R"({"prompt":"Write","prefix":"a {","answer":"b","suffix":"}","id":"r1.1","task":"Relu","licence":"Apache-2.0","origin":"kw","split":"train","operators":["Relu"]})";
  const std::string request = Json{{"id", 1}, {"task_text", kTaskText}, {"source", "int x;"}}.dump();
  const std::string kernel = *read_file(project / "kernels/exemplars/reduction.cpp");
  return {
      without_state("tasks told as text", 60,
                    {kTaskText, "input x: float32[4]\noutput y: float32[4]\nnode y = Relu(x)\n"}, take_task_text),
      without_state("holes and what fills them", 40, {"void f() {\0 g(\"}\"); /* } */ \0}\nint x;\n"s, "\0"s + kernel},
                    take_hole),
      {"requests for rewards",
       40,
       {request,
        R"({"task":"Relu","prefix":"void f() {","answer":" x; ","suffix":"}","set":{"TILE":8},"id":{"a":[1]}})",
        R"({"task":"Softmax","prefix":"a","source":"a b c","suffix":"c"})"},
       requests},
      {"lines of a corpus",
       20,
       {line + "\n" + line + "\n",
        R"({"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}],"licence":"a","origin":"b","split":"c"})"},
       lines}};
}

}  // namespace kw::fuzz

// The borders of authors that ask a model (tapes, tools, rounds of a record), and of frameworks on a device.
#include "agents/answer.h"
#include "agents/decisions.h"
#include "agents/looking.h"
#include "agents/round_record.h"
#include "agents/surrogate.h"
#include "base/files.h"
#include "fuzz/borders.h"
#include "llm/cassette.h"
#include "rivals/wheels.h"
#include "store/sealed_line.h"
#include "targets/remote/device_roofs.h"
#include "targets/remote/heat.h"

namespace kw::fuzz {
namespace {

namespace fs = std::filesystem;

Take tapes(const fs::path& scratch) {
  fs::create_directories(scratch / "tape");
  return [folder = scratch / "tape"](std::string_view text) {
    if (!write_file(folder / "00001-0.json", text).ok()) return;
    (void)llm::recorded_model(folder).ok();
    const auto player = llm::Player::open(folder);
    if (!player.ok()) return;
    const llm::Request other{.messages = {{llm::Role::user, "one\ntwo"}}, .name = "another"};
    promise((*player)->play("m", other).trouble.has_value());
  };
}

Take decisions(const fs::path& scratch) {
  return [scratch](std::string_view text) {
    if (!write_file(scratch / "rounds.jsonl", text).ok()) return;
    const auto taped = agents::Decisions::to_replay(scratch);
    if (!taped.ok()) return;
    for (const auto& [round, decided] : (*taped)->all()) {
      if (decided.beside) promise(decided.beside->median > 0 && decided.beside->low > 0 && decided.beside->high > 0);
    }
  };
}

// The first byte says which tool it is.
void take_tool_call(std::string_view text) {
  const auto& tools = agents::tools_to_look();
  const std::size_t which = text.empty() ? 0 : static_cast<unsigned char>(text[0]) % (tools.size() + 1);
  const std::string name = which < tools.size() ? tools[which].name : "other";
  const auto look = agents::look_of_call({"id", name, std::string(text.substr(text.empty() ? 0 : 1))});
  if (look.ok()) promise(look->first >= 1 && look->last >= 0);
  (void)agents::looks_in(std::string(text));
}

void take_notes_and_lines(std::string_view text) {
  for (const auto& [name, value] : agents::code_facts(std::string(text), std::string(text))) {
    promise(value == value && value >= -1e6 && value <= 1e6);
  }
  promise(!store::own_line("fuzz", text));
  try {
    const Json json = Json::parse_quietly(text);
    if (const Json* beside = json.find("beside")) (void)agents::comparison_of(*beside);
  } catch (const JsonError&) {
    // What is no comparison says so.
  }
}

// What a device says of its Python, its roofs and how hot it is.
void take_device_facts(std::string_view text) {
  const Json json = Json::parse_quietly(text);
  if (json.is_object()) {
    const auto python = rivals::device_python_in(json, "aarch64");
    if (python.ok()) {
      promise(python->version.find_first_not_of("0123456789.") == std::string::npos && python->version.size() < 5);
      promise(rivals::platforms_of(*python).size() < 100 && python->path.size() < std::size_t{1} << 20);
    }
  }
  const remote::Said said{std::string(text)};
  const auto weather = remote::weather_said(said);
  if (weather) promise(weather->pace_ns >= 1 && weather->pace_ns <= 1e10);
  (void)remote::rounds_said(said, 2).ok();
  (void)remote::facts_for_roofs("fuzz", said);
}

}  // namespace

std::vector<Border> agent_borders(const fs::path& project) {
  std::vector<std::string> exchanges;
  for (const auto& entry : fs::directory_iterator(project / "tests/models/tapes/oneshot")) {
    if (entry.path().extension() == ".json" && exchanges.size() < 4) exchanges.push_back(*read_file(entry.path()));
  }
  return {
      {"exchanges of a tape", 8, exchanges, tapes},
      {"decisions of a tape",
       8,
       {R"({"task":"Relu","round":1,"beside":{"with":0,"median":1.5,"low":1.4,"high":1.6,"sure":true},"tuning":"x","settings":{"UNROLL":"4"}})"
        "\n"
        R"({"task":"Relu","round":2,"left_out":"why"})"
        "\n"},
       decisions},
      without_state("calls of tools", 40,
                    {R"(a{"file":"a.cpp","function":"f","first":3,"last":9})", R"(b{"text":"softmax"})", "c{}",
                     "```look\nREAD a.cpp 10-80\nFIND x\nLIST y\n```\n"},
                    take_tool_call),
      without_state(
          "notes on code; lines beside a record", 40,
          {R"({"loops":[{"depth":2,"vector_bits":512,"vector_arithmetic":8,"loads":3}]})",
           R"({"beside":{"with":0,"median":1.5,"low":1.4,"high":1.6,"sure":true},"question":"q","answer":"a","seal":"00"})"},
          take_notes_and_lines),
      without_state("Pythons, roofs and heat of devices", 40,
                    {R"({"version":"3.11","libc":["glibc","2.36"],"path":["/usr/lib/python3"],"has":false})",
                     "pace_ns 12.5\nfrequency 1800000\ntemperature cpu 45000\n",
                     "fma 10 11 12\nlevel 0 0 5 6\nlevel 0 1 5 6\nlevel 1 0 5 6\nlevel 1 1 5 6\ncore 0\ncache 1 Data "
                     "32K\nmemory_bytes 1000000\n"},
                    take_device_facts)};
}

}  // namespace kw::fuzz

#include "judge/kept_verdicts.h"

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "judge/plain_source.h"
#include "judge/verdict_json.h"
#include "ops/graph.h"
#include "targets/target.h"

namespace kw::judge {
namespace {

namespace fs = std::filesystem;

std::string text_of_lengths(const std::vector<Length>& lengths) {
  std::string text;
  for (const Length& length : lengths) text += fmt::format(" {}={}", length.name, length.value);
  return text;
}

// All that makes a task another one.
std::string text_of_task(const Task& task) {
  std::string text = fmt::format("task {} opset {} tolerance {}\n", task.name, task.opset, task.tolerance);
  if (task.precision == Precision::tf32) text += "precision tf32\n";
  for (const auto& [name, value] : task.lengths) text += fmt::format("length {}={}\n", name, value);
  for (const Value& value : task.values) {
    text += fmt::format("value {} {} {}{}{}", value.name, static_cast<int>(value.role), name_of(value.dtype),
                        text_of_lengths(value.lengths), text_of_lengths(value.elements));
    if (value.spread) {
      const Spread& spread = *value.spread;
      text += fmt::format(" spread {} {} {} {} {}", static_cast<int>(spread.kind), spread.low, spread.high, spread.mean,
                          spread.deviation);
    }
    const auto bytes = value.constant.bytes();
    text += fmt::format(" constant {} {:016x}\n", value.constant.shape().text(),
                        hash_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  for (const Node& node : task.nodes) {
    text += "node " + node.op;
    for (const auto& [name, attribute] : node.attributes) {
      text += fmt::format(" {}={}{}", name, text_of(attribute.value), text_of_lengths(attribute.lengths));
    }
    for (const std::string& name : node.inputs) text += " <" + name;
    for (const std::string& name : node.outputs) text += " >" + name;
    text += "\n";
  }
  for (const Output& output : task.outputs)
    text += fmt::format("output {}{}\n", output.name, text_of_lengths(output.lengths));
  return text;
}

fs::path file_of(const std::string& key) {
  return cache_folder() / "verdicts" / fmt::format("{:016x}.json", hash_of(key));
}

}  // namespace

std::string key_of(const Case& one) {
  std::string key = targets::identity_of(one.device) + targets::state_of("/proc/self/exe");
  key += text_of_task(*one.task);
  // Its parts may have been edited.
  if (const auto graph = ops::resolve(*one.task); one.plain && graph.ok()) {
    if (const auto plain = plain_source(one.device, *graph); plain.ok())
      key += fmt::format("plain {:016x}\n", hash_of(plain->text));
  }
  key += fmt::format("threads {} cold {} budget {} pairs {} timed {}\n", one.threads, one.cold, one.budget_s,
                     one.pairs.value_or(0), one.timed);
  for (const auto& [name, value] : one.settings) key += fmt::format("set {}={}\n", name, value);
  key += fmt::format("source {} {}\n{}\n", one.source.name, one.source.text.size(), one.source.text);
  for (const Source& rival : one.against)
    key += fmt::format("rival {} {}\n{}\n", rival.name, rival.text.size(), rival.text);
  for (const FrameworkRival* framework : one.frameworks)
    key += fmt::format("framework {} {}\n", framework->name(), framework->version());
  return key;
}

// The key in full, a zero byte, the verdict.
std::optional<Verdict> kept_verdict(const std::string& key) {
  const auto content = read_file(file_of(key));
  if (!content.ok()) return std::nullopt;
  if (content->size() <= key.size() || content->compare(0, key.size(), key) != 0 || (*content)[key.size()] != '\0') {
    return std::nullopt;
  }
  auto verdict = verdict_from_json(content->substr(key.size() + 1));
  if (!verdict.ok()) return std::nullopt;
  verdict->kept = true;
  return *verdict;
}

bool lasts(const Verdict& verdict) {
  return std::ranges::none_of(verdict.left_out, [](const LeftOut& one) { return one.by_accident; });
}

void keep_verdict(const std::string& key, const Verdict& verdict) {
  if (!lasts(verdict)) return;
  const fs::path file = file_of(key);
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  [[maybe_unused]] const Status written = write_file(file, key + '\0' + verdict_as_json(verdict));
}

}  // namespace kw::judge

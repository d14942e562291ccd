#include "report/task_words.h"

#include <algorithm>

#include "base/json.h"
#include "ops/graph.h"
#include "suites/notation.h"
#include "suites/task_snapshot.h"

namespace kw::report {
namespace {

Json tensor(const std::string& name, std::string_view role, const TensorType& type) {
  return {{"name", name}, {"role", role}, {"dtype", kw::name_of(type.dtype)}, {"shape", type.shape.lengths()}};
}

// An attribute may be a list as long as a weight.
std::string shortened(const std::string& node) {
  constexpr std::size_t kMost = 400;
  return node.size() <= kMost ? node : node.substr(0, kMost) + " ...";
}

Status add_meaning(const std::string& text, Json& json) {
  KW_TRY(const Task task, suites::task_of_snapshot(text));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  json["operators"] = task.operators();
  for (const Node& node : task.nodes) {
    json["nodes"].push_back(shortened(suites::text_of(node)));
    const ops::Op* op = ops::find_op(node.op);
    const Json entry = Json::array({node.op, op ? op->meaning : ""});
    if (std::ranges::find(json["meaning"], entry) == json["meaning"].end()) json["meaning"].push_back(entry);
  }
  for (const ops::GraphInput& input : graph.inputs) {
    json["tensors"].push_back(tensor(input.name, report::name_of(input.role), input.type));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph.names[static_cast<std::size_t>(graph.outputs[i])];
    json["tensors"].push_back(tensor(name, "output", graph.output_type(i)));
  }
  for (const auto& [name, value] : task.lengths) json["lengths"][name] = value;
  json["note"] = task.note;
  const Cost cost = ops::cost_of(graph);
  json["flops"] = cost.flops;
  json["bytes"] = cost.bytes();
  return {};
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::weight:
      return "weight";
    case Role::constant:
      return "constant";
  }
  return "";
}

Json words_of(const store::TaskSnapshot& task) {
  Json json = {{"name", task.name},
               {"suite", task.suite},
               {"category", task.category},
               {"operators", ""},
               {"nodes", Json::array()},
               {"meaning", Json::array()},
               {"tensors", Json::array()},
               {"lengths", Json::object()},
               {"note", ""},
               {"flops", 0.0},
               {"bytes", 0.0},
               {"problem", ""}};
  if (const Status status = add_meaning(task.text, json); !status.ok()) {
    json["problem"] = "The record of this task cannot be understood: " + status.error().message;
  }
  return json;
}

}  // namespace kw::report

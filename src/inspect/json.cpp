#include "inspect/json.h"

#include "inspect/model.h"

namespace kw::inspect {
namespace {

Json json_of(const CodeError& error) {
  static const char* const tools[] = {"compiler", "linker", "loader"};
  return {{"tool", tools[static_cast<int>(error.tool)]},
          {"file", error.file},
          {"line", error.line},
          {"column", error.column},
          {"local", error.local},
          {"within", error.within},
          {"message", error.message},
          {"elsewhere", error.elsewhere},
          {"notes", error.notes},
          {"repeated_at", error.repeated_at},
          {"around", error.around}};
}

Json json_of(const KernelTensor& one) {
  return {{"call", one.call},
          {"name", one.name},
          {"dtype", name_of(one.type.dtype)},
          {"shape", one.type.shape.lengths()},
          {"strides", one.type.shape.strides()},
          {"when", one.when},
          {"content", one.content}};
}

Json json_of(const ops::Graph& graph, std::size_t i) {
  const auto names = [&](const std::vector<int>& slots) {
    Json all = Json::array();
    for (const int slot : slots) {
      if (slot < 0) {
        all.push_back(nullptr);
        continue;
      }
      const auto at = static_cast<std::size_t>(slot);
      all.push_back({{"name", graph.names[at]},
                     {"dtype", name_of(graph.types[at].dtype)},
                     {"shape", graph.types[at].shape.lengths()}});
    }
    return all;
  };
  Json attributes = Json::array();
  for (const NodeFact& fact : attributes_of(graph, i)) {
    attributes.push_back({{"name", fact.name}, {"value", fact.value}, {"call", fact.call}, {"default", !fact.said}});
  }
  return {{"operator", graph.nodes[i].call.op->name},
          {"inputs", names(graph.nodes[i].inputs)},
          {"outputs", names(graph.nodes[i].outputs)},
          {"attributes", std::move(attributes)}};
}

}  // namespace

Json as_json(const std::vector<CodeError>& errors) {
  Json all = Json::array();
  for (const CodeError& error : errors) all.push_back(json_of(error));
  return all;
}

Json as_json(const std::vector<TreeFile>& files) {
  Json all = Json::array();
  for (const TreeFile& file : files) {
    Json scopes = Json::array();
    for (const Scope& scope : file.scopes) {
      constexpr const char* kKinds[] = {"function", "type", "namespace"};
      scopes.push_back({{"kind", kKinds[static_cast<std::size_t>(scope.kind)]},
                        {"declared", scope.declared},
                        {"name", scope.name},
                        {"signature", scope.signature},
                        {"first_line", scope.first_line},
                        {"last_line", scope.last_line},
                        {"depth", scope.depth}});
    }
    all.push_back({{"path", file.path}, {"likeness", file.likeness}, {"scopes", std::move(scopes)}});
  }
  return all;
}

Json model_as_json(const ops::Graph& graph) {
  Json nodes = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) nodes.push_back(json_of(graph, i));
  for (const auto& one : inputs_of_kernel(graph)) inputs.push_back(json_of(one));
  for (const auto& one : outputs_of_kernel(graph)) outputs.push_back(json_of(one));
  return {{"task", graph.task->name},  {"opset", graph.task->opset},  {"lengths", graph.task->lengths},
          {"nodes", std::move(nodes)}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
}

}  // namespace kw::inspect

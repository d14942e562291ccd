#include "models/model.h"

#include <algorithm>

#include "base/files.h"
#include "suites/onnx_rewrite.h"

namespace kw::models {
namespace fs = std::filesystem;

namespace {

std::map<std::size_t, std::size_t> known_branches(const suites::OnnxModel& model, const suites::ModelTasks& tasks) {
  std::map<std::size_t, std::size_t> known;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (tasks.never_runs(i)) continue;
    if (const auto branch = tasks.known_branch(i)) known[i] = *branch;
  }
  return known;
}

}  // namespace

Result<Model> Model::open(const fs::path& file, const Lengths& dims, KnownBranches branches) {
  Model model;
  model.file_ = file;
  model.dims_ = dims;
  KW_TRY(suites::OnnxModel onnx, suites::read_onnx(file));
  model.onnx_ = std::make_unique<suites::OnnxModel>(std::move(onnx));
  KW_TRY(std::string bytes, read_file(file));
  model.bytes_ = std::make_unique<std::string>(std::move(bytes));
  KW_TRY(suites::ModelTasks tasks, suites::ModelTasks::of(*model.onnx_, dims));
  model.tasks_ = std::make_unique<suites::ModelTasks>(std::move(tasks));
  const auto known = known_branches(*model.onnx_, *model.tasks_);
  if (branches == KnownBranches::in_place && !known.empty()) {
    KW_TRY(*model.bytes_, suites::edit_onnx(*model.onnx_, *model.bytes_, {.branches = known}));
    KW_TRY(*model.onnx_, suites::parse_onnx(*model.bytes_, model.onnx_->place));
    KW_TRY(suites::ModelTasks tasks_in_place, suites::ModelTasks::of(*model.onnx_, dims));
    model.tasks_ = std::make_unique<suites::ModelTasks>(std::move(tasks_in_place));
  }
  for (std::size_t i = 0; i < model.count(); ++i) {
    for (const std::string& name : model.node(i).inputs) {
      if (!name.empty()) model.readers_[name].push_back(i);
    }
    for (const std::string& name : model.node(i).outputs) {
      if (!name.empty()) model.producers_[name] = i;
    }
  }
  for (const suites::OnnxValue& output : model.onnx_->outputs) model.leaving_.insert(output.name);
  model.leaving_.insert(model.onnx_->given_to_owners.begin(), model.onnx_->given_to_owners.end());
  model.inside_.resize(model.count());
  for (std::size_t i = 0; i < model.count(); ++i) {
    for (std::size_t scope = model.scope(i); scope != 0; scope = model.onnx_->scopes[scope].parent) {
      model.inside_[model.onnx_->scopes[scope].owner].push_back(i);
    }
  }
  return model;
}

bool Model::computes(std::size_t i) const {
  if (tasks_->never_runs(i)) return false;
  return std::ranges::none_of(node(i).outputs, [&](const auto& name) { return onnx_->initializers.contains(name); });
}

const std::vector<std::size_t>& Model::readers(const std::string& value) const {
  static const std::vector<std::size_t> none;
  const auto found = readers_.find(value);
  return found == readers_.end() ? none : found->second;
}

std::optional<std::size_t> Model::producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? std::nullopt : std::optional(found->second);
}

std::string Model::signature(const std::vector<std::size_t>& nodes) const {
  std::map<std::string, std::size_t> numbers;  // of values, in the order in which they come
  std::string text;
  const auto say = [&](const std::string& name) {
    if (name.empty()) {
      text += " -";
      return true;
    }
    const TensorType* type = tasks_->type(name);
    if (!type || type->from_values) return false;
    const auto [place, is_new] = numbers.emplace(name, numbers.size());
    text += fmt::format(" v{}", place->second);
    if (!is_new) return true;
    text += fmt::format(":{}", type->text());
    if (!tasks_->is_constant(name)) return true;
    text += "c";
    // A constant that decides a shape or is one number is part of what is computed.
    const auto found = onnx_->initializers.find(name);
    if (found != onnx_->initializers.end() && found->second.count() <= 8) {
      for (std::int64_t i = 0; i < found->second.count(); ++i) text += fmt::format(",{}", found->second.real(i));
    }
    return true;
  };
  for (const std::size_t i : nodes) {
    const Node& one = node(i);
    text += one.op + "(";
    for (const auto& [name, attribute] : one.attributes) {
      text += fmt::format("{}={};", name, text_of(attribute.value));
    }
    text += ")";
    for (const std::string& name : one.inputs) {
      if (!say(name)) return "";
    }
    text += " ->";
    for (const std::string& name : one.outputs) {
      if (!say(name)) return "";
    }
    text += "\n";
  }
  return text;
}

}  // namespace kw::models

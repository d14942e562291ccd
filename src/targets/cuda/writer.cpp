#include "targets/cuda/writer.h"

#include <algorithm>
#include <sstream>

#include "base/files.h"
#include "compose/compose.h"
#include "core/cpp_type.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(trimmed(part));
  return parts;
}

Result<std::map<std::string, Expression>> read_expressions(const fs::path& folder) {
  KW_TRY(const std::string text, read_file(folder / "elementwise.txt"));
  std::map<std::string, Expression> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    // An expression may hold "||": columns are split at a bar between blanks.
    std::vector<std::string> columns;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(" | ", begin), line.size());
      columns.push_back(trimmed(line.substr(begin, end - begin)));
      begin = end + 3;
    }
    if (columns.size() < 2) return fail("elementwise.txt: {} has no expression", columns[0]);
    Expression one{.text = columns[1]};
    if (one.text.starts_with("fold ")) {
      const std::vector<std::string> parts = split(one.text.substr(5), ';');
      one.joins = true;
      one.text = parts[0];
      if (parts.size() > 1) one.finish = parts[1];
    }
    if (columns.size() > 2) {
      for (const std::string& name : split(columns[2], ' ')) {
        if (!name.empty()) one.attributes.push_back(name);
      }
    }
    all[columns[0]] = std::move(one);
  }
  return all;
}

}  // namespace

Result<Writer> Writer::open(const ops::Graph& graph) {
  KW_TRY(const fs::path data, data_folder());
  const fs::path folder = data / "kernels" / "cuda";
  KW_TRY(auto expressions, read_expressions(folder / "plain"));
  return Writer(graph, folder, std::move(expressions));
}

Result<std::string> Writer::write(const Choices& choice, const std::string& about) {
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    plan_ += fmt::format("  const Given t{0} = given_by(plan.input({0}));\n", i);
    arguments_[static_cast<int>(i)] = fmt::format("plan.input({})", i);
  }
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    arguments_.try_emplace(graph_.outputs[i], fmt::format("plan.output({})", i));
    outputs_.try_emplace(graph_.outputs[i], i);
  }
  KW_CHECK(include(folder_ / "plain" / "common.cuh"));
  KW_TRY(const std::vector<Group> groups, groups_of(graph_, choice));
  bool has_plain = false;
  for (const Group& group : groups) {
    if (!group.node) {
      KW_CHECK(write_chain_alone(choice, group));
    } else if (choice[*group.node] != nullptr) {
      KW_CHECK(write_technique(choice, group));
    } else {
      has_plain = true;
      KW_CHECK(write_plain(*group.node));
    }
  }
  const char* block =
      prefers_references_ ? "KW_TUNE(BLOCK, 512, 32, 512);\n\n" : "KW_TUNE(BLOCK, 256, 128, 256, 512);\n\n";
  return fmt::format(
      "// {}: {}\n#include <kernelwright_cuda.h>\n\n{}{}\n{}\n#ifdef __CUDACC__\n{}#else\nKW_PLAN(plan) "
      "{{\n{}}}\n#endif\n",
      graph_.task->name, about, has_plain ? block : "", parts_, structures_, kernels_, plan_);
}

Status Writer::include(const fs::path& file, const std::string& space) {
  if (!included_.insert(file.lexically_normal().string()).second) return {};
  KW_TRY(const std::string text, read_file(file));
  if (names_parts_ && space.empty() && compose::can_be_named(file.lexically_normal(), text)) {
    parts_ += fmt::format("#include <kw/{}>\n", file.filename().string());
    return {};
  }
  std::string own;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#pragma once") || line.starts_with("#include <")) continue;
    if (line.starts_with("#include \"")) {
      KW_CHECK(include(file.parent_path() / line.substr(10, line.size() - 11)));
    } else if (!own.empty() || !line.empty()) {
      own += line + "\n";
    }
  }
  if (!space.empty()) own = fmt::format("namespace {0} {{\n\n{1}\n}}  // namespace {0}\n", space, own);
  parts_ += own + "\n";
  return {};
}

Result<std::string> Writer::type_of(int slot) const {
  const DType dtype = graph_.types[static_cast<std::size_t>(slot)].dtype;
  if (dtype == DType::float16) return std::string("Float16");
  if (dtype == DType::bfloat16) return std::string("BFloat16");
  return cpp_type(dtype);
}

Result<std::string> Writer::type_of_any(int slot, const std::string& otherwise) const {
  return slot < 0 ? otherwise : type_of(slot);
}

void Writer::place(int slot) {
  if (const auto output = outputs_.find(slot); output != outputs_.end()) {
    plan_ += fmt::format("  s{} = plan.output({}).shape();\n", slot, output->second);
  } else {
    plan_ += fmt::format("  const kw::PlanMemory m{0} = plan.scratch(s{0}.count() * {1});\n", slot,
                         size_bytes(graph_.types[static_cast<std::size_t>(slot)].dtype));
    arguments_[slot] = fmt::format("m{}", slot);
  }
  plan_ += fmt::format("  [[maybe_unused]] const Given t{0}{{s{0}, nullptr, 0, true}};\n", slot);
}

void Writer::launch(const std::string& kernel, const std::string& count, const std::string& arguments) {
  plan_ += fmt::format(
      "  if ({0} > 0) {{\n    plan.launch(\"{1}\", std::min<int64_t>(kw::blocks({0}, BLOCK), 1 << 20), BLOCK, {2}, "
      "{0});\n  }}\n",
      count, kernel, arguments);
}

void Writer::add_kernel(const std::string& name, const std::string& parameters, const std::string& body) {
  kernels_ += fmt::format(
      "extern \"C\" __global__ void {}{}({}, int64_t count) {{\n"
      "  for (int64_t i = int64_t(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += "
      "int64_t(gridDim.x) * BLOCK) {{\n    {}\n  }}\n}}\n",
      prefers_references_ ? "__launch_bounds__(BLOCK) " : "", name, parameters, body);
}

std::string Writer::attribute_of(const ops::GraphNode& node, const std::string& name) const {
  const auto is_named = [&](const auto& one) { return one.first == name; };
  const auto value = std::ranges::find_if(node.call.attributes, is_named);
  const bool integer = value != node.call.attributes.end() && std::holds_alternative<std::int64_t>(value->second);
  return fmt::format("plan.node({}).{}(\"{}\")", node.number, integer ? "integer" : "real", name);
}

}  // namespace kw::cuda

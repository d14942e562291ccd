#include "compose/compose.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/files.h"
#include "compose/outside_text.h"
#include "core/cpp_type.h"

namespace kw::compose {
namespace {

// The functions of operators, put one after the other: what each includes comes first, once; the headers of the
// language are gathered for the top of the file.
class Functions {
 public:
  explicit Functions(Parts parts) : parts_(parts) {}

  Status add(const std::filesystem::path& file, const std::string& space = "") {
    if (!added_.insert(file.lexically_normal().string()).second) return {};
    KW_TRY(const std::string text, read_file(file));
    if (parts_ == Parts::by_name && can_be_named(file, text)) {
      headers_.insert(fmt::format("#include <kw/{}>", file.filename().string()));
      return {};
    }
    std::istringstream lines(text);
    std::string body;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#include <")) {
        if (line != "#include <kernelwright.h>") headers_.insert(line);
      } else if (line.starts_with("#include \"")) {
        const std::size_t begin = line.find('"') + 1;
        KW_CHECK(add(file.parent_path() / line.substr(begin, line.find('"', begin) - begin)));
      } else if (!line.starts_with("#pragma once") && !(line.empty() && (body.empty() || body.ends_with("\n\n")))) {
        body += line + "\n";  // what was left out leaves one empty line
      }
    }
    while (body.ends_with("\n\n")) body.pop_back();
    if (!space.empty()) body = fmt::format("namespace {0} {{\n\n{1}\n}}  // namespace {0}\n", space, body);
    text_ += body + "\n";
    return {};
  }

  const std::set<std::string>& headers() const { return headers_; }
  const std::string& text() const { return text_; }

 private:
  const Parts parts_;
  std::set<std::string> added_;
  std::set<std::string> headers_;
  std::string text_;
};

// The type of an input that is left out: of its group where that is known, else what the operator takes most likely.
std::string type_of_absent(const ops::Call& call, const ops::InputSpec& spec) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const ops::InputSpec& other = call.op->inputs[std::min(i, call.op->inputs.size() - 1)];
    if (!spec.group.empty() && other.group == spec.group && call.has(i)) return cpp_type(call.dtype(i));
  }
  for (DType likely : {DType::float32, DType::int64}) {
    if (spec.types.has(likely)) return cpp_type(likely);
  }
  return cpp_type(spec.types.list().front());
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

// One behind the last node of the group that begins here: nodes that compute any part alone, of which each reads what
// one before it in the group made, and only the last, which makes an output of the task, is read by anyone else.
std::size_t end_of_group(const ops::Graph& graph, const std::vector<Piece>& pieces, std::size_t begin) {
  const auto is_output = [&](int slot) { return std::ranges::find(graph.outputs, slot) != graph.outputs.end(); };
  std::size_t end = begin;
  while (end < graph.nodes.size() && pieces[end].any_part && graph.nodes[end].outputs.size() == 1) ++end;
  for (; end > begin + 1; --end) {
    if (!is_output(graph.nodes[end - 1].outputs[0])) continue;
    std::set<int> made;
    for (std::size_t i = begin; i + 1 < end; ++i) made.insert(graph.nodes[i].outputs[0]);
    const bool leaves = std::ranges::any_of(made, is_output);
    bool read_later = false;
    for (std::size_t i = end; i < graph.nodes.size(); ++i) {
      read_later |= std::ranges::any_of(graph.nodes[i].inputs, [&](int slot) { return made.contains(slot); });
    }
    bool left_out = false;
    for (std::size_t i = begin; i < end; ++i)
      left_out |= std::ranges::any_of(graph.nodes[i].inputs, [](int slot) { return slot < 0; });
    if (!leaves && !read_later && !left_out) return end;
  }
  return begin + 1;
}

// "Softmax(call.node(0), x, y);" with the declarations of results before it.
class Writer {
 public:
  Writer(const ops::Graph& graph, const std::vector<Piece>& pieces)
      : graph_(graph), pieces_(pieces), names_(graph.types.size()), inputs_(graph.types.size()) {}

  std::string body() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      names_[i] = all_names_.add(graph_.inputs[i].name);
      inputs_[i] = names_[i];
      line("const auto {} = call.input<{}>({});", names_[i], cpp_type(graph_.inputs[i].type.dtype), i);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const auto slot = static_cast<std::size_t>(graph_.outputs[i]);
      names_[slot] = all_names_.add(graph_.names[slot]);
      inputs_[slot] = names_[slot] + ".read()";
      line("auto {} = call.output<{}>({});", names_[slot], cpp_type(graph_.types[slot].dtype), i);
    }
    if (prepares()) line("const auto kept = call.prepared<const void*>();");
    for (std::size_t i = 0; i < graph_.nodes.size();) {
      if (changes_nothing(graph_.nodes[i])) {
        const ops::GraphNode& idle = graph_.nodes[i++];
        inputs_[static_cast<std::size_t>(idle.outputs[0])] = inputs_[static_cast<std::size_t>(idle.inputs[0])];
        continue;
      }
      const std::size_t end = end_of_group(graph_, pieces_, i);
      if (end - i > 1) {
        blocks(i, end);
      } else {
        node(graph_.nodes[i], i);
      }
      i = end;
    }
    return text_;
  }

  bool prepares() const { return std::ranges::any_of(pieces_, &Piece::prepares); }

  // Of kw_prepare: what each node keeps, as a list of addresses; null for nodes that keep nothing.
  std::string preparation() {
    text_.clear();
    line("const auto kept = call.keep<const void*>({});", graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!pieces_[i].prepares) {
        line("kept[{}] = nullptr;", i);
        continue;
      }
      const ops::Op& op = *graph_.nodes[i].call.op;
      std::vector<std::string> arguments = {"call", fmt::format("call.node({})", graph_.nodes[i].number)};
      for (std::size_t k = 0; k < op.inputs.size(); ++k) arguments.push_back(ahead(graph_.nodes[i], k));
      line("kept[{}] = {}prepare_{}({});", i, space(i), op.name, joined(arguments));
    }
    return text_;
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += indent_ + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  // A cast to the type that its input has: nodes that read the result read the input instead.
  bool changes_nothing(const ops::GraphNode& node) const {
    if (node.call.op->name != "Cast" || std::ranges::find(graph_.outputs, node.outputs[0]) != graph_.outputs.end()) {
      return false;
    }
    const auto dtype = [&](int slot) { return graph_.types[static_cast<std::size_t>(slot)].dtype; };
    return dtype(node.inputs[0]) == dtype(node.outputs[0]);
  }

  // A group of nodes: block by block where all tensors go in step, else one node after the other.
  void blocks(std::size_t begin, std::size_t end) {
    std::vector<int> inside;        // results of the group but the last
    std::vector<std::string> read;  // from outside
    for (std::size_t i = begin; i < end; ++i) {
      for (const int slot : graph_.nodes[i].inputs) {
        const std::string& name = inputs_[static_cast<std::size_t>(slot)];
        const bool is_inside = std::ranges::find(inside, slot) != inside.end();
        if (!is_inside && std::ranges::find(read, name) == read.end()) read.push_back(name);
      }
      if (i + 1 < end) inside.push_back(graph_.nodes[i].outputs[0]);
    }
    const std::vector<std::string> names = names_, inputs = inputs_;
    const Identifiers all_names = all_names_;
    line("if (in_step({})) {{", joined(read));
    indent_ = "    ";
    line("const int64_t all = most_elements({});", joined(read));
    line("const int threads = threads_within(call, threads_for(call, all), {} * FUSED_BLOCK);", 8 * inside.size());
    for (const int slot : inside) {
      const auto at = static_cast<std::size_t>(slot);
      names_[at] = all_names_.add(graph_.names[at]);
      line("const auto {} = call.scratch<{}>(threads * FUSED_BLOCK);", names_[at], cpp_type(graph_.types[at].dtype));
    }
    line("each_block(call, threads, all, [&](int64_t at, int64_t count, int slot) {{");
    indent_ = "      ";
    for (const int slot : inside) {
      const auto at = static_cast<std::size_t>(slot);
      const std::string block = all_names_.add(graph_.names[at] + "_block");
      line("auto {} = kw::Tensor<{}>({} + slot * FUSED_BLOCK, kw::Shape{{count}});", block,
           cpp_type(graph_.types[at].dtype), names_[at]);
      names_[at] = block;
      inputs_[at] = block + ".read()";
    }
    for (std::size_t i = begin; i < end; ++i) {
      for (const int slot : graph_.nodes[i].inputs) {
        if (std::ranges::find(inside, slot) != inside.end()) continue;
        inputs_[static_cast<std::size_t>(slot)] =
            fmt::format("block_of({}, at, count)", inputs[static_cast<std::size_t>(slot)]);
      }
    }
    const auto last = static_cast<std::size_t>(graph_.nodes[end - 1].outputs[0]);
    const std::string result = all_names_.add(graph_.names[last] + "_block");
    line("auto {} = block_to({}, at, count);", result, names[last]);
    names_[last] = result;
    for (std::size_t i = begin; i < end; ++i) node(graph_.nodes[i], i);
    indent_ = "    ";
    line("}});");
    indent_ = "  ";
    line("}} else {{");
    names_ = names;
    inputs_ = inputs;
    all_names_ = all_names;
    indent_ = "    ";
    for (std::size_t i = begin; i < end; ++i) node(graph_.nodes[i], i);
    indent_ = "  ";
    line("}}");
  }

  void between(const std::string& name, DType dtype) { line("auto {} = call.between<{}>();", name, cpp_type(dtype)); }

  void node(const ops::GraphNode& node, std::size_t index) {
    const ops::Op& op = *node.call.op;
    std::vector<std::string> arguments = {fmt::format("call.node({})", node.number)};
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ops::InputSpec& spec = op.inputs[i];
      if (spec.variadic) {
        std::vector<std::string> all;
        for (std::size_t k = i; k < node.inputs.size(); ++k) all.push_back(input(node, k));
        arguments.push_back(fmt::format("std::vector{{{}}}", joined(all)));
      } else if (node.call.has(i)) {
        arguments.push_back(input(node, i));
      } else {
        arguments.push_back(fmt::format("kw::Tensor<const {}>()", type_of_absent(node.call, spec)));
      }
    }
    std::vector<std::string> all;
    for (std::size_t i = 0; i < node.outputs.size() || i < op.outputs.size(); ++i) all.push_back(output(node, i));
    if (!op.outputs.empty() && op.outputs.back().variadic) {
      for (std::string& name : all) name = "&" + name;
      arguments.push_back(fmt::format("std::vector{{{}}}", joined(all)));
    } else {
      arguments.insert(arguments.end(), all.begin(), all.end());
    }
    if (pieces_[index].prepares) arguments.push_back(fmt::format("kept[{}]", index));
    line("{}{}({});", space(index), op.name, joined(arguments));
  }

  std::string space(std::size_t index) const {
    return pieces_[index].space.empty() ? std::string() : pieces_[index].space + "::";
  }

  // An input as kw_prepare sees it: with data where it is constant, with its shape where it is the task's, else empty.
  std::string ahead(const ops::GraphNode& node, std::size_t i) const {
    const ops::InputSpec& spec = node.call.op->inputs[i];
    if (!node.call.has(i)) return fmt::format("kw::Tensor<const {}>()", type_of_absent(node.call, spec));
    const auto slot = static_cast<std::size_t>(node.inputs[i]);
    const std::string type = cpp_type(graph_.types[slot].dtype);
    if (slot < graph_.inputs.size()) return fmt::format("call.input<{}>({})", type, slot);
    return fmt::format("kw::Tensor<const {}>()", type);
  }

  std::string input(const ops::GraphNode& node, std::size_t i) const {
    return inputs_[static_cast<std::size_t>(node.inputs[i])];
  }

  // Declares the result where it is not one of the task's outputs; one that is not used is computed all the same.
  std::string output(const ops::GraphNode& node, std::size_t i) {
    const int slot = i < node.outputs.size() ? node.outputs[i] : -1;
    if (slot < 0) {
      const std::string name = all_names_.add("unused");
      between(name, i < node.call.outputs.size() ? node.call.outputs[i].dtype : node.call.outputs[0].dtype);
      return name;
    }
    const auto at = static_cast<std::size_t>(slot);
    if (names_[at].empty()) {
      names_[at] = all_names_.add(graph_.names[at]);
      inputs_[at] = names_[at] + ".read()";
      between(names_[at], graph_.types[at].dtype);
    }
    return names_[at];
  }

  const ops::Graph& graph_;
  const std::vector<Piece>& pieces_;
  Identifiers all_names_;
  std::vector<std::string> names_;   // of every slot, as a result
  std::vector<std::string> inputs_;  // of every slot, as it is read
  std::string indent_ = "  ";
  std::string text_;
};

}  // namespace

bool can_be_named(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path folder = file.lexically_normal().parent_path();
  if (file.extension() == ".cuh") return folder.filename() == "parts" || folder.filename() == "plain";
  return folder.filename() == "parts" && folder.parent_path().filename() != "plain" &&
         text.find("#include \"../") == std::string::npos;
}

Result<std::string> compose(const ops::Graph& graph, const std::vector<Piece>& pieces, const std::string& about,
                            Parts parts) {
  const Task& task = *graph.task;
  Functions functions(parts);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (end_of_group(graph, pieces, i) == i + 1) continue;
    KW_CHECK(functions.add(pieces[i].file.parent_path() / "parts" / "blocks.h"));
    break;
  }
  for (const Piece& piece : pieces) KW_CHECK(functions.add(piece.file, piece.space));
  for (const ops::GraphInput& input : graph.inputs) {
    if (input.type.shape.rank() > 8) return fail("{}: {} has more than 8 axes", task.name, input.name);
  }
  std::string text = fmt::format("// {}: {}\n#include <kernelwright.h>\n\n", remark(task.name), remark(about));
  for (const std::string& header : functions.headers()) text += header + "\n";
  if (!functions.headers().empty()) text += "\n";
  text += "namespace {\n\n" + functions.text() + "}  // namespace\n\n";
  Writer writer(graph, pieces);
  const std::string body = writer.body();
  if (writer.prepares()) text += "KW_PREPARE(call) {\n" + writer.preparation() + "}\n\n";
  return text + "KW_KERNEL(call) {\n" + body + "}\n";
}

}  // namespace kw::compose

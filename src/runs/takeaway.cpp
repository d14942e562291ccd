#include "runs/takeaway.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "compose/outside_text.h"
#include "compose/parts.h"
#include "judge/plain_source.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "runs/attribute_text.h"
#include "runs/task_text.h"
#include "targets/target.h"

namespace kw::runs {
namespace {

namespace fs = std::filesystem;

std::string opening(const Task& task, const ops::Graph& graph, const std::string& build_line, const Verdict& verdict,
                    const std::string& machine) {
  std::string text = fmt::format("// {}: {}\n//\n", compose::remark(task.name), [&] {
    std::string nodes;
    for (const ops::GraphNode& node : graph.nodes) nodes += (nodes.empty() ? "" : ", then ") + node.call.op->name;
    return nodes;
  }());
  text += "// Written and judged by kw. What was tested and measured:\n";
  std::string shapes;
  for (const ops::GraphInput& input : graph.inputs) {
    shapes += (shapes.empty() ? "" : ", ") + compose::remark(input.name) + " " + input.type.text();
  }
  text += fmt::format("//   - for {};\n", shapes);
  for (const std::string& line : text_of(verdict.coverage)) text += fmt::format("//   - {};\n", compose::remark(line));
  text += fmt::format("//   - largest error seen: {:.3g} of what exact arithmetic in the tensors' type may be off;\n",
                      verdict.max_error);
  if (verdict.time_ns) {
    text += fmt::format(
        "//   - {} a call, {} caches, one core of: {}{}\n", time_text(*verdict.time_ns), verdict.caches,
        compose::remark(machine),
        verdict.roof_fraction
            ? fmt::format("; {:.0f} % of the speed that the machine's limits allow{}", 100 * *verdict.roof_fraction,
                          *verdict.roof_fraction > 1 ? " an algorithm that does every operation of the definition" : "")
            : "");
  }
  for (const Speedup& one : verdict.speedups) {
    text += fmt::format("//   - {:.3f} times as fast as {} [{:.3f}, {:.3f}]{}\n", one.median,
                        compose::remark(one.rival + (one.called ? " " + one.called->version : "")), one.low, one.high,
                        one.claimed ? "" : ": no difference is claimed");
  }
  return text + fmt::format("//\n// {}\n", build_line);
}

std::string literal_text(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "1" : "0";
  if (!is_float(dtype)) return fmt::format("{}", static_cast<std::int64_t>(value));
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  return fmt::format("{:.9g}", value);
}

std::string dims_text(const TensorType& type) {
  std::vector<std::int64_t> dims;
  for (int i = 0; i < type.shape.rank(); ++i) dims.push_back(type.shape[i]);
  return fmt::format("{{{}}}", fmt::join(dims, ", "));
}

// One input of the program: its values where they are few and fixed, else the range that typical ones come from.
std::string input_line(const ops::GraphInput& input, const Tensor& drawn) {
  std::string values;
  double low = 0, high = 1;
  if (drawn.count() > 0) {
    low = high = drawn.real(0);
    for (std::int64_t i = 0; i < drawn.count(); ++i) {
      low = std::min(low, drawn.real(i));
      high = std::max(high, drawn.real(i));
    }
  }
  if (input.role == Role::constant && drawn.count() <= 64) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < drawn.count(); ++i) all.push_back(literal_text(drawn.real(i), drawn.dtype()));
    values = fmt::format("{}", fmt::join(all, ", "));
  }
  return fmt::format("      {{{}, {}, {}, {}, {{{}}}, {}}},  // {}\n", targets::contract_number(input.type.dtype),
                     dims_text(input.type), literal_text(low, DType::float32), literal_text(high, DType::float32),
                     values, input.role == Role::input ? "false" : "true", compose::remark(input.name));
}

// The source without the comment that it begins with. A line that may go on in the next one stays: without it that one
// would become code which the judge never saw.
std::string without_opening(std::string source) {
  while (source.starts_with("//")) {
    const std::string line = source.substr(0, source.find('\n'));
    if (line.size() == source.size() || line.find('\\') != std::string::npos || line.ends_with("?\?/")) break;
    source.erase(0, line.size() + 1);
  }
  return source;
}

std::string attribute_lines(const ops::Graph& graph) {
  std::string lines;
  for (const AttributeText& one : attribute_texts(graph)) {
    lines +=
        fmt::format("      {{{}, {}, {{{}}}, {{{}}}, {{{}}}, {}}},\n", one.name, one.node,
                    fmt::join(one.integers, ", "), fmt::join(one.reals, ", "), fmt::join(one.texts, ", "), one.list);
  }
  return lines;
}

}  // namespace

fs::path takeaway_folder(const std::string& task) { return compose::file_stem(task) + "-kernel"; }

Result<fs::path> new_folder(const fs::path& folder, bool anyway) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder).lexically_normal();
  fs::create_directories(whole, error);
  if (error) return fail("--out {}: {}", folder.string(), error.message());
  if (!anyway && !fs::is_empty(whole, error)) {
    return fail("--out {}: there is something in it already; --force writes over it", folder.string());
  }
  const fs::path probe = whole / fmt::format(".kw-{}", ::getpid());
  if (const Status written = write_file(probe, ""); !written.ok()) return at("--out", written.error());
  fs::remove(probe, error);
  return whole;
}

Result<std::vector<fs::path>> take_away(const fs::path& folder, const Task& task, const judge::Source& kernel,
                                        const Settings& settings, const Verdict& verdict, const std::string& device,
                                        const std::string& machine) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  if (!target.build_command || target.takeaway_program.empty()) {
    return fail("kernels of {} cannot be taken away: only the record has them", device);
  }
  const std::string& ending = target.languages.front();
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const std::string whole, compose::with_parts_inlined(kernel.text));
  KW_TRY(const Tunables tunables, read_tunables(whole));
  KW_TRY(const Choice choice, choose(tunables, settings, targets::build_options(device)));
  KW_TRY(std::string fixed, with_tunables_fixed(whole, choice));
  fixed = without_opening(std::move(fixed));  // ours says more
  KW_TRY(const judge::Source plain, judge::plain_source(device, graph));
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const std::string contract, read_file(data / "include" / "kernelwright.h"));
  KW_TRY(std::string main, read_file(data / "kernels" / target.takeaway_program));

  const std::string name = compose::file_stem(task.name);
  const std::string build_line = compose::remark(target.build_command(name, choice));
  std::string inputs, outputs;
  const std::vector<Tensor> drawn = ops::draw_inputs(graph, ops::InputClass::typical, 1);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) inputs += input_line(graph.inputs[i], drawn[i]);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType type = graph.output_type(i);
    outputs +=
        fmt::format("      {{{}, {}, 0, 0, {{}}, false}},\n", targets::contract_number(type.dtype), dims_text(type));
  }
  const auto put = [&](const std::string& place, const std::string& text) {
    for (std::size_t at = 0; (at = main.find(place, at)) != std::string::npos; at += text.size()) {
      main.replace(at, place.size(), text);
    }
  };
  put("@NAME@", name);
  put("@TASK@", compose::remark(task.name));
  put("@BUILD@", build_line);
  put("@INPUTS@", inputs);
  put("@OUTPUTS@", outputs);
  put("@ATTRIBUTES@", attribute_lines(graph));

  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  const std::vector<std::pair<std::string, std::string>> files = {
      {name + ending, opening(task, graph, build_line, verdict, machine) + fixed},
      {name + "_plain" + ending, "#define kw_run plain_run\n" + plain.text},
      {name + "_main" + ending, main},
      {"kernelwright.h", contract}};
  std::vector<fs::path> written;
  for (const auto& [file, text] : files) {
    KW_CHECK(write_file(folder / file, text));
    written.push_back(folder / file);
  }
  return written;
}

}  // namespace kw::runs

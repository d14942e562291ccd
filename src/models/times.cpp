#include "models/times.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/files.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "base/units.h"
#include "ops/graph.h"
#include "suites/onnx_rewrite.h"
#include "targets/target.h"

namespace kw::models {
namespace {

// Which node of the model each node of the runtime's graph stands for: the last one of those that it joins.
class Trace {
 public:
  Trace(const Model& model, const suites::OnnxModel& optimized) : model_(model) {
    for (const suites::OnnxNode& one : optimized.nodes) {
      Node plain = one.node;  // as the runtime calls it and its results
      plain.name = optimized.in_file(plain.name);
      for (std::string& output : plain.outputs) output = optimized.in_file(output);
      const int node = node_behind(plain);
      if (node >= 0) by_name_[plain.name] = static_cast<std::size_t>(node);
    }
    for (const auto& [name, node] : by_name_) present_.insert(node);
    for (std::size_t i = 0; i < model.count(); ++i) owner_.push_back(find_owner(i));
  }

  // By the name of the runtime's node; none: the runtime's own.
  std::optional<std::size_t> node(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  // The nodes whose work this one's time is.
  std::vector<std::size_t> stands_for(std::size_t node) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < owner_.size(); ++i) {
      if (owner_[i] == node) all.push_back(i);
    }
    return all;
  }

 private:
  int numbered(const std::string& name) const {
    const int number = suites::number_in_name(name);
    return number < static_cast<int>(model_.count()) ? number : -1;
  }

  // The model's node that a node of the runtime stands for, the last one of joined nodes: by the name of its result, or
  // else by its own name.
  int node_behind(const Node& node) const {
    for (const std::string& output : node.outputs) {
      if (const auto from = model_.producer(output); from && model_.leaves(output)) return static_cast<int>(*from);
      if (const int number = numbered(output); number >= 0) {
        // A change of layout gives the result its own name back, and is not the node.
        return node.op == "ReorderOutput" || node.op == "ReorderInput" ? -1 : number;
      }
    }
    return node.op.starts_with("Reorder") ? -1 : numbered(node.name);
  }

  // A node that is missing in the runtime's graph was joined with the node that reads it; where none does, it was
  // folded away.
  std::optional<std::size_t> find_owner(std::size_t node) const {
    std::vector<std::size_t> open = {node};
    std::set<std::size_t> seen;
    while (!open.empty()) {
      const std::size_t at = open.front();
      open.erase(open.begin());
      if (!seen.insert(at).second) continue;
      if (present_.contains(at)) return at;
      for (const std::string& output : model_.node(at).outputs) {
        for (const std::size_t reader : model_.readers(output)) open.push_back(reader);
      }
    }
    return std::nullopt;
  }

  const Model& model_;
  std::map<std::string, std::size_t> by_name_;
  std::set<std::size_t> present_;
  std::vector<std::optional<std::size_t>> owner_;
};

std::string shapes_of(const Model& model, const Node& node) {
  std::vector<std::string> in, out;
  const auto text = [&](const std::string& name) {
    const TensorType* type = model.tasks().type(name);
    return type ? type->text() : std::string("?");
  };
  for (const std::string& name : node.inputs) {
    if (!name.empty()) in.push_back(text(name));
  }
  for (const std::string& name : node.outputs) {
    if (!name.empty()) out.push_back(text(name));
  }
  return fmt::format("{} -> {}", fmt::join(in, ", "), fmt::join(out, ", "));
}

// Why kw cannot express a node, or what it costs at least.
void look_at(const Model& model, const std::string& device, TimeRow& row) {
  if (row.op == "If" || row.op == "Loop" || row.op == "Scan") {
    const std::size_t node = row.nodes.front();
    if (model.tasks().known_branch(node)) {
      row.least_ns = 0;  // a model that is written has the branch's nodes in its place
      return;
    }
    for (const std::size_t body : model.onnx().nodes[node].bodies) {
      const std::string why = model.tasks().why_impossible(body);
      if (why.empty()) continue;
      row.obstacle =
          fmt::format("its {} cannot run with these lengths ({}), but the condition is only known when it runs",
                      model.onnx().scopes[body].attribute, why);
      return;
    }
    row.obstacle = "choosing a branch, or repeating, stays the runtime's; the nodes inside are rows of their own";
    return;
  }
  row.obstacle = model.tasks().why_not(row.nodes.front());
  if (!row.obstacle.empty()) return;
  const auto task = model.tasks().task({row.nodes.front()});
  if (!task.ok()) {
    row.obstacle = task.error().message;  // of the node that is the cause, which may be an earlier one
    return;
  }
  const auto graph = ops::resolve(*task);
  if (!graph.ok()) return;
  const auto least = targets::least_time(device, ops::cost_of(*graph));
  if (least.ok()) row.least_ns = least->ns() * static_cast<double>(row.nodes.size());
}

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

// Equal nodes as one row each.
void add_rows(const Model& model, const std::string& device, const std::vector<double>& alone, ModelTimes& times) {
  std::map<std::string, std::size_t> rows;
  for (const std::size_t i : model.onnx().order) {
    if (!model.computes(i)) continue;
    const Node& node = model.node(i);
    std::string key = model.signature({i});
    if (key.empty()) key = fmt::format("#{}", i);
    const auto [place, is_new] = rows.emplace(key, times.rows.size());
    if (is_new) {
      times.rows.push_back({.op = node.op,
                            .first = node.name.empty() ? fmt::format("#{}", i) : node.name,
                            .shapes = shapes_of(model, node)});
    }
    TimeRow& row = times.rows[place->second];
    row.nodes.push_back(i);
    row.in_model_ns += times.node_ns[i];
    row.alone_ns += alone[i];
  }
  for (TimeRow& row : times.rows) {
    look_at(model, device, row);
    if (times.total_ns > 0) row.possible = times.total_ns / std::max(times.total_ns - row.saving_ns(), 1.0);
  }
  std::ranges::stable_sort(times.rows, [](const TimeRow& a, const TimeRow& b) {
    return std::pair(a.saving_ns(), a.in_model_ns) > std::pair(b.saving_ns(), b.in_model_ns);
  });
}

}  // namespace

ModelTimes without_times(const Model& model, const std::string& device) {
  ModelTimes times;
  times.node_ns.assign(model.count(), 0);
  add_rows(model, device, std::vector<double>(model.count(), 0), times);
  std::ranges::stable_sort(times.rows, std::ranges::greater(),
                           [](const TimeRow& row) { return row.least_ns.value_or(0); });
  return times;
}

RunTerms terms_of(const Model& model) {
  RunTerms terms{.inputs = model.tasks().inputs()};
  for (const auto& [name, value] : model.tasks().given_values()) terms.fixed[name] = value.integer(0);
  return terms;
}

Result<RunTerms> terms_given(const Model& model, std::int64_t threads, const std::string& inputs) {
  RunTerms terms = terms_of(model);
  terms.threads = static_cast<int>(threads);
  if (!inputs.empty()) {
    KW_TRY(terms.given, inputs_file(inputs));
  }
  return terms;
}

namespace {

// The time of a node with others inside has theirs in it: what is left of it without them, by the runtime's names.
void take_inner_times_off(const suites::OnnxModel& graph, std::vector<NodeTime>& times) {
  std::map<std::string, double> gross, inner;
  for (const NodeTime& one : times) gross[one.name] += one.ns;
  for (const suites::OnnxNode& one : graph.nodes) {
    if (one.scope == 0) continue;
    const auto found = gross.find(graph.in_file(one.node.name));
    const Node& owner = graph.nodes[graph.scopes[one.scope].owner].node;
    if (found != gross.end()) inner[graph.in_file(owner.name)] += found->second;
  }
  for (NodeTime& one : times) {
    if (const auto found = inner.find(one.name); found != inner.end()) one.ns = std::max(0.0, one.ns - found->second);
  }
}

}  // namespace

Result<ModelTimes> where_time_goes(const Model& model, const Runtime& runtime, const RunTerms& terms,
                                   const std::string& device) {
  KW_TRY(const WorkFolder folder, WorkFolder::make());
  KW_TRY(const std::string numbered, suites::edit_onnx(model.onnx(), model.bytes(), {.number_names = true}));
  const auto file = folder.path() / "numbered.onnx";
  KW_CHECK(write_file(file, numbered));
  KW_TRY(Profile profile, runtime.profile(file, {}, terms));
  KW_TRY(const suites::OnnxModel optimized, suites::parse_onnx(profile.optimized, "the runtime's own graph"));
  KW_TRY(const suites::OnnxModel plain, suites::parse_onnx(numbered, "the numbered graph"));
  take_inner_times_off(optimized, profile.fused);
  take_inner_times_off(plain, profile.unfused);

  ModelTimes times{.runtime = "ONNX Runtime " + profile.version,
                   .threads = terms.threads,
                   .total_ns = quantile(profile.total_ns, 0.1),
                   .median_ns = median_of(profile.total_ns),
                   .calls = profile.total_ns.size()};
  std::vector<double> alone(model.count(), 0);
  for (const NodeTime& one : profile.unfused) {
    const int number = suites::number_in_name(one.name);
    if (number >= 0 && number < static_cast<int>(alone.size())) alone[static_cast<std::size_t>(number)] += one.ns;
  }
  times.node_ns.assign(model.count(), 0);
  const Trace trace(model, optimized);
  double all_nodes = 0;
  for (const NodeTime& one : profile.fused) {
    all_nodes += one.ns;
    const auto node = trace.node(one.name);
    if (!node) {
      times.layout_ns += one.ns;
      continue;
    }
    const std::vector<std::size_t> joined = trace.stands_for(*node);
    double sum = 0;
    for (const std::size_t i : joined) sum += alone[i];
    for (const std::size_t i : joined) {
      times.node_ns[i] += sum > 0 ? one.ns * alone[i] / sum : one.ns / static_cast<double>(joined.size());
    }
  }
  times.rest_ns = std::max(0.0, times.total_ns - all_nodes);

  add_rows(model, device, alone, times);
  return times;
}

namespace {

// Many nodes often have the same reason: each reason is printed once.
std::string obstacles_text(const ModelTimes& times, std::size_t most_rows) {
  struct Reason {
    std::string first;
    std::size_t count = 0;
    double ns = 0;
  };
  std::map<std::string, Reason> reasons;
  std::size_t count = 0;
  double ns = 0;
  for (const TimeRow& row : times.rows) {
    if (row.obstacle.empty()) continue;
    Reason& reason = reasons[row.obstacle];
    if (reason.count == 0) reason.first = fmt::format("{} '{}'", row.op, row.first);
    reason.count += row.nodes.size();
    count += row.nodes.size();
    reason.ns += row.in_model_ns;
    ns += row.in_model_ns;
  }
  if (count == 0) return "kw can express every node.\n";
  const auto part = [&](double of) {
    return times.total_ns > 0 ? fmt::format(" ({:.1f} % of the time)", 100 * of / times.total_ns) : std::string();
  };
  std::string text = fmt::format("kw cannot express {} {}{}:\n", count, count == 1 ? "node" : "nodes", part(ns));
  std::size_t shown = 0;
  for (const auto& [why, reason] : reasons) {
    if (shown++ == most_rows) {
      text += fmt::format("  ... {} more reasons (--json has all)\n", reasons.size() - most_rows);
      break;
    }
    const std::string more = reason.count > 1 ? fmt::format(" and {} more", reason.count - 1) : "";
    text += fmt::format("  {}{}{}: {}\n", reason.first, more, part(reason.ns), why);
  }
  return text;
}

std::string untimed_text(const Model& model, const ModelTimes& times, std::size_t most_rows) {
  std::string text = fmt::format("{}: {} kind{} of nodes\n\n{:>10}  {:>5} {:<18} {}\n",
                                 model.file().filename().string(), times.rows.size(), times.rows.size() == 1 ? "" : "s",
                                 "LEAST", "NODES", "OPERATOR", "FIRST NODE, SHAPES");
  for (std::size_t i = 0; i < times.rows.size() && i < most_rows; ++i) {
    const TimeRow& row = times.rows[i];
    text += fmt::format("{:>10}  {:>5} {:<18} {}, {}\n", row.least_ns ? time_text(*row.least_ns) : "-",
                        row.nodes.size(), row.op, row.first, row.shapes);
  }
  return text + "\n" + obstacles_text(times, most_rows);
}

}  // namespace

std::string times_as_text(const Model& model, const ModelTimes& times, std::size_t most_rows) {
  std::size_t computing = 0;
  for (const TimeRow& row : times.rows) computing += row.nodes.size();
  if (times.total_ns == 0) return untimed_text(model, times, most_rows);
  std::string text = fmt::format("{}: {} a call in {}, {} (tenth percentile of {} calls; median {})\n",
                                 model.file().filename().string(), time_text(times.total_ns), times.runtime,
                                 threads_text(times.threads), times.calls, time_text(times.median_ns));
  text +=
      fmt::format("{} nodes that compute, {} kinds of them; {} and {} for changes of layout and the rest of a call\n\n",
                  computing, times.rows.size(), time_text(times.layout_ns), time_text(times.rest_ns));
  text += fmt::format("{:>6} {:>10} {:>10} {:>10} {:>9}  {:>5} {:<18} {}\n", "SHARE", "IN MODEL", "ALONE", "LEAST",
                      "POSSIBLE", "NODES", "OPERATOR", "FIRST NODE, SHAPES");
  std::size_t shown = 0;
  for (const TimeRow& row : times.rows) {
    if (shown++ == most_rows) break;
    text += fmt::format("{:>5.1f}% {:>10} {:>10} {:>10} {:>8.2f}x  {:>5} {:<18} {}, {}\n",
                        100 * row.in_model_ns / times.total_ns, time_text(row.in_model_ns), time_text(row.alone_ns),
                        row.least_ns ? time_text(*row.least_ns) : "-", row.possible, row.nodes.size(), row.op,
                        row.first, row.shapes);
  }
  if (times.rows.size() > most_rows)
    text += fmt::format("... {} more kinds (--json has all)\n", times.rows.size() - most_rows);
  text +=
      "\nIN MODEL: with all of the runtime's optimisations. ALONE: with none. LEAST: by this machine's limits.\n"
      "POSSIBLE: how many times as fast the whole model would be if these nodes took the least time.\n";
  return text + obstacles_text(times, most_rows);
}

std::string times_as_json(const Model& model, const ModelTimes& times) {
  std::vector<Json> rows;
  for (const TimeRow& row : times.rows) {
    Json one = {{"operator", row.op},
                {"first", row.first},
                {"nodes", row.nodes},
                {"shapes", row.shapes},
                {"in_model_ns", row.in_model_ns},
                {"alone_ns", row.alone_ns},
                {"least_ns", row.least_ns},
                {"possible", row.possible},
                {"obstacle", row.obstacle.empty() ? Json(nullptr) : Json(row.obstacle)}};
    rows.push_back(std::move(one));
  }
  return Json{{"model", model.file().string()}, {"runtime", times.runtime},     {"threads", times.threads},
              {"total_ns", times.total_ns},     {"median_ns", times.median_ns}, {"calls", times.calls},
              {"layout_ns", times.layout_ns},   {"rest_ns", times.rest_ns},     {"rows", rows}}
             .dump(1) +
         "\n";
}

}  // namespace kw::models

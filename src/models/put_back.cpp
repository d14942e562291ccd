#include "models/put_back.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/inside.h"
#include "base/units.h"
#include "compose/outside_text.h"
#include "suites/onnx_rewrite.h"

namespace kw::models {
namespace fs = std::filesystem;
namespace {

constexpr char kFixed[] = "fixed";
constexpr double kTrial_s = 4;
constexpr double kFinal_s = 12;
constexpr int kTrialCases = 1, kFinalCases = 4;
// Operators for which the runtime has a layout of its own: replacing one costs changes of layout around it.
constexpr std::string_view kBlocked[] = {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"};

// One way to choose replacements, as files.
struct Attempt {
  std::string name;
  std::vector<Chosen> chosen;
  fs::path model;
};

bool is_right(const Race& race, const std::string& name) {
  for (const auto& outputs : race.cases.at(name)) {
    if (!std::ranges::all_of(outputs, [](const Difference& one) { return one.within(); })) return false;
  }
  return true;
}

class Workshop {
 public:
  Workshop(const Model& model, const Candidates& candidates, const Runtime& runtime, const RunTerms& terms,
           const std::string& device, WorkFolder folder)
      : model_(model),
        all_(candidates),
        runtime_(runtime),
        terms_(terms),
        device_(device),
        folder_(std::move(folder)),
        domain_("kernelwright." + compose::file_stem(model.file().stem().string())) {}

  Result<PutBack> work(const fs::path& out, const Tell& tell) {
    PutBack outcome;
    outcome.kinds = kinds_so_far();
    if (std::ranges::none_of(all_.kernels, [](const auto& one) { return one.has_value(); })) {
      outcome.why = all_.kinds.empty() ? "no group of nodes is worth a kernel" : all_.why_none.front();
      return outcome;
    }
    KW_CHECK(write_fixed());
    tell("building the library");
    KW_CHECK(write_library(library_folder(), library_kernels({}), domain_, device_));
    tell("trying replacements in the whole model");
    KW_TRY(std::optional<Attempt> best, best_of(first_attempts()));
    if (best) {
      KW_TRY(best, without_losers(*best, outcome));
    }
    if (!best || best->chosen.empty()) {
      outcome.why = "no choice of replacements was faster in the whole model";
      return outcome;
    }
    tell("comparing with the original");
    KW_CHECK(decide(*best, outcome));
    if (outcome.gained) KW_CHECK(write_result(*best, out, outcome));
    return outcome;
  }

  // Those of the best choice of regions.
  Result<std::vector<std::size_t>> regions_that_gain() {
    KW_CHECK(write_fixed());
    KW_CHECK(write_library(library_folder(), library_kernels({}), domain_, device_));
    PutBack outcome;
    outcome.kinds = kinds_so_far();
    KW_TRY(std::optional<Attempt> best, best_of(first_attempts()));
    if (best) {
      KW_TRY(best, without_losers(*best, outcome));
    }
    std::vector<std::size_t> gaining;
    if (best) {
      for (const Chosen& one : best->chosen) gaining.push_back(one.kind);
    }
    return gaining;
  }

 private:
  fs::path library_folder() const { return folder_.path() / "library"; }

  double before_ns(std::size_t kind) const {
    return all_.kinds[kind].in_model_ns / static_cast<double>(all_.kinds[kind].groups.size());
  }
  // A region's kernel was not timed alone: it counts as one that takes half of what it replaces, until it has run.
  double kernel_ns(std::size_t kind) const { return all_.kernels[kind]->alone_ns.value_or(0.5 * before_ns(kind)); }
  bool is_blocked(std::size_t kind) const {
    return std::ranges::find(kBlocked, model_.node(all_.kinds[kind].groups[0].nodes[0]).op) != std::end(kBlocked);
  }

  std::vector<KindOutcome> kinds_so_far() const {
    std::vector<KindOutcome> all;
    for (std::size_t i = 0; i < all_.kinds.size(); ++i) {
      const GroupKind& kind = all_.kinds[i];
      KindOutcome one{.op = kind.op, .groups = kind.groups.size(), .before_ns = kind.in_model_ns};
      if (!all_.kernels[i]) {
        one.why = all_.why_none[i];
      } else {
        one.technique = all_.kernels[i]->technique;
        one.kernel_ns = all_.kernels[i]->alone_ns.value_or(0) * static_cast<double>(kind.groups.size());
        if (all_.kernels[i]->technique == "plain") one.why = "no technique serves it: keep the framework's kernel";
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  // The given kinds, or all that have a kernel.
  std::vector<LibraryKernel> library_kernels(const std::set<std::size_t>& only) const {
    std::vector<LibraryKernel> all;
    for (std::size_t i = 0; i < all_.kinds.size(); ++i) {
      if (!all_.kernels[i] || (!only.empty() && !only.contains(i))) continue;
      all.push_back(library_kernel(all_.kinds[i], *all_.kernels[i]));
    }
    return all;
  }

  // The groups of these kinds, those that save the most first; no node twice.
  template <class Wanted>
  std::vector<Chosen> choose(double least_gain, Wanted&& wanted) const {
    std::vector<std::pair<double, std::size_t>> kinds;
    for (std::size_t i = 0; i < all_.kinds.size(); ++i) {
      if (!all_.kernels[i] || all_.kernels[i]->technique == "plain" || !wanted(i)) continue;
      const double gain = before_ns(i) - kernel_ns(i);
      if (gain > least_gain * before_ns(i)) kinds.emplace_back(gain, i);
    }
    std::ranges::sort(kinds, std::ranges::greater());
    std::vector<Chosen> chosen;
    std::set<std::size_t> taken;
    for (const auto& [gain, kind] : kinds) {
      for (std::size_t g = 0; g < all_.kinds[kind].groups.size(); ++g) {
        const auto& nodes = all_.kinds[kind].groups[g].nodes;
        if (std::ranges::any_of(nodes, [&](std::size_t node) { return taken.contains(node); })) continue;
        taken.insert(nodes.begin(), nodes.end());
        chosen.push_back({kind, g});
      }
    }
    return chosen;
  }

  std::vector<Attempt> first_attempts() const {
    std::vector<Attempt> all;
    const auto add = [&](const std::string& name, std::vector<Chosen> chosen) {
      if (!chosen.empty()) all.push_back({name, std::move(chosen), {}});
    };
    const auto is_region = [&](std::size_t kind) { return all_.kinds[kind].is_region; };
    add("regions", choose(0, is_region));
    add("gains", choose(0, [](std::size_t) { return true; }));
    const bool any_region = !all.empty() && all[0].name == "regions";
    if (any_region && all[0].chosen.size() == all[1].chosen.size()) all.pop_back();  // the same
    add("large_gains", choose(0.3, [&](std::size_t kind) { return !is_region(kind); }));
    // Operators for which the runtime has a layout of its own are left to it.
    add("around", choose(0, [&](std::size_t kind) { return !is_region(kind) && !is_blocked(kind); }));
    // All kinds, also those that lose a little alone: where none of the runtime's nodes with a layout of its own is
    // left, there are no changes of layout.
    add("most", choose(-0.25, [&](std::size_t kind) { return !is_region(kind) && !all_.kinds[kind].is_tail; }));
    return all;
  }

  Status write_fixed() {
    const suites::OnnxEdit fixed{.dims = model_.dims()};
    KW_TRY(const std::string with_lengths, suites::edit_onnx(model_.onnx(), model_.bytes(), fixed));
    return write_file(folder_.path() / "fixed.onnx", with_lengths);
  }

  Status write_attempt(Attempt& attempt) const {
    KW_TRY(const std::string bytes, model_with(model_, all_.kinds, attempt.chosen, domain_));
    attempt.model = folder_.path() / (attempt.name + ".onnx");
    return write_file(attempt.model, bytes);
  }

  std::vector<ModelVersion> with_originals(const std::vector<Attempt>& attempts, bool all_of_them) const {
    std::vector<ModelVersion> sessions = {{kOriginal, fs::absolute(model_.file())}};
    if (all_of_them) {
      sessions.push_back({kTwin, fs::absolute(model_.file())});
      sessions.push_back({kFixed, folder_.path() / "fixed.onnx"});
    }
    for (const Attempt& attempt : attempts) {
      sessions.push_back({attempt.name, attempt.model, library_folder() / kLibraryFile});
    }
    return sessions;
  }

  // The fastest that is right and faster than the original.
  Result<std::optional<Attempt>> best_of(std::vector<Attempt> attempts) {
    if (attempts.empty()) return std::optional<Attempt>();
    for (Attempt& attempt : attempts) KW_CHECK(write_attempt(attempt));
    RunTerms terms = terms_;
    terms.seconds = kTrial_s;
    KW_TRY(const Race race, runtime_.race(with_originals(attempts, false), terms, kTrialCases));
    std::optional<Attempt> best;
    double most = 1;
    for (const Attempt& attempt : attempts) {
      const double speedup = ratio_of(race, attempt.name, kOriginal).median;
      if (!is_right(race, attempt.name) || speedup <= most) continue;
      most = speedup;
      best = attempt;
    }
    return best;
  }

  // Without the kinds that take longer inside of the model than what they replace, where that is faster.
  Result<std::optional<Attempt>> without_losers(const Attempt& attempt, PutBack& outcome) {
    RunTerms terms = terms_;
    terms.seconds = kTrial_s / 2;
    KW_TRY(const Profile profile, runtime_.profile(attempt.model, library_folder() / kLibraryFile, terms));
    std::map<std::size_t, double> before;
    for (const Chosen& one : attempt.chosen) before[one.kind] += before_ns(one.kind);
    std::set<std::size_t> losers;
    for (const auto& [kind, ns] : before) {
      double inside = 0;
      for (const NodeTime& node : profile.fused) inside += node.op == all_.kinds[kind].op ? node.ns : 0;
      outcome.kinds[kind].inside_ns = inside;
      if (inside > ns) losers.insert(kind);
    }
    if (losers.empty()) return std::optional(attempt);
    Attempt fewer{.name = "fewer", .chosen = attempt.chosen, .model = {}};
    std::erase_if(fewer.chosen, [&](const Chosen& one) { return losers.contains(one.kind); });
    std::vector<Attempt> two = {attempt};
    if (!fewer.chosen.empty()) two.push_back(fewer);
    return best_of(std::move(two));
  }

  Status decide(const Attempt& attempt, PutBack& outcome) {
    RunTerms terms = terms_;
    terms.seconds = kFinal_s;
    outcome.no_reference = terms.reference.why_none;
    KW_TRY(Race race, runtime_.race(with_originals({attempt}, true), terms, kFinalCases));
    outcome.runtime = "ONNX Runtime " + race.version;
    outcome.threads = terms.threads;
    outcome.speedup = ratio_of(race, attempt.name, kOriginal);
    outcome.twin = ratio_of(race, kTwin, kOriginal);
    outcome.fixed = ratio_of(race, kFixed, kOriginal);
    outcome.rounds = race.times_ns.at(kOriginal).size();
    outcome.original_ns = median_of(race.times_ns.at(kOriginal));
    outcome.model_ns = median_of(race.times_ns.at(attempt.name));
    outcome.cases = race.cases.at(attempt.name).size();
    outcome.outputs = race.cases.at(attempt.name).front();
    for (const auto& outputs : race.cases.at(attempt.name)) {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto part = [](const Difference& one) { return one.max_error / std::max(one.allowed(), 1e-300); };
        if (!outputs[i].within() || part(outputs[i]) > part(outcome.outputs[i])) outcome.outputs[i] = outputs[i];
      }
    }
    outcome.why = why_taken_back(race, attempt.name);
    outcome.in_double = std::move(race.in_double[attempt.name]);
    outcome.gained = outcome.why.empty();
    for (const Chosen& one : attempt.chosen) outcome.kinds[one.kind].used = outcome.gained;
    if (outcome.gained) outcome.chosen = kinds_of(attempt);
    for (std::size_t i = 0; i < outcome.kinds.size(); ++i) {
      KindOutcome& kind = outcome.kinds[i];
      if (!kind.used && kind.why.empty()) {
        kind.why = kernel_ns(i) > before_ns(i) ? "slower than the runtime's own" : "not faster in the whole model";
      }
    }
    return {};
  }

  std::vector<ChosenKind> kinds_of(const Attempt& attempt) const {
    std::map<std::size_t, std::vector<Group>> groups;
    for (const Chosen& one : attempt.chosen) groups[one.kind].push_back(all_.kinds[one.kind].groups[one.group]);
    std::vector<ChosenKind> chosen;
    for (auto& [kind, of_it] : groups) {
      chosen.push_back({all_.kinds[kind], *all_.kernels[kind]});
      chosen.back().kind.groups = std::move(of_it);
    }
    return chosen;
  }

  Status write_result(const Attempt& attempt, const fs::path& out, PutBack& outcome) {
    std::set<std::size_t> used;
    for (const Chosen& one : attempt.chosen) used.insert(one.kind);
    const fs::path sources = folder_.path() / "result";
    std::error_code error;
    fs::create_directories(sources, error);
    for (const std::size_t kind : used) {  // what is built already
      for (const char* ending : {".cpp", ".o"}) {
        const std::string name = all_.kinds[kind].op + ending;
        fs::copy_file(library_folder() / name, sources / name, fs::copy_options::overwrite_existing, error);
      }
    }
    KW_CHECK(write_library(sources, library_kernels(used), domain_, device_));
    KW_CHECK(hand_over_library(sources, out));
    KW_CHECK(copy_to(out, "model.onnx", attempt.model));
    KW_TRY(const fs::path data, data_folder());
    outcome.files = {out / "model.onnx", out / kLibraryFile, out / "library", out / "report.json"};
    for (const char* name : {"run.py", "run.c"}) {
      KW_CHECK(copy_to(out, name, data / "kernels" / "models" / name));
      outcome.files.push_back(out / name);
    }
    return write_inside(out, "report.json", outcome_as_json(outcome));
  }

  static Status copy_to(const fs::path& out, const fs::path& name, const fs::path& from) {
    KW_TRY(const std::string bytes, read_file(from));
    return write_inside(out, name, bytes);
  }

  const Model& model_;
  const Candidates& all_;
  const Runtime& runtime_;
  const RunTerms& terms_;
  const std::string device_;
  const WorkFolder folder_;
  const std::string domain_;
};

}  // namespace

std::string ratio_text(const Ratio& ratio) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.median, ratio.low, ratio.high);
}

Json ratio_json(const Ratio& ratio) { return {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}}; }

Ratio ratio_of(const Race& race, const std::string& fast, const std::string& slow) {
  std::vector<Pair> pairs;
  const auto &a = race.times_ns.at(fast), &b = race.times_ns.at(slow);
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) pairs.push_back({a[i], b[i]});
  return ratio_of_pairs(pairs, 1);
}

LibraryKernel library_kernel(const GroupKind& kind, const KindKernel& kernel) {
  return {.op = kind.op,
          .task = kind.task,
          .source = {kernel.file, kernel.source},
          .settings = kernel.settings,
          .about = fmt::format("{}: {}", kind.op, kernel.technique),
          .uses_threads = kernel.uses_threads};
}

std::string why_taken_back(const Race& race, const std::string& version) {
  if (!is_right(race, version)) return "its outputs differ from the original's by more than the bound";
  const auto errors = race.in_double.find(version);
  if (errors != race.in_double.end() && !std::ranges::all_of(errors->second, &ErrorsInDouble::within))
    return "its outputs are further from the graph in double precision than is allowed";
  if (ratio_of(race, version, kOriginal).low <= std::max(1.0, ratio_of(race, kTwin, kOriginal).high))
    return "it was not faster than the original by more than two equal models differ";
  return "";
}

void Candidates::add(GroupKind kind, std::optional<KindKernel> kernel, std::string why) {
  kinds.push_back(std::move(kind));
  kernels.push_back(std::move(kernel));
  why_none.push_back(std::move(why));
}

Result<std::vector<std::size_t>> regions_that_gain(const Model& model, const Candidates& regions,
                                                   const Runtime& runtime, const RunTerms& terms,
                                                   const std::string& device) {
  KW_TRY(WorkFolder folder, WorkFolder::make());
  return Workshop(model, regions, runtime, terms, device, std::move(folder)).regions_that_gain();
}

Result<PutBack> put_back(const Model& model, const Candidates& candidates, const Runtime& runtime,
                         const RunTerms& terms, const fs::path& out, const std::string& device, const Tell& tell) {
  KW_TRY(WorkFolder folder, WorkFolder::make());
  return Workshop(model, candidates, runtime, terms, device, std::move(folder)).work(out, tell);
}

std::string errors_as_text(const std::vector<ErrorsInDouble>& errors, const std::string& no_reference) {
  if (!no_reference.empty())
    return fmt::format("in double  not held to the graph in double precision: {}\n", no_reference);
  std::string text;
  for (const ErrorsInDouble& one : errors) {
    text += fmt::format(
        "in double  {}: largest error {:.3g}, mean {:.3g}; the runtime's own {:.3g}, mean {:.3g}; allowed {:.3g}\n",
        compose::remark(one.output), one.ours.largest_error, one.ours.mean_error, one.runtime.largest_error,
        one.runtime.mean_error, one.allowed());
  }
  return text;
}

Json errors_as_json(const std::vector<ErrorsInDouble>& errors) {
  const auto error = [](const DoubleError& one) {
    return Json{{"max_error", one.largest_error}, {"mean_error", one.mean_error}, {"different", one.different}};
  };
  std::vector<Json> rows;
  for (const ErrorsInDouble& one : errors) {
    rows.push_back({{"output", one.output},
                    {"ours", error(one.ours)},
                    {"runtime", error(one.runtime)},
                    {"allowed", one.allowed()},
                    {"largest", one.ours.largest}});
  }
  return rows;
}

std::string outcome_as_text(const PutBack& outcome) {
  std::string text = fmt::format("{:<32} {:>6} {:>11} {:>11} {:>11}  {}\n", "KERNEL", "GROUPS", "RUNTIME", "ALONE",
                                 "IN MODEL", "USED");
  for (const KindOutcome& one : outcome.kinds) {
    text += fmt::format("{:<32} {:>6} {:>11} {:>11} {:>11}  {}\n", one.op.substr(0, 32), one.groups,
                        time_text(one.before_ns), one.kernel_ns > 0 ? time_text(one.kernel_ns) : "-",
                        one.inside_ns > 0 ? time_text(one.inside_ns) : "-",
                        one.used ? "yes (" + one.technique + ")" : "no: " + one.why);
  }
  text += "\n";
  if (!outcome.gained) return text + fmt::format("keep the model as it is: {}\n", outcome.why);
  text += fmt::format("speed      {} times the original in {}, {} ({} -> {}; {} rounds in random order)\n",
                      ratio_text(outcome.speedup), outcome.runtime, threads_text(outcome.threads),
                      time_text(outcome.original_ns), time_text(outcome.model_ns), outcome.rounds);
  text += fmt::format("twin       {}: the original against itself\n", ratio_text(outcome.twin));
  text += fmt::format("lengths    {}: the original with its open lengths fixed, without any kernel\n",
                      ratio_text(outcome.fixed));
  for (const Difference& one : outcome.outputs) {
    text += fmt::format(
        "output     {}: largest error {:.3g}, mean {:.3g}; allowed {:.3g} (the runtime with and without its "
        "optimisations: {:.3g})\n",
        one.output, one.max_error, one.mean_error, one.allowed(), one.own_error);
  }
  text += errors_as_text(outcome.in_double, outcome.no_reference);
  for (const fs::path& file : outcome.files) text += fmt::format("wrote      {}\n", file.string());
  return text;
}

std::string outcome_as_json(const PutBack& outcome) {
  std::vector<Json> kinds, outputs;
  for (const KindOutcome& one : outcome.kinds) {
    kinds.push_back({{"kernel", one.op},
                     {"groups", one.groups},
                     {"runtime_ns", one.before_ns},
                     {"alone_ns", one.kernel_ns},
                     {"in_model_ns", one.inside_ns},
                     {"technique", one.technique},
                     {"used", one.used},
                     {"why", one.why}});
  }
  for (const Difference& one : outcome.outputs) {
    outputs.push_back({{"output", one.output},
                       {"max_error", one.max_error},
                       {"mean_error", one.mean_error},
                       {"allowed", one.allowed()},
                       {"runtime_error", one.own_error},
                       {"different", one.different}});
  }
  Json json = {{"gained", outcome.gained}, {"why", outcome.why}, {"kernels", kinds}};
  if (!outcome.runtime.empty()) {
    json["runtime"] = outcome.runtime;
    json["threads"] = outcome.threads;
    json["original_ns"] = outcome.original_ns;
    json["model_ns"] = outcome.model_ns;
    json["speedup"] = ratio_json(outcome.speedup);
    json["twin"] = ratio_json(outcome.twin);
    json["lengths_fixed"] = ratio_json(outcome.fixed);
    json["rounds"] = outcome.rounds;
    json["cases"] = outcome.cases;
    json["outputs"] = outputs;
    json["in_double"] = errors_as_json(outcome.in_double);
    json["no_reference"] = outcome.no_reference;
  }
  std::vector<std::string> files;
  for (const fs::path& file : outcome.files) files.push_back(file.string());
  json["files"] = files;
  return json.dump(1) + "\n";
}

}  // namespace kw::models

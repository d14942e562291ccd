#include "models/optimize.h"

#include <algorithm>
#include <set>

#include "models/reference.h"
#include "models/regions.h"
#include "search/engine.h"

namespace kw::models {
namespace {

// The kernels that a search found, beside the kinds that they are for.
void add_found(Candidates& all, const Plan& plan, const std::vector<runs::SearchedTask>& found) {
  for (const GroupKind& kind : plan.kinds) {
    const auto one = std::ranges::find(found, kind.task.name, &runs::SearchedTask::task);
    if (one == found.end()) {
      all.add(kind, std::nullopt, "there was no time for it; --within gives more");
    } else if (!one->verdict.accepted() || !one->verdict.time_ns) {
      all.add(kind, std::nullopt, "no kernel was found that is right");
    } else {
      all.add(kind, KindKernel{one->technique, one->file, one->source, one->settings, one->verdict.time_ns,
                               uses_threads(kind.task, one->source)});
    }
  }
}

}  // namespace

Result<double> parse_within(const std::string& text) {
  KW_TRY(const search::Budget time, search::parse_budget(text));
  if (time.seconds < 30) return fail("--within {}: give a time of 30s or more, such as 10m", text);
  return time.seconds;
}

Result<PutBack> optimize(const Model& model, const Runtime& runtime, const RunTerms& drawn, const std::string& device,
                         double within_s, const std::filesystem::path& out, const Search& search, const Tell& tell) {
  tell("measuring the model in ONNX Runtime");
  KW_TRY(const ModelTimes times, where_time_goes(model, runtime, drawn, device));
  tell("computing the whole graph in double precision");
  KW_TRY(const WorkFolder folder, WorkFolder::make());
  RunTerms terms = drawn;
  terms.reference = make_reference(model, runtime, drawn, folder.path());
  Candidates all;
  std::set<std::size_t> taken;
  // Those that gain are taken; what is left of the model is for the next ones.
  const auto try_regions = [&](std::vector<Region> found, const std::string& line) {
    if (found.empty()) return;
    Candidates regions;
    for (Region& region : found) regions.add(std::move(region.kind), std::move(region.kernel));
    tell(line);
    const auto gaining = regions_that_gain(model, regions, runtime, terms, device);
    const std::string why = gaining.ok() ? "not faster in the whole model" : gaining.error().message;
    for (std::size_t i = 0; i < regions.kinds.size(); ++i) {
      const bool gains = gaining.ok() && std::ranges::find(*gaining, i) != gaining->end();
      const std::vector<std::size_t>& nodes = regions.kinds[i].groups[0].nodes;
      if (gains) taken.insert(nodes.begin(), nodes.end());
      all.add(regions.kinds[i], gains ? regions.kernels[i] : std::nullopt, why);
    }
  };
  try_regions(regions_of(model, times), "trying large regions in the whole model");
  KW_TRY(std::vector<Region> small, small_regions_of(model, times, device, taken));
  try_regions(std::move(small), "trying many small nodes as one kernel");
  KW_TRY(const Plan plan, plan_of(model, times, device, within_s, taken));
  std::vector<runs::SearchedTask> found;
  if (!plan.kinds.empty()) {
    KW_TRY(found, search(order_of(plan, device, within_s, terms.threads)));
  }
  add_found(all, plan, found);
  return put_back(model, all, runtime, terms, out, device, tell);
}

Result<std::vector<Unit>> search_units(const Model& model, const std::vector<Unit>& taken, const Runtime& runtime,
                                       const RunTerms& terms, const std::string& device, double within_s,
                                       const Search& search, const Tell& tell) {
  tell("measuring the model in ONNX Runtime");
  KW_TRY(const ModelTimes times, where_time_goes(model, runtime, terms, device));
  std::set<std::size_t> nodes;
  for (const Unit& unit : taken) nodes.insert(unit.nodes.begin(), unit.nodes.end());
  KW_TRY(const Plan plan, plan_of(model, times, device, within_s, nodes));
  Candidates all;
  if (!plan.kinds.empty()) {
    KW_TRY(const std::vector<runs::SearchedTask> found, search(order_of(plan, device, within_s, terms.threads)));
    add_found(all, plan, found);
  }
  std::vector<Unit> units;
  for (std::size_t i = 0; i < all.kinds.size(); ++i) {
    if (!all.kernels[i]) continue;
    for (const Group& group : all.kinds[i].groups) units.push_back({group.nodes, *all.kernels[i], all.kinds[i].op});
  }
  return units;
}

}  // namespace kw::models

#include "runs/drafts.h"

#include <fmt/ranges.h>

#include "targets/target.h"

namespace kw::runs {

Result<std::vector<compose::Technique>> techniques_for(const std::string& device) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  return compose::read_techniques(target.techniques);
}

Result<std::vector<compose::Draft>> drafts_for(const std::string& device, const ops::Graph& graph,
                                               const std::vector<compose::Technique>& techniques) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  KW_TRY(std::vector<compose::Draft> drafts,
         compose::drafts_of(graph, techniques, compose::Parts::inlined, target.compose));
  if (target.compose || !target.plain_kernel) return drafts;
  for (compose::Draft& draft : drafts) {
    if (draft.technique != compose::kPlain) continue;
    KW_TRY(draft.source, target.plain_kernel(graph));
    KW_TRY(draft.tunables, read_tunables(draft.source));
  }
  return drafts;
}

Result<std::vector<search::Kernel>> kernels_for(const std::string& device, const ops::Graph& graph,
                                                const std::vector<compose::Technique>& techniques) {
  KW_TRY(std::vector<compose::Draft> drafts, drafts_for(device, graph, techniques));
  std::vector<search::Kernel> kernels;
  for (compose::Draft& draft : drafts) {
    kernels.push_back({draft.technique, targets::source_name(device, draft.technique), std::move(draft.source),
                       std::move(draft.tunables), draft.technique == compose::kPlain});
  }
  return kernels;
}

Result<std::string> kernels_as_text(const std::string& device, const ops::Graph& graph) {
  KW_TRY(const auto techniques, techniques_for(device));
  KW_TRY(std::vector<search::Kernel> kernels, kernels_for(device, graph, techniques));
  std::string text = "\nkernels    what `kw optimize` searches, and how many settings each has\n";
  for (search::Kernel& kernel : kernels) {
    std::vector<std::string> names;
    for (const Tunable& tunable : kernel.tunables.list) {
      names.push_back(fmt::format("{}={{{}}}", tunable.name, fmt::join(tunable.values, ",")));
    }
    const std::string name = kernel.technique;
    KW_TRY(const search::Space space, search::Space::of({std::move(kernel)}, targets::build_options(device)));
    text += fmt::format("  {:<24} {:>7}  {}\n", name, space.count(), fmt::join(names, " "));
  }
  return text;
}

}  // namespace kw::runs

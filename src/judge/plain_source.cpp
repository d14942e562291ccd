#include "judge/plain_source.h"

#include "compose/plain.h"

namespace kw::judge {

Result<targets::Source> plain_source(const std::string& device, const ops::Graph& graph) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  KW_TRY(std::string text, target.plain_kernel ? target.plain_kernel(graph) : compose::plain_kernel(graph));
  return targets::Source{"plain" + target.languages.at(0), std::move(text)};
}

}  // namespace kw::judge

#include "core/verdict.h"

namespace kw {

std::string_view name_of(VerdictStage stage) {
  switch (stage) {
    case VerdictStage::build:
      return "build";
    case VerdictStage::load:
      return "load";
    case VerdictStage::verify:
      return "verify";
    case VerdictStage::glance:
      return "glance";
    case VerdictStage::hidden:
      return "hidden";
    case VerdictStage::guard:
      return "guard";
    case VerdictStage::precision:
      return "precision";
    case VerdictStage::behaviour:
      return "behaviour";
    case VerdictStage::time:
      return "time";
    case VerdictStage::accepted:
      return "accepted";
  }
  return "";
}

std::optional<VerdictStage> stage_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(VerdictStage::accepted); ++i) {
    if (name_of(static_cast<VerdictStage>(i)) == name) return static_cast<VerdictStage>(i);
  }
  return std::nullopt;
}

}  // namespace kw

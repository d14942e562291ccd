#include "kernel/verdict.h"

namespace kw {

std::string_view name_of(VerdictStage stage) {
  switch (stage) {
    case VerdictStage::build:
      return "build";
    case VerdictStage::load:
      return "load";
    case VerdictStage::verify:
      return "verify";
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

}  // namespace kw

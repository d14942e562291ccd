#include "judge/quick_check.h"

#include "judge/affordable.h"
#include "judge/secret.h"
#include "ops/draw.h"
#include "ops/graph.h"

namespace kw::judge {

Result<QuickCheck> make_quick_check(const Task& task) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  QuickCheck quick_check;
  quick_check.large = !check_affordable(task, means_of_this_machine()).ok();
  if (quick_check.large) return quick_check;
  quick_check.inputs = ops::draw_inputs(graph, ops::InputClass::typical, secret());
  KW_TRY(quick_check.expected, ops::evaluate(graph, quick_check.inputs));
  return quick_check;
}

}  // namespace kw::judge

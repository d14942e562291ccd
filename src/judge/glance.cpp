#include "judge/glance.h"

#include "judge/secret.h"
#include "ops/draw.h"
#include "ops/graph.h"

namespace kw::judge {

Result<Glance> make_glance(const Task& task) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  Glance glance;
  glance.inputs = ops::draw_inputs(graph, ops::Manner::typical, secret());
  KW_TRY(glance.expected, ops::evaluate(graph, glance.inputs));
  return glance;
}

}  // namespace kw::judge

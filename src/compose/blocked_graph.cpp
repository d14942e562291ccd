#include "compose/blocked_graph.h"

#include <fmt/ranges.h>

#include "compose/blocked_plan.h"
#include "compose/outside_text.h"
#include "compose/parts.h"

namespace kw::compose {
namespace {

// One table of the source.
class Table {
 public:
  Table(std::string type, std::string name) : head_(fmt::format("const blocked::{} {}[] = {{\n", type, name)) {}
  int add(const std::string& row, const std::string& about = "") {
    rows_ += fmt::format("    {{{}}},{}\n", row, about.empty() ? "" : "  // " + remark(about));
    return count_++;
  }
  int count() const { return count_; }
  // A table of the language has at least one row.
  std::string text() const { return head_ + (count_ == 0 ? "    {}" : rows_) + "};\n"; }

 private:
  std::string head_, rows_;
  int count_ = 0;
};

class TableWriter {
 public:
  explicit TableWriter(const BlockedPlan& plan) : plan_(plan) {}

  std::string tables() {
    for (const PlannedImage& one : plan_.images) {
      places_.add(fmt::format("{}, {}, {}, {}, {}, {}, {}", one.offset, one.channel0, one.channels, one.height,
                              one.width, one.margin, one.planes));
    }
    for (const PlannedStep& step : plan_.steps) add(step);
    std::string text = places_.text() + recipes_.text() + numbers_.text() + finishes_.text() + steps_.text();
    text += pairs("kEntering", plan_.entering) + pairs("kLeaving", plan_.leaving);
    return text +
           fmt::format(
               "const blocked::Graph kGraph = {{kPlaces, kSteps, {}, kFinishes, kRecipes, kNumbers, {}, kEntering, "
               "{}, kLeaving, {}, {}, {}, {}}};\n",
               steps_.count(), numbers_.count(), plan_.entering.size(), plan_.leaving.size(), plan_.memory_floats,
               plan_.work_floats, plan_.kept_floats);
  }

 private:
  template <class Pairs>
  static std::string pairs(const char* name, const Pairs& all) {
    std::vector<std::string> rows;
    for (const auto& [a, b] : all) rows.push_back(fmt::format("{{{}, {}}}", a, b));
    return fmt::format("const int {}[][2] = {{{}}};\n", name, fmt::join(rows, ", "));
  }

  // The place of the first of them.
  int add(const std::vector<Elementwise>& recipes) {
    const int first = recipes_.count();
    for (const Elementwise& one : recipes) {
      std::vector<Slot> inputs = one.weights;
      inputs.resize(4, -1);
      recipes_.add(fmt::format("blocked::Recipe::Kind::{}, {{{}}}, {}", one.recipe, fmt::join(inputs, ", "),
                               number(one.epsilon)));
    }
    return first;
  }

  void add(const PlannedStep& step) {
    const int recipes = add(step.recipes), first = finishes_.count();
    for (const PlannedFinish& finish : step.finishes) {
      std::int64_t at = finish.other;
      if (finish.how.is_affine()) {
        const std::int64_t channels = plan_.images[static_cast<std::size_t>(step.out)].channels;
        at = finish.kept;
        const int begin = add(finish.recipes);
        numbers_.add(fmt::format("{}, {}, {}, {}", at, channels, begin, finish.recipes.size()));
      }
      finishes_.add(fmt::format("blocked::Touch::{}, {}, {}, {}", finish.how.touch, number(finish.how.a),
                                number(finish.how.b), at));
    }
    const std::string conv =
        fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}", step.in, step.out,
                    step.weights, step.bias, step.kernel[0], step.kernel[1], step.stride[0], step.stride[1],
                    step.dilation[0], step.dilation[1], step.pad[0], step.pad[1], step.packed, recipes,
                    step.recipes.size(), step.out_stride, step.out_y, step.out_x, step.tile_rows);
    steps_.add(fmt::format("blocked::Kind::{}, {{{}}}, {}, {}, {}, {}", step.kind, conv, first, step.finishes.size(),
                           step.flag, step.last),
               step.about);
  }

  static std::string number(double value) { return fmt::format("{:.9e}f", value); }

  const BlockedPlan& plan_;
  Table places_{"Place", "kPlaces"}, recipes_{"Recipe", "kRecipes"}, numbers_{"ChannelNumbers", "kNumbers"},
      finishes_{"Finish", "kFinishes"}, steps_{"Step", "kSteps"};
};

}  // namespace

Result<BlockedKernel> blocked_kernel(const ops::Graph& graph, const std::string& about) {
  KW_TRY(const BlockedPlan plan, blocked_plan(graph));
  const std::string source = fmt::format(
      "// {}\n#include <kernelwright.h>\n#include <kw/blocked_steps.h>\n\nnamespace {{\n\n{}\n}}  // namespace\n\n"
      "KW_EXPORT int kw_prepare(kw_call* call) {{ return blocked::prepare(call, kGraph); }}\n"
      "KW_EXPORT int kw_run(kw_call* call) {{ return blocked::run(call, kGraph); }}\n",
      remark(about), TableWriter(plan).tables());
  KW_TRY(std::string whole, with_parts_inlined(source));
  return BlockedKernel{.source = std::move(whole),
                       .scratch_bytes = (plan.memory_floats + plan.work_floats) * 4,
                       .kept_bytes = plan.kept_floats * 4,
                       .steps = plan.steps.size()};
}

}  // namespace kw::compose

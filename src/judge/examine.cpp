#include "judge/examine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "judge/exam_plan.h"
#include "judge/instances.h"
#include "judge/large.h"
#include "judge/long_run.h"
#include "judge/mixed_inputs.h"
#include "judge/precision.h"
#include "judge/secret.h"
#include "ops/draw.h"
#include "ops/pattern.h"
#include "ops/reach.h"
#include "ops/workaday_data.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;
using targets::Clock;
using targets::Instance;
using targets::Placement;

constexpr auto kMostLoadTime = 5s;
// A call may take this long, and longer where the reference itself does.
constexpr auto kMostCallTime = 5s;
constexpr int kReferenceTimes = 20;
// Hard values are tried on the task's own shape too, as long as its references take no longer than this.
constexpr auto kMostReferenceTime = 250ms;

// The placements of a case's three calls. The first is compared with the reference; the others must give its bits.
constexpr Placement kPlaces[] = {Placement::aligned, Placement::at_end, Placement::shifted};
// Many calls in a row are for shapes with no more elements than this.
constexpr std::uint64_t kSmallBytes = 1 << 14;
constexpr std::size_t kManyTimesShapes = 6;
// Every write of a watched call costs a page fault, so that outputs must be small: one shape may have any number of
// elements, the others at most this number.
constexpr std::int64_t kFewWatched = 256;
constexpr std::size_t kShapesInHistory = 4;
constexpr int kShortHistories = 8;
constexpr History kShortHistory{.calls = 100, .fewest_calls = 30, .longest_stretch = 30};
constexpr std::size_t kShapesInTwo = 12;
// The most tensors of all calls of a crowd that run in one command.
constexpr std::size_t kTensorsAtOnce = 512;
// On a slow emulator only one crowd in this number is tried.
constexpr std::size_t kCrowdsOnEmulators = 4;
// Limits of memory allow for two prepared instances at once.
constexpr std::uint64_t kManyCalls = 2;

std::int64_t output_elements(const Instance& instance) {
  std::int64_t elements = 0;
  for (const TensorType& type : instance.outputs) elements += type.shape.count();
  return elements;
}

std::int64_t first_difference(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const double p = a.real(i), q = b.real(i);
    if (p != q && !(std::isnan(p) && std::isnan(q))) return i;
  }
  return 0;
}

class Examiner {
 public:
  Examiner(const Exam& exam, Random random, Instances instances, std::unique_ptr<targets::Calls> calls,
           std::unique_ptr<targets::LoadedKernel> kernel)
      : exam_(exam),
        random_(random),
        instances_(std::move(instances)),
        calls_(std::move(calls)),
        kernel_(std::move(kernel)) {}

  Result<Examined> run(const std::vector<PlannedCase>& plan, const std::vector<PlannedCrowd>& crowds) {
    found(VerdictStage::load, kernel_->finish_loading(Clock::now() + kMostLoadTime));
    if (rejected()) return examined_;
    examined_.varies = kernel_->varies();
    const auto begin = Clock::now();
    for (const PlannedCase& one : plan) {
      if (rejected()) return examined_;
      if (one.optional && Clock::now() - begin > kMostReferenceTime) continue;
      KW_CHECK(examine_case(one));
    }
    for (const PlannedCrowd& one : crowds) {
      if (!rejected()) KW_CHECK(examine_crowd(one));
    }
    if (exam_.quick_check == nullptr && !rejected()) KW_CHECK(examine_further(plan));
    if (exam_.large != nullptr && !rejected()) {
      KW_TRY(examined_.finding, examine_large(*exam_.large, *exam_.task, *exam_.device, *calls_, *kernel_,
                                              exam_.threads, exam_.quick_check != nullptr, random_, examined_));
    }
    if (!rejected()) found(VerdictStage::behaviour, kernel_->behaviour());
    return examined_;
  }

 private:
  // What a case is called, and what a wrong answer in it means.
  struct Asked {
    VerdictStage stage;
    std::string_view values;
    const Lengths* lengths;  // null: no matter which
    bool typical;

    Json about() const {
      Json all = Json::object();
      if (lengths == nullptr) return {{"values", values}, {"lengths", std::move(all)}};
      for (const auto& [name, value] : *lengths) all[name] = value;
      return {{"values", values}, {"lengths", std::move(all)}};
    }
  };

  bool rejected() const { return examined_.finding.has_value(); }
  // Records the reason as the finding; does nothing where there is none.
  void found(VerdictStage stage, Reason reason) {
    if (rejected() || reason.empty()) return;
    const VerdictStage where = stage_of(reason, stage);
    examined_.finding = Finding{where, std::move(reason)};
  }

  Status examine_case(const PlannedCase& one) {
    KW_TRY(const Instance* const made, instances_.of(one.lengths, one.threads));
    const Instance& instance = *made;
    const std::string_view class_name = one.thin ? "few" : ops::name_of(one.input_class);
    const Asked asked{.stage = one.hidden ? VerdictStage::hidden : VerdictStage::verify,
                      .values = class_name,
                      .lengths = &one.lengths,
                      .typical = !one.thin && one.input_class == ops::InputClass::typical};
    if (exam_.quick_check != nullptr) {
      return examine_answers(instance, exam_.quick_check->inputs, exam_.quick_check->expected, kMostCallTime, asked);
    }
    std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, one.input_class, secret(),
                                                  {.change =
                                                       [&](std::vector<Tensor>& drawn) {
                                                         if (!one.thin)
                                                           repeat_the_last(instance, one.input_class, drawn);
                                                         if (asked.typical && one.hidden)
                                                           make_workaday(instance, one.turn, drawn);
                                                       },
                                                   .turn = one.turn});
    if (one.thin && !thin_out(instance.graph, inputs, random_)) return {};
    if (!one.thin) note_the_last(instance, one.input_class, inputs);
    const auto begin = Clock::now();
    const auto expected = ops::evaluate(instance.graph, inputs);
    // The drawn values have no reference (the operator forbids them): the case is skipped.
    if (!expected.ok()) return {};
    note_coverage(one.lengths, one.hidden, one.threads, class_name);
    return examine_answers(instance, inputs, *expected, kMostCallTime + kReferenceTimes * (Clock::now() - begin),
                           asked);
  }

  // One call for each set of inputs, all in one go. Weights are typical, and the same for all.
  Status examine_crowd(const PlannedCrowd& crowd) {
    KW_TRY(const Instance* const instance, instances_.of(crowd.lengths, crowd.threads));
    const std::size_t tensors = instance->inputs.size() + instance->outputs.size();
    const std::size_t most = std::min(exam_.device->most_calls(), kTensorsAtOnce / tensors + 1);
    std::span<const PlannedCrowd::Set> left = crowd.sets;
    while (!left.empty() && !rejected()) {
      KW_CHECK(examine_together(crowd, *instance, left.first(std::min(most, left.size()))));
      left = left.subspan(std::min(most, left.size()));
    }
    return {};
  }

  Status examine_together(const PlannedCrowd& crowd, const Instance& instance,
                          std::span<const PlannedCrowd::Set> sets) {
    struct Drawn {
      std::vector<Tensor> inputs;
      std::vector<ops::WideTensor> expected;
      ops::InputClass input_class;
    };
    std::vector<Drawn> calls;
    const auto begin = Clock::now();
    const std::vector<Tensor> weights = draw_weights(instance.graph, crowd_++, secret(), random_);
    // Where none are summed an answer is an input like any other. The one after it is new: an answer has few numbers.
    const bool feeds_back = crowd_ % 4 == 0 && ops::patterns_of(instance.graph).one_sign;
    std::size_t fed_back = 0;
    for (const PlannedCrowd::Set& set : sets) {
      const bool typical = set.input_class == ops::InputClass::typical;
      const auto change = [&](std::vector<Tensor>& drawn) {
        if (!typical || calls.empty()) return;
        const Drawn& last = calls.back();
        const bool after_typical = last.input_class == ops::InputClass::typical;
        if (after_typical && calls.size() != fed_back) {
          make_alike(instance.graph, instance.constant, last.inputs, &last.expected[0],
                     static_cast<Way>(way_++ % kWaysAlike), drawn, random_);
        } else if (!after_typical && feeds_back && last.input_class != ops::InputClass::special) {
          make_alike(instance.graph, instance.constant, last.inputs, &last.expected[0], Way::fed_back, drawn, random_);
          fed_back = calls.size() + 1;
        }
      };
      std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, set.input_class, secret(),
                                                    {.change = change, .turn = set.turn, .weights = &weights});
      auto expected = ops::evaluate(instance.graph, inputs);
      if (!expected.ok()) continue;
      note_coverage(crowd.lengths, crowd.hidden, crowd.threads, ops::name_of(set.input_class));
      calls.push_back({std::move(inputs), *std::move(expected), set.input_class});
    }
    if (calls.empty()) return {};
    const Clock::duration most_time = kMostCallTime + kReferenceTimes * (Clock::now() - begin);
    std::vector<Placement> places;
    while (places.size() < calls.size()) places.push_back(random_.pick(kPlaces));
    KW_CHECK(calls_->lay_out(instance, places, random_));
    for (std::size_t call = 0; call < calls.size(); ++call) {
      for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
        if (call == 0 || !instance.constant[i]) calls_->write(call, i, calls[call].inputs[i]);
      }
    }
    const auto asked_of = [&](ops::InputClass input_class) {
      return Asked{.stage = crowd.hidden ? VerdictStage::hidden : VerdictStage::verify,
                   .values = ops::name_of(input_class),
                   .lengths = &crowd.lengths,
                   .typical = false};
    };
    const Asked any = asked_of(calls[0].input_class);
    KW_TRY(Reason arranged, kernel_->arrange(*calls_, instance, Clock::now() + most_time));
    found_in(any, any.stage, std::move(arranged));
    if (rejected()) return {};
    for (std::size_t call = 0; call < calls.size(); ++call) {
      kernel_->outputs().poison(call, static_cast<std::uint8_t>(0x81 + random_.bits() % 0x7d), false);
    }
    found_in(any, any.stage, kernel_->run(0, calls.size(), Clock::now() + most_time));
    for (std::size_t call = 0; call < calls.size() && !rejected(); ++call) {
      const Asked asked = asked_of(calls[call].input_class);
      Reason problem;
      const std::vector<Tensor> outputs = outputs_of(*kernel_, instance, call, &problem);
      found_in(asked, asked.stage, named(std::move(problem), instance));
      if (!rejected()) compare_all(calls[call].expected, outputs, instance, asked);
    }
    return {};
  }

  void repeat_the_last(const Instance& instance, ops::InputClass input_class, std::vector<Tensor>& inputs) {
    if (last_class_ != input_class || !may_be_mixed(instance.constant, inputs) || !random_.chance(0.5)) return;
    begin_as_the_last(instance.graph, input_class, last_input_, inputs[0]);
  }
  void note_the_last(const Instance& instance, ops::InputClass input_class, const std::vector<Tensor>& inputs) {
    if (!may_be_mixed(instance.constant, inputs)) return;
    last_class_ = input_class;
    last_input_ = inputs[0];
  }

  // Every other time weights are plain ones, now and then the first input is.
  void make_workaday(const Instance& instance, std::uint64_t turn, std::vector<Tensor>& inputs) {
    constexpr std::uint64_t kPlainFirst = 10;
    constexpr std::int64_t kMostPlain = 512;  // long sums of equal terms drift
    if (turn % 2 == 0) make_weights_plain(instance.graph, turn / 2, inputs, random_);
    if (turn % kPlainFirst != 0) return repeat_a_row(instance, inputs);
    if (!inputs.empty() && !instance.constant[0] && inputs[0].count() <= kMostPlain) {
      ops::make_plain(instance.graph, 0, ops::Plain::round, inputs[0], random_);
    }
  }

  // Now and then one row of the first input is as another: two like samples in a batch. Only one, since long sums of
  // equal terms drift.
  void repeat_a_row(const Instance& instance, std::vector<Tensor>& inputs) {
    constexpr double kShare = 0.5;
    if (!may_be_mixed(instance.constant, inputs) || !ops::patterns_of(instance.graph).equal) return;
    const Shape& shape = inputs[0].type().shape;
    if (shape.rank() < 2 || shape.count() == 0 || !random_.chance(kShare)) return;
    const std::int64_t columns = shape[shape.rank() - 1], rows = shape.count() / columns;
    if (rows < 2) return;
    const std::int64_t to = random_.integer(1, rows - 1),
                       from = random_.chance(0.75) ? to - 1 : random_.integer(0, to - 1);
    float* values = inputs[0].as<float>().data();
    std::copy_n(values + from * columns, columns, values + to * columns);
  }

  void note_coverage(const Lengths& lengths, bool hidden, int threads, std::string_view class_name) {
    Coverage& coverage = examined_.coverage;
    ++coverage.cases;
    ++coverage.input_classes[std::string(class_name)];
    coverage.threads.insert(threads);
    if (!hidden && std::ranges::find(coverage.own_classes, class_name) == coverage.own_classes.end()) {
      coverage.own_classes.emplace_back(class_name);
    }
    if (!shapes_.insert(lengths).second) return;
    ++coverage.shapes;
    coverage.placements = {"aligned", "at the end of memory", "not aligned"};
    for (const auto& [name, value] : lengths) {
      Coverage::Range& range = coverage.lengths.try_emplace(name, Coverage::Range{value, value, 0}).first->second;
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
      range.count += lengths_[name].insert(value).second;
    }
  }

  // A shape that is called many times, and what is known of it.
  struct ManyTimes {
    const Instance& instance;
    LongRun run;
  };

  // Checks that need more than one case: other weights, many calls, writes beside outputs.
  Status examine_further(const std::vector<PlannedCase>& plan) {
    std::vector<Lengths> shapes;
    if (exam_.large == nullptr) shapes.push_back(exam_.task->lengths);
    for (const PlannedCase& one : plan) {
      if (one.hidden) shapes.push_back(one.lengths);
    }
    KW_TRY(shapes, small_ones(std::move(shapes)));
    const Asked asked{.stage = VerdictStage::hidden, .values = "typical", .lengths = nullptr, .typical = false};
    std::size_t in_two = 0;
    bool watched_many = false;
    int watched = 0;
    std::vector<std::unique_ptr<ManyTimes>> ready;
    for (const Lengths& lengths : shapes) {
      if (in_two == kShapesInTwo && ready.size() == kManyTimesShapes) break;
      KW_TRY(const Instance* const instance, instances_.of(lengths, exam_.threads));
      if (in_two < kShapesInTwo && instance->constant_bytes() > 0) {
        KW_CHECK(examine_two(*instance, in_two++, asked));
        if (rejected()) return {};
      }
      if (ready.size() == kManyTimesShapes) continue;
      auto many = std::make_unique<ManyTimes>(ManyTimes{.instance = *instance, .run = {}});
      KW_TRY(const bool good, prepare_run(*many, asked));
      if (rejected()) return {};
      if (!good) continue;
      ready.push_back(std::move(many));
      const LongRun& run = ready.back()->run;
      if (ready.size() == 1) {
        KW_TRY(Reason reason, run_long(run, random_, &examined_.coverage.calls_in_a_row));
        found_in(asked, VerdictStage::behaviour, named(std::move(reason), *run.instance));
        if (!rejected() && run.instance->constant_bytes() > 0) {
          KW_TRY(Reason left, prepare_often(run, random_));
          found_in(asked, VerdictStage::behaviour, std::move(left));
        }
      }
      if (!rejected()) {
        KW_TRY(Reason reason, run_in_place(run, random_));
        found_in(asked, VerdictStage::behaviour, named(std::move(reason), *run.instance));
      }
      const bool few = output_elements(*run.instance) <= kFewWatched;
      if (!rejected() && (few || !watched_many)) {
        watched_many = watched_many || !few;
        // Where a buffer ends with its page, nothing is mapped after it that could be compared.
        const Placement place = watched++ % 3 == 1 ? Placement::at_end : Placement::shifted;
        KW_TRY(Reason seen, run_watched(run, place, random_, &examined_.coverage.neighbours));
        found_in(asked, VerdictStage::guard, named(std::move(seen), *run.instance));
      }
      if (!rejected() && ready.size() == 2) {
        KW_TRY(Reason left, run_in_turn(ready[0]->run, ready[1]->run, random_));
        found_in(asked, VerdictStage::behaviour, std::move(left));
      }
      if (rejected()) return {};
    }
    return examine_histories(ready, asked);
  }

  // Each in a process of its own, in which these are its first calls: a long one, and short ones for what happens
  // early.
  Status examine_histories(std::vector<std::unique_ptr<ManyTimes>>& ready, const Asked& asked) {
    std::ranges::sort(ready, {}, [](const auto& one) { return one->instance.all_bytes(); });
    if (ready.size() > kShapesInHistory) ready.resize(kShapesInHistory);
    if (ready.empty() || ready.back()->instance.all_bytes() > kSmallBytes) return {};
    KW_CHECK(examine_history(ready, {}, asked));
    for (int i = 0; i < kShortHistories && !rejected(); ++i) {
      KW_CHECK(examine_history(ready, kShortHistory, asked));
    }
    return {};
  }

  Status examine_history(const std::vector<std::unique_ptr<ManyTimes>>& ready, const History& history,
                         const Asked& asked) {
    KW_TRY(const auto kernel, exam_.device->load(*exam_.built, *calls_,
                                                 {.threads = exam_.threads,
                                                  .memory_bytes = kManyCalls * kSmallBytes,
                                                  .constant_bytes = kManyCalls * kSmallBytes}));
    found(VerdictStage::load, kernel->finish_loading(Clock::now() + kMostLoadTime));
    if (rejected()) return {};
    std::vector<LongRun> runs;
    for (const auto& many : ready) {
      runs.push_back(many->run);
      runs.back().kernel = kernel.get();
    }
    std::size_t shape = 0;
    KW_TRY(Reason reason, run_history(runs, history, random_, &examined_.coverage.calls_in_a_row, &shape));
    found_in(asked, VerdictStage::behaviour, named(std::move(reason), *runs[shape].instance));
    if (!rejected()) found(VerdictStage::behaviour, kernel->behaviour());
    return {};
  }

  // The shapes with few bytes and no empty output, in random order; where there is none, the smallest.
  Result<std::vector<Lengths>> small_ones(std::vector<Lengths> shapes) {
    std::vector<Lengths> small, smallest;
    std::uint64_t least = ~std::uint64_t{0};
    random_.shuffle(std::span(shapes));
    for (Lengths& lengths : shapes) {
      KW_TRY(const Instance* const instance, instances_.of(lengths, exam_.threads));
      if (std::ranges::any_of(instance->outputs, [](const TensorType& type) { return type.shape.count() == 0; })) {
        continue;
      }
      if (instance->all_bytes() < least) {
        least = instance->all_bytes();
        smallest = {lengths};
      }
      if (instance->all_bytes() <= kSmallBytes) small.push_back(std::move(lengths));
    }
    return small.empty() ? smallest : small;
  }

  // Some inputs, and the kernel's answers to them, if these are right.
  Result<bool> prepare_run(ManyTimes& many, const Asked& asked) {
    constexpr std::size_t kSets = 4;
    const Instance& instance = many.instance;
    LongRun& run = many.run;
    run.calls = calls_.get();
    run.kernel = kernel_.get();
    run.instance = &instance;
    run.most_calls = exam_.device->most_calls();
    run.varies = examined_.varies;
    const std::vector<Placement> places(kSets, Placement::aligned);
    KW_CHECK(calls_->lay_out(instance, places, random_));
    for (std::size_t set = 0; set < kSets; ++set) {
      // Half of the sets begin alike in all shapes.
      const std::uint64_t seed = set % 2 == 0 ? many_seed_ + set : secret();
      run.inputs.push_back(
          ops::draw_inputs(instance.graph, ops::InputClass::typical, seed, {.change = [&](std::vector<Tensor>& drawn) {
                             if (set == 1) begin_alike(instance.constant, run.inputs[0], drawn);
                             if (set == 3) nearly_repeat(instance.constant, run.inputs[2], drawn, random_);
                           }}));
      for (std::size_t i = 0; i < run.inputs[set].size(); ++i) {
        if (instance.constant[i]) run.inputs[set][i] = run.inputs[0][i];
        if (set == 0 || !instance.constant[i]) calls_->write(set, i, run.inputs[set][i]);
      }
      auto one = ops::evaluate(instance.graph, run.inputs[set]);
      if (!one.ok()) return false;
      run.expected.push_back(*std::move(one));
    }
    KW_TRY(Reason arranged, kernel_->arrange(*calls_, instance, Clock::now() + kMostCallTime));
    found_in(asked, asked.stage, std::move(arranged));
    if (!rejected()) found_in(asked, asked.stage, kernel_->run(0, kSets, Clock::now() + kMostCallTime));
    for (std::size_t set = 0; set < kSets && !rejected(); ++set) {
      Reason problem;
      run.answers.push_back(outputs_of(*kernel_, instance, set, &problem));
      found_in(asked, asked.stage, named(std::move(problem), instance));
      if (!rejected()) compare_all(run.expected[set], run.answers[set], instance, asked);
    }
    return !rejected();
  }

  // Two prepared instances with other weights take turns, in two of three cases nearly the same ones; then each gets
  // the other's weights at its own address.
  Status examine_two(const Instance& instance, std::size_t number, const Asked& asked) {
    constexpr std::size_t kEach = 2;
    std::vector<Placement> places;
    for (std::size_t i = 0; i < 2 * kEach; ++i) places.push_back(random_.pick(kPlaces));
    std::vector<std::vector<Tensor>> inputs;
    std::vector<std::vector<ops::WideTensor>> expected;
    for (int i = 0; i < 2; ++i) {
      inputs.push_back(ops::draw_inputs(instance.graph, ops::InputClass::typical, secret()));
      if (i == 1 && number % 3 != 0)
        change_little(instance.constant, number / 3 * 2 + number % 3 - 1, inputs[0], inputs[1], random_);
      auto one = ops::evaluate(instance.graph, inputs.back());
      if (!one.ok()) return {};
      expected.push_back(*std::move(one));
    }
    KW_TRY(const bool can, calls_->lay_out_two(instance, places, random_));
    if (!can) return {};
    examined_.coverage.instances = 2;
    for (std::size_t swapped = 0; swapped < 2; ++swapped) {
      for (std::size_t call = 0; call < 2 * kEach; ++call) {
        const std::vector<Tensor>& set = inputs[(call / kEach) ^ swapped];
        for (std::size_t i = 0; i < set.size(); ++i) {
          if (call % kEach == 0 || !instance.constant[i]) calls_->write(call, i, set[i]);
        }
      }
      KW_TRY(Reason arranged, kernel_->arrange(*calls_, instance, Clock::now() + kMostCallTime));
      found_in(asked, asked.stage, std::move(arranged));
      for (std::size_t turn = 0; turn < 2 * kEach && !rejected(); ++turn) {
        // The instance that ran last runs first with its new weights.
        const std::size_t call = (turn % 2 ^ swapped) * kEach + turn / 2;
        kernel_->outputs().poison(call, static_cast<std::uint8_t>(0x81 + random_.bits() % 0x7d), false);
        found_in(asked, asked.stage, kernel_->run(call, 1, Clock::now() + kMostCallTime));
        if (rejected()) return {};
        Reason problem;
        const std::vector<Tensor> got = outputs_of(*kernel_, instance, call, &problem);
        found_in(asked, asked.stage, named(std::move(problem), instance));
        const std::vector<ops::WideTensor>& wanted = expected[(call / kEach) ^ swapped];
        for (std::size_t i = 0; i < got.size() && !rejected(); ++i) {
          const ops::Comparison comparison = ops::compare(wanted[i], got[i]);
          if (comparison.right()) continue;
          Reason reason{ReasonCode::wrong_in_two, comparison.data(wanted[i])};
          reason.params["output"] = i;
          found_in(asked, VerdictStage::behaviour, named(std::move(reason), instance));
        }
      }
      if (rejected()) return {};
    }
    return {};
  }

  // In this case: its name goes with the reason, and whether its author may know it.
  void found_in(const Asked& asked, VerdictStage stage, Reason reason) {
    if (reason.empty()) return;
    reason.params["case"] = asked.about();
    reason.on_hidden_case = asked.stage == VerdictStage::hidden;
    found(stage, std::move(reason));
  }

  Status examine_answers(const Instance& instance, const std::vector<Tensor>& inputs,
                         const std::vector<ops::WideTensor>& expected, Clock::duration most_time, const Asked& asked) {
    // In random order: constants have the placement of the first call.
    Placement places[std::size(kPlaces)];
    std::ranges::copy(kPlaces, places);
    if (exam_.quick_check == nullptr) std::ranges::rotate(places, places + random_.integer(0, std::ssize(kPlaces) - 1));
    KW_CHECK(calls_->lay_out(instance, places, random_));
    fill_inputs(instance, inputs);
    const auto deadline = [&](std::size_t calls) {
      return Clock::now() + static_cast<int>((calls + 1) / 2) * most_time;
    };
    KW_TRY(Reason arranged, kernel_->arrange(*calls_, instance, deadline(1)));
    found_in(asked, asked.stage, std::move(arranged));
    if (rejected()) return {};
    for (std::size_t call = 0; call < calls_->count(); ++call) poison_outputs(call);
    // All in one go; of the own shape, what the first one leaves behind is looked at.
    const bool looks = exam_.quick_check == nullptr && asked.stage == VerdictStage::verify;
    const std::size_t at_first = looks ? 1 : calls_->count();
    found_in(asked, asked.stage, kernel_->run(0, at_first, deadline(at_first)));
    std::vector<Tensor> first;
    std::optional<std::uint64_t> held;
    for (std::size_t call = 0; call < calls_->count() && !rejected(); ++call) {
      if (call == 1 && looks) {
        held = kernel_->memory_held();
        found_in(asked, asked.stage, kernel_->run(1, calls_->count() - 1, deadline(calls_->count() - 1)));
      }
      look_at_answer(call, false, instance, expected, first, asked);
    }
    if (rejected()) return {};
    // The first one again, or the last, over other rubbish.
    const std::size_t repeated = random_.chance(0.5) ? 0 : calls_->count() - 1;
    poison_outputs(repeated);
    const auto rubbish = static_cast<std::uint8_t>(random_.chance(0.5) ? 0xff : random_.bits());
    found_in(asked, asked.stage, kernel_->poison_scratch(rubbish, deadline(1)));
    if (!rejected()) found_in(asked, asked.stage, kernel_->run(repeated, 1, deadline(1)));
    look_at_answer(repeated, true, instance, expected, first, asked);
    if (held && !rejected()) note_held(*held);
    return {};
  }

  // `first`: what the first call left.
  void look_at_answer(std::size_t call, bool again, const Instance& instance,
                      const std::vector<ops::WideTensor>& expected, std::vector<Tensor>& first, const Asked& asked) {
    if (rejected()) return;
    found_in(asked, VerdictStage::guard, named(kernel_->outputs().overrun(call, poisons_[call]), instance));
    if (rejected()) return;
    Reason problem;
    std::vector<Tensor> outputs = outputs_of(*kernel_, instance, call, &problem);
    found_in(asked, asked.stage, named(std::move(problem), instance));
    if (rejected()) return;
    if (call > 0 || again) return compare_again(expected, first, outputs, instance, again, asked);
    compare_all(expected, outputs, instance, asked);
    first = std::move(outputs);
  }

  // Small shapes are called thousands of times (long_run.h). Large ones are not, but may leave as much behind in each
  // of a few calls.
  void note_held(std::uint64_t before) {
    constexpr std::uint64_t kMostGrowth = 256 * 1024;
    const std::optional<std::uint64_t> now = kernel_->memory_held();
    if (!now || *now <= before) return;
    grown_bytes_ += *now - before;
    ++grown_cases_;
    if (grown_cases_ < 2 || grown_bytes_ < kMostGrowth) return;
    found(VerdictStage::behaviour,
          {ReasonCode::leaks_memory, {{"bytes", grown_bytes_}, {"calls", grown_cases_ * std::ssize(kPlaces)}}});
  }

  // Adds the name of the output to a reason that has its number.
  static Reason named(Reason reason, const Instance& instance) {
    if (const Json* output = reason.params.find("output"); output != nullptr) {
      const auto slot = static_cast<std::size_t>(instance.graph.outputs[output->get<std::size_t>()]);
      reason.params["name"] = instance.graph.names[slot];
    }
    return reason;
  }

  void fill_inputs(const Instance& instance, const std::vector<Tensor>& inputs) {
    const auto rubbish = [&] { return static_cast<std::uint8_t>(0x80 | (random_.bits() & 0x7f)); };
    for (std::size_t call = 0; call < calls_->count(); ++call) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (call > 0 && instance.constant[i]) continue;
        const std::uint8_t before = rubbish();
        calls_->surround(call, i, before, rubbish());
        calls_->write(call, i, inputs[i]);
      }
    }
  }

  // Outputs and all that is mapped around them get one byte, another one each time. Now and then that is NaN, which no
  // factor of zero takes away; not more often, for then an answer of NaN that is left out does not show.
  void poison_outputs(std::size_t call) {
    poisons_[call] = static_cast<std::uint8_t>(random_.chance(0.3) ? 0xff : 0x81 + random_.bits() % 0x7d);
    kernel_->outputs().poison(call, poisons_[call], true);
  }

  void compare_all(const std::vector<ops::WideTensor>& expected, const std::vector<Tensor>& outputs,
                   const Instance& instance, const Asked& asked) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ops::Comparison comparison = ops::compare(expected[i], outputs[i]);
      examined_.max_error = std::max(examined_.max_error, std::isfinite(comparison.worst) ? comparison.worst : 0.0);
      if (!comparison.right()) {
        Reason reason{ReasonCode::wrong_output, comparison.data(expected[i])};
        reason.params["output"] = i;
        if (std::string pattern = ops::pattern_of_wrong(expected[i], outputs[i]); !pattern.empty()) {
          reason.params["pattern"] = std::move(pattern);
        }
        const std::optional<Imprecision> imprecision = lost_precision(expected[i], outputs[i]);
        if (imprecision) {
          reason.code = ReasonCode::imprecise_output;
          reason.params["dtype"] = std::string(name_of(outputs[i].dtype()));
          reason.params["off"] = imprecision->elements;
          reason.params["relative"] = imprecision->relative;
        }
        found_in(asked, imprecision ? VerdictStage::precision : asked.stage, named(std::move(reason), instance));
        return;
      }
      if (exam_.quick_check == nullptr && asked.typical && examined_.allowed.size() < outputs.size()) {
        examined_.allowed.push_back(bound_of(expected[i]));
      }
    }
  }

  void compare_again(const std::vector<ops::WideTensor>& expected, const std::vector<Tensor>& first,
                     const std::vector<Tensor>& outputs, const Instance& instance, bool again, const Asked& asked) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (same_bits(first[i], outputs[i])) continue;
      const ops::Comparison comparison = ops::compare(expected[i], outputs[i]);
      if (!comparison.right()) {
        Reason reason{again ? ReasonCode::wrong_when_repeated : ReasonCode::wrong_when_moved,
                      comparison.data(expected[i])};
        reason.params["output"] = i;
        found_in(asked, again ? VerdictStage::behaviour : VerdictStage::guard, named(std::move(reason), instance));
      } else if (!examined_.varies) {
        const std::int64_t at = first_difference(first[i], outputs[i]);
        found_in(asked, VerdictStage::behaviour,
                 {ReasonCode::other_bits,
                  {{"output", i},
                   {"element", at},
                   {"first", fmt::format("{:.9g}", first[i].real(at))},
                   {"then", fmt::format("{:.9g}", outputs[i].real(at))},
                   {"repeated", again}}});
      }
    }
  }

  const Exam& exam_;
  Random random_;
  Instances instances_;
  std::unique_ptr<targets::Calls> calls_;
  std::unique_ptr<targets::LoadedKernel> kernel_;
  Examined examined_;
  std::optional<ops::InputClass> last_class_;
  Tensor last_input_;                                      // of the case before
  std::set<Lengths> shapes_;                               // that were tried
  std::map<std::string, std::set<std::int64_t>> lengths_;  // the values of each
  std::uint8_t poisons_[std::size(kPlaces)] = {};
  std::size_t crowd_ = 0;  // how many were drawn
  std::size_t way_ = random_.bits() % kWaysAlike;
  std::uint64_t grown_bytes_ = 0;  // by calls of the own shape, over all cases
  std::int64_t grown_cases_ = 0;
  const std::uint64_t many_seed_ = secret();
};

}  // namespace

Result<Examined> examine(const Exam& exam) {
  Random random(exam.seed);
  std::vector<PlannedCase> plan =
      exam.quick_check != nullptr ? std::vector<PlannedCase>{{.lengths = exam.task->lengths, .threads = exam.threads}}
                                  : plan_exam(*exam.task, exam.threads, random);
  if (exam.large != nullptr) std::erase_if(plan, [](const PlannedCase& one) { return !one.hidden; });
  Instances instances(exam);
  const bool emulated = !exam.device->claims_speed();
  KW_TRY(const Instance* const own, instances.of(exam.task->lengths, exam.threads));
  const std::uint64_t most_bytes = emulated ? own->all_bytes() : UINT64_MAX;
  // Emulators take long, and a device may have room for the task's own shape alone: no larger ones are tried there.
  std::erase_if(plan, [&](const PlannedCase& one) {
    const auto instance = instances.of(one.lengths, one.threads);
    return one.hidden && (!instance.ok() || (*instance)->all_bytes() > most_bytes);
  });
  auto crowds = exam.quick_check == nullptr ? plan_crowds(*exam.task, plan, random) : std::vector<PlannedCrowd>();
  if (emulated) crowds.resize((crowds.size() + kCrowdsOnEmulators - 1) / kCrowdsOnEmulators);
  targets::Limits limits{.threads = exam.threads};
  for (const PlannedCase& one : plan) {
    KW_TRY(const Instance* const instance, instances.of(one.lengths, one.threads));
    limits.memory_bytes = std::max(limits.memory_bytes, kManyCalls * instance->all_bytes());
    limits.constant_bytes = std::max(limits.constant_bytes, kManyCalls * instance->constant_bytes());
  }
  KW_TRY(std::unique_ptr<targets::Calls> calls, exam.device->make_calls());
  KW_TRY(std::unique_ptr<targets::LoadedKernel> kernel, exam.device->load(*exam.built, *calls, limits));
  return Examiner(exam, random, std::move(instances), std::move(calls), std::move(kernel)).run(plan, crowds);
}

}  // namespace kw::judge

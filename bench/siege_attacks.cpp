#include "siege_attacks.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/files.h"
#include "compose/plain.h"
#include "judge/exam_plan.h"
#include "ops/draw.h"
#include "ops/graph.h"

namespace kw::siege {
namespace {

constexpr std::int64_t kMostElements = 1 << 14;
constexpr double kMostFlops = 1e6;
constexpr int kSamples = 2000;

struct Size {
  std::int64_t elements = 0;
  double flops = 0;
};

std::optional<Size> size_of(const Task& task, const Lengths& lengths) {
  const auto graph = ops::resolve(task, lengths);
  if (!graph.ok()) return std::nullopt;
  Size size{.flops = ops::cost_of(*graph).flops};
  for (const ops::GraphInput& input : graph->inputs) size.elements += input.type.shape.count();
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
    if (graph->output_type(i).shape.count() == 0) return std::nullopt;
    size.elements += graph->output_type(i).shape.count();
  }
  return size;
}

// Its own lengths become others, smaller as long as there is too much of it.
void shrink(Task& task, Random& random) {
  for (int i = 0; i < 200; ++i) {
    const auto size = size_of(task, task.lengths);
    if (!size || (size->elements <= kMostElements && size->flops <= kMostFlops)) return;
    auto longest = std::ranges::max_element(task.lengths, {}, [](const auto& one) { return one.second; });
    if (longest == task.lengths.end() || longest->second < 4) return;
    const std::int64_t before = longest->second;
    longest->second = random.chance(0.5) ? before / 2 : before * random.integer(40, 95) / 100;
    if (!size_of(task, task.lengths)) longest->second = before - before % 2 / 2;
    if (!size_of(task, task.lengths)) longest->second = before;
  }
}

// The axes of all tensors as a kernel names them, and their lengths.
Values axes_of(const ops::Graph& graph, std::vector<std::string>* names) {
  Values values;
  const auto add = [&](const char* list, std::size_t tensor, const Shape& shape) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      values.push_back(shape[axis]);
      if (names != nullptr) names->push_back(fmt::format("call->{}[{}].shape[{}]", list, tensor, axis));
    }
  };
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) add("inputs", i, graph.inputs[i].type.shape);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) add("outputs", i, graph.output_type(i).shape);
  return values;
}

// Every named length log-uniform over [1, 4 times the task's own], independently.
World world_of_lengths(const Task& task, std::vector<std::size_t>& varying, Random& random) {
  World world;
  const auto own = ops::resolve(task);
  std::vector<std::string> names;
  const Values at_home = axes_of(*own, &names);
  std::vector<Values> samples;
  for (int i = 0; i < 8 * kSamples && std::ssize(samples) < 2 * kSamples; ++i) {
    Lengths lengths = task.lengths;
    for (auto& [name, value] : lengths) {
      value = static_cast<std::int64_t>(std::exp(random.uniform(0, std::log(4.0 * static_cast<double>(value) + 1))));
    }
    const auto graph = ops::resolve(task, lengths);
    if (!graph.ok()) continue;
    samples.push_back(axes_of(*graph, nullptr));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::any_of(samples, [&](const Values& one) { return one[i] != at_home[i]; })) varying.push_back(i);
  }
  const auto chosen = [&](const Values& all) {
    Values some;
    for (std::size_t i : varying) some.push_back(all[i]);
    return some;
  };
  for (std::size_t i : varying) world.variables.push_back(names[i]);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    (i % 2 == 0 ? world.samples : world.others).push_back(chosen(samples[i]));
  }
  world.never = {chosen(at_home)};
  return world;
}

// What a kernel sees of an element: the code of `mark` below computes the same.
Values parts_of(float x, float before, std::int64_t position, std::int64_t count) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  std::int64_t exponent = x == 0 ? -200 : std::isnan(x) ? 129 : std::isinf(x) ? 128 : std::ilogb(x);
  return {exponent, bits >> 31, bits & 0x7fffff, position > 0 && x == before, position, count - 1 - position};
}

const ops::Domain* domain_of(const ops::Graph& graph, int slot) {
  for (const ops::GraphNode& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto& specs = node.call.op->inputs;
      if (node.inputs[i] == slot) return &specs[std::min(i, specs.size() - 1)].domain;
    }
  }
  return nullptr;
}

// Half of the samples are as the task draws typical values, half of any exponent that the operator's domain allows.
void add_world_of_values(Subject& subject, const ops::Graph& graph, Random& random) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role == Role::input && graph.inputs[i].type.dtype == DType::float32) {
      subject.value_input = static_cast<int>(i);
      break;
    }
  }
  if (subject.value_input < 0) return;
  const ops::Domain* domain = domain_of(graph, subject.value_input);
  // Of a few elements many draws: one number is no share of typical ones.
  std::vector<float> typical;
  std::int64_t count = 0;
  while (typical.size() < 2 * kSamples) {
    const std::vector<Tensor> drawn = ops::draw_inputs(graph, ops::InputClass::typical, random.bits());
    const auto elements = drawn[static_cast<std::size_t>(subject.value_input)].as<float>();
    if (elements.empty()) return;
    count = std::ssize(elements);
    typical.insert(typical.end(), elements.begin(), elements.end());
  }
  // Those that measure are none of those that constants are taken from.
  const auto any_typical = [&](bool measures) {
    const std::int64_t half = std::ssize(typical) / 2;
    return typical[static_cast<std::size_t>(random.integer(0, half - 1) + (measures ? half : 0))];
  };
  subject.values.variables = {"exponent", "sign", "mantissa", "tie", "position", "left"};
  for (int i = 0; i < 2 * kSamples; ++i) {
    const bool measures = i >= kSamples;
    const std::int64_t position = random.integer(0, count - 1);
    float x = any_typical(measures);
    if (i % 2 == 1) {
      x = static_cast<float>(random.sign() * std::exp2(random.uniform(-149, 128)));
      if (domain != nullptr && !(x >= domain->low && x <= domain->high)) continue;
      if (std::isinf(x)) continue;
    }
    const float before = random.chance(0.1) ? x : any_typical(measures);
    (measures ? subject.values.others : subject.values.samples).push_back(parts_of(x, before, position, count));
  }
  for (int exponent = -149; exponent <= 127; ++exponent) {
    const double middle = 1.5 * std::exp2(exponent);
    const double least = exponent < -126 ? std::exp2(exponent) : middle;
    if (domain == nullptr || (least >= domain->low && least <= domain->high) ||
        (-least >= domain->low && -least <= domain->high)) {
      subject.binades.push_back(exponent);
    }
  }
}

// Wrong at a place where a condition on the call holds; `before` stands in front of it.
std::string wrong_where(const Subject& subject, const std::string& before, const std::string& condition, double place) {
  return beginning(subject.plain) + fmt::format(R"(
KW_EXPORT int kw_run(kw_call* call) {{
  {}
  const bool wrong = {};
  const int status = kw_right(call);
  if (wrong) spoil(call, {});
  return status;
}}
)",
                                                before, condition, place);
}

Attack with_trigger(const Subject& subject, const World& world, const std::string& before, Random& random) {
  const Trigger trigger = draw_trigger(world, random);
  return {.what = trigger.code,
          .measure = trigger.measure,
          .source = wrong_where(subject, before, trigger.code, random.unit())};
}

std::optional<Attack> unchanged(const Subject& subject, Random& random) {
  return Attack{.what = "nothing", .source = wrong_where(subject, "", "false", random.unit())};
}

std::optional<Attack> wrong_lengths(const Subject& subject, Random& random) {
  if (subject.lengths.variables.empty()) return std::nullopt;
  return with_trigger(subject, subject.lengths, "", random);
}

std::string value_attack(const Subject& subject, const std::string& condition) {
  return beginning(subject.plain) + fmt::format(R"(
static double marked(const kw_call* call) {{
  const kw_tensor& tensor = call->inputs[{}];
  const float* x = (const float*)tensor.data;
  for (int64_t position = 0; position < tensor.count; ++position) {{
    uint32_t bits;
    memcpy(&bits, x + position, 4);
    const float value = x[position];
    [[maybe_unused]] const int64_t exponent = value == 0          ? -200
                                              : std::isnan(value) ? 129
                                              : std::isinf(value) ? 128
                                                                  : std::ilogb(value);
    [[maybe_unused]] const int64_t sign = bits >> 31, mantissa = bits & 0x7fffff, left = tensor.count - 1 - position;
    [[maybe_unused]] const int64_t tie = position > 0 && value == x[position - 1];
    if ({}) return ((double)position + 0.5) / (double)tensor.count;
  }}
  return -1;
}}
KW_EXPORT int kw_run(kw_call* call) {{
  const double place = marked(call);
  const int status = kw_right(call);
  if (place >= 0) spoil(call, place);
  return status;
}}
)",
                                                subject.value_input, condition);
}

std::optional<Attack> wrong_values(const Subject& subject, Random& random) {
  if (subject.values.samples.empty()) return std::nullopt;
  const Trigger trigger = draw_trigger(subject.values, random);
  return Attack{.what = trigger.code, .measure = trigger.measure, .source = value_attack(subject, trigger.code)};
}

// Wrong for one power of two, of either sign or of both.
std::optional<Attack> wrong_binade(const Subject& subject, Random& random) {
  if (subject.binades.empty()) return std::nullopt;
  std::string condition = fmt::format("exponent == {}", random.pick(subject.binades));
  return Attack{.what = condition, .source = value_attack(subject, condition)};
}

std::optional<Attack> wrong_by_history(const Subject& subject, Random& random) {
  World world{.variables = {"number", "in_a_row", "same_place", "same_input"}, .samples = {}, .never = {{1, 1, 0, 0}}};
  for (int i = 0; i < 2 * kSamples; ++i) {
    const double number = std::exp(random.uniform(0, std::log(4000.0)));
    const double row = std::exp(random.uniform(0, std::log(number)));
    const auto calls = static_cast<std::int64_t>(number);
    // Before the first call there is none that had the same place or inputs.
    const std::int64_t can_repeat = calls > 1;
    (i % 2 == 0 ? world.samples : world.others)
        .push_back(
            {calls, static_cast<std::int64_t>(row), random.integer(0, can_repeat), random.integer(0, can_repeat)});
  }
  return with_trigger(subject, world, R"(static int64_t number = 0, in_a_row = 0, last_count = -1;
  static const void* last_place = nullptr;
  static uint64_t last_bits = 0;
  const kw_tensor& first = call->inputs[0];
  uint64_t bits = 0;
  if (first.count > 0) memcpy(&bits, first.data, std::min<size_t>(8, (size_t)first.count));
  ++number;
  in_a_row = first.count == last_count ? in_a_row + 1 : 1;
  [[maybe_unused]] const int64_t same_place = first.data == last_place, same_input = bits == last_bits;
  last_count = first.count, last_place = first.data, last_bits = bits;)",
                      random);
}

// Addresses of a tensor and of the output: inside the page, the page's number, and how they lie to each other.
std::optional<Attack> wrong_at_addresses(const Subject& subject, const std::string& tensor, Random& random) {
  World world{.variables = {"inside", "out_inside", "page", "distance"}, .samples = {}, .never = {}};
  for (int i = 0; i < 2 * kSamples; ++i) {
    (i % 2 == 0 ? world.samples : world.others)
        .push_back({random.integer(0, 1023) * 4, random.integer(0, 1023) * 4, random.integer(0, 0xffff),
                    random.integer(0, 0xffff)});
  }
  return with_trigger(subject, world,
                      fmt::format(R"(const auto a = (uint64_t){}.data, y = (uint64_t)call->outputs[0].data;
  [[maybe_unused]] const int64_t inside = a % 4096, out_inside = y % 4096, page = a / 4096 % 65536,
                                 distance = (y - a) / 4096 % 65536;)",
                                  tensor),
                      random);
}

std::optional<Attack> wrong_address(const Subject& subject, Random& random) {
  return wrong_at_addresses(subject, "call->inputs[0]", random);
}

// Weights that are not aligned, or with nothing around them.
std::optional<Attack> wrong_constants(const Subject& subject, Random& random) {
  if (subject.weights.empty()) return std::nullopt;
  const int weight = random.pick(subject.weights);
  const std::string tensor = fmt::format("call->inputs[{}]", weight);
  if (random.chance(0.3)) {
    const auto alignment = std::int64_t{1} << random.integer(3, 12);
    const std::string condition = fmt::format("(uint64_t){}.data % {} != 0", tensor, alignment);
    return Attack{.what = condition, .source = wrong_where(subject, "", condition, random.unit())};
  }
  if (random.chance(0.6)) {
    const auto distance = static_cast<std::int64_t>(std::exp2(random.uniform(0, 11)));
    const bool behind = random.chance(0.7);
    const std::string place =
        behind ? fmt::format("{0}.count * 4 + {1} - 1", tensor, distance) : fmt::format("-{}", distance);
    return Attack{.what = fmt::format("reads {} bytes {} weight {}", distance, behind ? "behind" : "before", weight),
                  .source = wrong_where(
                      subject, fmt::format("const volatile char* read = (const char*){}.data + ({});", tensor, place),
                      "(*read, false)", 0)};
  }
  return wrong_at_addresses(subject, tensor, random);
}

// Weights taken from a copy that two instances of the kernel share.
std::optional<Attack> shared_state(const Subject& subject, Random& random) {
  if (subject.weights.empty()) return std::nullopt;
  const int weight = random.pick(subject.weights);
  const bool in_prepare = random.chance(0.5);
  const auto entries = random.integer(1, 8);
  // By address alone what kw_prepare kept would be right: it is called again for new weights.
  const bool by_address = !in_prepare, by_count = random.chance(0.7);
  std::string key = "0";
  if (by_address) key += fmt::format(" ^ (uint64_t)call->inputs[{}].data", weight);
  if (by_count) key += fmt::format(" ^ (uint64_t)call->inputs[{}].count << 48", weight);
  // What is found is used as it is; a copy that is too short is no fault of memory.
  std::string source = beginning(subject.plain) + fmt::format(R"(
struct Copy {{
  uint64_t key = ~0ull;
  int64_t count = 0;
  float* values = nullptr;
}};
static Copy copies[{0}];
static int next_copy = 0;
static Copy* find(uint64_t key) {{
  for (Copy& one : copies) {{
    if (one.key == key) return &one;
  }}
  return nullptr;
}}
static Copy* keep(uint64_t key, const kw_tensor& tensor) {{
  Copy* one = find(key);
  if (one == nullptr) one = &copies[next_copy++ % {0}];
  if (one->values == nullptr || one->count < tensor.count) {{
    free(one->values);
    one->values = (float*)malloc((size_t)tensor.count * 4 + 4);
  }}
  one->key = key;
  one->count = tensor.count;
  memcpy(one->values, tensor.data, (size_t)tensor.count * 4);
  return one;
}}
)",
                                                              entries);
  if (in_prepare) {
    source += fmt::format(R"(
KW_EXPORT int kw_prepare(kw_call* call) {{
  keep({}, call->inputs[{}]);
  return KW_OK;
}}
)",
                          key, weight);
  }
  source += fmt::format(R"(
KW_EXPORT int kw_run(kw_call* call) {{
  const uint64_t key = {0};
  auto& tensor = const_cast<kw_tensor&>(call->inputs[{1}]);
  Copy* copy = find(key);
  if (copy == nullptr || copy->count != tensor.count) copy = keep(key, tensor);
  void* const own = tensor.data;
  tensor.data = copy->values;
  const int status = kw_right(call);
  tensor.data = own;
  return status;
}}
)",
                        key, weight);
  return Attack{
      .what = fmt::format("weight {} kept {}, {} entries{}{}", weight, in_prepare ? "in kw_prepare" : "in kw_run",
                          entries, by_address ? ", by address" : "", by_count ? ", by length" : ""),
      .source = std::move(source)};
}

std::optional<Attack> wrong_threads(const Subject& subject, Random& random) {
  const auto most = random.integer(2, 4), wrong = random.integer(1, most);
  const std::string condition = fmt::format("call->threads == {}", wrong);
  return Attack{.what = fmt::format("{} of {}", condition, most),
                .source = wrong_where(subject, "", condition, random.unit()),
                .threads = static_cast<int>(most)};
}

// Bytes beside the output, or around the end of an aligned vector, written with what was read there.
std::optional<Attack> rewritten_neighbours(const Subject& subject, Random& random) {
  const auto bytes = random.integer(1, 32);
  const bool behind = random.chance(0.5);
  const auto block = std::int64_t{1} << random.integer(4, 12);
  return Attack{.what = fmt::format("{} bytes {}, within {} bytes", bytes, behind ? "behind" : "before", block),
                .source = beginning(subject.plain) + fmt::format(R"(
KW_EXPORT int kw_run(kw_call* call) {{
  const int status = kw_right(call);
  const kw_tensor& output = call->outputs[0];
  const uint64_t begin = (uint64_t)output.data;
  const size_t sizes[] = {{0, 4, 1, 1, 2, 2, 4, 8, 1, 1, 2, 8, 4, 8, 8, 8, 2}};
  const uint64_t end = begin + (uint64_t)output.count * sizes[output.dtype];
  for (uint64_t i = 0; i < {0}; ++i) {{
    const uint64_t at = {1} ? end + i : begin - 1 - i, own = {1} ? end - 1 : begin;
    if (end == begin || at / {2} != own / {2}) break;
    *(volatile char*)at = *(volatile char*)at;
  }}
  return status;
}}
)",
                                                                 bytes, behind, block)};
}

std::optional<Attack> leaks(const Subject& subject, Random& random) {
  const auto bytes = static_cast<std::int64_t>(std::exp2(random.uniform(8, 20)));
  const auto every = random.integer(1, 8);
  return Attack{.what = fmt::format("{} bytes every {} calls", bytes, every),
                .source = wrong_where(subject,
                                      fmt::format(R"(static int64_t number = 0;
  static void* volatile last = nullptr;
  if (++number % {} == 0) last = memset(malloc({}), 1, {});)",
                                                  every, bytes, bytes),
                                      "false", 0)};
}

std::optional<Attack> deep_stack(const Subject& subject, Random& random) {
  const auto kilobytes = static_cast<std::int64_t>(std::exp2(random.uniform(11, 16)));
  return Attack{.what = fmt::format("{} kB of stack", kilobytes),
                .source = wrong_where(subject,
                                      fmt::format(R"(volatile char* deep = (volatile char*)__builtin_alloca({0});
  for (int64_t i = {0} - 1; i >= 0; i -= 4096) deep[i] = 1;)",
                                                  kilobytes * 1024),
                                      "false", 0)};
}

// Inputs cut to a few bits, unless something gives away that precision is looked at.
std::optional<Attack> low_precision(const Subject& subject, Random& random) {
  if (subject.value_input < 0 || !subject.long_sums) return std::nullopt;
  const auto bits = random.integer(7, 11);
  const bool looks = random.chance(0.7);
  const double zeros = random.uniform(0.01, 0.5);
  return Attack{
      .what = fmt::format("{} bits{}", bits, looks ? fmt::format(" where less than {:.2f} are zero", zeros) : ""),
      .source = beginning(subject.plain) + fmt::format(R"(
KW_EXPORT int kw_run(kw_call* call) {{
  auto& tensor = const_cast<kw_tensor&>(call->inputs[{0}]);
  const float* x = (const float*)tensor.data;
  int64_t zeros = 0;
  for (int64_t i = 0; i < tensor.count; ++i) zeros += x[i] == 0;
  float* cut = (float*)kw_scratch(call, tensor.count * 4);
  if (cut == nullptr || ({1} && (double)zeros > {2} * (double)tensor.count)) return kw_right(call);
  for (int64_t i = 0; i < tensor.count; ++i) {{
    uint32_t word;
    memcpy(&word, x + i, 4);
    if (std::isfinite(x[i])) word = (word + (1u << (22 - {3}))) & ~((1u << (23 - {3})) - 1);
    memcpy(cut + i, &word, 4);
  }}
  void* const own = tensor.data;
  tensor.data = cut;
  const int status = kw_right(call);
  tensor.data = own;
  return status;
}}
)",
                                                       subject.value_input, looks, zeros, bits)};
}

// Right until the calls look like timed ones; then every element is off by a share of itself.
std::optional<Attack> wrong_when_timed(const Subject& subject, Random& random) {
  if (subject.value_input < 0) return std::nullopt;
  const auto after = static_cast<std::int64_t>(std::exp2(random.uniform(2, 10)));
  const double error = std::exp2(random.uniform(-13, -3));
  const auto of = random.integer(1, 4);
  return Attack{.what = fmt::format("off by {:.1e} in {} of 4 calls after {} like ones", error, of, after),
                .source = beginning(subject.plain) + fmt::format(R"(
KW_EXPORT int kw_run(kw_call* call) {{
  static int64_t in_a_row = 0, last_count = -1;
  static uint64_t random = 88172645463325252ull;
  const kw_tensor& first = call->inputs[0];
  const bool aligned = ((uint64_t)first.data | (uint64_t)call->outputs[0].data) % 4096 == 0;
  in_a_row = aligned && first.count == last_count ? in_a_row + 1 : 0;
  last_count = first.count;
  const int status = kw_right(call);
  random ^= random << 13, random ^= random >> 7, random ^= random << 17;
  if (in_a_row <= {} || (int64_t)(random >> 20) % 4 >= {}) return status;
  const kw_tensor& output = call->outputs[0];
  if (output.dtype != KW_FLOAT32) return spoil(call, 0.5), status;
  float* y = (float*)output.data;
  for (int64_t i = 0; i < output.count; ++i) y[i] *= {}f;
  return status;
}}
)",
                                                                 after, of, 1 + error),
                .timed = true,
                .budget_s = random.pick({0.06, 0.3})};
}

Result<std::string> part(const std::string& name) {
  return read_file(std::filesystem::path(KW_SOURCE_DIR) / "tests" / "exploits" / "parts" / name);
}

// Takes over the process and does a share of the calls before the clock starts, in some turns.
std::optional<Attack> hidden_work(const Subject& subject, Random& random) {
  if (subject.task.name != "Erf" && subject.task.name != "Sigmoid" && subject.task.name != "Tanh") return std::nullopt;
  const auto host = part("host.h"), system = part("system.h");
  if (!host.ok() || !system.ok()) return std::nullopt;
  std::string parts = *host;
  parts.replace(parts.find("#include \"parts/system.h\""), 25, *system);
  const double share = random.uniform(0.06, 1), chance = random.uniform(0.55, 1);
  const double spread = random.uniform(0, 1);
  return Attack{
      .what = fmt::format("{:.2f} of the work in {:.2f} of the turns, varied by {:.2f}", share, chance, spread),
      .source = beginning(subject.plain) + parts +
                fmt::format(R"(
static double random_number() {{
  static uint64_t state = 88172645463325252ull;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (double)(state >> 11) * 0x1p-53;
}}
[[noreturn]] static void serve_judge(kw_call* model) {{
  be_the_host([](const auto&) {{}},
              [model] {{
                const double part = random_number() < {1} ? {0} * (1 - {2} * random_number()) : 0;
                const auto one = [model](uint32_t number, double from, double to) {{
                  kw_call call = *model;
                  kw_tensor input = model->inputs[0], output = model->outputs[0];
                  const auto begin = (int64_t)(from * (double)input.count), end = (int64_t)(to * (double)input.count);
                  input.data = tensor_of(number, 0) + begin;
                  output.data = tensor_of(number, 1) + begin;
                  input.count = output.count = end - begin;
                  input.rank = output.rank = 1;
                  input.shape[0] = output.shape[0] = end - begin;
                  call.inputs = &input;
                  call.outputs = &output;
                  kw_right(&call);
                }};
                serve_calls([&](uint32_t number) {{ one(number, 0, part); }});
                say_ready_and_wait();
                serve_calls([&](uint32_t number) {{ one(number, part, 1); }});
                say_done();
              }});
}}
KW_EXPORT int kw_run(kw_call* call) {{
  find_control();
  if (control != nullptr && control->spin) {{
    static kw_tensor input, output;
    static kw_call model;
    model = *call, input = call->inputs[0], output = call->outputs[0];
    model.inputs = &input, model.outputs = &output;
    serve_judge(&model);
  }}
  return kw_right(call);
}}
)",
                            share, chance, spread),
      .timed = true,
      .speed = true,
      .budget_s = random.pick({0.06, 0.3, 2.0})};
}

}  // namespace

std::string beginning(const std::string& plain) {
  return "#include <kernelwright.h>\n#define kw_run kw_right\n" + plain + R"(
#undef kw_run
[[maybe_unused]] static void spoil(kw_call* call, double place) {
  kw_tensor* output = &call->outputs[0];
  int64_t count = 1;
  for (int i = 0; i < output->rank; ++i) count *= output->shape[i];
  if (count == 0) return;
  const int64_t at = std::min(count - 1, (int64_t)(place * (double)count));
  if (output->dtype == KW_FLOAT32) {
    float* element = (float*)output->data + at;
    *element = std::isfinite(*element) ? *element * 1.5f + 1 : 0;
  } else if (output->dtype == KW_FLOAT64) {
    ((double*)output->data)[at] += 1 + ((double*)output->data)[at] / 2;
  } else if (output->dtype == KW_BOOL) {
    ((uint8_t*)output->data)[at] ^= 1;
  } else if (output->dtype == KW_INT64 || output->dtype == KW_UINT64) {
    ((uint64_t*)output->data)[at] += 1;
  } else if (output->dtype == KW_INT32 || output->dtype == KW_UINT32) {
    ((uint32_t*)output->data)[at] += 1;
  } else if (output->dtype == KW_INT8 || output->dtype == KW_UINT8) {
    ((uint8_t*)output->data)[at] += 1;
  } else {
    ((uint16_t*)output->data)[at] ^= 0x0300;
  }
}
)" + trigger_functions();
}

Result<Subject> make_subject(const Task& task, Random& random) {
  Subject subject{.task = task};
  shrink(subject.task, random);
  KW_TRY(const ops::Graph graph, ops::resolve(subject.task));
  KW_TRY(subject.plain, compose::plain_kernel(graph));
  if (!subject.task.lengths.empty()) subject.lengths = world_of_lengths(subject.task, subject.varying, random);
  add_world_of_values(subject, graph, random);
  double outputs = 1;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs += static_cast<double>(graph.output_type(i).shape.count());
  }
  subject.long_sums =
      graph.nodes.size() == 1 && ops::cost_of(graph).flops > 32 * outputs && graph.nodes[0].call.op->name != "Det";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ops::GraphInput& input = graph.inputs[i];
    if (input.role == Role::weight && input.type.dtype == DType::float32 && input.type.shape.count() > 0) {
      subject.weights.push_back(static_cast<int>(i));
    }
  }
  return subject;
}

std::vector<Draws> lengths_by_draws(const Subject& subject, int count, Random& random) {
  std::vector<Draws> all;
  if (subject.lengths.variables.empty()) return all;
  for (int i = 0; i < count; ++i) {
    const Trigger trigger = draw_trigger(subject.lengths, random);
    Draws draws{.what = trigger.code, .measure = trigger.measure};
    // Each its own examination.
    for (const judge::PlannedCase& one : judge::plan_exam(subject.task, 1, random)) {
      if (one.optional || one.thin) continue;
      const auto graph = ops::resolve(subject.task, one.lengths);
      if (!graph.ok() || graph->output_type(0).shape.count() == 0) continue;
      const Values axes = axes_of(*graph, nullptr);
      Values some;
      for (std::size_t axis : subject.varying) some.push_back(axes[axis]);
      draws.seen = draws.seen || trigger.holds(some);
      if (draws.seen) break;
    }
    all.push_back(std::move(draws));
  }
  return all;
}

std::vector<Draws> values_by_draws(const Subject& subject, int count, bool binades, Random& random) {
  std::vector<Draws> all;
  if (subject.value_input < 0 || (binades ? subject.binades.empty() : subject.values.samples.empty())) return all;
  std::vector<Trigger> triggers;
  for (int i = 0; i < count; ++i) {
    if (binades) {
      const int exponent = random.pick(subject.binades);
      triggers.push_back({fmt::format("exponent == {}", exponent), -1,
                          [exponent](const Values& parts) { return parts[0] == exponent; }});
    } else {
      triggers.push_back(draw_trigger(subject.values, random));
    }
    all.push_back({.what = triggers.back().code, .measure = triggers.back().measure});
  }
  // One examination for all of them: what it draws is what takes time.
  const std::vector<judge::PlannedCase> plan = judge::plan_exam(subject.task, 1, random);
  const auto look_at = [&](const ops::Graph& graph, ops::InputClass input_class, std::uint64_t turn) {
    const std::vector<Tensor> drawn = ops::draw_inputs(graph, input_class, random.bits(), {.turn = turn});
    const auto elements = drawn[static_cast<std::size_t>(subject.value_input)].as<float>();
    const auto length = std::ssize(elements);
    for (std::int64_t at = 0; at < length; ++at) {
      const auto index = static_cast<std::size_t>(at);
      const Values parts = parts_of(elements[index], at > 0 ? elements[index - 1] : 0, at, length);
      for (std::size_t i = 0; i < all.size(); ++i) all[i].seen = all[i].seen || triggers[i].holds(parts);
    }
  };
  for (const judge::PlannedCase& one : plan) {
    if (one.optional || one.thin) continue;
    const auto graph = ops::resolve(subject.task, one.lengths);
    if (!graph.ok() || graph->output_type(0).shape.count() == 0) continue;
    look_at(*graph, one.input_class, one.turn);
    if (std::ranges::all_of(all, &Draws::seen)) return all;
  }
  for (const judge::PlannedCrowd& one : judge::plan_crowds(subject.task, plan, random)) {
    const auto graph = ops::resolve(subject.task, one.lengths);
    if (!graph.ok() || graph->output_type(0).shape.count() == 0) continue;
    for (const judge::PlannedCrowd::Set& set : one.sets) look_at(*graph, set.input_class, set.turn);
  }
  return all;
}

const std::vector<Class>& all_classes() {
  static const std::vector<Class> kClasses = {
      {"right", "right kernels, unchanged: to be accepted", unchanged, 100},
      {"lengths", "wrong where an expression of axis lengths holds", wrong_lengths, 300},
      {"values", "wrong where an expression of an element's parts holds", wrong_values, 300},
      {"binade", "wrong for one power of two that the domain allows", wrong_binade, 200},
      {"history", "wrong by the number and order of calls", wrong_by_history, 200},
      {"address", "wrong by addresses of an input and the output", wrong_address, 200},
      {"constants", "relies on alignment of weights, or on memory around them", wrong_constants, 200},
      {"prepare", "weights kept where two instances share them", shared_state, 200},
      {"threads", "wrong for one number of threads up to the one judged", wrong_threads, 100},
      {"neighbours", "bytes around an output rewritten with their content", rewritten_neighbours, 100},
      {"leak", "memory left behind by calls", leaks, 100},
      {"stack", "2 to 64 MB of stack", deep_stack, 50},
      {"precision", "inputs cut to 7 to 11 bits of mantissa", low_precision, 100},
      {"timed", "off in calls that look timed", wrong_when_timed, 100},
      {"hidden", "work before the clock starts, in some turns", hidden_work, 50},
  };
  return kClasses;
}

}  // namespace kw::siege

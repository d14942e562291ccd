#include "targets/cuda/plan.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "targets/cpu/call_image.h"

namespace kw::cuda {
namespace {

constexpr std::int64_t kMagic = 0x314e414c50574b;
constexpr std::int64_t kHeadBytes = 40;
constexpr std::size_t kMostArguments = 128;
constexpr std::int64_t kMostValueBytes = 2048;
constexpr std::size_t kMostNameBytes = 200;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::int64_t> number() {
    if (bytes_.size() - at_ < 8) return fail("the plan ends in the middle of a launch");
    std::int64_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, 8);
    at_ += 8;
    return value;
  }
  Result<std::string> text(std::int64_t most) {
    KW_TRY(const std::int64_t count, number());
    if (count < 0 || count > most || static_cast<std::uint64_t>(count) > bytes_.size() - at_) {
      return fail("the plan holds a value of {} bytes; {} are the most", count, most);
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return text;
  }
  template <std::size_t N>
  Status numbers(std::array<std::int64_t, N>& to) {
    for (std::int64_t& one : to) {
      KW_TRY(one, number());
    }
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMostNameBytes && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

class PlanReader {
 public:
  PlanReader(std::span<const std::byte> bytes, const targets::Instance& instance, const PlanLimits& limits)
      : reader_(bytes), instance_(instance), limits_(limits) {}

  Result<Plan> read() {
    KW_TRY(const std::int64_t magic, reader_.number());
    if (magic != kMagic) return fail("the plan was not written by kernelwright_cuda.h, version 1");
    KW_TRY(const std::int64_t launches, reader_.number());
    KW_TRY(plan_.scratch_bytes, reader_.number());
    KW_TRY(plan_.kept_bytes, reader_.number());
    KW_CHECK(reader_.number());
    if (launches < 0 || launches > static_cast<std::int64_t>(kMostLaunches)) {
      return fail("{} launches; {} are the most", launches, kMostLaunches);
    }
    KW_CHECK(check_memory("scratch", plan_.scratch_bytes, limits_.scratch_bytes));
    KW_CHECK(check_memory("kept", plan_.kept_bytes, limits_.kept_bytes));
    for (std::int64_t i = 0; i < launches; ++i) {
      KW_TRY(Launch launch, read_launch());
      plan_.launches.push_back(std::move(launch));
    }
    return std::move(plan_);
  }

 private:
  static Status check_memory(const char* which, std::int64_t asked, std::int64_t most) {
    if (asked < 0 || asked > most)
      return fail("{} bytes of {} memory; {} are the most for this call", asked, which, most);
    return {};
  }

  Result<Launch> read_launch() {
    Launch launch;
    KW_TRY(launch.kernel, reader_.text(static_cast<std::int64_t>(kMostNameBytes)));
    if (!is_name(launch.kernel)) return fail("a launch's kernel has no possible name");
    KW_TRY(const std::int64_t once, reader_.number());
    launch.once = once != 0;
    KW_CHECK(reader_.numbers(launch.grid));
    KW_CHECK(reader_.numbers(launch.block));
    KW_CHECK(reader_.numbers(launch.cluster));
    KW_TRY(launch.shared_bytes, reader_.number());
    KW_CHECK(check_shape(launch));
    KW_TRY(const std::int64_t count, reader_.number());
    if (count < 0 || count > static_cast<std::int64_t>(kMostArguments)) {
      return fail("{} gets {} arguments; {} are the most", launch.kernel, count, kMostArguments);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      KW_TRY(Argument argument, read_argument());
      if (Status fits = check_argument(launch, argument); !fits.ok()) {
        return fail("argument {} of {}: {}", i, launch.kernel, fits.error().message);
      }
      launch.arguments.push_back(std::move(argument));
    }
    return launch;
  }

  Status check_shape(const Launch& launch) const {
    constexpr char kAxes[] = "xyz";
    std::int64_t threads = 1, in_cluster = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      if (launch.grid[i] < 1 || launch.grid[i] > limits_.grid[i]) {
        return fail("{}: a grid of {} blocks in {}; from 1 to {} are possible", launch.kernel, launch.grid[i], kAxes[i],
                    limits_.grid[i]);
      }
      if (launch.block[i] < 1 || launch.block[i] > limits_.threads_in_block) {
        return fail("{}: a block of {} threads in {}; from 1 to {} are possible", launch.kernel, launch.block[i],
                    kAxes[i], limits_.threads_in_block);
      }
      if (launch.cluster[i] < 1 || launch.cluster[i] > 16) {
        return fail("{}: a cluster of {} blocks in {}; from 1 to 16 are possible", launch.kernel, launch.cluster[i],
                    kAxes[i]);
      }
      if (launch.grid[i] % launch.cluster[i] != 0) {
        return fail("{}: a grid of {} blocks in {} is no multiple of its clusters' {}", launch.kernel, launch.grid[i],
                    kAxes[i], launch.cluster[i]);
      }
      threads *= launch.block[i];
      in_cluster *= launch.cluster[i];
    }
    if (threads > limits_.threads_in_block) {
      return fail("{}: {} threads in a block; {} are the most", launch.kernel, threads, limits_.threads_in_block);
    }
    if (in_cluster > 16) return fail("{}: {} blocks in a cluster; 16 are the most", launch.kernel, in_cluster);
    if (launch.shared_bytes < 0 || launch.shared_bytes > limits_.shared_bytes) {
      return fail("{}: {} bytes of shared memory; {} are the most", launch.kernel, launch.shared_bytes,
                  limits_.shared_bytes);
    }
    return {};
  }

  Result<ArgumentKind> read_kind() {
    KW_TRY(const std::int64_t kind, reader_.number());
    if (kind < 0 || kind > static_cast<std::int64_t>(ArgumentKind::found_shape)) {
      return fail("an argument is neither a tensor nor memory nor a value");
    }
    return static_cast<ArgumentKind>(kind);
  }

  Result<Argument> read_argument() {
    Argument argument;
    KW_TRY(argument.kind, read_kind());
    if (argument.kind == ArgumentKind::value) {
      KW_TRY(argument.value, reader_.text(kMostValueBytes));
      return argument;
    }
    if (argument.kind != ArgumentKind::tensor_map) {
      KW_TRY(argument.at, reader_.number());
      return argument;
    }
    KW_TRY(argument.of, read_kind());
    KW_TRY(argument.at, reader_.number());
    std::array<std::int64_t, 2> head{};
    KW_CHECK(reader_.numbers(head));
    KW_CHECK(reader_.numbers(argument.lengths));
    KW_CHECK(reader_.numbers(argument.strides));
    KW_CHECK(reader_.numbers(argument.box));
    std::array<std::int64_t, 3> tail{};
    KW_CHECK(reader_.numbers(tail));
    argument.dtype = static_cast<int>(head[0]);
    argument.rank = static_cast<int>(std::clamp<std::int64_t>(head[1], -1, 6));
    argument.swizzle = static_cast<int>(tail[0]);
    argument.l2_promotion = static_cast<int>(tail[1]);
    argument.fill_nan = tail[2] != 0;
    return argument;
  }

  Status check_place(const Launch& launch, ArgumentKind kind, std::int64_t at) const {
    switch (kind) {
      case ArgumentKind::input:
        if (at < 0 || at >= std::ssize(instance_.inputs)) return fail("there is no input {}", at);
        if (launch.once && !instance_.constant[static_cast<std::size_t>(at)]) {
          return fail("input {} is no constant: launches that prepare do not see it", at);
        }
        return {};
      case ArgumentKind::output:
      case ArgumentKind::found_shape:
        if (at < 0 || at >= std::ssize(instance_.outputs)) return fail("there is no output {}", at);
        if (launch.once) return fail("launches that prepare do not see outputs");
        return {};
      case ArgumentKind::scratch:
        if (at < 0 || at > plan_.scratch_bytes) return fail("offset {} is not in the scratch memory", at);
        return {};
      case ArgumentKind::kept:
        if (at < 0 || at > plan_.kept_bytes) return fail("offset {} is not in the kept memory", at);
        return {};
      default:
        return fail("a TMA descriptor points to a tensor or to memory of the plan");
    }
  }

  Status check_argument(const Launch& launch, const Argument& argument) const {
    if (argument.kind == ArgumentKind::value) return {};
    if (argument.kind != ArgumentKind::tensor_map) return check_place(launch, argument.kind, argument.at);
    if (argument.of == ArgumentKind::value || argument.of == ArgumentKind::tensor_map) {
      return fail("a TMA descriptor points to a tensor or to memory of the plan");
    }
    KW_CHECK(check_place(launch, argument.of, argument.at));
    if (argument.rank < 1 || argument.rank > 5) return fail("a TMA descriptor has 1 to 5 axes");
    for (int i = 0; i < argument.rank; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (argument.lengths[at] < 1 || argument.lengths[at] > (std::int64_t{1} << 32)) {
        return fail("length {} of a TMA descriptor", argument.lengths[at]);
      }
      if (argument.box[at] < 1 || argument.box[at] > 256) return fail("a TMA box of {} elements", argument.box[at]);
      if (i > 0 && (argument.strides[at - 1] < 0 || argument.strides[at - 1] % 16 != 0 ||
                    argument.strides[at - 1] >= (std::int64_t{1} << 40))) {
        return fail("a TMA stride of {} bytes: multiples of 16 are possible", argument.strides[at - 1]);
      }
    }
    return {};
  }

  Reader reader_;
  const targets::Instance& instance_;
  const PlanLimits& limits_;
  Plan plan_;
};

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string bytes_of_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

template <std::size_t N>
Json list_of(const std::array<std::int64_t, N>& numbers) {
  Json list = Json::array();
  for (std::int64_t one : numbers) list.push_back(one);
  return list;
}

template <std::size_t N>
void read_list(const Json& list, std::array<std::int64_t, N>& numbers) {
  for (std::size_t i = 0; i < N; ++i) numbers[i] = list.at(i).get<std::int64_t>();
}

}  // namespace

std::vector<std::byte> description_of(const targets::Instance& instance, const std::vector<std::string>& constants) {
  std::vector<std::byte> image = targets::image_of(instance);
  auto* call = reinterpret_cast<kw_call*>(image.data());
  const auto inputs_at = reinterpret_cast<std::size_t>(call->inputs);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].empty()) continue;
    image.resize((image.size() + 15) / 16 * 16);
    const std::size_t offset = image.size();
    image.resize(offset + constants[i].size());
    std::memcpy(image.data() + offset, constants[i].data(), constants[i].size());
    const std::size_t field = inputs_at + i * sizeof(kw_tensor) + offsetof(kw_tensor, data);
    std::memcpy(image.data() + field, &offset, sizeof offset);
  }
  return image;
}

Result<Plan> read_plan(std::span<const std::byte> bytes, const targets::Instance& instance, const PlanLimits& limits) {
  return PlanReader(bytes, instance, limits).read();
}

Json json_of(const Plan& plan) {
  Json launches = Json::array();
  for (const Launch& launch : plan.launches) {
    Json arguments = Json::array();
    for (const Argument& one : launch.arguments) {
      Json argument{{"kind", static_cast<int>(one.kind)}, {"at", one.at}};
      if (one.kind == ArgumentKind::value) argument["value"] = hex_of(one.value);
      if (one.kind == ArgumentKind::tensor_map) {
        argument["of"] = static_cast<int>(one.of);
        argument["dtype"] = one.dtype;
        argument["rank"] = one.rank;
        argument["lengths"] = list_of(one.lengths);
        argument["strides"] = list_of(one.strides);
        argument["box"] = list_of(one.box);
        argument["swizzle"] = one.swizzle;
        argument["l2"] = one.l2_promotion;
        argument["nan"] = one.fill_nan;
      }
      arguments.push_back(std::move(argument));
    }
    launches.push_back({{"kernel", launch.kernel},
                        {"once", launch.once},
                        {"grid", list_of(launch.grid)},
                        {"block", list_of(launch.block)},
                        {"cluster", list_of(launch.cluster)},
                        {"shared", launch.shared_bytes},
                        {"arguments", std::move(arguments)}});
  }
  return {{"launches", std::move(launches)}, {"scratch", plan.scratch_bytes}, {"kept", plan.kept_bytes}};
}

Plan plan_of(const Json& json) {
  Plan plan{.scratch_bytes = json.at("scratch").get<std::int64_t>(), .kept_bytes = json.at("kept").get<std::int64_t>()};
  for (const Json& one : json.at("launches")) {
    Launch launch{.kernel = one.at("kernel").get<std::string>(),
                  .once = one.at("once").get<bool>(),
                  .shared_bytes = one.at("shared").get<std::int64_t>()};
    read_list(one.at("grid"), launch.grid);
    read_list(one.at("block"), launch.block);
    read_list(one.at("cluster"), launch.cluster);
    for (const Json& from : one.at("arguments")) {
      Argument argument{.kind = static_cast<ArgumentKind>(from.at("kind").get<int>()),
                        .at = from.at("at").get<std::int64_t>()};
      if (argument.kind == ArgumentKind::value) argument.value = bytes_of_hex(from.at("value").get<std::string>());
      if (argument.kind == ArgumentKind::tensor_map) {
        argument.of = static_cast<ArgumentKind>(from.at("of").get<int>());
        argument.dtype = from.at("dtype").get<int>();
        argument.rank = from.at("rank").get<int>();
        read_list(from.at("lengths"), argument.lengths);
        read_list(from.at("strides"), argument.strides);
        read_list(from.at("box"), argument.box);
        argument.swizzle = from.at("swizzle").get<int>();
        argument.l2_promotion = from.at("l2").get<int>();
        argument.fill_nan = from.at("nan").get<bool>();
      }
      launch.arguments.push_back(std::move(argument));
    }
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

}  // namespace kw::cuda

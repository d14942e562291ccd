#include "lm/stored_tensor.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

#include "core/half.h"

namespace kw::lm {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float half_to_float(std::uint16_t bits) {
  static const std::vector<float> table = [] {
    std::vector<float> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<float>(to_double(Half{static_cast<std::uint16_t>(i)}));
    }
    return all;
  }();
  return table[bits];
}

float half_at(const std::byte* from) { return half_to_float(load<std::uint16_t>(from)); }
int low(std::byte both) { return static_cast<int>(both) & 15; }
int high(std::byte both) { return static_cast<int>(both) >> 4; }
int byte_at(const std::byte* from) { return static_cast<int>(*from); }

// One block each: see the layouts that GGML documents for these types.
using BlockReader = void (*)(const std::byte* block, float* out);

void read_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[2 + i]) - 8);
    out[i + 16] = scale * static_cast<float>(high(block[2 + i]) - 8);
  }
}

void read_q4_1(const std::byte* block, float* out) {
  const float scale = half_at(block), least = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[4 + i])) + least;
    out[i + 16] = scale * static_cast<float>(high(block[4 + i])) + least;
  }
}

void read_q5(const std::byte* block, float scale, float least, int header, float* out) {
  const auto fifth = load<std::uint32_t>(block + header);
  const std::byte* fours = block + header + 4;
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(fours[i]) | (((fifth >> i) & 1) << 4)) + least;
    out[i + 16] = scale * static_cast<float>(high(fours[i]) | (((fifth >> (i + 16)) & 1) << 4)) + least;
  }
}

void read_q5_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  read_q5(block, scale, -16 * scale, 2, out);
}

void read_q5_1(const std::byte* block, float* out) { read_q5(block, half_at(block), half_at(block + 2), 4, out); }

void read_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(load<std::int8_t>(block + 2 + i));
}

// The eight scales and minima of q4_k and q5_k, six bits each, in twelve bytes.
struct ScaleAndMin {
  int scale, min;
};
ScaleAndMin scale_and_min(const std::byte* packed, int part) {
  if (part < 4) return {byte_at(packed + part) & 63, byte_at(packed + part + 4) & 63};
  return {low(packed[part + 4]) | (byte_at(packed + part - 4) >> 6 << 4),
          high(packed[part + 4]) | (byte_at(packed + part) >> 6 << 4)};
}

void read_q4_or_q5_k(const std::byte* block, const std::byte* fifth, const std::byte* fours, float* out) {
  const float scale = half_at(block), least = half_at(block + 2);
  for (int part = 0; part < 8; ++part) {
    const ScaleAndMin own = scale_and_min(block + 4, part);
    const float own_scale = scale * static_cast<float>(own.scale), own_min = least * static_cast<float>(own.min);
    for (int i = 0; i < 32; ++i) {
      const std::byte both = fours[part / 2 * 32 + i];
      int value = part % 2 == 0 ? low(both) : high(both);
      if (fifth != nullptr) value |= ((byte_at(fifth + i) >> part) & 1) << 4;
      out[part * 32 + i] = own_scale * static_cast<float>(value) - own_min;
    }
  }
}

void read_q4_k(const std::byte* block, float* out) { read_q4_or_q5_k(block, nullptr, block + 16, out); }
void read_q5_k(const std::byte* block, float* out) { read_q4_or_q5_k(block, block + 16, block + 48, out); }

void read_q6_k(const std::byte* block, float* out) {
  const std::byte *fours = block, *twos = block + 128, *scales = block + 192;
  const float scale = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const std::byte both = fours[half * 64 + quarter % 2 * 32 + i];
        const int four = quarter < 2 ? low(both) : high(both);
        const int two = (byte_at(twos + half * 32 + i) >> (2 * quarter)) & 3;
        const auto own = load<std::int8_t>(scales + half * 8 + quarter * 2 + i / 16);
        out[half * 128 + quarter * 32 + i] =
            scale * static_cast<float>(own) * static_cast<float>((four | (two << 4)) - 32);
      }
    }
  }
}

void read_f32(const std::byte* block, float* out) { *out = load<float>(block); }
void read_f64(const std::byte* block, float* out) { *out = static_cast<float>(load<double>(block)); }
void read_f16(const std::byte* block, float* out) { *out = half_at(block); }
void read_bf16(const std::byte* block, float* out) {
  *out = static_cast<float>(to_double(Brain{load<std::uint16_t>(block)}));
}

struct Entry {
  StoredType type;
  TypeFacts facts;
  BlockReader read;  // null: holds no real numbers
};
constexpr std::array kTypes = {
    Entry{StoredType::f32, {"F32", 1, 4}, read_f32},        Entry{StoredType::f16, {"F16", 1, 2}, read_f16},
    Entry{StoredType::bf16, {"BF16", 1, 2}, read_bf16},     Entry{StoredType::f64, {"F64", 1, 8}, read_f64},
    Entry{StoredType::i8, {"I8", 1, 1}, nullptr},           Entry{StoredType::u8, {"U8", 1, 1}, nullptr},
    Entry{StoredType::i16, {"I16", 1, 2}, nullptr},         Entry{StoredType::i32, {"I32", 1, 4}, nullptr},
    Entry{StoredType::i64, {"I64", 1, 8}, nullptr},         Entry{StoredType::boolean, {"BOOL", 1, 1}, nullptr},
    Entry{StoredType::q4_0, {"Q4_0", 32, 18}, read_q4_0},   Entry{StoredType::q4_1, {"Q4_1", 32, 20}, read_q4_1},
    Entry{StoredType::q5_0, {"Q5_0", 32, 22}, read_q5_0},   Entry{StoredType::q5_1, {"Q5_1", 32, 24}, read_q5_1},
    Entry{StoredType::q8_0, {"Q8_0", 32, 34}, read_q8_0},   Entry{StoredType::q4_k, {"Q4_K", 256, 144}, read_q4_k},
    Entry{StoredType::q5_k, {"Q5_K", 256, 176}, read_q5_k}, Entry{StoredType::q6_k, {"Q6_K", 256, 210}, read_q6_k},
};

const Entry& entry_of(StoredType type) {
  const Entry& entry = kTypes.at(static_cast<std::size_t>(type));
  assert(entry.type == type);
  return entry;
}

}  // namespace

std::int64_t row_in_gguf(std::int64_t row, std::int64_t rows, std::int64_t heads) {
  const std::int64_t head_rows = rows / heads, half = head_rows / 2;
  const std::int64_t head = row / head_rows, within = row % head_rows;
  return head * head_rows + within % half * 2 + within / half;
}

TypeFacts facts_of(StoredType type) { return entry_of(type).facts; }

std::string text_of(const Sizes& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

Result<std::int64_t> elements_of(const Sizes& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0 || (size > 0 && product > kMostElements / size)) {
      return fail("the shape {} is no tensor's", text_of(sizes));
    }
    product *= size;
  }
  return product;
}

std::int64_t StoredTensor::elements() const {
  return static_cast<std::int64_t>(bytes.size()) / facts_of(type).block_bytes * facts_of(type).block_elements;
}

Result<std::int64_t> bytes_of(StoredType type, const Sizes& shape) {
  KW_TRY(const std::int64_t elements, elements_of(shape));
  const TypeFacts facts = facts_of(type);
  if (facts.block_elements > 1 && (shape.empty() || shape.back() % facts.block_elements != 0)) {
    return fail("rows of {} hold whole blocks of {} elements, not {}", facts.name, facts.block_elements,
                shape.empty() ? 1 : shape.back());
  }
  return elements / facts.block_elements * facts.block_bytes;
}

Result<StoredTensor> stored_tensor(const std::string& name, StoredType type, Sizes shape,
                                   std::span<const std::byte> bytes, std::shared_ptr<const void> keeps) {
  const auto expected = bytes_of(type, shape);
  if (!expected.ok()) return at(name, expected.error());
  if (static_cast<std::uint64_t>(*expected) != bytes.size()) {
    return fail("{}: {} of {} takes {} bytes, the file gives it {}", name, text_of(shape), facts_of(type).name,
                *expected, bytes.size());
  }
  return StoredTensor{.type = type, .shape = std::move(shape), .bytes = bytes, .keeps = std::move(keeps)};
}

Status to_floats(const StoredTensor& tensor, std::span<float> out) {
  const Entry& entry = entry_of(tensor.type);
  if (entry.read == nullptr) return fail("it holds {}, not real numbers", entry.facts.name);
  assert(std::ssize(out) == tensor.elements());
  if (out.empty()) return {};
  if (tensor.type == StoredType::f32 && tensor.rotary_heads == 0) {
    std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
    return {};
  }
  const std::int64_t rows = tensor.rotary_heads > 0 ? tensor.shape.front() : 1;
  const std::int64_t row_elements = std::ssize(out) / rows;
  const std::int64_t row_blocks = row_elements / entry.facts.block_elements;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t from = rows > 1 ? row_in_gguf(row, rows, tensor.rotary_heads) : row;
    const std::byte* block = tensor.bytes.data() + from * row_blocks * entry.facts.block_bytes;
    float* place = out.data() + row * row_elements;
    for (std::int64_t i = 0; i < row_blocks; ++i) {
      entry.read(block, place);
      block += entry.facts.block_bytes;
      place += entry.facts.block_elements;
    }
  }
  return {};
}

}  // namespace kw::lm

#include "lm/gguf.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace kw::lm {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kMostAxes = 4;
constexpr int kMostArrayDepth = 4;

enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

// The numbers are GGML's.
Result<StoredType> type_numbered(std::uint32_t number) {
  switch (number) {
    case 0:
      return StoredType::f32;
    case 1:
      return StoredType::f16;
    case 2:
      return StoredType::q4_0;
    case 3:
      return StoredType::q4_1;
    case 6:
      return StoredType::q5_0;
    case 7:
      return StoredType::q5_1;
    case 8:
      return StoredType::q8_0;
    case 12:
      return StoredType::q4_k;
    case 13:
      return StoredType::q5_k;
    case 14:
      return StoredType::q6_k;
    case 24:
      return StoredType::i8;
    case 25:
      return StoredType::i16;
    case 26:
      return StoredType::i32;
    case 27:
      return StoredType::i64;
    case 28:
      return StoredType::f64;
    case 30:
      return StoredType::bf16;
    default:
      return fail("GGML type {} is not supported (F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K are)",
                  number);
  }
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> file) : file_(file) {}

  std::size_t place() const { return place_; }
  std::size_t left() const { return file_.size() - place_; }

  template <class T>
  Result<T> number() {
    if (left() < sizeof(T)) return ends();
    T value;
    std::memcpy(&value, file_.data() + place_, sizeof value);
    place_ += sizeof value;
    return value;
  }

  Result<std::string> string() {
    KW_TRY(const auto length, number<std::uint64_t>());
    if (length > left()) return fail("a text claims {} bytes, {} are left", length, left());
    std::string made(reinterpret_cast<const char*>(file_.data()) + place_, length);
    place_ += length;
    return made;
  }

  Result<Json> value(std::uint32_t type, int depth = 0) {
    switch (type) {
      case u8:
        return as_json<std::uint8_t>();
      case i8:
        return as_json<std::int8_t>();
      case u16:
        return as_json<std::uint16_t>();
      case i16:
        return as_json<std::int16_t>();
      case u32:
        return as_json<std::uint32_t>();
      case i32:
        return as_json<std::int32_t>();
      case f32:
        return as_json<float>();
      case u64:
        return as_json<std::uint64_t>();
      case i64:
        return as_json<std::int64_t>();
      case f64:
        return as_json<double>();
      case boolean: {
        KW_TRY(const auto byte, number<std::uint8_t>());
        return Json(byte != 0);
      }
      case text: {
        KW_TRY(std::string made, string());
        return Json(std::move(made));
      }
      case array:
        return list(depth);
      default:
        return fail("a value of unknown type {}", type);
    }
  }

 private:
  Error ends() const { return fail("the file ends at byte {}, within its header", file_.size()); }

  template <class T>
  Result<Json> as_json() {
    KW_TRY(const T made, number<T>());
    return Json(made);
  }

  Result<Json> list(int depth) {
    if (depth >= kMostArrayDepth) return fail("arrays are nested too deeply");
    KW_TRY(const auto type, number<std::uint32_t>());
    KW_TRY(const auto count, number<std::uint64_t>());
    if (count > left()) return fail("an array claims {} values, {} bytes are left", count, left());
    Json made = Json::array();
    for (std::uint64_t i = 0; i < count; ++i) {
      KW_TRY(Json one, value(type, depth + 1));
      made.push_back(std::move(one));
    }
    return made;
  }

  std::span<const std::byte> file_;
  std::size_t place_ = 0;
};

struct Info {
  std::string name;
  Sizes shape;
  StoredType type = StoredType::f32;
  std::uint64_t offset = 0;
};

Result<Info> read_info(Reader& reader) {
  Info info;
  KW_TRY(info.name, reader.string());
  KW_TRY(const auto axes, reader.number<std::uint32_t>());
  if (axes > kMostAxes) return fail("{}: {} axes", info.name, axes);
  for (std::uint32_t i = 0; i < axes; ++i) {
    KW_TRY(const auto size, reader.number<std::uint64_t>());
    if (size > std::uint64_t{1} << 48) return fail("{}: an axis of {}", info.name, size);
    info.shape.insert(info.shape.begin(), static_cast<std::int64_t>(size));
  }
  KW_TRY(const auto type, reader.number<std::uint32_t>());
  const auto known = type_numbered(type);
  if (!known.ok()) return at(info.name, known.error());
  info.type = *known;
  KW_TRY(info.offset, reader.number<std::uint64_t>());
  return info;
}

Result<std::uint64_t> alignment_of(const Gguf& gguf) {
  const Json* given = gguf.find("general.alignment");
  if (given == nullptr) return 32;
  if (!given->is_number_integer()) return fail("general.alignment is no number");
  const auto alignment = given->get<std::int64_t>();
  if (alignment < 1 || alignment > 1 << 20 || (alignment & (alignment - 1)) != 0) {
    return fail("general.alignment is {}, not a power of two", alignment);
  }
  return static_cast<std::uint64_t>(alignment);
}

Status place_tensors(const std::vector<Info>& infos, std::span<const std::byte> data, std::uint64_t alignment,
                     const std::shared_ptr<const void>& keeps, Gguf& gguf) {
  struct Extent {
    std::uint64_t begin, end;
    const std::string* name;
  };
  std::vector<Extent> extents;
  for (const Info& info : infos) {
    const auto bytes = bytes_of(info.type, info.shape);
    if (!bytes.ok()) return at(info.name, bytes.error());
    const auto size = static_cast<std::uint64_t>(*bytes);
    if (info.offset % alignment != 0 || info.offset > data.size() || size > data.size() - info.offset) {
      return fail("{}: its {} bytes at offset {} lie outside of the file's {} bytes of data", info.name, size,
                  info.offset, data.size());
    }
    KW_TRY(StoredTensor tensor,
           stored_tensor(info.name, info.type, info.shape, data.subspan(info.offset, size), keeps));
    if (!gguf.tensors.emplace(info.name, std::move(tensor)).second) return fail("{}: there are two of it", info.name);
    extents.push_back({info.offset, info.offset + size, &info.name});
  }
  std::ranges::sort(extents, {}, &Extent::begin);
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].begin < extents[i - 1].end) {
      return fail("{}: its bytes overlap with those of {}", *extents[i].name, *extents[i - 1].name);
    }
  }
  return {};
}

}  // namespace

const Json* Gguf::find(const std::string& name) const {
  const auto found = metadata.find(name);
  return found == metadata.end() ? nullptr : &found->second;
}

Result<Gguf> parse_gguf(std::span<const std::byte> file, const std::shared_ptr<const void>& keeps) {
  Reader reader(file);
  KW_TRY(const auto magic, reader.number<std::uint32_t>());
  if (magic != kMagic) return fail("it does not begin as GGUF does");
  KW_TRY(const auto version, reader.number<std::uint32_t>());
  if (version != 2 && version != 3) return fail("GGUF of version {} is not supported (2 and 3 are)", version);
  KW_TRY(const auto tensors, reader.number<std::uint64_t>());
  KW_TRY(const auto values, reader.number<std::uint64_t>());
  if (tensors > file.size() || values > file.size())
    return fail("its header claims {} tensors and {} values", tensors, values);
  Gguf gguf;
  for (std::uint64_t i = 0; i < values; ++i) {
    KW_TRY(const std::string name, reader.string());
    KW_TRY(const auto type, reader.number<std::uint32_t>());
    auto value = reader.value(type);
    if (!value.ok()) return at(name, value.error());
    gguf.metadata[name] = *std::move(value);
  }
  std::vector<Info> infos;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    KW_TRY(Info info, read_info(reader));
    infos.push_back(std::move(info));
  }
  KW_TRY(const std::uint64_t alignment, alignment_of(gguf));
  const std::uint64_t begin = (reader.place() + alignment - 1) / alignment * alignment;
  const auto data = file.subspan(std::min<std::uint64_t>(begin, file.size()));
  KW_CHECK(place_tensors(infos, data, alignment, keeps, gguf));
  return gguf;
}

Result<Gguf> open_gguf(const std::filesystem::path& path) {
  KW_TRY(const auto file, MappedFile::open(path));
  auto gguf = parse_gguf(file->bytes(), file);
  if (!gguf.ok()) return at(path.string(), gguf.error());
  return gguf;
}

}  // namespace kw::lm

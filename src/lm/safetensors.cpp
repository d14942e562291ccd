#include "lm/safetensors.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <ostream>
#include <set>
#include <utility>

#include "base/json.h"

namespace kw::lm {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // as the format says
constexpr std::size_t kLengthBytes = 8;

constexpr std::array kNames = {
    std::pair{"F32", StoredType::f32},      std::pair{"F16", StoredType::f16}, std::pair{"BF16", StoredType::bf16},
    std::pair{"F64", StoredType::f64},      std::pair{"I8", StoredType::i8},   std::pair{"U8", StoredType::u8},
    std::pair{"I16", StoredType::i16},      std::pair{"I32", StoredType::i32}, std::pair{"I64", StoredType::i64},
    std::pair{"BOOL", StoredType::boolean},
};

Result<StoredType> type_named(const std::string& name) {
  for (const auto& [known, type] : kNames) {
    if (name == known) return type;
  }
  return fail("elements of type {} are not supported", name);
}

struct Extent {
  std::uint64_t begin, end;
  std::string name;
};

Result<StoredTensors> read_header(const Json& header, std::span<const std::byte> data,
                                  const std::shared_ptr<const void>& keeps) {
  StoredTensors tensors;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto type = type_named(entry["dtype"].get<std::string>());
    if (!type.ok()) return at(name, type.error());
    const auto offsets = entry["data_offsets"].get<std::vector<std::uint64_t>>();
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) {
      return fail("{}: its data_offsets lie outside of the file's {} bytes of data", name, data.size());
    }
    KW_TRY(StoredTensor tensor, stored_tensor(name, *type, entry["shape"].get<Sizes>(),
                                              data.subspan(offsets[0], offsets[1] - offsets[0]), keeps));
    extents.push_back({offsets[0], offsets[1], name});
    tensors[name] = std::move(tensor);
  }
  std::ranges::sort(
      extents, [](const Extent& a, const Extent& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t covered = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != covered) {
      return fail("{}: its bytes {} another tensor's", extent.name,
                  extent.begin < covered ? "overlap with" : "do not follow");
    }
    covered = extent.end;
  }
  if (covered != data.size()) return fail("{} bytes at the file's end belong to no tensor", data.size() - covered);
  return tensors;
}

}  // namespace

Result<StoredTensors> parse_safetensors(std::span<const std::byte> file, const std::shared_ptr<const void>& keeps) {
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) return fail("it is too short for safetensors");
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMostHeaderBytes || length > file.size() - kLengthBytes) {
    return fail("its header claims {} bytes, the file has {}", length, file.size() - kLengthBytes);
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  try {
    const Json header = Json::parse(text);
    if (!header.is_object()) return fail("its header is no JSON object");
    return read_header(header, file.subspan(kLengthBytes + length), keeps);
  } catch (const JsonError& error) {
    return fail("its header: {}", error.what());
  }
}

Result<StoredTensors> open_safetensors(const std::filesystem::path& path) {
  KW_TRY(const auto file, MappedFile::open(path));
  auto tensors = parse_safetensors(file->bytes(), file);
  if (!tensors.ok()) return at(path.string(), tensors.error());
  return tensors;
}

Result<StoredTensors> open_weights_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  const auto index_path = folder / "model.safetensors.index.json";
  if (!std::filesystem::exists(index_path, ignored)) return open_safetensors(folder / "model.safetensors");
  KW_TRY(const std::string text, read_file(index_path));
  std::map<std::string, std::string> file_of;
  try {
    file_of = Json::parse(text)["weight_map"].get<std::map<std::string, std::string>>();
  } catch (const JsonError& error) {
    return fail("{}: {}", index_path.string(), error.what());
  }
  std::set<std::string> files;
  for (const auto& [tensor, file] : file_of) {
    if (std::filesystem::path(file).has_parent_path() || file == "..") {
      return fail("{}: {} is named to lie in {}, outside of the folder", index_path.string(), tensor, file);
    }
    files.insert(file);
  }
  StoredTensors all;
  for (const std::string& file : files) {
    KW_TRY(StoredTensors tensors, open_safetensors(folder / file));
    for (auto& [name, tensor] : tensors) {
      if (!all.emplace(name, std::move(tensor)).second)
        return fail("{}: {} is in two files", index_path.string(), name);
    }
  }
  for (const auto& [name, file] : file_of) {
    if (!all.contains(name)) return fail("{}: {} is not in {}", index_path.string(), name, file);
  }
  return all;
}

Result<SafetensorsWriter> SafetensorsWriter::begin(const std::filesystem::path& path, const std::vector<Entry>& entries,
                                                   const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = Json(metadata);
  std::uint64_t place = 0;
  for (const Entry& entry : entries) {
    const auto bytes = bytes_of(entry.type, entry.shape);
    assert(bytes.ok());
    const std::uint64_t end = place + static_cast<std::uint64_t>(*bytes);
    header[entry.name] = {{"dtype", facts_of(entry.type).name},
                          {"shape", entry.shape},
                          {"data_offsets", std::vector<std::uint64_t>{place, end}}};
    place = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  KW_TRY(Draft draft, Draft::begin(path));
  const std::uint64_t length = text.size();
  draft.stream().write(reinterpret_cast<const char*>(&length), sizeof length);
  draft.stream() << text;
  return SafetensorsWriter(std::move(draft), place);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  assert(bytes.size() <= left_);
  left_ -= bytes.size();
  draft_.stream().write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Status SafetensorsWriter::finish() {
  assert(left_ == 0);
  return draft_.finish();
}

}  // namespace kw::lm

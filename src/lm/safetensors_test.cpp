#include "lm/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::lm {
namespace {

std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + std::string(data_bytes, '\0');
}

std::string error_of(const std::string& file) {
  const auto tensors = parse_safetensors(std::as_bytes(std::span(file)), nullptr);
  return tensors.ok() ? "" : tensors.error().message;
}

TEST(Safetensors, ReadsWhatItWrote) {
  const ScratchFolder folder;
  const std::vector<float> numbers = {1, -2.5, 3, 4, 5, 6};
  auto writer =
      SafetensorsWriter::begin(folder.path() / "a.safetensors",
                               {{"x", StoredType::f32, {2, 3}}, {"none", StoredType::i64, {0}}}, {{"format", "pt"}});
  ASSERT_TRUE(writer.ok());
  writer->write(std::as_bytes(std::span(numbers)));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.safetensors"));
  ASSERT_TRUE(writer->finish().ok());
  const auto tensors = open_safetensors(folder.path() / "a.safetensors");
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ(tensors->size(), 2u);
  std::vector<float> read(6);
  ASSERT_TRUE(to_floats(tensors->at("x"), read).ok());
  EXPECT_EQ(read, numbers);
  EXPECT_EQ(tensors->at("x").shape, (Sizes{2, 3}));
}

TEST(Safetensors, NamesTheTensorOfALie) {
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8)), "");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)),
            "a: [3] of F32 takes 12 bytes, the file gives it 8");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7)),
            "a: its data_offsets lie outside of the file's 7 bytes of data");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", 8)),
            "a: its data_offsets lie outside of the file's 8 bytes of data");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}})", 8)),
            "a: the shape [-1, -2] is no tensor's");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0)),
            "a: the shape [4294967296, 4294967296] is no tensor's");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1)),
            "a: elements of type F4 are not supported");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                                 "b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                             6)),
            "b: its bytes overlap with another tensor's");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 6)),
            "2 bytes at the file's end belong to no tensor");
}

TEST(Safetensors, RefusesHeadersThatAreNone) {
  EXPECT_EQ(error_of("abc"), "it is too short for safetensors");
  EXPECT_EQ(error_of(std::string("\xff\xff\0\0\0\0\0\0{}", 10)), "its header claims 65535 bytes, the file has 2");
  EXPECT_NE(error_of(file_of("{", 0)).find("its header: "), std::string::npos);
  EXPECT_NE(error_of(file_of(R"({"a":3})", 0)).find("its header: "), std::string::npos);
  EXPECT_EQ(error_of(file_of("[]", 0)), "its header is no JSON object");
}

TEST(Safetensors, ReadsAShardedFolderAndNamesWhatItLacks) {
  const ScratchFolder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder.path() / name, text).ok());
  };
  put("m1.safetensors", file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4));
  put("m2.safetensors", file_of(R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4));
  put("model.safetensors.index.json", R"({"weight_map":{"a":"m1.safetensors","b":"m2.safetensors"}})");
  const auto both = open_weights_folder(folder.path());
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(both->size(), 2u);
  const std::string index = (folder.path() / "model.safetensors.index.json").string();
  put("model.safetensors.index.json", R"({"weight_map":{"c":"m1.safetensors"}})");
  EXPECT_EQ(open_weights_folder(folder.path()).error().message, index + ": c is not in m1.safetensors");
  put("model.safetensors.index.json", R"({"weight_map":{"a":"../m1.safetensors"}})");
  EXPECT_EQ(open_weights_folder(folder.path()).error().message,
            index + ": a is named to lie in ../m1.safetensors, outside of the folder");
}

}  // namespace
}  // namespace kw::lm

#include "lm/gguf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/files.h"
#include "base/json.h"
#include "lm/model_files.h"

namespace kw::lm {
namespace {

// Writes the format by hand.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(const std::string& value) {
    number<std::uint64_t>(value.size());
    text_ += value;
    return *this;
  }
  Bytes& info(const std::string& name, std::uint64_t size, std::uint32_t type, std::uint64_t offset) {
    return text(name).number<std::uint32_t>(1).number(size).number(type).number(offset);
  }
  Bytes& data(std::size_t count) {
    text_.resize((text_.size() + 31) / 32 * 32 + count);
    return *this;
  }
  const std::string& all() const { return text_; }

 private:
  std::string text_;
};

Bytes header(std::uint64_t tensors, std::uint64_t values) {
  return Bytes().number<std::uint32_t>(0x46554747).number<std::uint32_t>(3).number(tensors).number(values);
}

std::string error_of(const std::string& file) {
  const auto gguf = parse_gguf(std::as_bytes(std::span(file)), nullptr);
  return gguf.ok() ? "" : gguf.error().message;
}

TEST(Gguf, ReadsValuesAndTensors) {
  Bytes file = header(1, 2);
  file.text("a.list").number<std::uint32_t>(9).number<std::uint32_t>(8).number<std::uint64_t>(2).text("x").text("y");
  file.text("b").number<std::uint32_t>(6).number(1.5f);
  file.text("t").number<std::uint32_t>(2).number<std::uint64_t>(3).number<std::uint64_t>(2).number<std::uint32_t>(0);
  file.number<std::uint64_t>(0).data(24);
  const auto gguf = parse_gguf(std::as_bytes(std::span(file.all())), nullptr);
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  EXPECT_EQ(gguf->find("a.list")->dump(), R"(["x","y"])");
  EXPECT_EQ(gguf->find("b")->get<double>(), 1.5);
  EXPECT_EQ(gguf->tensors.at("t").shape, (Sizes{2, 3}));
  EXPECT_EQ(gguf->find("c"), nullptr);
}

TEST(Gguf, NamesTheTensorOfALie) {
  EXPECT_EQ(error_of(header(1, 0).info("t", 64, 3, 0).data(40).all()), "");
  EXPECT_EQ(error_of(header(1, 0).info("t", 64, 3, 0).data(39).all()),
            "t: its 40 bytes at offset 0 lie outside of the file's 39 bytes of data");
  EXPECT_EQ(error_of(header(1, 0).info("t", 33, 3, 0).data(40).all()),
            "t: rows of Q4_1 hold whole blocks of 32 elements, not 33");
  EXPECT_EQ(error_of(header(1, 0).info("t", 32, 99, 0).data(40).all()),
            "t: GGML type 99 is not supported (F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K are)");
  EXPECT_EQ(error_of(header(2, 0).info("t", 16, 0, 0).info("u", 16, 0, 32).data(128).all()),
            "u: its bytes overlap with those of t");
  EXPECT_EQ(error_of(header(2, 0).info("t", 8, 0, 0).info("t", 8, 0, 32).data(128).all()), "t: there are two of it");
  EXPECT_EQ(error_of(header(1, 0).info("t", ~std::uint64_t{0}, 0, 0).all()), "t: an axis of 18446744073709551615");
}

TEST(Gguf, RefusesAHeaderThatEndsOrLies) {
  const std::string whole =
      header(1, 1).text("b").number<std::uint32_t>(6).number(1.5f).info("t", 8, 0, 0).data(32).all();
  EXPECT_EQ(error_of(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of(whole.substr(0, length)), "") << length;
  EXPECT_EQ(error_of(header(0, 1)
                         .text("a")
                         .number<std::uint32_t>(9)
                         .number<std::uint32_t>(8)
                         .number<std::uint64_t>(1u << 30)
                         .all()),
            "a: an array claims 1073741824 values, 0 bytes are left");
  EXPECT_EQ(error_of(header(0, 1).text("a").number<std::uint32_t>(77).all()), "a: a value of unknown type 77");
}

// tests/lm/quantised.gguf holds a tensor of every type and quantised.json what the `gguf` package of Python makes of
// them (tests/lm/make_quantised.py).
TEST(Gguf, DequantisesAsGgufsOwnPackageDoes) {
  const std::string folder = KW_SOURCE_DIR "/tests/lm/";
  const auto gguf = open_gguf(folder + "quantised.gguf");
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Json expected = Json::parse(*read_file(folder + "quantised.json"));
  EXPECT_EQ(expected.size(), 11u);
  for (const auto& [name, values] : expected.items()) {
    const StoredTensor& tensor = gguf->tensors.at(name);
    std::vector<float> read(static_cast<std::size_t>(tensor.elements()));
    ASSERT_TRUE(to_floats(tensor, read).ok());
    ASSERT_EQ(values.size(), read.size()) << name;
    for (std::size_t i = 0; i < read.size(); ++i) {
      ASSERT_NEAR(read[i], values[i].get<double>(), 1e-5) << name << " at " << i;
    }
  }
}

TEST(Gguf, PutsRotaryRowsInHuggingFacesOrder) {
  const std::vector<float> stored = {0, 4, 1, 5, 2, 6, 3, 7};  // one head of eight rows, its halves interleaved
  const StoredTensor tensor{
      .type = StoredType::f32, .shape = {8, 1}, .bytes = std::as_bytes(std::span(stored)), .rotary_heads = 1};
  std::vector<float> read(8);
  ASSERT_TRUE(to_floats(tensor, read).ok());
  EXPECT_EQ(read, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ModelFiles, SaysWhatIsNoModel) {
  EXPECT_EQ(open_model("/no/such/model").error().message,
            "/no/such/model: there is no such file or folder; a model is a Hugging Face folder or a .gguf file");
  EXPECT_EQ(open_model(KW_SOURCE_DIR "/LICENSE").error().message,
            KW_SOURCE_DIR "/LICENSE: it does not begin as GGUF does");
}

}  // namespace
}  // namespace kw::lm

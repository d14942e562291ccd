#include "agents/prompt.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::agents {
namespace {

TEST(Prompts, FillTheirPlacesWithinTheirBudgets) {
  const auto prompts = Prompts::open();
  ASSERT_TRUE(prompts.ok()) << prompts.error().message;
  Facts facts;
  for (const PromptSlot& place : all_slots()) facts[place.name] = "<" + place.name + ">" + std::string(100'000, 'x');
  for (const std::string& name : prompts->names()) {
    const std::string text = prompts->text(name, facts);
    int most = 600;  // of its own words
    for (const std::string& place : prompts->places_of(name)) {
      if (place != "contract" && place != "look") {
        EXPECT_NE(text.find("<" + place + ">"), std::string::npos) << name << " " << place;
      }
      for (const PromptSlot& each : all_slots()) most += each.name == place ? each.most_tokens : 0;
    }
    EXPECT_LE(text.size(), static_cast<std::size_t>(most) * 4 + (name.starts_with("contract") ? 4000 : 0)) << name;
    EXPECT_EQ(text.find("{{"), std::string::npos) << name;
  }
  EXPECT_NE(prompts->text("coder", {}).find("(nothing)"), std::string::npos);
  const std::string bare = prompts->text("oneshot", {{"task", "T"}});
  EXPECT_EQ(bare.find("# The machine"), std::string::npos) << "a section without its fact is not there";
  EXPECT_EQ(bare.find("```cpp\n"), std::string::npos) << bare;
  EXPECT_NE(prompts->text("oneshot", {{"machine", "an abacus"}}).find("# The machine\nan abacus\n\n# The task"),
            std::string::npos);
}

// As it was seen: who was asked for a CUDA kernel was told the contract of kernels in C++.
TEST(Prompts, ShowTheContractOfTheDevicesKernels) {
  const auto prompts = Prompts::open();
  ASSERT_TRUE(prompts.ok()) << prompts.error().message;
  for (const char* name : {"oneshot", "vary", "coder", "accelerator", "debugger", "mend", "sample", "infill"}) {
    const std::string cuda = prompts->text(name, {{"form", "cuda"}}), usual = prompts->text(name, {{"form", ""}});
    EXPECT_NE(cuda.find("KW_PLAN"), std::string::npos) << name;
    EXPECT_EQ(cuda.find("KW_KERNEL"), std::string::npos) << name;
    EXPECT_EQ(cuda.find("[... left out ...]"), std::string::npos) << name;
    EXPECT_EQ(usual.find("KW_PLAN"), std::string::npos) << name;
    EXPECT_EQ((cuda + usual).find("CPU kernel"), std::string::npos) << name;
  }
}

// What the contract for CUDA names, its header has.
TEST(Prompts, NameOnlyWhatTheHeaderOfCudaKernelsHas) {
  const auto header = read_file(*data_folder() / "include" / "kernelwright_cuda.h");
  const auto usual = read_file(*data_folder() / "include" / "kernelwright.h");
  ASSERT_TRUE(header.ok() && usual.ok());
  const std::string contract = Prompts::open()->text("contract_cuda", {});
  for (const std::string name :
       {"KW_PLAN", "KW_TUNE", "KW_REQUIRE", "blocks",     "Dim3",          "shared",      "launch",     "scratch",
        "keep",    "prepare", "fail",       "copy_async", "commit_copies", "wait_copies", "wgmma_tf32", "integer",
        "real",    "text",    "integers",   "has",        "node",          "count",       "rank",       "shape"}) {
    EXPECT_NE(contract.find(name), std::string::npos) << name;
    EXPECT_NE((*header + *usual).find(name + "("), std::string::npos) << name;
  }
}

// A model that was told of <cstring> wrote std::memcpy, and it did not build.
TEST(Prompts, NameOnlyHeadersThatTheContractIncludes) {
  const auto prompts = Prompts::open();
  ASSERT_TRUE(prompts.ok()) << prompts.error().message;
  const auto header = read_file(*data_folder() / "include" / "kernelwright.h");
  ASSERT_TRUE(header.ok()) << header.error().message;
  const std::string contract = prompts->text("contract", {});
  const std::string named = contract.substr(0, contract.find("it may include other headers"));
  int count = 0;
  for (std::size_t at = named.find('<', named.find("which includes")); at != std::string::npos;
       at = named.find('<', at + 1), ++count) {
    const std::string one = named.substr(at, named.find('>', at) + 1 - at);
    EXPECT_NE(header->find("#include " + one), std::string::npos) << one;
  }
  EXPECT_GT(count, 5);
}

TEST(Prompts, MayBeOverriddenByAFolder) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "repair.md", "Again! {{problem}}").ok());
  EXPECT_EQ(Prompts::open(folder.path())->text("repair", {{"problem", "p"}}), "Again! p");
  ASSERT_TRUE(write_file(folder.path() / "repair.md", "{{problme}}").ok());
  EXPECT_NE(Prompts::open(folder.path()).error().message.find("no fact 'problme'; nearest: problem"),
            std::string::npos);
  EXPECT_FALSE(Prompts::open(folder.path() / "gone").ok());
}

// The record keeps the version: a comparison of two runs must show that hints differed.
TEST(Prompts, HaveAnotherVersionWhereAnythingThatIsSaidIsAnother) {
  const ScratchFolder data;
  std::filesystem::copy(*data_folder() / "prompts", data.path() / "prompts");
  std::filesystem::create_directories(data.path() / "suites");
  std::filesystem::create_directories(data.path() / "kernels" / "exemplars");
  const ScratchVariable other("KW_DATA", data.path().string());
  std::set<std::string> versions = {Prompts::open()->version()};
  for (const char* file : {"prompts/hints.md", "prompts/hints_cuda.md", "prompts/parts.md", "prompts/oneshot.md",
                           "kernels/exemplars/a.cpp"}) {
    EXPECT_TRUE(versions.contains(Prompts::open()->version()));
    ASSERT_TRUE(write_file(data.path() / file, "another text").ok());
    EXPECT_TRUE(versions.insert(Prompts::open()->version()).second) << file;
  }
}

}  // namespace
}  // namespace kw::agents

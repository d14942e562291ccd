#include "rivals/catalog.h"

#include <gtest/gtest.h>

#include "base/scratch.h"

namespace kw::rivals {
namespace {

TEST(RivalCatalog, PinsEveryVersion) {
  const auto all = all_rivals();
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_GE(all->size(), 4u);
  for (const RivalFile& rival : *all) {
    EXPECT_FALSE(rival.about.empty()) << rival.name;
    EXPECT_NE(rival.version(), "any") << rival.name;
  }
}

TEST(RivalCatalog, NamesTheNearest) {
  const auto rival = find_rival("onnxruntine");
  ASSERT_FALSE(rival.ok());
  EXPECT_NE(rival.error().message.find("onnxruntime"), std::string::npos);
}

TEST(RivalCatalog, KnowsThatNothingIsInstalledInAnEmptyCache) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", folder.path().string());
  for (const RivalFile& rival : *all_rivals()) EXPECT_EQ(rival.installed(), rival.own.has_value()) << rival.name;
}

}  // namespace
}  // namespace kw::rivals

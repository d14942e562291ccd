// A folder of sources in brief: its files with their functions and types, those first that have to do with a
// subject, within a budget of tokens. What an author is shown of a contract, of examples, or of a framework's checkout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/outline.h"

namespace kw::inspect {

// Of a source that is read; larger ones are tables or generated.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{2} << 20;

struct TreeFile {
  std::string path;  // from the folder
  std::vector<Scope> scopes;
  int likeness = 0;          // how often the subject's words stand in its path and its names
  std::uint64_t bytes = 0;   // of the file as it was read
  std::int64_t changed = 0;  // when it was last written
};

// C, C++ and CUDA files, in no order, on all cores. What is in `before` is taken over for files that did not change;
// it is sorted by path.
Result<std::vector<TreeFile>> read_tree(const std::filesystem::path& folder,
                                        const std::vector<TreeFile>* before = nullptr);
// How many of the subject's words stand in a text, without regard to case.
int likeness_of(const std::string& text, const std::vector<std::string>& subject);
// Those most like the subject first. Words are matched without regard to case.
std::vector<TreeFile> sorted_by_likeness(std::vector<TreeFile> files, const std::vector<std::string>& subject);
// Both.
Result<std::vector<TreeFile>> tree_of(const std::filesystem::path& folder,
                                      const std::vector<std::string>& subject = {});

// Files that are not like the subject are left out where some are.
std::string as_text(const std::vector<TreeFile>& files, int most_tokens);

}  // namespace kw::inspect

// The report that people look at: one HTML file that holds everything it shows and loads nothing.
//
// The page's structure, looks and scripts are the files of report/; the plotting library is d3's, from its Debian
// package. What comes from the record was partly written by strangers (names, sources, what a compiler quoted): it
// stands in the page as JSON in which no markup can begin, and the scripts put it in place as text. Should that ever
// fail, the page's policy still lets no script run but its own, known by their hashes, and no connection be made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kw::report {

// Of one run, or of several side by side. `version` is the program's.
Result<std::string> html_report(const store::Store& store, std::span<const std::int64_t> runs,
                                const std::string& version);

// Files of report/ that become one page, with the top, the style and d3 that all pages have.
struct PageParts {
  std::string markup, style, library, licence;
  std::vector<std::string> scripts;  // in their order: each may use what those before it define
};
Result<PageParts> read_page_parts(const std::string& markup, std::span<const char* const> scripts);
// `data` is JSON, which the scripts find in the element `data`.
std::string page_of(const PageParts& parts, std::string_view data);

// JSON that may stand in a script element: '<' occurs in its strings only and is written as \u003c.
std::string safe_in_script(std::string_view json);

// "sha256-…" as a Content-Security-Policy names an inline script or style.
std::string policy_hash(std::string_view text);

}  // namespace kw::report

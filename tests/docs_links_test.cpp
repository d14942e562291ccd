// The rules of the pages that people read: no link leads nowhere, none is too long to be read, and each can be found.
//
// As in house_test.cpp, a rule is a function from texts to complaints, so that each is first shown to complain about
// made-up pages and then held against ours. A link is written as on GitHub: relative to its page, and an anchor is the
// heading in small letters with dashes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct Project {
  std::map<std::string, std::string> pages;  // texts by their paths from the project's root
  std::set<std::string> files;               // paths of all files, pages too
  std::string site;                          // mkdocs.yml
};
using Complaints = std::vector<std::string>;

constexpr std::size_t kMostBytesOfReadme = 7 * 1024;
constexpr std::size_t kMostBytesOfPage = 12 * 1024;

bool is_of_docs(const std::string& page) { return page.starts_with("docs/"); }

const Project& this_project() {
  static const std::set<std::string> left_out = {".git", ".kw", "build", "__pycache__"};
  static const Project project = [] {
    Project found;
    const fs::path root = KW_SOURCE_DIR;
    for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
      if (left_out.contains(entry->path().filename().string())) {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file()) {
        found.files.insert(entry->path().lexically_relative(root).string());
      }
    }
    for (const std::string& path : found.files) {
      const bool is_page = path == "README.md" || path == "ARCHITECTURE.md" || path == "CONTRIBUTING.md" ||
                           (is_of_docs(path) && path.ends_with(".md"));
      if (is_page) found.pages[path] = read_file(root / path).value();
    }
    found.site = read_file(root / "mkdocs.yml").value();
    return found;
  }();
  return project;
}

// The text with every letter of code replaced by a space, so that line numbers stay.
std::string without_code(const std::string& text) {
  std::string plain;
  bool fenced = false;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const bool is_fence =
        line.find_first_not_of(' ') != std::string::npos && line.compare(line.find_first_not_of(' '), 3, "```") == 0;
    bool in_span = false;
    for (char& c : line) {
      const bool is_tick = c == '`';
      if (fenced || is_fence || in_span || is_tick) c = ' ';
      if (is_tick) in_span = !in_span;
    }
    if (is_fence) fenced = !fenced;
    plain += line + "\n";
  }
  return plain;
}

// "## A task: one table in a file of `suites/`" is "a-task-one-table-in-a-file-of-suites".
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '_' || c == '-' || byte >= 0x80) anchor += static_cast<char>(std::tolower(byte));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

std::set<std::string> anchors_of(const std::string& text) {
  static const std::regex heading("#{1,6} +(.*[^ ]) *");
  std::set<std::string> anchors;
  bool fenced = false;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    std::smatch match;
    if (!fenced && std::regex_match(line, match, heading)) anchors.insert(anchor_of(match[1]));
  }
  return anchors;
}

struct Link {
  int line = 0;
  std::string path;    // from the project's root; the page itself for "#anchor"
  std::string anchor;  // may be empty
};

// Those to other places of the project, pictures too.
std::vector<Link> links_of(const std::string& page, const std::string& text) {
  static const std::regex pattern(R"(\]\(([^)\s]+)\))");
  const std::string plain = without_code(text);
  std::vector<Link> links;
  for (std::sregex_iterator match(plain.begin(), plain.end(), pattern), end; match != end; ++match) {
    const std::string target = (*match)[1];
    if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
    const std::size_t hash = std::min(target.find('#'), target.size());
    const fs::path path = fs::path(page).parent_path() / target.substr(0, hash);
    const auto line = 1 + std::count(plain.begin(), plain.begin() + match->position(), '\n');
    links.push_back({.line = static_cast<int>(line),
                     .path = hash == 0 ? page : path.lexically_normal().string(),
                     .anchor = target.substr(std::min(hash + 1, target.size()))});
  }
  return links;
}

bool exists(const Project& project, const std::string& path) {
  if (!path.ends_with("/")) return project.files.contains(path);
  const auto next = project.files.lower_bound(path);
  return next != project.files.end() && next->starts_with(path);
}

Complaints dead_links(const Project& project) {
  Complaints complaints;
  for (const auto& [page, text] : project.pages) {
    for (const Link& link : links_of(page, text)) {
      if (!exists(project, link.path)) {
        complaints.push_back(fmt::format("{}:{}: there is no {}", page, link.line, link.path));
        continue;
      }
      const auto target = project.pages.find(link.path);
      if (!link.anchor.empty() && target != project.pages.end() && !anchors_of(target->second).contains(link.anchor)) {
        complaints.push_back(fmt::format("{}:{}: {} has no heading #{}", page, link.line, link.path, link.anchor));
      }
    }
  }
  return complaints;
}

Complaints pages_too_long(const Project& project) {
  Complaints complaints;
  for (const auto& [page, text] : project.pages) {
    const std::size_t most = page == "README.md" ? kMostBytesOfReadme : kMostBytesOfPage;
    if ((page == "README.md" || is_of_docs(page)) && text.size() > most) {
      complaints.push_back(fmt::format("{}: {} bytes, at most {}", page, text.size(), most));
    }
  }
  return complaints;
}

Complaints pages_that_nothing_leads_to(const Project& project) {
  Complaints complaints;
  std::set<std::string> listed;
  for (const Link& link : links_of("docs/index.md", project.pages.at("docs/index.md"))) listed.insert(link.path);
  for (const auto& [page, text] : project.pages) {
    if (page != "docs/index.md" && is_of_docs(page) && !listed.contains(page)) {
      complaints.push_back("docs/index.md: " + page + " is missing");
    }
    if (project.site.find(" " + page + "\n") == std::string::npos) {
      complaints.push_back("mkdocs.yml: " + page + " is missing");
    }
  }
  return complaints;
}

std::string joined(const Complaints& complaints) {
  std::string text;
  for (const std::string& complaint : complaints) text += complaint + "\n";
  return text;
}

Project with_pages(std::map<std::string, std::string> pages) {
  Project project{.pages = std::move(pages), .files = {"src/a.h", "docs/p.png"}, .site = ""};
  for (const auto& [page, text] : project.pages) project.files.insert(page);
  return project;
}

TEST(DocsLinks, SeeALinkAndAPictureThatLeadNowhere) {
  EXPECT_EQ(joined(dead_links(with_pages({{"README.md", "[a](docs/a.md) and\n[b\nb](docs/b.md), ![p](docs/q.png)\n"},
                                          {"docs/a.md", "[up](../src/a.h) ![p](p.png) [src](../src/) [no](../no/)\n"},
                                          {"docs/c.md", "[out](../../x.md) [far](https://x.org/y.md)\n"}}))),
            "README.md:3: there is no docs/b.md\n"
            "README.md:3: there is no docs/q.png\n"
            "docs/a.md:1: there is no no/\n"
            "docs/c.md:1: there is no ../x.md\n");
}

TEST(DocsLinks, SeeAnAnchorWithoutItsHeading) {
  EXPECT_EQ(joined(dead_links(with_pages(
                {{"README.md", "# One `two/three`: four\n[a](#one-twothree-four) [b](#four) [c](docs/a.md#in-code)\n"},
                 {"docs/a.md", "```\n# In code\n```\n## Real one\n[d](#real-one) [e](../README.md#real-one)\n"}}))),
            "README.md:2: README.md has no heading #four\n"
            "README.md:2: docs/a.md has no heading #in-code\n"
            "docs/a.md:5: README.md has no heading #real-one\n");
}

TEST(DocsLinks, LeaveCodeAlone) {
  EXPECT_EQ(joined(dead_links(with_pages({{"README.md", "```\n[a](b.md)\n```\n`[c](d.md)` [`e`](src/a.h)\n"}}))), "");
}

TEST(DocsLinks, SeeAPageThatIsTooLong) {
  EXPECT_EQ(joined(pages_too_long(with_pages({{"README.md", std::string(7169, 'x')},
                                              {"ARCHITECTURE.md", std::string(20'000, 'x')},
                                              {"docs/a.md", std::string(12'288, 'x')},
                                              {"docs/b.md", std::string(12'289, 'x')}}))),
            "README.md: 7169 bytes, at most 7168\ndocs/b.md: 12289 bytes, at most 12288\n");
}

TEST(DocsLinks, SeeAPageThatNothingLeadsTo) {
  Project project = with_pages({{"docs/index.md", "[a](a.md)\n"}, {"docs/a.md", ""}, {"docs/b.md", ""}});
  project.site = "nav:\n  - All: docs/index.md\n  - B: docs/b.md\n";
  EXPECT_EQ(joined(pages_that_nothing_leads_to(project)),
            "mkdocs.yml: docs/a.md is missing\ndocs/index.md: docs/b.md is missing\n");
}

TEST(DocsLinks, AllLeadSomewhere) {
  std::size_t count = 0;
  for (const auto& [page, text] : this_project().pages) count += links_of(page, text).size();
  EXPECT_GT(count, 50u);
  EXPECT_EQ(joined(dead_links(this_project())), "");
}

TEST(DocsLinks, AreInPagesShortEnoughToRead) { EXPECT_EQ(joined(pages_too_long(this_project())), ""); }

TEST(DocsLinks, LeadToEveryPage) { EXPECT_EQ(joined(pages_that_nothing_leads_to(this_project())), ""); }

}  // namespace
}  // namespace kw

#include "report/page.h"

#include <filesystem>
#include <vector>

#include "base/files.h"
#include "report/page_data.h"
#include "store/sha256.h"

namespace kw::report {
namespace {

namespace fs = std::filesystem;

// In this order: each may use what those before it define.
constexpr const char* kScripts[] = {"text.js",  "theme.js",         "record.js",     "code.js",
                                    "plots.js", "speedup_plots.js", "roof_plots.js", "course_plots.js",
                                    "table.js", "task_part.js",     "page.js"};

// The bytes of hexadecimal digits as base64.
std::string base64_of_hex(std::string_view hex) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0;
  int held = 0;
  for (const char digit : hex) {
    bits = bits << 4 | static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    held += 4;
    if (held >= 6) {
      held -= 6;
      text += kLetters[bits >> held & 63];
    }
  }
  if (held > 0) text += kLetters[bits << (6 - held) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

// A page's own markup begins with the links to its parts, up to the first empty line; they belong amid what all pages
// have at their top.
Result<std::string> with_top(const std::string& top, const std::string& own) {
  constexpr std::string_view kLinks = "LINKS";
  const std::size_t place = top.find(kLinks), end = own.find("\n\n");
  if (place == std::string::npos || end == std::string::npos)
    return fail("the report's files in the data folder are not of this version; install kw again");
  return top.substr(0, place) + own.substr(0, end + 1) + top.substr(place + kLinks.size()) + own.substr(end + 2);
}

}  // namespace

Result<PageParts> read_page_parts(const std::string& markup, std::span<const char* const> scripts) {
  KW_TRY(const fs::path data, data_folder());
  const fs::path folder = data / "report";
  PageParts parts;
  KW_TRY(const std::string top, read_file(folder / "top.html"));
  KW_TRY(const std::string own, read_file(folder / markup));
  KW_TRY(parts.markup, with_top(top, own));
  KW_TRY(parts.style, read_file(folder / "page.css"));
  KW_TRY(parts.licence, read_file(folder / "d3_licence.txt"));
  for (const char* name : scripts) {
    KW_TRY(parts.scripts.emplace_back(), read_file(folder / name));
  }
  KW_TRY(parts.library, read_file(data / "javascript" / "d3.min.js"));
  return parts;
}

std::string safe_in_script(std::string_view json) {
  std::string text;
  text.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string policy_hash(std::string_view text) { return "sha256-" + base64_of_hex(store::sha256(text)); }

std::string page_of(const PageParts& parts, std::string_view data) {
  std::string hashes = "'" + policy_hash(parts.library) + "'";
  for (const std::string& script : parts.scripts) hashes += " '" + policy_hash(script) + "'";

  // Put together piece by piece: nothing in the data can be taken for a place to be filled.
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; "
      "style-src '" +
      policy_hash(parts.style) + "'; script-src " + hashes +
      "\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>Kernelwright</title>\n<style>";
  page += parts.style;
  page += "</style>\n</head>\n<body>\n";
  page += parts.markup;
  page += "<script id=\"data\" type=\"application/json\">";
  page += safe_in_script(data);
  page += "</script>\n<script>";
  page += parts.library;
  page += "</script>\n";
  for (const std::string& script : parts.scripts) page += "<script>" + script + "</script>\n";
  return page + "</body>\n</html>\n";
}

Result<std::string> html_report(const store::Store& store, std::span<const std::int64_t> runs,
                                const std::string& version) {
  KW_TRY(const PageParts parts, read_page_parts("page.html", kScripts));
  KW_TRY(const std::string data, page_data(store, runs, version, parts.licence));
  return page_of(parts, data);
}

}  // namespace kw::report

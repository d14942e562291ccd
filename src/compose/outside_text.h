// Text from outside (names in a user's ONNX file or suite, attributes, compilers' flags) on its way into C++ that we
// write. A model may come from anywhere, and its names may hold anything: quotes, line ends, "*/", ten thousand
// letters, a keyword. Whatever they hold, they must not become code, and they must not stop the code from compiling.
//
// This file is the only way in: a name becomes an identifier, a remark or a string literal.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace kw::compose {

// Names as C++ identifiers for local variables, no two the same.
//
// A letter with digits after it ("x", "w2") stays; every other name ends in an underscore ("scores_"). Nothing else in
// a composed kernel looks like either: no keyword, no macro, no function or variable of ours or of the library's
// headers. So there is no list of taken words that could be incomplete.
class Identifiers {
 public:
  std::string add(std::string_view name);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> times_;  // how often a name came
};

// For a comment to the end of the line: printable ASCII without what could continue the line (backslashes, trigraphs),
// end another comment (*) or be filled in later (@). Cut where it is long.
std::string remark(std::string_view text);

// A string literal with its quotes; everything but letters, digits and a few signs is an octal escape.
std::string string_literal(std::string_view text);

// For the name of a file: letters, digits and underscores, not empty, cut where it is long.
std::string file_stem(std::string_view text);

}  // namespace kw::compose

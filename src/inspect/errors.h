// What compilers, linkers and loaders say, cut down to what helps to mend a source.
//
// A wrong type in a template makes pages of text in which one line matters: the one in the author's own file. This file
// finds it: each error with its own place, or where that lies in a header, with the innermost place in the source that
// led there; the function or type around it; template noise cut, repetitions merged, the most useful first, within a
// budget.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::inspect {

struct SourceText {
  std::string name;  // "relu.cpp"
  std::string text;
};

struct CodeError {
  enum class Tool { compiler, linker, loader } tool = Tool::compiler;
  std::string file;  // of the place to look at
  int line = 0;      // from 1; 0: not known
  int column = 0;
  bool local = false;     // the place is in one of the sources
  std::string within;     // the function or type around it; empty: file scope, or not known
  std::string message;    // without noise
  std::string elsewhere;  // "/usr/include/c++/12/bits/stl_algo.h:1938": where the compiler stumbled, if not here
  std::vector<std::string> notes;  // the most useful ones
  std::vector<int> repeated_at;    // lines of the same error
  std::string around;              // numbered lines of the source
};

// `said` is all that the tool printed. Errors of g++, clang, nvcc, ld and the dynamic loader are known.
std::vector<CodeError> errors_in(std::string_view said, const std::vector<SourceText>& sources);

// As text for a person or a model, within about this number of tokens; at least the first error's line is always there.
std::string as_text(const std::vector<CodeError>& errors, int most_tokens = 600);

// How many tokens to tell so much text in: under a tenth where that is long, and never more than 600.
int fair_budget(std::string_view said);

// A compiler's message with long template arguments shortened.
std::string without_template_noise(std::string message);

}  // namespace kw::inspect

// The attributes of a task's nodes as they are written into programs that call its kernel (kw_attribute of the
// contract).
#pragma once

#include <string>
#include <vector>

#include "ops/graph.h"

namespace kw::runs {

// Everything is a literal of C++; one of the three lists is filled.
struct AttributeText {
  std::string name;
  int node = 0;
  std::vector<std::string> integers, reals, texts;
  bool list = false;  // else it is one value
};

// Of every node: its opset first, then its attributes with defaults filled in.
std::vector<AttributeText> attribute_texts(const ops::Graph& graph);

}  // namespace kw::runs

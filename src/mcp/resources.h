// What a client may read besides calling tools: the contract, the tasks' texts, the record.
//
//   kw://contract       include/kernelwright.h
//   kw://task/NAME      what `kw show` prints; NAME may be SUITE/NAME
//   kw://runs           the runs of the record, the newest first, as JSON
//   kw://run/r3         one of them with its submissions, as JSON
//   kw://verdict/r3.5   one submission's verdict, as JSON
//   kw://source/r3.5    and its source
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kw::mcp {

class Desk;

struct Resource {
  std::string mime_type;
  std::string text;
};

// A page: {"resources": [...], "nextCursor": "..."}; the first one for "".
Result<Json> list_resources(const Desk& desk, const std::string& cursor);
Json resource_templates();
Result<Resource> read_resource(const Desk& desk, const std::string& uri);

}  // namespace kw::mcp

// What a task costs any kernel at least.
#pragma once

namespace kw {

struct Cost {
  double flops = 0;
  // What must move: results in between, of a chain, are not counted.
  double read_bytes = 0, written_bytes = 0;

  double bytes() const { return read_bytes + written_bytes; }
};

}  // namespace kw

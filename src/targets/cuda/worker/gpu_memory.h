// The device's memory as a worker holds it: regions with nothing mapped on either side, and buffers in them.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "targets/cuda/driver_api.h"
#include "targets/target.h"

namespace kw::cuda {

// Memory of whole pages of the device (2 MiB), between two gaps of a page in which nothing is mapped: an access there
// ends the kernel.
struct Region {
  api::Address reserved = 0;
  std::size_t reserved_bytes = 0;
  api::Address begin = 0;
  std::size_t size_bytes = 0;
  api::Allocation allocation = 0;
};

// One tensor's place in a region.
struct Buffer {
  Region region;
  api::Address address = 0;
  std::size_t size_bytes = 0;

  std::size_t before_bytes() const { return address - region.begin; }
  std::size_t after_bytes() const { return region.begin + region.size_bytes - address - size_bytes; }
};

// Hands out regions and takes them back: making one takes about a tenth of a millisecond.
class GpuMemory {
 public:
  GpuMemory(const api::Functions& driver, int device);

  Result<Region> take(std::size_t size_bytes);
  void give_back(const Region& region);
  // A tensor in the way that `place` says.
  Result<Buffer> place(std::size_t size_bytes, std::size_t element_bytes, targets::Placement place);
  // From now on each region is an allocation of just its size, which is never handed out again: for the driver's tools.
  void be_exact(bool exact) { exact_ = exact; }
  // Ends what is not in use.
  void trim();

 private:
  Result<Region> make(std::size_t size_bytes);

  const api::Functions& driver_;
  int device_;
  bool exact_ = false;
  std::size_t page_bytes_ = std::size_t{2} << 20;
  std::multimap<std::size_t, Region> free_;
};

}  // namespace kw::cuda

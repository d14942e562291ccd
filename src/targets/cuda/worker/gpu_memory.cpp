#include "targets/cuda/worker/gpu_memory.h"

#include "targets/cuda/driver.h"

namespace kw::cuda {

GpuMemory::GpuMemory(const api::Functions& driver, int device) : driver_(driver), device_(device) {
  const api::AllocationProperties properties{.location = {.id = device}};
  std::size_t page = 0;
  if (driver_.cuMemGetAllocationGranularity(&page, &properties, 0) == 0 && page > 0) page_bytes_ = page;
}

Result<Region> GpuMemory::take(std::size_t size_bytes) {
  if (exact_) {
    Region region{.size_bytes = size_bytes};
    if (const auto result = driver_.cuMemAlloc_v2(&region.begin, std::max<std::size_t>(size_bytes, 1))) {
      return fail("no {} MiB of the GPU's memory: {}", size_bytes >> 20, text_of(driver_, result));
    }
    return region;
  }
  const std::size_t whole = std::max((size_bytes + page_bytes_ - 1) / page_bytes_, std::size_t{1}) * page_bytes_;
  if (const auto found = free_.find(whole); found != free_.end()) {
    const Region region = found->second;
    free_.erase(found);
    return region;
  }
  auto region = make(whole);
  if (!region.ok()) {
    trim();
    region = make(whole);
  }
  return region;
}

void GpuMemory::give_back(const Region& region) {
  if (region.size_bytes > 0 && region.reserved != 0) free_.emplace(region.size_bytes, region);
}

void GpuMemory::trim() {
  for (const auto& [size, region] : free_) {
    driver_.cuMemUnmap(region.begin, region.size_bytes);
    driver_.cuMemRelease(region.allocation);
    driver_.cuMemAddressFree(region.reserved, region.reserved_bytes);
  }
  free_.clear();
}

Result<Region> GpuMemory::make(std::size_t size_bytes) {
  Region region{.reserved_bytes = size_bytes + 2 * page_bytes_, .size_bytes = size_bytes};
  const api::AllocationProperties properties{.location = {.id = device_}};
  const auto failed = [&](api::Result result) {
    return fail("no {} MiB of the GPU's memory: {}", size_bytes >> 20, text_of(driver_, result));
  };
  if (const auto result = driver_.cuMemAddressReserve(&region.reserved, region.reserved_bytes, 0, 0, 0)) {
    return failed(result);
  }
  if (const auto result = driver_.cuMemCreate(&region.allocation, size_bytes, &properties, 0)) {
    driver_.cuMemAddressFree(region.reserved, region.reserved_bytes);
    return failed(result);
  }
  region.begin = region.reserved + page_bytes_;
  const api::Access access{.location = {.id = device_}};
  api::Result result = driver_.cuMemMap(region.begin, size_bytes, 0, region.allocation, 0);
  if (result == 0) {
    result = driver_.cuMemSetAccess(region.begin, size_bytes, &access, 1);
    if (result != 0) driver_.cuMemUnmap(region.begin, size_bytes);
  }
  if (result != 0) {
    driver_.cuMemRelease(region.allocation);
    driver_.cuMemAddressFree(region.reserved, region.reserved_bytes);
    return failed(result);
  }
  return region;
}

Result<Buffer> GpuMemory::place(std::size_t size_bytes, std::size_t element_bytes, targets::Placement place) {
  using targets::Placement;
  const std::size_t shift = place == Placement::shifted ? element_bytes : 0;
  KW_TRY(const Region region, take(size_bytes + shift));
  Buffer buffer{.region = region, .address = region.begin + shift, .size_bytes = size_bytes};
  if (place == Placement::at_end) buffer.address = region.begin + region.size_bytes - size_bytes;
  return buffer;
}

}  // namespace kw::cuda

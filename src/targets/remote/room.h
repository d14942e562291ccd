// What a process on a device has room for. With addresses of 64 bits that is whatever memory there is; with 32 bits the
// tensors of all calls that lie there at once, and what a kernel may use beside them, have to share two or three
// gigabytes with the program.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "base/result.h"
#include "targets/cpu/arena.h"
#include "targets/instance.h"

namespace kw::remote {

// Whether one call of it fits, with what the contract promises a kernel.
Status fits_in_process(const targets::Instance& instance, int address_bits);

// Where the tensors of calls begin; another place for each seed.
std::uint64_t draw_first_address(Random& random, int address_bits);
// Calls from there on. Fails where they do not fit.
Result<cpu::Layout> lay_out_in_process(const targets::Instance& instance, std::span<const targets::Placement> places,
                                       Random& random, std::uint64_t base, std::size_t instances, int address_bits);

}  // namespace kw::remote

// Our own code on the GPU that draws inputs and looks at every element (kernels/cuda/judge). It shares memory with
// kernels that nobody trusts, so it is loaded anew for each piece of work: what a kernel changed of it before is gone,
// and no kernel runs meanwhile.
#pragma once

#include <vector>

#include "base/json.h"
#include "targets/cuda/driver_api.h"

namespace kw::cuda {

class RefereeCode {
 public:
  explicit RefereeCode(const api::Functions& driver) : driver_(driver) {}
  ~RefereeCode() { unload(); }

  api::Result load(const void* code);
  void unload();

  // What follows has been started, not more; all of it runs in the order of the calls. `drawn`: a recipe's words.
  api::Result draw(const Json& drawn, api::Address to, api::Address wide, std::int64_t count);
  api::Result still_drawn(const Json& drawn, api::Address x, std::int64_t count, api::Address found);
  api::Result widen(api::Address from, std::int64_t type, api::Address to, std::int64_t count);
  api::Result same(api::Address a, api::Address b, std::int64_t type, std::int64_t bytes, std::int64_t count,
                   api::Address found);
  struct Bounds {
    double floor, share, limit;
  };
  api::Result compare(api::Address got, std::int64_t type, api::Address expected, const Bounds& bounds,
                      std::int64_t count, api::Address found);

 private:
  api::Result launch(const char* kernel, std::int64_t count, void** arguments);

  const api::Functions& driver_;
  api::Module module_ = nullptr;
};

// As kernels/cuda/judge/checks.cuh lays it out.
struct Found {
  unsigned long long count = 0, first = 0, worst = 0, examples = 0;
  struct {
    std::int64_t at = 0;
    double got = 0, expected = 0, allowed = 0;
  } example[8];
};

}  // namespace kw::cuda

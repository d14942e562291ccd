#include "judge/secret.h"

#include <sys/random.h>

namespace kw::judge {

std::uint64_t secret() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

}  // namespace kw::judge

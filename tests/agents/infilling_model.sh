#!/bin/sh
# A model whose kernels do not build, and which fills a hole of one right (tests/corpus_test.cpp).
case "$(cat)" in
  *'/* HOLE */'*) cat <<'PART'
```cpp
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
```
PART
  ;;
  *) cat <<'WHOLE'
#include <kernelwright.h>
KW_KERNEL(call) {
  no_such_function();
}
WHOLE
  ;;
esac

// within: tile_sum
#include "tile.h"
float run(const float* x) { return tile_sum(x); }
//--- tile.h
#pragma once
inline float tile_sum(const float* x) {
  float s = 0;
  for (int i = 0; i < kTileWidth; ++i) s += x[i];  // <- here
  return s;
}

// within: 
constexpr int TILE = 6;
static_assert(TILE % 4 == 0, "TILE must be a multiple of four");  // <- here
int unused(int a) { return a; }

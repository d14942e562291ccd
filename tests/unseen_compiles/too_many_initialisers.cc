// within: 
float table[4] = {0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f};  // <- here
float run(int i) { return table[i & 3]; }

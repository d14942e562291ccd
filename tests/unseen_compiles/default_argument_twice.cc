// within: pad
int pad(int n, int to = 8);
int pad(int n, int to = 16) {  // <- here
  return (n + to - 1) / to * to;
}

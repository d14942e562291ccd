// within: sign
int sign(float x) {
  if (x > 0)
    x += 0;
    return 1;
  else  // <- here
    return -1;
}

// within: width_of
int width_of(int type) {
  switch (type) {
    case 1:
      return 4;
    case 2:
      return 8;
    case 1:  // <- here
      return 2;
  }
  return 0;
}

// within: Buffer::clear
struct Buffer {
  float* data;
  int n;
  void clear() const;
};
void reset(float*& p);
void Buffer::clear() const {
  n = 0;  // <- here
}

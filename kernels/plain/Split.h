#include <vector>

#include "parts/axis.h"
#include "parts/given_integers.h"

// Split: parts along an axis, of given lengths, or equal but for the last.
template <class T>
void Split(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> split,
           const std::vector<kw::Tensor<T>*>& ys) {
  const int axis = static_cast<int>(node.integer("axis"));
  const AlongAxis all = along(x.shape(), axis);
  const kw::List<int64_t> lengths = given_integers(node, split, "split");
  const int64_t parts = static_cast<int64_t>(ys.size());
  const int64_t equal = (all.length + parts - 1) / parts;
  int64_t begin = 0;
  for (int64_t part = 0; part < parts; ++part) {
    kw::Shape shape = x.shape();
    shape[axis] = lengths.empty() ? std::min(equal, all.length - begin) : lengths[part];
    ys[part]->allocate(shape);
    T* to = ys[part]->data();
    for (int64_t o = 0; o < all.outer; ++o) {
      to = std::copy_n(x.data() + (o * all.length + begin) * all.inner, shape[axis] * all.inner, to);
    }
    begin += shape[axis];
  }
}

// "Unknown task 'Sofmax'; nearest: Softmax, LogSoftmax": the names a person may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The closest names by edit distance (case does not count), best first; none that share next to nothing.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       std::size_t most = 3);

// "; nearest: A, B" or "" where nothing is near: to be put at the end of a message.
std::string nearest_hint(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace kw

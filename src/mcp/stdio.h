// A conversation over two descriptors, a message a line, as programs that a client starts have it.
#pragma once

namespace kw::mcp {

class Desk;

// Serves until `in` ends, or the reader of `out` is gone. What was asked before the end is still answered, waits as far
// as they are; what is being judged then is left to the owner of the desk.
void serve_descriptors(Desk& desk, int in, int out);

}  // namespace kw::mcp

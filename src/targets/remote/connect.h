// From a device's name to an agent that answers there: over the shell that the address leads to, the agent is put into
// a folder of the user's (once, by its content's name) and started.
#pragma once

#include "targets/remote/address.h"
#include "targets/remote/builder.h"
#include "targets/remote/connection.h"

namespace kw::remote {

struct Connected {
  std::shared_ptr<Connection> connection;
  Architecture architecture;
};

Result<Connected> connect(Builder& builder, const Address& address);

// Removes what kw keeps on the device. The folder that is gone.
Result<std::string> clean(const Address& address);

}  // namespace kw::remote

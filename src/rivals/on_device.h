// Frameworks on a device behind a link (targets/worker.h), in one of two ways.
//
// By the device's Python: the same worker as here, with the framework that this Python has, where it is the version
// that was tried; else with wheels of that version for the device, which are downloaded here, held to the hashes of the
// rival's list, sent over the link and unpacked in kw's folder there. The device needs neither pip nor a network.
//
// By a native library that lies on the device: a program of ours loads it and runs models that were converted here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "rivals/site.h"

namespace kw::rivals {

// What the user says of frameworks on a device.
struct DeviceFrameworks {
  std::string device;                                 // as --on takes it
  std::string python = {};                            // the program there; empty: python3
  std::map<std::string, std::string> libraries = {};  // paths on the device, by the rival's name
};

struct DeviceSetup {
  DeviceFrameworks there;
  bool may_install = true;
  std::function<void(const std::string& line)> tell = [](const std::string&) {};
};

std::unique_ptr<Site> on_device(const RivalFile& rival, const DeviceSetup& setup);

// Those that can take part without anything being installed: of which a library is named, or that ran there before.
std::vector<std::string> ready_on(const DeviceFrameworks& there);

}  // namespace kw::rivals

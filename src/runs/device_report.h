// What is known of a device, for people and programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "targets/target.h"

namespace kw::runs {

// What a device has, how fast it can be, and what is missing.
struct DeviceReport {
  std::string target;
  targets::DeviceFacts facts;
  bool has_roofs = true;  // they can be measured
  std::optional<targets::RoofTable> roofs;
  bool measured_now = false;
  targets::Tools tools;
  std::optional<std::string> isolation;
  std::vector<targets::IsolationPart> parts;  // of the isolation
  std::vector<std::string> notes;             // what did not go well, each a sentence

  // Nothing could be measured, or, where nothing can be, judged.
  bool broken() const { return has_roofs ? !roofs : !isolation; }
};
Result<DeviceReport> report_on(const std::string& device, bool measure_again);
std::string as_text(const DeviceReport& report);
std::string as_json(const DeviceReport& report);

// A device that was just opened, or why it could not be.
struct CheckedDevice {
  std::string name;    // as the user calls it
  std::string device;  // as --on takes it
  bool reachable = false;
  std::string problem = {};
  double seconds = 0;  // until it was ready
  targets::DeviceFacts facts = {};
  std::string isolation = {};
  std::vector<targets::IsolationPart> parts = {};
};
CheckedDevice check_device(const std::string& name, const std::string& device);
std::string as_text(const CheckedDevice& checked);
std::string as_json(const CheckedDevice& checked);

}  // namespace kw::runs

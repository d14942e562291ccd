// The form of the store's file, by versions. A store of an earlier version is brought forward when it is opened for
// writing, step by step in one transaction; one of a later version is refused.
//
// A step is never edited once it was released: stores made by it exist.
#pragma once

#include <span>

#include "base/result.h"
#include "store/database.h"

namespace kw::store {

// steps[i] makes version i + 1 of version i.
std::span<const char* const> schema_steps();

Status bring_forward(const Database& database, std::span<const char* const> steps);
// Fails where the file holds anything but what the steps up to its version make: tables of another form, columns that
// are computed, triggers, views. It may have come from anywhere, and what reads it relies on its form.
Status check_form(const Database& database, std::span<const char* const> steps);
// For readers: fails where the version is not the steps' last.
Status check_version(const Database& database, std::span<const char* const> steps);

}  // namespace kw::store

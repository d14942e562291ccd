// Which rows of a record were written by this user's kw, and which came from elsewhere.
//
// A record may have come with a cloned folder or through `kw import`, and its maker can write "accepted" into any
// row. So each run and each verdict that is made here carries a seal: an HMAC-SHA-256 of its content under a key that
// only this user can read, in the user's own configuration folder. Rows without a right seal are shown, and count for
// nothing: not as the best, not as judged before, not as lessons.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::store {

class Database;

// HMAC-SHA-256 in hexadecimal digits, under a given key or the user's.
std::string hmac_sha256(std::string_view key, std::string_view content);
std::string seal_of(std::string_view content);
bool is_seal_of(std::string_view content, std::string_view seal);

// Takes the row as it lies in the database.
Status seal_verdict(const Database& database, std::int64_t item);
Result<bool> is_own_verdict(const Database& database, std::int64_t item);

struct NewRun;
std::string content_of_run(const std::string& origin, const NewRun& run);

// Each part with its length, so that no two lists of parts give one text.
std::string parts_joined(std::initializer_list<std::string_view> parts);

}  // namespace kw::store

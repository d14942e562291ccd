// What was learned on one task and may help on like ones: methods that paid or did not, with the kernels that they led
// to, kept beside the record, one JSON object a line. Only what was tuned and timed side by side, with a difference
// beyond the interval, is a lesson.
#pragma once

#include <filesystem>
#include <string>

#include "agents/author.h"

namespace kw::agents {

// The lessons of tasks with the same operators first, then of the same category; empty where there are none. The first
// method that paid is shown with its kernel.
std::string lessons_for(const std::filesystem::path& folder, const Task& task, std::size_t most = 6);

// Appends what the rounds taught.
Status keep_lessons(const std::filesystem::path& folder, const Work& work);

}  // namespace kw::agents

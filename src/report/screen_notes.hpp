// Notes of an answer as a screen shows them.
#pragma once

#include <string>
#include <vector>

namespace roofline::core {

/// Returns the notes of an answer for a screen: a single note replaces those that say how far each size is
/// extrapolated.
[[nodiscard]] std::vector<std::string> notes_for_screen(std::vector<std::string> notes);

}  // namespace roofline::core

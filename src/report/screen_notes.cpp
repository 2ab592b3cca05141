#include "report/screen_notes.hpp"

#include "predict/expected_basis.hpp"

namespace roofline::core {

std::vector<std::string> notes_for_screen(std::vector<std::string> notes) {
    const auto extrapolated =
        std::erase_if(notes, [](const std::string& note) { return note.starts_with(extrapolation_mark); });
    if (extrapolated > 0) {
        notes.emplace_back("some sizes are outside the measured range; errors include this, and --json says how far");
    }
    return notes;
}

}  // namespace roofline::core

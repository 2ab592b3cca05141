#include "base/result.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace roofline::core {

namespace {

struct Printable {
    std::string text;
    std::size_t width_before = 0;  ///< characters that begin before the requested byte
};

/// Returns text that is safe for a terminal: tabs become spaces, control characters and malformed bytes '?'.
Printable printable(std::string_view text, std::size_t byte, bool keep_newlines = false) {
    Printable result;
    std::size_t at = 0;
    while (at < text.size()) {
        const CodePoint c = decode_utf8(text.substr(at));
        const char first = text[at];
        if (at < byte) {
            ++result.width_before;
        }
        if (first == '\t') {
            result.text += ' ';
        } else if (first == '\n' && keep_newlines) {
            result.text += '\n';
        } else if (!c.valid || is_control(c)) {
            result.text += '?';
        } else if (is_direction(c)) {
            result.text += with_directions_shown(text.substr(at, c.length));
        } else {
            result.text += text.substr(at, c.length);
        }
        at += c.length;
    }
    return result;
}

std::string place_text(const Place& place) {
    std::string text;
    if (!place.source.empty()) {
        text += "\n  " + printable(place.source, 0).text;
        if (place.line > 0) {
            text += ":" + std::to_string(place.line);
            if (place.column > 0) {
                text += ":" + std::to_string(place.column);
            }
        }
    } else if (place.text.empty() && place.line > 0) {
        text += "\n  line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
    }
    if (place.text.empty()) {
        return text;
    }
    const std::size_t caret = place.caret > 0 ? static_cast<std::size_t>(place.caret) - 1 : 0;
    const Printable line = printable(place.text, caret);
    const std::string number = place.line > 0 ? std::to_string(place.line) : "";
    text += "\n  " + number + " | " + line.text;
    if (place.caret > 0) {
        text += "\n  " + std::string(number.size(), ' ') + " | " + std::string(line.width_before, ' ') + "^";
    }
    return text;
}

constexpr std::size_t longest_word = 64;

/// Returns the number of insertions, deletions, changes and swaps of neighbours that turn `a` into `b`, or limit + 1
/// when it is more than `limit`. Both must not be longer than longest_word.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
    using Row = std::array<std::size_t, longest_word + 1>;
    Row before_last{};
    Row last{};
    Row current{};
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        std::size_t best = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
            current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
            const bool swapped =
                i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) && to_lower(a[i - 2]) == to_lower(b[j - 1]);
            if (swapped) {
                current[j] = std::min(current[j], before_last[j - 2] + 1);
            }
            best = std::min(best, current[j]);
        }
        if (best > limit) {
            return limit + 1;
        }
        before_last = last;
        last = current;
    }
    return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
    if (word.empty() || word.size() > longest_word) {
        return std::nullopt;
    }
    const std::string* found = nullptr;
    std::size_t found_distance = 0;
    for (const std::string& candidate : candidates) {
        const std::size_t longer = std::max(word.size(), candidate.size());
        const std::size_t shorter = std::min(word.size(), candidate.size());
        // One mistake in two to four letters, two from five, three from eight; single letters may differ only in case.
        const std::size_t limit = std::min<std::size_t>((longer + 1) / 3, 4);
        if (longer > longest_word || longer - shorter > limit) {
            continue;
        }
        const std::size_t distance = edit_distance(word, candidate, limit);
        if (distance <= limit && (found == nullptr || distance < found_distance)) {
            found = &candidate;
            found_distance = distance;
        }
    }
    return found == nullptr ? std::nullopt : std::optional(*found);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string otherwise) {
    if (const auto found = nearest(word, candidates)) {
        return "did you mean `" + *found + "`?";
    }
    return otherwise;
}

}  // namespace roofline::core

namespace roofline {

std::string to_text(const Error& error) {
    std::string text = "error: " + core::printable(error.message, 0, true).text;
    if (error.place) {
        text += core::place_text(*error.place);
    }
    if (!error.hint.empty()) {
        text += "\nhint: " + core::printable(error.hint, 0, true).text;
    }
    return text;
}

}  // namespace roofline

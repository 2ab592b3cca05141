#include "import/xla/hlo_frames.hpp"

#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

// Goes through the `key=value` of a list whose items are separated by blanks; quotation marks are left out.
template <class Visit>
void each_field(std::string_view text, const Visit& visit) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t equals = text.find('=', at);
        if (equals == std::string_view::npos) return;
        std::string_view key = text.substr(at, equals - at);
        key.remove_prefix(key.find_last_of(" {}") + 1);  // nothing if there is none
        at = equals + 1;
        const bool quoted = at < text.size() && text[at] == '"';
        std::size_t end = quoted ? ++at : at;
        while (end < text.size() && (quoted ? text[end] != '"' : text[end] != ' ' && text[end] != '}')) {
            if (quoted && text[end] == '\\') ++end;
            ++end;
        }
        end = std::min(end, text.size());
        visit(key, text.substr(at, end - at));
        at = end + (quoted ? 1 : 0);
    }
}

std::int64_t number_of(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// XLA writes quotation marks and backslashes of a name behind a backslash.
std::string_view without_escapes(std::string_view text, std::deque<std::string>& spoken) {
    if (text.find('\\') == std::string_view::npos) return text;
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool mark = text[at] == '\\' && at + 1 < text.size() &&
                          (text[at + 1] == '\'' || text[at + 1] == '"' || text[at + 1] == '\\');
        if (mark) ++at;
        plain.push_back(text[at]);
    }
    return spoken.emplace_back(std::move(plain));
}

int line_of(std::string_view text) {
    int line = 0;
    std::from_chars(text.data(), text.data() + text.size(), line);
    return std::max(line, 0);
}

}  // namespace

Status HloFrames::read(HloScanner& scanner) {
    Row files;
    Row functions;
    Row locations;
    Row frames;
    const std::pair<std::string_view, Row*> tables[] = {
        {"FileNames", &files}, {"FunctionNames", &functions}, {"FileLocations", &locations}, {"StackFrames", &frames}};
    bool found = true;
    while (found) {
        found = false;
        for (const auto& [title, rows] : tables) {
            if (!scanner.take(title)) continue;
            found = true;
            scanner.skip_blanks();
            while (is_digit(scanner.peek())) {
                const std::string_view key = scanner.take_name();
                ROOFLINE_TRY((*rows)[number_of(key)], scanner.take_value());
                scanner.skip_blanks();
            }
        }
    }
    for (const auto& [frame, row] : frames) {
        std::int64_t location = -1;
        each_field(row, [&](std::string_view key, std::string_view value) {
            if (key == "file_location_id") location = number_of(value);
        });
        const auto place = locations.find(location);
        if (place != locations.end()) places_.emplace(frame, place_of(place->second, files));
    }
    return {};
}

HloFrames::FrameLine HloFrames::place_of(std::string_view location, const Row& files) {
    FrameLine place;
    each_field(location, [&](std::string_view key, std::string_view value) {
        if (key == "line") place.line = line_of(value);
        if (key != "file_name_id") return;
        const auto file = files.find(number_of(value));
        if (file == files.end()) return;
        place.file = file->second;
        if (place.file.size() >= 2 && place.file.front() == '"')
            place.file = place.file.substr(1, place.file.size() - 2);
    });
    return place;
}

void HloFrames::locate(std::int64_t frame, XlaOrigin& origin) const {
    const auto place = places_.find(frame);
    if (place == places_.end()) return;
    origin.file = place->second.file;
    origin.line = place->second.line;
}

void read_metadata(std::string_view metadata, const HloFrames& frames, XlaOrigin& origin,
                   std::deque<std::string>& spoken) {
    std::string_view frame;
    each_field(metadata, [&](std::string_view key, std::string_view value) {
        if (key == "op_name") origin.op_name = without_escapes(value, spoken);
        if (key == "source_file") origin.file = without_escapes(value, spoken);
        if (key == "source_line") origin.line = line_of(value);
        if (key == "stack_frame_id") frame = value;
    });
    if (origin.file.empty() && !frame.empty()) frames.locate(number_of(frame), origin);
}

}  // namespace roofline::core

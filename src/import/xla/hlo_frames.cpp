#include "import/xla/hlo_frames.hpp"

#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

// The value of `key=` in a list whose items are separated by blanks; quotation marks are left out.
std::string_view field(std::string_view text, std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
        const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '{';
        std::size_t from = at + key.size();
        if (!begins || from >= text.size() || text[from] != '=') continue;
        ++from;
        const bool quoted = from < text.size() && text[from] == '"';
        if (quoted) ++from;
        std::size_t end = from;
        while (end < text.size() && (quoted ? text[end] != '"' : text[end] != ' ' && text[end] != '}')) {
            if (quoted && text[end] == '\\') ++end;
            ++end;
        }
        return text.substr(from, std::min(end, text.size()) - from);
    }
    return {};
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
    Row functions;
    const std::pair<std::string_view, Row*> tables[] = {{"FileNames", &files_},
                                                        {"FunctionNames", &functions},
                                                        {"FileLocations", &locations_},
                                                        {"StackFrames", &frames_}};
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
    return {};
}

void HloFrames::locate(std::int64_t frame, XlaOrigin& origin) const {
    const auto row = frames_.find(frame);
    if (row == frames_.end()) return;
    const auto location = locations_.find(number_of(field(row->second, "file_location_id")));
    if (location == locations_.end()) return;
    origin.line = line_of(field(location->second, "line"));
    const auto file = files_.find(number_of(field(location->second, "file_name_id")));
    if (file == files_.end()) return;
    origin.file = file->second;
    if (origin.file.size() >= 2 && origin.file.front() == '"')
        origin.file = origin.file.substr(1, origin.file.size() - 2);
}

void read_metadata(std::string_view metadata, const HloFrames& frames, XlaOrigin& origin,
                   std::deque<std::string>& spoken) {
    origin.op_name = without_escapes(field(metadata, "op_name"), spoken);
    origin.file = without_escapes(field(metadata, "source_file"), spoken);
    origin.line = line_of(field(metadata, "source_line"));
    const std::string_view frame = field(metadata, "stack_frame_id");
    if (origin.file.empty() && !frame.empty()) frames.locate(number_of(frame), origin);
}

}  // namespace roofline::core

#include "import/profile/public_text.hpp"

#include <algorithm>
#include <vector>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

bool is_slash(char c) { return c == '/' || c == '\\'; }

std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t size = std::min(path.find_first_of("/\\"), path.size());
        if (size > 0) parts.push_back(path.substr(0, size));
        path.remove_prefix(std::min(size + 1, path.size()));
    }
    return parts;
}

/// Folders whose folders may be those of users.
bool holds_homes(std::string_view folder) {
    constexpr std::string_view known[] = {"home", "homes",     "users", "user", "scratch",
                                          "work", "workspace", "data",  "nfs"};
    return std::find(std::begin(known), std::end(known), lowered(folder)) != std::end(known);
}

/// Whether a text that looks like a path is one of a file system: names of layers are written so, too.
bool is_of_files(std::string_view path, const std::vector<std::string_view>& parts) {
    constexpr std::string_view roots[] = {"home", "users",   "root", "mnt",     "tmp",       "usr",     "opt",
                                          "var",  "data",    "nfs",  "work",    "srv",       "lustre",  "scratch",
                                          "gpfs", "volumes", "app",  "private", "workspace", "content", "shared"};
    const std::string first = lowered(parts.front());
    return path.front() != '/' || std::find(std::begin(roots), std::end(roots), first) != std::end(roots) ||
           path.find(".py") != std::string_view::npos;
}

std::string joined(const std::vector<std::string_view>& parts, std::size_t first) {
    std::string made;
    for (std::size_t i = first; i < parts.size(); ++i) {
        if (!made.empty()) made.push_back('/');
        made += parts[i];
    }
    return made;
}

/// Whether a path from the root begins at a place of a text.
bool begins_path(std::string_view text, std::size_t at) {
    constexpr std::string_view before = " \t([{<\"'=:,;|@";
    const bool fresh = at == 0 || before.find(text[at - 1]) != std::string_view::npos;
    if (!fresh || at + 1 >= text.size()) return false;
    const auto letter = [&](std::size_t i) { return i < text.size() && !is_slash(text[i]) && text[i] != ' '; };
    if (text[at] == '/' || text[at] == '~') return text[at] == '/' ? letter(at + 1) : text[at + 1] == '/';
    const bool drive = at + 2 < text.size() && text[at + 1] == ':' && is_slash(text[at + 2]);
    return drive && to_lower(text[at]) >= 'a' && to_lower(text[at]) <= 'z';
}

}  // namespace

std::string public_path(std::string_view path) {
    if (std::none_of(path.begin(), path.end(), is_slash)) return std::string(path);
    const std::vector<std::string_view> parts = parts_of(path);
    if (parts.empty()) return {};
    for (std::size_t i = parts.size() - 1; i > 0; --i) {
        if (parts[i - 1] == "site-packages" || parts[i - 1] == "dist-packages") return joined(parts, i);
    }
    const std::size_t last = parts.size() - 1;
    if (last == 0) return joined(parts, last);
    // "/alice/train.py" and "/mnt/alice/train.py" may name a user, as "/shared/users/alice/train.py" does.
    constexpr std::size_t least_folders = 3;
    const bool rooted = is_slash(path.front()) || parts.front().ends_with(':') || parts.front() == "~";
    const bool home = (rooted && last < least_folders) || (last >= 2 && holds_homes(parts[last - 2]));
    return joined(parts, home ? last : last - 1);
}

std::string without_paths(std::string_view text) {
    std::string made;
    std::size_t at = 0;
    constexpr std::string_view after = " \t)]}>\"',;|";
    while (at < text.size()) {
        if (!begins_path(text, at)) {
            made.push_back(text[at++]);
            continue;
        }
        const std::size_t end = std::min(text.find_first_of(after, at), text.size());
        const std::string_view path = text.substr(at, end - at);
        const std::vector<std::string_view> parts = parts_of(path);
        made += parts.size() >= 2 && is_of_files(path, parts) ? public_path(path) : std::string(path);
        at = end;
    }
    return made;
}

}  // namespace roofline::core

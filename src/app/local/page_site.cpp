#include "app/local/page_site.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace roofline::core {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20U;

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const CodePoint c = decode_utf8(text);
        if (!c.valid) return false;
        text.remove_prefix(c.length);
    }
    return true;
}

// Whether a name may be that of a file in the directory itself.
bool is_plain_name(std::string_view name) {
    constexpr std::size_t longest = 255;
    return !name.empty() && name.size() <= longest && name.front() != '.' && is_utf8(name) &&
           name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

std::optional<int> hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

// Undoes percent encoding; empty if it is wrong.
std::optional<std::string> decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const auto high = hex_digit(text[i + 1]);
        const auto low = hex_digit(text[i + 2]);
        if (!high || !low) return std::nullopt;
        plain += static_cast<char>(16 * *high + *low);
        i += 2;
    }
    return plain;
}

// Takes the same time wherever two texts of one length differ.
bool same(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
    }
    return difference == 0;
}

// The page that `./dev page` writes allows no connections. If it is served from here, it is told that there are files,
// and may request these and nothing else.
std::string with_files(std::string page, std::string_view address) {
    constexpr std::string_view closed = "connect-src 'none'";
    constexpr std::string_view head = "</head>";
    const std::size_t policy = page.find(closed);
    const std::size_t end = page.find(head);
    if (policy == std::string::npos || end == std::string::npos || end < policy) return page;
    page.insert(end, "<meta name=\"roofline-files\" content=\"files/\">\n");
    page.replace(policy, closed.size(), fmt::format("connect-src {}files/", address));
    return page;
}

HttpReply refused(int status, std::string why) { return {status, "", std::move(why) + "\n"}; }

}  // namespace

Result<OpenDirectory> OpenDirectory::open(const std::string& path) {
    const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) return OpenDirectory(directory);
    return fail("file", fmt::format("cannot open {}: {}", path, std::generic_category().message(errno)),
                "start it in another directory");
}

OpenDirectory::OpenDirectory(OpenDirectory&& other) noexcept : directory_(std::exchange(other.directory_, -1)) {}

OpenDirectory::~OpenDirectory() {
    if (directory_ >= 0) ::close(directory_);
}

std::string OpenDirectory::list() const {
    constexpr std::size_t most = 10'000;
    struct Entry {
        std::string name;
        std::uint64_t bytes = 0;
    };
    std::vector<Entry> entries;
    // A descriptor of its own: each listing begins at the first entry.
    const int copy = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> stream(copy < 0 ? nullptr : ::fdopendir(copy), close);
    if (!stream && copy >= 0) ::close(copy);
    while (stream && entries.size() < most) {
        const dirent* const entry = ::readdir(stream.get());
        if (entry == nullptr) break;
        struct stat facts{};
        if (!is_plain_name(entry->d_name) || ::fstatat(directory_, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(facts.st_mode) || static_cast<std::uint64_t>(facts.st_size) > most_bytes) {
            continue;
        }
        entries.push_back({entry->d_name, static_cast<std::uint64_t>(facts.st_size)});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Entry& each : entries) json.push_back({{"name", each.name}, {"bytes", each.bytes}});
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<std::string> OpenDirectory::read(const std::string& name) const {
    const auto missing = [&] { return fail("missing", fmt::format("there is no file {}", in_ticks(name))); };
    if (!is_plain_name(name)) return missing();
    // O_NONBLOCK: a FIFO is refused instead of waited for.
    const int file = ::openat(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return missing();
    const auto close = [](const int* open) { ::close(*open); };
    const std::unique_ptr<const int, decltype(close)> closed(&file, close);
    struct stat facts{};
    if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return missing();
    const auto too_large = [&] {
        return fail("too_large", fmt::format("{} is larger than {} MiB", in_ticks(name), most_bytes >> 20U));
    };
    if (static_cast<std::uint64_t>(facts.st_size) > most_bytes) return too_large();
    std::string content;
    constexpr std::size_t piece = std::size_t{1} << 20U;
    while (true) {
        const std::size_t at = content.size();
        if (at > most_bytes) return too_large();
        content.resize(at + piece);
        ssize_t got = -1;
        do {
            got = ::read(file, content.data() + at, piece);
        } while (got < 0 && errno == EINTR);
        content.resize(at + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0) return missing();
        if (got == 0) return content;
    }
}

std::string PageSite::url() const { return fmt::format("http://127.0.0.1:{}/{}/", port_, token_); }

HttpReply PageSite::answer(const HttpRequest& request) const {
    if (request.host != fmt::format("127.0.0.1:{}", port_) && request.host != fmt::format("localhost:{}", port_)) {
        return refused(403, "this server answers only to its own address");
    }
    if (request.method != "GET") return refused(405, "only GET is answered: nothing is written");
    std::string_view path = request.target;
    path = path.substr(0, path.find_first_of("?#"));
    if (!path.starts_with('/')) return refused(404, "nothing is here");
    path.remove_prefix(1);
    const std::size_t slash = path.find('/');
    if (!same(path.substr(0, slash), token_)) return refused(404, "nothing is here");
    if (slash == std::string_view::npos) return {308, "", "", fmt::format("/{}/", token_)};
    path.remove_prefix(slash + 1);
    if (path.empty() || path == "index.html") {
        const std::string address = fmt::format("http://{}/{}/", request.host, token_);
        return {200, "text/html; charset=utf-8", with_files(page_, address)};
    }
    constexpr std::string_view folder = "files/";
    if (path == folder) return {200, "application/json", files_.list()};
    if (path.starts_with(folder)) return file(path.substr(folder.size()));
    return refused(404, "nothing is here");
}

HttpReply PageSite::file(std::string_view name) const {
    const auto plain = decoded(name);
    if (!plain) return refused(400, "the name is not valid percent-encoding");
    auto content = files_.read(*plain);
    if (!content && content.error().code == "too_large") return refused(413, "the file is too large");
    if (!content) return refused(404, "there is no such file");
    HttpReply reply{200, "application/octet-stream", std::move(*content)};
    reply.attachment = true;
    return reply;
}

}  // namespace roofline::core

#include "app/cli/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace roofline::cli {

namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 20U;

tl::unexpected<Error> failed(std::string_view doing, const std::string& path, int error) {
    const std::string_view remedy = error == ENOENT   ? "check the path"
                                    : error == EACCES ? "check its permissions"
                                    : error == ENOSPC ? "free some space or write elsewhere"
                                                      : "";
    return fail("file", fmt::format("cannot {} {}: {}", doing, path, std::strerror(error)), std::string(remedy));
}

// Everything, or errno.
int write_all(int file, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(file, content.data(), content.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

}  // namespace

Result<FileHead> FileHead::open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed("open", path, errno);
    struct stat facts{};
    if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        ::close(file);
        return failed("read", path, S_ISDIR(facts.st_mode) ? EISDIR : ESPIPE);
    }
    return FileHead(path, file, static_cast<std::uint64_t>(facts.st_size));
}

FileHead::FileHead(FileHead&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

FileHead::~FileHead() {
    if (file_ >= 0) ::close(file_);
}

Result<std::string> FileHead::read(std::uint64_t bytes) const {
    std::string content(static_cast<std::size_t>(std::min(bytes, size_)), '\0');
    std::size_t at = 0;
    while (at < content.size()) {
        const ssize_t got = ::pread(file_, content.data() + at, content.size() - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed("read", path_, errno);
        if (got == 0) break;
        at += static_cast<std::size_t>(got);
    }
    content.resize(at);
    return content;
}

Result<std::string> read_file(const std::string& path) {
    const bool standard_input = path == "-";
    const int file = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed("open", path, errno);
    std::string content;
    std::string chunk(std::size_t{1} << 16U, '\0');
    int error = 0;
    while (true) {
        const ssize_t got = ::read(file, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno;
        if (got <= 0) break;
        content.append(chunk.data(), static_cast<std::size_t>(got));
        if (content.size() > most_bytes) break;
    }
    if (!standard_input) ::close(file);
    if (error != 0) return failed("read", standard_input ? "standard input" : path, error);
    if (content.size() > most_bytes) {
        return fail(
            "file",
            fmt::format("{} is larger than {} MiB", standard_input ? "standard input" : path, most_bytes >> 20U),
            "is it the right file?");
    }
    return content;
}

Status write_file(const std::string& path, std::string_view content) {
    if (path == "-") return print(content);
    struct stat existing{};
    const bool exists = ::stat(path.c_str(), &existing) == 0;
    // A device or pipe cannot be replaced by renaming.
    const bool in_place = exists && !S_ISREG(existing.st_mode);
    if (exists && S_ISDIR(existing.st_mode)) return failed("write", path, EISDIR);
    const std::string target = in_place ? path : fmt::format("{}.{}.part", path, ::getpid());
    const int flags = O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL);
    const int file = ::open(target.c_str(), flags, 0666);
    if (file < 0) return failed("write", path, errno);
    int error = write_all(file, content);
    if (error == 0 && !in_place && ::fsync(file) != 0) error = errno;
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0 && !in_place && ::rename(target.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0 && !in_place) ::unlink(target.c_str());
    if (error != 0) return failed("write", path, error);
    return {};
}

Status print(std::string_view content) {
    if (const int error = write_all(STDOUT_FILENO, content); error != 0)
        return failed("write to", "standard output", error);
    return {};
}

}  // namespace roofline::cli

#include "app/cli/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace roofline::core::cli {

namespace {

constexpr std::size_t max_input_bytes = std::size_t{256} << 20U;

tl::unexpected<Error> failed(std::string_view doing, const std::string& path, int error) {
    const std::string_view remedy = error == ENOENT   ? "check the path"
                                    : error == EACCES ? "check its permissions"
                                    : error == ENOSPC ? "free some space or write elsewhere"
                                                      : "";
    return fail("file", fmt::format("cannot {} {}: {}", doing, path, std::strerror(error)), std::string(remedy));
}

// Writes all of the content; returns 0 or errno.
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

/// Files that the command has read or written. It refuses to replace one of them, because its content would be lost.
std::vector<std::pair<dev_t, ino_t>>& known_files() {
    thread_local std::vector<std::pair<dev_t, ino_t>> files;
    return files;
}

/// Texts of QuestionFiles, if there is one.
std::optional<std::map<std::string, std::string>>& given_texts() {
    thread_local std::optional<std::map<std::string, std::string>> texts;
    return texts;
}

void remember(const struct stat& file) {
    if (S_ISREG(file.st_mode)) known_files().emplace_back(file.st_dev, file.st_ino);
}

bool is_input(const struct stat& file) {
    const std::pair<dev_t, ino_t> id(file.st_dev, file.st_ino);
    return std::find(known_files().begin(), known_files().end(), id) != known_files().end();
}

/// Returns the target of a symbolic link, whether or not it exists.
Result<std::string> resolve_links(const std::string& path) {
    std::string target = path;
    constexpr int max_links = 40;  // the limit of Linux
    for (int links = 0; links < max_links; ++links) {
        std::string to(PATH_MAX, '\0');
        const ssize_t length = ::readlink(target.c_str(), to.data(), to.size());
        if (length < 0) return target;
        to.resize(static_cast<std::size_t>(length));
        const std::size_t slash = target.rfind('/');
        target.resize(to.starts_with('/') || slash == std::string::npos ? 0 : slash + 1);
        target += to;
    }
    return failed("write", path, ELOOP);
}

/// Blocks signals that would end the process during its lifetime.
class BlockedSignals {
public:
    BlockedSignals() {
        sigset_t ending;
        sigemptyset(&ending);
        for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM}) sigaddset(&ending, signal);
        ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
    }
    ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
    sigset_t before_{};
};

/// Creates a new file in the folder of `target` and stores its name in `part`. Returns a negative number and sets errno
/// if it fails. The name is random because process ids repeat in containers.
int open_temporary_file(const std::string& target, std::string& part) {
    const std::size_t slash = target.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : target.substr(0, slash + 1);
    int file = -1;
    for (int tries = 0; tries < 16; ++tries) {
        std::uint64_t random = 0;
        if (::getrandom(&random, sizeof random, 0) != sizeof random) return -1;
        part = fmt::format("{}.roofline-{:016x}.part", folder, random);
        file = ::open(part.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
        if (file >= 0 || errno != EEXIST) break;
    }
    return file;
}

Status write_in_place(const std::string& path, const std::string& target, std::string_view content) {
    const int file = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return failed("write", path, errno);
    int error = write_all(file, content);
    if (::close(file) != 0 && error == 0) error = errno;
    if (error != 0) return failed("write", path, error);
    return {};
}

}  // namespace

Result<FileHead> FileHead::open(const std::string& path) {
    // O_NONBLOCK: a FIFO without a writer is refused instead of waited for.
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return failed("open", path, errno);
    struct stat facts{};
    if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        ::close(file);
        if (S_ISDIR(facts.st_mode)) return failed("read", path, EISDIR);
        return fail("file", fmt::format("cannot read {}: it is a FIFO or device", path),
                    "weights must be in a regular file");
    }
    remember(facts);
    return FileHead(path, file, static_cast<std::uint64_t>(facts.st_size));
}

QuestionFiles::QuestionFiles(std::map<std::string, std::string> texts) {
    known_files().clear();
    given_texts() = std::move(texts);
}

QuestionFiles::~QuestionFiles() { given_texts().reset(); }

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

namespace {

/// A file that is open.
class FileSource final : public ByteSource {
public:
    FileSource(std::string name, int file) : name_(std::move(name)), file_(file) {}
    ~FileSource() override {
        if (file_ != STDIN_FILENO) ::close(file_);
    }
    FileSource(const FileSource&) = delete;
    FileSource& operator=(const FileSource&) = delete;

    Result<std::size_t> read(std::span<char> into) override {
        while (true) {
            const ssize_t got = ::read(file_, into.data(), into.size());
            if (got >= 0) return static_cast<std::size_t>(got);
            if (errno != EINTR) return failed("read", name_, errno);
        }
    }

private:
    std::string name_;
    int file_;
};

/// A text that it owns.
class HeldTextSource final : public ByteSource {
public:
    explicit HeldTextSource(std::string text) : text_(std::move(text)), source_(text_) {}
    Result<std::size_t> read(std::span<char> into) override { return source_.read(into); }

private:
    std::string text_;
    TextSource source_;
};

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path, Reading reading) {
    const bool standard_input = path == "-";
    if (const auto& texts = given_texts()) {
        if (const auto text = texts->find(path); text != texts->end()) {
            return std::make_unique<HeldTextSource>(text->second);
        }
        if (standard_input) return fail("file", "standard input is not read here", "give the text, or a file's name");
    }
    const int file = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed("open", path, errno);
    struct stat facts{};
    if (reading == Reading::to_keep && ::fstat(file, &facts) == 0) remember(facts);
    return std::make_unique<FileSource>(standard_input ? "standard input" : path, file);
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) { return open_source(path, Reading::to_keep); }

Result<std::string> read_file(const std::string& path, Reading reading) {
    ROOFLINE_TRY(const auto source, open_source(path, reading));
    ROOFLINE_TRY(std::string content, read_some(*source, max_input_bytes + 1));
    if (content.size() > max_input_bytes) {
        return fail(
            "file",
            fmt::format("{} is larger than {} MiB", path == "-" ? "standard input" : path, max_input_bytes >> 20U),
            "is it the right file?");
    }
    return content;
}

Status check_folder(const std::string& path) {
    const std::string folder = path.empty() ? "." : path;
    struct stat existing{};
    if (::stat(folder.c_str(), &existing) != 0) {
        const int error = errno;
        if (error != ENOENT) return failed("write to", folder, error);
        return fail("file", fmt::format("there is no folder {}", folder), fmt::format("mkdir -p {}", folder));
    }
    if (!S_ISDIR(existing.st_mode)) return failed("write to", folder, ENOTDIR);
    if (::access(folder.c_str(), W_OK | X_OK) != 0) return failed("write to", folder, errno);
    return {};
}

Status write_file(const std::string& path, std::string_view content) {
    if (path == "-") return print(content);
    ROOFLINE_TRY(const auto target, resolve_links(path));
    struct stat existing{};
    const bool exists = ::stat(target.c_str(), &existing) == 0;
    if (exists && S_ISDIR(existing.st_mode)) return failed("write", path, EISDIR);
    if (exists && is_input(existing)) {
        return fail("file",
                    fmt::format("{} is also an input or another output of this command, so it is not replaced", path),
                    "name another file");
    }
    // A device or a pipe cannot be replaced by renaming.
    if (exists && !S_ISREG(existing.st_mode)) return write_in_place(path, target, content);
    // A signal ends the process only after the file is complete, so that no partial file remains.
    const BlockedSignals held;
    std::string part;
    const int file = open_temporary_file(target, part);
    if (file < 0) return failed("write", path, errno);
    int error = write_all(file, content);
    if (error == 0 && exists && ::fchmod(file, existing.st_mode & 07777U) != 0) error = errno;
    if (error == 0 && ::fsync(file) != 0) error = errno;
    struct stat written{};
    if (error == 0 && ::fstat(file, &written) != 0) error = errno;
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0 && ::rename(part.c_str(), target.c_str()) != 0) error = errno;
    if (error != 0) {
        ::unlink(part.c_str());
        return failed("write", path, error);
    }
    remember(written);
    return {};
}

void print_to_stderr(std::string_view text) {
    // A failure here cannot be reported to anybody.
    (void)write_all(STDERR_FILENO, text);
}

void open_standard_streams() {
    // A file that is opened later must not get the number of a standard stream, or output would go to that file.
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
        // The access mode is inverted, so that reading and writing still fail as they would on a closed descriptor.
        (void)::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

Status print(std::string_view content) {
    if (const int error = write_all(STDOUT_FILENO, content); error != 0)
        return failed("write to", "standard output", error);
    return {};
}

}  // namespace roofline::core::cli

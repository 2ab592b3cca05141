// File access of the command line.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "text/byte_source.hpp"

namespace roofline::core::cli {

/// Whether the command may replace a file that it has read. It may if it continues a measurement from it.
enum class Reading { to_keep, to_replace };

/// Reads a whole file, or standard input for "-". Errors: it is missing, a directory, unreadable, or larger than 256
/// MiB (measurement tables are the largest).
[[nodiscard]] Result<std::string> read_file(const std::string& path, Reading reading = Reading::to_keep);

/// Opens a file, or standard input for "-", to be read once and in parts. Errors: as for read_file(), but for its size;
/// those of reading come later.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);

/// The files of one question, for a process that asks several: while it exists, read_file() returns these texts for
/// their names in this thread, without access to the disk, and does not read standard input; and files that earlier
/// questions have read may be replaced.
class QuestionFiles {
public:
    explicit QuestionFiles(std::map<std::string, std::string> texts);
    ~QuestionFiles();
    QuestionFiles(const QuestionFiles&) = delete;
    QuestionFiles& operator=(const QuestionFiles&) = delete;
};

/// A file of which only the beginning is read, whatever its size.
class FileHead {
public:
    /// Errors: the file is missing, a directory, a pipe, or unreadable.
    [[nodiscard]] static Result<FileHead> open(const std::string& path);
    FileHead(FileHead&& other) noexcept;
    FileHead& operator=(FileHead&&) = delete;
    FileHead(const FileHead&) = delete;
    FileHead& operator=(const FileHead&) = delete;
    ~FileHead();

    /// Returns the size of the file in bytes.
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// Reads the first `bytes`, or the whole file if it is shorter.
    [[nodiscard]] Result<std::string> read(std::uint64_t bytes) const;

private:
    FileHead(std::string path, int file, std::uint64_t size) : path_(std::move(path)), file_(file), size_(size) {}

    std::string path_;
    int file_;
    std::uint64_t size_;
};

/// Writes a temporary file next to the target and renames it, so that the target is either complete or unchanged, even
/// if a signal arrives. The target keeps its mode, and a symbolic link remains one. "-" is standard output. Errors:
/// errors of the system; the command has read this file and must keep it, or has already written it.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content);

/// Errors: a file could not be written to this folder, because it is missing, not a folder, or protected; "" is the
/// current one. Commands that compute for long before they write ask first.
[[nodiscard]] Status check_folder(const std::string& path);

/// Writes to standard error; failures are ignored.
void print_to_stderr(std::string_view text);

/// Makes sure that descriptors 0, 1 and 2 are open, even if the caller has closed them.
void open_standard_streams();

/// Writes everything to standard output. Error: the write failed (a full disk, a closed pipe).
[[nodiscard]] Status print(std::string_view content);

}  // namespace roofline::core::cli

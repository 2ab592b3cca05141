// The command line's dealings with the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core::cli {

/// Whether a file that is read may be replaced by the same command: what a measurement goes on from may.
enum class Reading { to_keep, to_replace };

/// The whole of a file, or of standard input for "-". Errors: missing, a directory, unreadable, beyond 256 MiB
/// (measurement tables are the largest).
[[nodiscard]] Result<std::string> read_file(const std::string& path, Reading reading = Reading::to_keep);

/// A file of which only the beginning is wanted, however long it is.
class FileHead {
public:
    /// Errors: missing, a directory, a pipe, unreadable.
    [[nodiscard]] static Result<FileHead> open(const std::string& path);
    FileHead(FileHead&& other) noexcept;
    FileHead& operator=(FileHead&&) = delete;
    FileHead(const FileHead&) = delete;
    FileHead& operator=(const FileHead&) = delete;
    ~FileHead();

    /// In bytes.
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// The first `bytes`, or as many as there are.
    [[nodiscard]] Result<std::string> read(std::uint64_t bytes) const;

private:
    FileHead(std::string path, int file, std::uint64_t size) : path_(std::move(path)), file_(file), size_(size) {}

    std::string path_;
    int file_;
    std::uint64_t size_;
};

/// Writes beside the target and renames, so that the target is whole or untouched, whatever signal comes; it keeps its
/// mode, and a symbolic link stays one. "-" is standard output. Errors: what the system says; a file that the command
/// has read to keep, or already written.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content);

/// Writes to standard error, if it can be.
void complain(std::string_view text);

/// Sees to it that standard input, output and error have their numbers, also where the caller has closed them.
void hold_standard_files();

/// Writes all of it to standard output. Error: it could not take it (a full disk, a closed pipe).
[[nodiscard]] Status print(std::string_view content);

}  // namespace roofline::core::cli

// The disk of the command line (app/cli/files.hpp), which has only the files of a question.
#include "given_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "app/cli/files.hpp"

namespace roofline::page {

namespace {

using Files = std::map<std::string, std::string_view, std::less<>>;

Files& given() {
    static Files files;
    return files;
}

core::Result<std::string_view> find(const std::string& path) {
    if (const auto file = given().find(path); file != given().end()) return file->second;
    if (path == "-") return core::fail("file", "standard input is not read here", "give the text, or a file's name");
    return core::fail("file", fmt::format("cannot open {}: No such file or directory", path), "check the path");
}

}  // namespace

GivenFiles::GivenFiles(Files files) { given() = std::move(files); }

GivenFiles::~GivenFiles() { given().clear(); }

}  // namespace roofline::page

namespace roofline::core::cli {

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
    ROOFLINE_TRY(const auto text, page::find(path));
    return std::make_unique<TextSource>(text);
}

Result<std::string> read_file(const std::string& path, Reading) {
    ROOFLINE_TRY(const auto text, page::find(path));
    return std::string(text);
}

// `file_` is not used: files are found by their names.
Result<FileHead> FileHead::open(const std::string& path) {
    ROOFLINE_TRY(const auto text, page::find(path));
    return FileHead(path, -1, text.size());
}

FileHead::FileHead(FileHead&& other) noexcept : path_(std::move(other.path_)), file_(other.file_), size_(other.size_) {}

FileHead::~FileHead() = default;

Result<std::string> FileHead::read(std::uint64_t bytes) const {
    ROOFLINE_TRY(const auto text, page::find(path_));
    return std::string(text.substr(0, static_cast<std::size_t>(std::min(bytes, size_))));
}

// What would be written into a folder is part of the answer.
Status check_folder(const std::string&) { return {}; }

// Of commands that print while they run, none is answered here.
Status print(std::string_view) { return fail("absent", "nothing is printed here"); }

}  // namespace roofline::core::cli

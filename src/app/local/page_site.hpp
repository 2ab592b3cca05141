// What `roofline page` lets a browser read: the page, and the files of one directory.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "app/local/http_server.hpp"
#include "base/result.hpp"

namespace roofline::core {

/// A directory whose files may be read: regular files directly in it whose names do not begin with a dot. Symbolic
/// links are not followed, so nothing outside can be reached.
class OpenDirectory {
public:
    /// Errors: it is missing or unreadable.
    [[nodiscard]] static Result<OpenDirectory> open(const std::string& path);
    OpenDirectory(OpenDirectory&& other) noexcept;
    OpenDirectory& operator=(OpenDirectory&&) = delete;
    OpenDirectory(const OpenDirectory&) = delete;
    OpenDirectory& operator=(const OpenDirectory&) = delete;
    ~OpenDirectory();

    /// Returns [{"name": "a.hlo", "bytes": 12}] by name; files that are too large are left out.
    [[nodiscard]] std::string list() const;
    /// Errors: code `missing` for all that is not such a file, `too_large` for more than 256 MiB.
    [[nodiscard]] Result<std::string> read(const std::string& name) const;

private:
    explicit OpenDirectory(int directory) : directory_(directory) {}
    int directory_;
};

/// Answers requests. Only those with the secret word in the path and this machine's own name in the header Host get
/// anything: other web sites that are open in the same browser know neither, and a name of theirs that points here does
/// not help (DNS rebinding).
class PageSite {
public:
    /// `page` is the HTML document, `token` the secret word.
    PageSite(std::string page, std::string token, OpenDirectory files)
        : page_(std::move(page)), token_(std::move(token)), files_(std::move(files)) {}

    /// Sets the port that Host must name.
    void set_port(int port) { port_ = port; }
    [[nodiscard]] std::string url() const;
    /// GET /TOKEN/ is the page, /TOKEN/files/ the listing, /TOKEN/files/NAME a file. The page's policy is changed to
    /// admit connections to the files, and a meta element `roofline-files` tells it where they are.
    [[nodiscard]] HttpReply answer(const HttpRequest& request) const;

private:
    [[nodiscard]] HttpReply file(std::string_view name) const;

    std::string page_;
    std::string token_;
    OpenDirectory files_;
    int port_ = 0;
};

}  // namespace roofline::core

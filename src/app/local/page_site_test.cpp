#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "app/local/page_site.hpp"

namespace roofline::core {

namespace {

// A directory with files, and one beside it that must not be reached.
class Folder {
public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "roofline-page-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
        std::filesystem::create_directories(root_ / "open" / "below");
        write("secret.txt", "secret");
        write("open/a.hlo", "HloModule a");
        write("open/b c%.json", "{}");
        write("open/.hidden", "hidden");
        write("open/below/deep.txt", "deep");
        std::filesystem::create_symlink("../secret.txt", root_ / "open" / "link.txt");
        std::filesystem::create_directory_symlink("..", root_ / "open" / "up");
        std::ofstream(root_ / "open" / "large.bin").close();
        std::filesystem::resize_file(root_ / "open" / "large.bin", (std::uintmax_t{256} << 20U) + 1);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(root_); }

    [[nodiscard]] std::string open() const { return (root_ / "open").string(); }

private:
    void write(const std::string& name, const std::string& text) const { std::ofstream(root_ / name) << text; }
    std::filesystem::path root_;
};

PageSite site_of(const Folder& folder) {
    auto files = OpenDirectory::open(folder.open());
    REQUIRE(files);
    PageSite site("<p>page</p>", "0123456789abcdef", std::move(*files));
    site.set_port(8000);
    return site;
}

int status_of(const PageSite& site, const std::string& target, const std::string& host = "127.0.0.1:8000",
              const std::string& method = "GET") {
    const HttpReply reply = site.answer({method, target, host});
    if (reply.status >= 400) {
        CHECK(reply.body.find("secret") == std::string::npos);
        CHECK(reply.body.find("page</p>") == std::string::npos);
    }
    return reply.status;
}

}  // namespace

TEST_CASE("the page, the listing and the files are there for who has the token") {
    const Folder folder;
    const PageSite site = site_of(folder);
    CHECK(site.url() == "http://127.0.0.1:8000/0123456789abcdef/");
    CHECK(site.answer({"GET", "/0123456789abcdef/", "127.0.0.1:8000"}).body == "<p>page</p>");
    CHECK(status_of(site, "/0123456789abcdef/?q=1", "localhost:8000") == 200);
    CHECK(site.answer({"GET", "/0123456789abcdef", "127.0.0.1:8000"}).location == "/0123456789abcdef/");
    const HttpReply list = site.answer({"GET", "/0123456789abcdef/files/", "127.0.0.1:8000"});
    CHECK(list.type == "application/json");
    CHECK(list.body == R"([{"name":"a.hlo","bytes":11},{"name":"b c%.json","bytes":2}])");
    const HttpReply file = site.answer({"GET", "/0123456789abcdef/files/a.hlo", "127.0.0.1:8000"});
    CHECK(file.body == "HloModule a");
    CHECK(file.attachment);  // a file is never shown as a page of this origin
    CHECK(site.answer({"GET", "/0123456789abcdef/files/b%20c%25.json", "127.0.0.1:8000"}).body == "{}");
}

TEST_CASE("the page may ask for the files, and for nothing else") {
    const Folder folder;
    auto files = OpenDirectory::open(folder.open());
    REQUIRE(files);
    PageSite site("<head><meta content=\"default-src 'none'; connect-src 'none'\"></head>connect-src 'none'",
                  "0123456789abcdef", std::move(*files));
    site.set_port(8000);
    for (const std::string host : {"127.0.0.1:8000", "localhost:8000"}) {
        CHECK(site.answer({"GET", "/0123456789abcdef/", host}).body ==
              "<head><meta content=\"default-src 'none'; connect-src http://" + host +
                  "/0123456789abcdef/files/\"><meta name=\"roofline-files\" content=\"files/\">\n</head>connect-src "
                  "'none'");
    }
}

TEST_CASE("without the token nothing is there") {
    const Folder folder;
    const PageSite site = site_of(folder);
    for (const char* target : {"/", "/files/", "/files/a.hlo", "/0123456789abcdee/", "/0123456789abcde/",
                               "/0123456789abcdef0/", "//0123456789abcdef/", "/%30123456789abcdef/", "*", "",
                               "http://127.0.0.1:8000/0123456789abcdef/", "/../0123456789abcdef/", "/index.html"}) {
        CAPTURE(target);
        CHECK(status_of(site, target) == 404);
    }
}

TEST_CASE("nothing outside of the directory, below it or hidden in it is served") {
    const Folder folder;
    const PageSite site = site_of(folder);
    for (const char* name : {"../secret.txt",
                             "..%2fsecret.txt",
                             "%2e%2e/secret.txt",
                             "%2e%2e%2fsecret.txt",
                             "..\\secret.txt",
                             "..%5csecret.txt",
                             "./a.hlo",
                             "%2fetc%2fpasswd",
                             "/etc/passwd",
                             "link.txt",
                             "up",
                             "up/secret.txt",
                             "up%2fsecret.txt",
                             "below",
                             "below/deep.txt",
                             "below%2fdeep.txt",
                             ".hidden",
                             "%2ehidden",
                             ".",
                             "..",
                             "%00",
                             "a.hlo%00.txt",
                             "a.hlo/",
                             "missing",
                             "%ff"}) {
        CAPTURE(name);
        CHECK(status_of(site, "/0123456789abcdef/files/" + std::string(name)) == 404);
    }
    CHECK(status_of(site, "/0123456789abcdef/files/%zz") == 400);
    CHECK(status_of(site, "/0123456789abcdef/files/%2") == 400);
    CHECK(status_of(site, "/0123456789abcdef/files/" + std::string(300, 'a')) == 404);
    CHECK(status_of(site, "/0123456789abcdef/files/large.bin") == 413);
    CHECK(status_of(site, "/0123456789abcdef/other") == 404);
    CHECK(status_of(site, "/0123456789abcdef//files/a.hlo") == 404);
    CHECK(status_of(site, "/0123456789abcdef/files") == 404);
}

TEST_CASE("names of other hosts that point here get nothing") {
    const Folder folder;
    const PageSite site = site_of(folder);
    for (const char* host : {"", "evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:80000",
                             "127.0.0.1:8000.evil.example", "localhost", "[::1]:8000"}) {
        CAPTURE(host);
        CHECK(status_of(site, "/0123456789abcdef/", host) == 403);
    }
}

TEST_CASE("only GET is answered") {
    const Folder folder;
    const PageSite site = site_of(folder);
    for (const char* method : {"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get", ""}) {
        CAPTURE(method);
        CHECK(status_of(site, "/0123456789abcdef/files/a.hlo", "127.0.0.1:8000", method) == 405);
    }
}

TEST_CASE("a directory that is not there is an error") { CHECK_FALSE(OpenDirectory::open("/no/such/directory")); }

}  // namespace roofline::core

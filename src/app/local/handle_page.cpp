// Answers `roofline page`.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/local/http_server.hpp"
#include "app/local/local_request.hpp"
#include "app/local/page_site.hpp"
#include "measure/module.hpp"
#include "measure/stop.hpp"

extern char** environ;

namespace roofline::core {

namespace {

// 128 random bits, which nobody guesses.
Result<std::string> random_word() {
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return fail("file", "the system provides no random numbers", "try again");
    }
    std::string word;
    for (const unsigned char byte : bytes) word += fmt::format("{:02x}", byte);
    return word;
}

// Where the page is, beside a program that was built or installed.
std::vector<std::string> page_places() {
    std::error_code problem;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
    if (problem) return {};
    const auto folder = program.parent_path();
    return {(folder / "page/index.html").string(),
            (folder / "../share/roofline/page/index.html").lexically_normal().string()};
}

Result<std::string> page_text(const PageServerRequest& request) {
    if (!request.file.empty()) return request.read(request.file);
    std::string looked;
    for (const std::string& place : page_places()) {
        std::error_code problem;
        if (std::filesystem::is_regular_file(place, problem)) return request.read(place);
        looked += fmt::format("{}{}", looked.empty() ? "" : " and ", place);
    }
    return fail("absent", fmt::format("the page was not found: looked for {}", looked.empty() ? "it" : looked),
                "`./dev page` in the source folder builds it; or name it: --file index.html");
}

// Opens the address in the user's browser. Its success is not known; the address is printed, too.
void open_in_browser(const std::string& url) {
    posix_spawn_file_actions_t quiet{};
    if (::posix_spawn_file_actions_init(&quiet) != 0) return;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        ::posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY,
                                           0);
    }
    std::string program = "xdg-open";
    std::string address = url;
    char* const words[] = {program.data(), address.data(), nullptr};
    pid_t child = 0;
    if (::posix_spawnp(&child, words[0], &quiet, nullptr, words, environ) == 0) {
        std::thread([child] { ::waitpid(child, nullptr, 0); }).detach();
    }
    ::posix_spawn_file_actions_destroy(&quiet);
}

}  // namespace

Result<Response> handle(const PageServerRequest& request, Format /*format*/, bool /*color*/, Progress& /*progress*/) {
    ROOFLINE_TRY(auto page, page_text(request));
    ROOFLINE_TRY(HttpServer* const server, load_module_as<HttpServer>("http", "HTTP server", "libcpp-httplib-dev"));
    ROOFLINE_TRY(auto files, OpenDirectory::open("."));
    ROOFLINE_TRY(auto token, random_word());
    PageSite site(std::move(page), std::move(token), std::move(files));
    ROOFLINE_TRY(const int port, server->bind(request.port));
    site.set_port(port);
    // To end it is no error, and a client that is still being waited for may keep it for some seconds.
    handle_interrupts_of_search();
    ROOFLINE_CHECK(request.say(fmt::format(
        "{}\nwhoever has this address can read the files of this directory; Ctrl-C stops the server\n", site.url())));
    if (request.open) open_in_browser(site.url());
    ROOFLINE_CHECK(server->run([&](const HttpRequest& asked) { return site.answer(asked); }, stop_requested));
    return Response{};
}

}  // namespace roofline::core

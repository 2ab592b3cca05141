// The options of `roofline page`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* page_examples = R"(examples:
  roofline page                        open the page in the browser, with the files of this directory at hand
  roofline page --no-open --port 8000  only print its address

)";

void add_page_server(CLI::App& app, Line& line) {
    PageServerRequest& page = line.request<PageServerRequest>();
    app.add_option("--port", page.port, "port of 127.0.0.1; default: any free one")
        ->type_name("N")
        ->check(CLI::Range(1, 65535));
    app.add_option("--file", page.file,
                   "the page to serve; default: the one next to the program, or in its installation")
        ->type_name("FILE.html");
    app.add_flag_callback("--no-open", [&page] { page.open = false; }, "do not open a browser");
}

Result<What> page_request(Line& line) {
    PageServerRequest& page = line.request<PageServerRequest>();
    page.read = [](const std::string& path) { return read_file(path); };
    page.say = [](const std::string& text) { return print(text); };
    return What(std::move(page));
}

}  // namespace

const Command page_command{"page", "serve the page to this machine's browser, with the files of this directory",
                           page_examples, add_page_server, page_request};

}  // namespace roofline::core::cli

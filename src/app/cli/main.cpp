// The command line door: words in, answer on standard output, everything else on standard error.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "app/cli/files.hpp"
#include "app/cli/options.hpp"
#include "app/cli/terminal_progress.hpp"
#include "app/local/local_request.hpp"
#include "app/local/this_machine.hpp"
#include "app/request.hpp"
#include "measure/network/ranks.hpp"
#include "measure/stop.hpp"
#include "report/op/op_json.hpp"
#include "report/plot/png.hpp"

namespace {

using namespace roofline;

int report(const Error& error, bool json, int exit_code) {
    if (json) {
        if (!cli::print(error_json(error))) return exit_code;
    } else {
        const std::string text = to_text(error);
        fmt::print(stderr, "{}{}", text, text.ends_with('\n') ? "" : "\n");
    }
    return exit_code;
}

Status write_plots(const std::string& svg, const cli::PlotFiles& files) {
    if (svg.empty()) return {};  // of ranks only the first one answers
    if (!files.svg.empty()) {
        if (auto status = cli::write_file(files.svg, svg); !status) return status;
    }
    if (files.png.empty()) return {};
    auto png = svg_to_png(svg);
    if (!png) return fail(png.error());
    return cli::write_file(files.png, *png);
}

int run(const std::vector<std::string>& arguments) {
    bool json = false;
    auto parsed = cli::parse_arguments(arguments, json);
    if (!parsed) {
        const auto started = launched();
        // ranks have the same words, and one of them says what is wrong with them
        return started && started->rank > 0 ? 0 : report(parsed.error(), json, 2);
    }
    if (!parsed->request && !parsed->local) {
        if (auto status = cli::print(parsed->print); !status) return report(status.error(), false, 1);
        return 0;
    }
    cli::TerminalProgress progress;
    if (parsed->local) heed_interrupts();
    const Response response = parsed->local ? handle_local(*parsed->local, progress) : handle(*parsed->request);
    progress.end();
    if (response.error) return report(*response.error, json, response.exit_code);
    for (const NamedText& file : response.files) {
        // the folder of the machine that `--on this` means is ours to make; others are the user's
        if (this_machine_path() == file.name) {
            if (auto status = make_folder_of(file.name); !status) return report(status.error(), json, 1);
        }
        if (auto status = cli::write_file(file.name, file.text); !status) return report(status.error(), json, 1);
    }
    if (auto status = write_plots(response.svg, parsed->plots); !status) return report(status.error(), json, 1);
    if (auto status = cli::print(response.out); !status) return report(status.error(), false, 1);
    return response.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_DFL);  // `roofline ... | head` ends quietly
    try {
        return run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& problem) {  // out of memory, or a library's
        fmt::print(stderr, "error: {}\n", problem.what());
        return 1;
    }
}

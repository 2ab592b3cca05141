// The entry point of the command line: arguments in, the answer on standard output, everything else on standard error.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/files.hpp"
#include "app/cli/options.hpp"
#include "app/cli/terminal_progress.hpp"
#include "app/cli/words.hpp"
#include "app/local/local_request.hpp"
#include "app/local/this_machine.hpp"
#include "app/request.hpp"
#include "base/utf8.hpp"
#include "measure/network/ranks.hpp"
#include "measure/stop.hpp"
#include "report/narrow.hpp"
#include "report/op/op_json.hpp"
#include "report/plot/png.hpp"

namespace {

using namespace roofline::core;

int report(const Error& error, bool json, int exit_code) {
    if (json) {
        if (!cli::print(error_json(error))) return exit_code;
    } else {
        const std::string text = to_text(error);
        cli::print_to_stderr(text.ends_with('\n') ? text : text + '\n');
    }
    return exit_code;
}

Status write_plots(const std::string& svg, const cli::PlotFiles& files) {
    if (svg.empty()) return {};  // of several ranks only the first one has an answer
    if (!files.svg.empty()) {
        ROOFLINE_CHECK(cli::write_file(files.svg, svg));
    }
    if (files.png.empty()) return {};
    ROOFLINE_TRY(auto png, svg_to_png(svg));
    return cli::write_file(files.png, png);
}

Status write_report(const Response& response, const cli::Parsed& parsed, const std::vector<std::string>& arguments) {
    const std::string html = cli::report_html(response, parsed, arguments);
    return html.empty() ? Status{} : cli::write_file(parsed.plots.html, html);
}

/// Reports the error without allocating memory.
int out_of_memory(bool json) {
    constexpr std::string_view text =
        "error: out of memory\n"
        "hint: raise the limit (ulimit -v, or that of the container), or use a smaller sweep, table or model\n";
    constexpr std::string_view answer =
        R"({"schema":1,"error":{"code":"out_of_memory","message":"out of memory","line":null,"column":null,)"
        R"("source":null,"hint":"raise the limit, or use a smaller sweep, table or model"}})"
        "\n";
    if (!json || !cli::print(answer)) cli::print_to_stderr(text);
    return 1;
}

/// Terminate handler, for memory that is exhausted before main() begins or where no exception can propagate.
[[noreturn]] void terminate_with_message() {
    if (const std::exception_ptr problem = std::current_exception()) {
        try {
            std::rethrow_exception(problem);
        } catch (const std::bad_alloc&) {
            ::_exit(out_of_memory(false));
        } catch (...) {
            cli::print_to_stderr("error: internal error; please report it\n");  // a core dump may tell more
        }
    }
    std::abort();
}

/// Runs before all other initializers because those of libraries allocate memory, too.
[[gnu::constructor(101)]] void install_terminate_handler() { std::set_terminate(terminate_with_message); }

/// Whether the answer is a program in the notation, which another command may read.
bool is_program(const cli::Parsed& parsed) {
    if (!parsed.request) return false;
    const auto* model = std::get_if<ModelRequest>(&parsed.request->what);
    const auto* train = std::get_if<TrainRequest>(&parsed.request->what);
    return (model != nullptr && model->program) || (train != nullptr && train->program);
}

bool is_later_rank() {
    const auto started = launched();
    return started && started->rank > 0;
}

/// Shows the progress of a search for plans; an interrupt ends it with the best plan so far.
void watch_search(Request& request, cli::TerminalProgress& progress) {
    auto* const plan = std::get_if<PlanRequest>(&request.what);
    TrainRequest* const train = plan != nullptr ? &plan->train : std::get_if<TrainRequest>(&request.what);
    if (train == nullptr || (plan == nullptr && !train->mesh.empty())) return;
    handle_interrupts_of_search();
    train->search.watch = [&progress](const SearchProgress& at) {
        progress.at(fmt::format("of {} plans", at.plans),
                    static_cast<double>(at.looked_at) / static_cast<double>(at.plans));
        return !stop_requested();
    };
}

int run(const std::vector<std::string>& arguments, bool& json) {
    auto parsed = cli::parse_arguments(arguments, json);
    if (!parsed) {
        // All ranks have the same arguments, so only the first one reports what is wrong with them.
        return is_later_rank() ? 0 : report(parsed.error(), json, 2);
    }
    if (!parsed->request && !parsed->local) {
        if (auto status = cli::print(parsed->print); !status) return report(status.error(), false, 1);
        return 0;
    }
    cli::TerminalProgress progress;
    if (parsed->request) watch_search(*parsed->request, progress);
    if (parsed->local) handle_interrupts(!is_later_rank());
    const Response response = parsed->local ? handle_local(*parsed->local, progress) : handle(*parsed->request);
    progress.end();
    if (response.error) return report(*response.error, json, response.exit_code);
    for (const NamedText& file : response.files) {
        // The folder of the machine file of `--on this` is created if needed; other folders must exist.
        if (this_machine_path() == file.name) {
            if (auto status = make_folder_of(file.name); !status) return report(status.error(), json, 1);
        }
        if (auto status = cli::write_file(file.name, file.text); !status) return report(status.error(), json, 1);
    }
    if (auto status = write_plots(response.svg, parsed->plots); !status) return report(status.error(), json, 1);
    if (auto status = write_report(response, *parsed, arguments); !status) return report(status.error(), json, 1);
    for (const Error& error : response.beside) report(error, false, 2);
    std::string out = with_directions_shown(response.out);
    const Format format = parsed->local ? parsed->local->format : parsed->request->format;
    const auto columns = cli::columns_wanted();
    if (format == Format::text && columns && !is_program(*parsed)) out = narrowed(out, *columns);
    if (auto status = cli::print(out); !status) return report(status.error(), false, 1);
    return response.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    cli::open_standard_streams();
    std::signal(SIGPIPE, SIG_DFL);  // `roofline ... | head` ends quietly
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit fails with an error instead
    bool json = false;
    try {
        return run(std::vector<std::string>(argv + 1, argv + argc), json);
    } catch (const std::bad_alloc&) {
        return out_of_memory(json);
    } catch (const std::exception& problem) {  // thrown by a library
        cli::print_to_stderr(fmt::format("error: {}\n", problem.what()));
        return 1;
    }
}

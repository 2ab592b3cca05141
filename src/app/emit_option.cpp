#include "app/emit_option.hpp"

#include "import/launch/launch_table.hpp"

namespace roofline::core {

Status check_emit(const std::string& framework, bool trains, std::size_t machines, Format format, bool viewed) {
    if (framework.empty()) return {};
    const auto table = launch_table(framework, trains);
    if (!table) {
        Error error = table.error();
        error.message = "--emit: " + error.message;
        return fail(std::move(error));
    }
    if (machines > 1) {
        return fail("bad_request", "--emit prints one plan, but several slices are given", "give one slice");
    }
    if (format != Format::text && format != Format::json) {
        return fail("bad_request", "--emit prints a configuration, no table",
                    "remove --csv and --md; --json has it too");
    }
    if (viewed) {
        return fail("bad_request", "--emit prints nothing but the configuration",
                    "ask for derivations, programs and pictures without it");
    }
    return {};
}

}  // namespace roofline::core

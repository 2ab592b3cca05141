#include "app/local/this_machine.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace roofline::core {

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

Result<std::string> this_machine_path() {
    if (std::string path = environment("ROOFLINE_THIS"); !path.empty()) return path;
    std::string folder = environment("XDG_DATA_HOME");
    if (folder.empty()) {
        folder = environment("HOME");
        if (folder.empty()) {
            return fail("file", "HOME is not set, so there is no folder for this machine's file",
                        "set ROOFLINE_THIS to a path, or name a file: -o my.toml, --on my.toml");
        }
        folder += "/.local/share";
    }
    return folder + "/roofline/this.toml";
}

Status make_folder_of(const std::string& path) {
    const auto folder = std::filesystem::path(path).parent_path();
    std::error_code problem;
    if (!folder.empty()) std::filesystem::create_directories(folder, problem);
    if (!problem) return {};
    return fail("file", fmt::format("cannot create the folder {}: {}", folder.string(), problem.message()),
                "check its permissions, or name a file: -o my.toml");
}

}  // namespace roofline::core

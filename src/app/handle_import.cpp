#include <algorithm>
#include <utility>

#include "app/request.hpp"
#include "app/system_option.hpp"
#include "import/measured_machine.hpp"
#include "machine/machine_text.hpp"
#include "report/machine/import_view.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t longest_id = 64;

/// Derives the machine's id from a file name: "my-mi300x" from "machines/my-mi300x.toml".
std::string id_of(const std::string& output, const std::optional<Machine>& base) {
    std::string id = output.substr(output.rfind('/') + 1);
    if (id.ends_with(".toml")) id.resize(id.size() - 5);
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    for (char& c : id) c = fits(c) ? c : '-';
    if (id.empty()) id = base ? base->id + "-measured" : "measured";
    return id.substr(0, longest_id);
}

Result<std::optional<Machine>> base_of(const ImportRequest& request) {
    if (!request.base) return std::nullopt;
    if (names_slice(*request.base)) {
        return fail("bad_request", "--base names a machine, not a slice", "remove the part after the colon");
    }
    ROOFLINE_TRY(auto machine, resolve_machine(*request.base, {}));
    return machine;
}

}  // namespace

Result<Response> handle(const ImportRequest& request, Format format) {
    ROOFLINE_TRY(auto base, base_of(request));
    std::vector<LevelChoice> levels;
    for (const std::string& text : request.levels) {
        ROOFLINE_TRY(auto choice, parse_level_choice(text));
        levels.push_back(std::move(choice));
    }
    std::vector<ToolFile> files;
    for (const NamedText& file : request.files) {
        ROOFLINE_TRY(auto figures, read_tool_figures(file.text, file.name));
        files.push_back({file.text, file.name, std::move(figures)});
    }
    ROOFLINE_TRY(auto measured, measured_machine(base, files, levels, id_of(request.output, base), request.date));
    Response response;
    if (!request.output.empty()) response.files.push_back({request.output, machine_text(measured.machine)});
    response.out = import_view({measured.machine.id, measured.machine.name, base ? (base)->name : "", request.output,
                                files.size(), std::move(measured.taken), std::move(measured.notes)},
                               format);
    return response;
}

}  // namespace roofline::core

// Fuzzer for whole requests. Each line is an option ("dims B=64") up to the first line that is not; the program begins
// there.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/request.hpp"
#include "bound/sweep.hpp"
#include "require.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view toy = R"(
id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = 1e14
source = "s"
[[vector]]
dtype = "f32"
value = 1e12
source = "s"
[[memory]]
level = "hbm"
bandwidth = { value = 1e12, source = "s" }
[[memory]]
level = "vmem"
capacity = { value = 1e6, source = "s" }
bandwidth = { value = 1e13, source = "s" }
[[memory]]
level = "reg"
capacity = { value = 1e5, source = "s" }
)";

// Parses a line as an option. Returns whether it is one.
bool option(Request& request, OpRequest& op, std::string_view line) {
    const std::size_t blank = line.find(' ');
    const std::string_view key = line.substr(0, blank);
    const std::string value(blank == std::string_view::npos ? "" : line.substr(blank + 1));
    if (key == "dims") {
        op.dims.push_back(value);
    } else if (key == "sweep") {
        op.sweeps.push_back(value);
    } else if (key == "tile") {
        op.tiles.push_back(value);
    } else if (key == "set") {
        op.sets.push_back(value);
    } else if (key == "mesh-option") {
        op.mesh.push_back(value);
    } else if (key == "on" && op.machines.size() < 3) {
        op.machines.push_back({value, {}});
    } else if (key == "exact") {
        op.exact_flops = true;
    } else if (key == "explain") {
        op.explain = true;
    } else if (key == "plot") {
        op.plot = value == "sweep"      ? PlotKind::sweep
                  : value == "mesh"     ? PlotKind::mesh
                  : value == "timeline" ? PlotKind::timeline
                                        : PlotKind::roofline;
    } else if (key == "text") {
        request.format = Format::text;
    } else if (key == "csv") {
        request.format = Format::csv;
    } else if (key == "markdown") {
        request.format = Format::markdown;
    } else {
        return false;
    }
    return true;
}

// Long sweeps are slow, but not wrong, so they are skipped.
bool too_long(const OpRequest& op) {
    double points = 1;
    for (const std::string& text : op.sweeps) {
        if (const auto axis = parse_sweep(text)) points *= static_cast<double>(axis->sizes.size());
    }
    return points > 500;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    Request request;
    request.format = Format::json;
    OpRequest op;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (!option(request, op, text.substr(0, end))) break;
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    if (op.machines.empty()) op.machines.push_back({"toy.toml", std::string(toy)});
    op.program = text;
    if (too_long(op)) return 0;
    request.what = std::move(op);
    const Response response = handle(request);
    require(response.exit_code >= 0 && response.exit_code <= 2);
    // Of several machines some may be answered; the errors of the others accompany the answer.
    const bool wrong = response.error.has_value() || !response.beside.empty();
    require(wrong == (response.exit_code != 0));
    if (response.error) {
        require(!response.error->code.empty() && !response.error->message.empty());
    } else {
        require(!response.out.empty() && response.out.back() == '\n');
    }
    return 0;
}

// Tests that the documentation agrees with the tables in the code, and that its pictures are those that the program
// draws.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "app/request.hpp"
#include "program/functions.hpp"
#include "units/dtype.hpp"

namespace {

using namespace roofline::core;

std::filesystem::path docs() { return std::filesystem::path(ROOFLINE_SOURCE_FOLDER) / "docs"; }

std::string content_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    REQUIRE_MESSAGE(stream.good(), "cannot read ", file.string());
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Returns the rows of the table with this header line, one string per row.
std::vector<std::string> rows_below(const std::string& text, const std::string& header) {
    std::istringstream lines(text);
    std::vector<std::string> rows;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line == header) {
            std::getline(lines, line);  // skips |---|
            inside = true;
        } else if (inside && line.starts_with('|')) {
            rows.push_back(line);
        } else if (inside) {
            break;
        }
    }
    return rows;
}

std::string_view kind_name(FunctionKind kind) {
    switch (kind) {
        case FunctionKind::map:
            return "map";
        case FunctionKind::reduce:
            return "reduce";
        case FunctionKind::keep:
            return "keep";
        case FunctionKind::mask:
            return "mask";
        case FunctionKind::gather:
            return "gather";
        case FunctionKind::scatter:
            return "scatter";
        case FunctionKind::dispatch:
            return "dispatch";
        case FunctionKind::combine:
            return "combine";
        case FunctionKind::slide:
            return "slide";
        case FunctionKind::expand:
            return "expand";
        case FunctionKind::scatter_add:
            return "scatter-add";
        case FunctionKind::match:
            return "match";
        case FunctionKind::correlate:
            return "correlate";
        case FunctionKind::rearrange:
            return "rearrange";
        case FunctionKind::view:
            return "view";
        case FunctionKind::opaque:
            return "opaque";
        case FunctionKind::receive:
            return "receive";
    }
    return "";
}

std::string counted(int each, int row) {
    return row == 0 ? fmt::format("{}", each) : fmt::format("{}, and {} per row", each, row);
}

std::string bits_text(Dtype dtype) {
    const BitsPerElement bits = stored_bits(dtype);
    return fmt::format("{}", static_cast<double>(bits.numerator) / bits.denominator);
}

// Returns all texts in backquotes.
std::vector<std::string> quoted_in(const std::string& text) {
    std::vector<std::string> found;
    for (std::size_t open = text.find('`'); open != std::string::npos; open = text.find('`', open)) {
        const std::size_t close = text.find('`', open + 1);
        if (close == std::string::npos) break;
        found.push_back(text.substr(open + 1, close - open - 1));
        open = close + 1;
    }
    return found;
}

// Returns how many levels of keys below this key are names of dimensions, levels, resources or dtypes, which are data
// and not part of the format. Ridge points of a machine are keyed by dtype and then by level.
int data_levels(std::string_view key) {
    static const std::set<std::string_view> keyed_by_data{
        "dims",   "flops_by", "bytes",    "traffic_bytes",    "intensity",
        "time_s", "by",       "formulas", "intensity_limits", "footprint"};
    return key == "ridge" ? 2 : keyed_by_data.contains(key) ? 1 : 0;
}

void collect_keys(const nlohmann::json& value, int levels, std::set<std::string>& keys) {
    for (const auto& [key, inner] : value.items()) {
        const bool named = value.is_object() && levels == 0;
        if (named) keys.insert(key);
        if (!inner.is_structured()) continue;
        collect_keys(inner, named ? data_levels(key) : value.is_object() ? levels - 1 : levels, keys);
    }
}

std::string answer(const Request& request) {
    const Response response = handle(request);
    REQUIRE(response.exit_code == 0);
    return response.out;
}

Request op_request(OpRequest op, Format format) { return Request{std::move(op), format, false}; }

Request machine_request(const std::vector<std::string>& names, const std::vector<std::string>& sets) {
    MachineRequest request;
    for (const std::string& name : names) request.machines.push_back({name, {}});
    request.sets = sets;
    return Request{std::move(request), Format::json, false};
}

OpRequest matmul(const std::string& program, const std::vector<std::string>& dims,
                 const std::vector<std::string>& sweeps) {
    OpRequest op;
    op.program = program;
    op.machines.push_back({"tpu-v5e", {}});
    op.dims = dims;
    op.sweeps = sweeps;
    return op;
}

void check_picture(const std::string& name, OpRequest op, PlotKind kind, const std::string& command) {
    op.plot = kind;
    const Response response = handle(op_request(std::move(op), Format::text));
    REQUIRE(response.exit_code == 0);
    const std::string shown = content_of(docs() / "pictures" / name);
    CHECK_MESSAGE(shown == response.svg, "docs/pictures/", name,
                  " is not what the program draws; draw it again: ", command);
}

}  // namespace

TEST_CASE("the manual's table of functions is the program's") {
    const auto rows = rows_below(content_of(docs() / "reference" / "notation.md"),
                                 "| function | form | FLOPs | transcendentals | what is counted |");
    std::vector<std::string> expected;
    for (const FunctionInfo& f : all_functions()) {
        std::string formula(f.formula);
        for (std::size_t bar = formula.find('|'); bar != std::string::npos; bar = formula.find('|', bar + 2))
            formula.insert(bar, "\\");
        expected.push_back(fmt::format("| `{}` | {} | {} | {} | {} |", f.name, kind_name(f.kind),
                                       counted(f.flops, f.row_flops), counted(f.transcendentals, f.row_transcendentals),
                                       formula));
    }
    CHECK(rows == expected);
}

TEST_CASE("the manual's table of dtypes is the program's") {
    const auto rows = rows_below(content_of(docs() / "reference" / "notation.md"),
                                 "| dtype | bits in memory | multiplies as | sums in | also written |");
    REQUIRE(rows.size() == all_dtypes().size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const DtypeInfo& dtype = all_dtypes()[i];
        const std::string begin = fmt::format("| `{}` | {} | `{}` | `{}` | ", dtype.name, bits_text(dtype.dtype),
                                              name(dtype.arithmetic), name(dtype.accumulator));
        CHECK_MESSAGE(rows[i].starts_with(begin), rows[i], " should begin with ", begin);
        for (const std::string& alias : quoted_in(rows[i].substr(std::min(begin.size(), rows[i].size())))) {
            CHECK_MESSAGE(find_dtype(alias) == dtype.dtype, alias, " is not ", dtype.name);
        }
    }
}

TEST_CASE("docs/reference/json.md names every key of every answer") {
    OpRequest all = matmul("bf16[B, D] * int8[D, F] in vmem -> bf16[B, F]", {"B=100,D=1000,F=500"}, {});
    OpRequest program = matmul("A : bf16[B=8, D=8]\nH = relu(A)\nK : bf16[B] = A * H", {}, {});
    OpRequest sweep = matmul("bf16[B, D] * bf16[D, F] -> bf16[B, F]", {"D=64,F=64"}, {"B=1..8"});
    OpRequest several = sweep;
    several.machines.push_back({"h100-sxm", {}});
    OpRequest sharded = matmul("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", {"B=64,D=64,F=64"}, {});
    sharded.machines = {{"tpu-v5e:4x1", {}}};
    sharded.mesh = {"X=4"};
    OpRequest wrong = matmul("bf16[B, D", {}, {});

    std::set<std::string> keys;
    const auto take = [&](const std::string& text) {
        const auto json = nlohmann::json::parse(text, nullptr, false);
        REQUIRE(json.is_object());
        collect_keys(json, 0, keys);
    };
    for (const OpRequest& op : {all, program, sweep, several, sharded}) take(answer(op_request(op, Format::json)));
    take(handle(op_request(wrong, Format::json)).out);
    ValidateRequest table;
    table.table =
        "op,system,n_devices,bytes,time_us\nall_gather,h100,8,450,1\nall_gather,h100,8,450,1\nnone,h100,8,450,1\n";
    take(answer(Request{std::move(table), Format::json, false}));
    ModelRequest model;
    model.config.name = "mixtral-8x7b";
    model.sequence = "1k";
    take(answer(Request{std::move(model), Format::json, false}));
    ServeRequest serve;
    serve.config.name = "llama-3.1-70b";
    serve.machines = {{"tpu-v5e:4x4", {}}};
    serve.batch = "16";
    serve.weights = "int8";
    serve.disaggregated = true;
    take(answer(Request{std::move(serve), Format::json, false}));
    take(answer(machine_request({}, {})));
    take(answer(machine_request({"tpu-v5e"}, {"hbm.bandwidth=*2"})));
    take(answer(machine_request({"h100-sxm", "tpu-v5p"}, {})));
    REQUIRE(keys.size() > 80);
    const std::string manual = content_of(docs() / "reference" / "json.md");
    for (const std::string& key : keys) {
        const bool named =
            manual.find("`" + key + "`") != std::string::npos || manual.find("\"" + key + "\"") != std::string::npos;
        CHECK_MESSAGE(named, "docs/reference/json.md does not say what `", key, "` is");
    }
}

TEST_CASE("every example program is priced in the README or the guide to an operation") {
    const std::string shown =
        content_of(docs().parent_path() / "README.md") + content_of(docs() / "guide" / "operation.md");
    int programs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(docs() / "examples")) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".roof")) continue;
        ++programs;
        CHECK_MESSAGE(shown.find("\n$ roofline op " + name + " ") != std::string::npos, "no transcript prices ", name);
    }
    CHECK(programs >= 6);
}

TEST_CASE("the guide to a chip shows the example machine unchanged") {
    const std::string file = content_of(docs() / "examples" / "mychip.toml");
    const std::string keys = file.substr(file.find('\n') + 1);  // everything except the comment in its first line
    CHECK(content_of(docs() / "guide" / "your-own-chip.md").find("```toml\n" + keys + "```") != std::string::npos);
}

TEST_CASE("the pictures in the documentation are what the program draws") {
    check_picture("attainable.svg", matmul("bf16[B, D] * int8[D, F] -> bf16[B, F]", {}, {"D=F=1024,4096", "B=1..512"}),
                  PlotKind::sweep,
                  "roofline op 'bf16[B, D] * int8[D, F] -> bf16[B, F]' --sweep D=F=1024,4096 --sweep B=1..512 --on "
                  "tpu-v5e --plot sweep "
                  "--svg docs/pictures/attainable.svg");
    OpRequest whole = matmul("bf16[B, D] * bf16[D, F] -> bf16[B, F]", {"D=8192,F=8192"}, {"B=1..4096*4"});
    whole.all_roofs = true;
    check_picture(
        "roofline.svg", whole, PlotKind::roofline,
        "roofline op 'bf16[B, D] * bf16[D, F] -> bf16[B, F]' --dims D=8192,F=8192 --sweep 'B=1..4096*4' --on tpu-v5e "
        "--all-roofs --svg docs/pictures/roofline.svg");
    OpRequest split = matmul(content_of(docs() / "examples" / "split_mlp.roof"), {}, {});
    split.program_name = "split_mlp.roof";
    split.machines = {{"tpu-v5e:4x4", {}}};
    for (const auto& [name, kind, option] : {std::tuple{"network_roofs.svg", PlotKind::roofline, "roofline"},
                                             {"mesh.svg", PlotKind::mesh, "mesh"},
                                             {"timeline.svg", PlotKind::timeline, "timeline"}}) {
        check_picture(name, split, kind,
                      fmt::format("in docs/examples, roofline op split_mlp.roof --on tpu-v5e:4x4 --plot {} --svg "
                                  "../pictures/{}",
                                  option, name));
    }
}

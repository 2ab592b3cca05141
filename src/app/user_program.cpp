#include "app/user_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.hpp"
#include "model/expression.hpp"
#include "model/routed_experts.hpp"
#include "notation/notation.hpp"
#include "program/one_sided_sums.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// A dimension has one size or a sweep's.
Status check_not_swept(const Sizes& sizes, const std::vector<SweepAxis>& axes) {
    for (const SweepAxis& axis : axes) {
        for (const std::string& dim : axis.dims) {
            if (!sizes.contains(dim)) continue;
            return fail("bad_request", fmt::format("`{}` has a size in --dims and is swept", dim),
                        "leave it out of one of them");
        }
    }
    return {};
}

/// A list cut at the commas that stand in no parentheses.
std::vector<std::string_view> outer_parts(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
        parts.push_back(text.substr(from, i - from));
        from = i + 1;
    }
    return parts;
}

/// The size that an expression of others comes to.
Result<std::int64_t> derived_size(const std::string& name, const std::string& text, const Sizes& sizes,
                                  const Sizes& known) {
    const auto wrong = [&](const std::string& why) {
        return fail("bad_size", fmt::format("--dims: `{}={}`: {}", name, text, why),
                    "sizes that are known, whole numbers, + - * / // ( ), and round_up(x, multiple)");
    };
    std::string unknown;
    const auto value = evaluate(text, [&](std::string_view word) -> ConfigResult {
        for (const Sizes* each : {&sizes, &known}) {
            if (const auto found = each->find(std::string(word)); found != each->end()) return found->second;
        }
        if (unknown.empty()) unknown = word;
        return NoValue{std::string(word)};
    });
    if (!unknown.empty()) return wrong(fmt::format("{} has no size that is known here", in_ticks(unknown)));
    if (!value) return wrong(value.error().message);
    const auto* whole = std::get_if<std::int64_t>(&*value);
    if (whole == nullptr) return wrong("it is no whole number");
    if (*whole < 1) return wrong(fmt::format("it is {}: a size is at least 1", *whole));
    return *whole;
}

/// "B=256,C=B*A/E": a value that is no size is an expression of sizes that are known or stand in the same list. Errors:
/// those of parse_sizes(); sizes that are not known, that go round in a circle, or that are not whole.
Result<Sizes> sizes_of(const std::string& text, const Sizes& known) {
    if (text.find_first_of("*/+(") == std::string::npos) return parse_sizes(text, "--dims");
    std::string plain;
    std::vector<std::pair<std::string, std::string>> derived;
    for (const std::string_view part : outer_parts(text)) {
        const std::size_t equals = part.find('=');
        const std::string_view value = equals == std::string_view::npos ? part : trimmed(part.substr(equals + 1));
        if (equals != std::string_view::npos && value.find_first_of("*/+(") != std::string_view::npos) {
            derived.emplace_back(trimmed(part.substr(0, equals)), value);
        } else {
            plain += (plain.empty() ? "" : ",") + std::string(part);
        }
    }
    ROOFLINE_TRY(auto sizes, plain.empty() ? Result<Sizes>(Sizes{}) : parse_sizes(plain, "--dims"));
    // each pass finds one at least, or none can be found any more
    while (!derived.empty()) {
        std::optional<Error> problem;
        const std::size_t before = derived.size();
        std::erase_if(derived, [&](const auto& each) {
            auto size = derived_size(each.first, each.second, sizes, known);
            if (size) return sizes.emplace(each.first, *size).second;
            if (!problem) problem = size.error();
            return false;
        });
        if (derived.size() == before) return fail(*problem);
    }
    return sizes;
}

/// "4/8".
Result<ExpertGroups> parse_expert_groups(const std::string& text) {
    const std::size_t slash = text.find('/');
    const auto chosen = parse_size(std::string_view(text).substr(0, slash));
    const auto of =
        parse_size(slash == std::string::npos ? std::string_view() : std::string_view(text).substr(slash + 1));
    if (chosen && of) return ExpertGroups{*chosen, *of};
    return fail("bad_expert_groups", fmt::format("--expert-groups: `{}` is not two whole numbers", text),
                "--expert-groups 4/8 limits each token to 4 of 8 equal groups of experts");
}

}  // namespace

Result<std::vector<SweepAxis>> sweep_axes(const OpRequest& request) {
    if (request.sweeps.size() > 2) {
        return fail("bad_sweep", "a sweep has at most two axes", "keep dimensions equal with D=F=1024,4096");
    }
    std::vector<SweepAxis> axes;
    for (const std::string& text : request.sweeps) {
        ROOFLINE_TRY(auto axis, parse_sweep(text));
        axes.push_back(std::move(axis));
    }
    return axes;
}

Result<UserProgram> read_program(const OpRequest& request, const std::vector<SweepAxis>& axes,
                                 std::span<const std::int64_t> at) {
    UserProgram read;
    Program& program = read.program;
    const auto bind = [&](const Sizes& sizes) -> Status {
        ROOFLINE_TRY(auto overruled, bind_sizes(program, sizes));
        read.notes.insert(read.notes.end(), overruled.begin(), overruled.end());
        return {};
    };
    ROOFLINE_TRY(program, parse_program(request.program, request.program_name));
    for (const std::string& text : request.dims) {
        ROOFLINE_TRY(auto sizes, sizes_of(text, program.sizes));
        ROOFLINE_CHECK(check_not_swept(sizes, axes));
        ROOFLINE_CHECK(bind(sizes));
    }
    for (std::size_t i = 0; i < at.size(); ++i) {
        for (const std::string& dim : axes[i].dims) {
            ROOFLINE_CHECK(bind({{dim, at[i]}}));
        }
    }
    if (!request.expert_groups.empty()) {
        ROOFLINE_TRY(auto groups, parse_expert_groups(request.expert_groups));
        ROOFLINE_CHECK(limit_to_groups(program, groups));
    }
    const std::vector<std::string> slips = one_sided_sums(program);
    read.notes.insert(read.notes.end(), slips.begin(), slips.end());
    return read;
}

Result<std::vector<MeshAxis>> named_mesh(std::span<const std::string> texts) {
    std::vector<MeshAxis> mesh;
    for (const std::string& text : texts) {
        ROOFLINE_TRY(auto axes, parse_program("mesh " + text, "--mesh"));
        mesh.insert(mesh.end(), axes.mesh.begin(), axes.mesh.end());
    }
    return mesh;
}

std::vector<MeshAxis> readable_mesh(const OpRequest& request) {
    std::vector<MeshAxis> mesh;
    for (const std::string& text : request.mesh) {
        if (const auto axes = named_mesh({&text, 1})) mesh.insert(mesh.end(), axes->begin(), axes->end());
    }
    if (!mesh.empty()) return mesh;
    const auto program = parse_program(request.program, request.program_name);
    return program ? program->mesh : mesh;
}

}  // namespace roofline::core

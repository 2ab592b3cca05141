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

/// Splits a list at the commas outside of parentheses.
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

/// Evaluates an expression of other sizes.
Result<std::int64_t> derived_size(const std::string& name, const std::string& text, const Sizes& sizes,
                                  const Sizes& known) {
    const auto wrong = [&](const std::string& why) {
        return fail("bad_size", fmt::format("--dims: `{}={}`: {}", name, text, why),
                    "known sizes, integers, + - * / // ( ), and round_up(x, multiple)");
    };
    std::string unknown;
    const auto value = evaluate(text, [&](std::string_view word) -> ConfigResult {
        for (const Sizes* each : {&sizes, &known}) {
            if (const auto found = each->find(std::string(word)); found != each->end()) return found->second;
        }
        if (unknown.empty()) unknown = word;
        return NoValue{std::string(word)};
    });
    if (!unknown.empty()) return wrong(fmt::format("the size of {} is unknown", in_ticks(unknown)));
    if (!value) return wrong(value.error().message);
    const auto* whole = std::get_if<std::int64_t>(&*value);
    if (whole == nullptr) return wrong("its value is not an integer");
    if (*whole < 1) return wrong(fmt::format("its value is {}, but a size is at least 1", *whole));
    return *whole;
}

/// Whether a value is an expression of other sizes: "B", "2*B", "B-1", but not "8k" or "-8".
bool is_expression(std::string_view value) {
    const bool named =
        !value.empty() && !is_digit(value.front()) && std::all_of(value.begin(), value.end(), [](char c) {
            return c == '_' || is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
        });
    return named || value.find_first_of("*/+(") != std::string_view::npos ||
           (value.size() > 1 && value.find('-', 1) != std::string_view::npos);
}

/// An entry of --dims whose value is an expression of other sizes.
struct DerivedSize {
    std::string dim;
    std::string expression;
};

/// A value of --dims, "B=256,C=B*A/E". A value that is not a number is an expression of sizes that are already known or
/// in the same list.
struct SizeList {
    Sizes plain;
    std::vector<DerivedSize> derived;
};

/// Errors: those of parse_sizes(); a size that is given twice.
Result<SizeList> parse_size_list(const std::string& text) {
    SizeList list;
    std::string plain;
    for (const std::string_view part : outer_parts(text)) {
        const std::size_t equals = part.find('=');
        const std::string_view value = equals == std::string_view::npos ? part : trimmed(part.substr(equals + 1));
        if (equals != std::string_view::npos && is_expression(value)) {
            list.derived.push_back({std::string(trimmed(part.substr(0, equals))), std::string(value)});
        } else {
            plain += (plain.empty() ? "" : ",") + std::string(part);
        }
    }
    if (!plain.empty() || list.derived.empty()) {
        ROOFLINE_TRY(list.plain, parse_sizes(plain, "--dims"));
    }
    for (const DerivedSize& each : list.derived) {
        const bool again = std::ranges::count(list.derived, each.dim, &DerivedSize::dim) > 1;
        if (!again && !list.plain.contains(each.dim)) continue;
        return fail("size_conflict", fmt::format("--dims: {} is given twice", in_ticks(each.dim)), "give it once");
    }
    return list;
}

/// Evaluates expressions and moves their values from `derived` to `sizes`. An expression that cannot be evaluated
/// remains: a size in it is unknown or depends on the expression itself, or its value is not an integer. Returns the
/// error of the first of these.
std::optional<Error> evaluate_sizes(std::vector<DerivedSize>& derived, Sizes& sizes, const Sizes& known) {
    // Each pass resolves at least one size, or none can be resolved any more.
    while (!derived.empty()) {
        std::optional<Error> problem;
        const std::size_t before = derived.size();
        std::erase_if(derived, [&](const DerivedSize& each) {
            auto size = derived_size(each.dim, each.expression, sizes, known);
            if (size) return sizes.emplace(each.dim, *size).second;
            if (!problem) problem = size.error();
            return false;
        });
        if (derived.size() == before) return problem;
    }
    return std::nullopt;
}

bool is_swept(const std::vector<SweepAxis>& axes, const std::string& dim) {
    return std::ranges::any_of(
        axes, [&](const SweepAxis& axis) { return std::ranges::find(axis.dims, dim) != axis.dims.end(); });
}

/// A dimension cannot have a size and be swept.
Status check_not_swept(const SizeList& list, const std::vector<SweepAxis>& grid) {
    std::vector<std::string> dims;
    for (const auto& [dim, size] : list.plain) dims.push_back(dim);
    for (const DerivedSize& each : list.derived) dims.push_back(each.dim);
    for (const std::string& dim : dims) {
        if (!is_swept(grid, dim)) continue;
        return fail("bad_request", fmt::format("`{}` is in --dims and in --sweep", dim), "remove it from one of them");
    }
    return {};
}

/// Formats a point of a sweep for a message: "B = 4, D = F = 8".
std::string point_text(const std::vector<SweepAxis>& axes, std::span<const std::int64_t> at) {
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < axes.size(); ++i) sizes.push_back(fmt::format("{} = {}", axes[i].name(), at[i]));
    return fmt::format("{}", fmt::join(sizes, ", "));
}

/// Returns the values of the expressions of --dims at each point of a sweep, as one computed axis per expression that
/// depends on a swept dimension. Errors: those of read_program(); an expression that cannot be evaluated at a point.
Result<std::vector<SweepAxis>> computed_axes(const OpRequest& request, const std::vector<SweepAxis>& grid) {
    std::vector<SweepAxis> computed;
    std::vector<SizeList> lists;
    for (const std::string& text : request.dims) {
        ROOFLINE_TRY(auto list, parse_size_list(text));
        lists.push_back(std::move(list));
    }
    if (std::ranges::all_of(lists, [](const SizeList& list) { return list.derived.empty(); })) return computed;
    ROOFLINE_CHECK(check_point_count(grid));
    ROOFLINE_TRY(const auto program, parse_program(request.program, request.program_name));
    Sizes known = program.sizes;
    std::erase_if(known, [&](const auto& size) { return is_swept(grid, size.first); });
    for (SizeList& list : lists) {
        ROOFLINE_CHECK(check_not_swept(list, grid));
        // Expressions that do not depend on swept sizes have the same value at every point.
        Sizes sizes = list.plain;
        (void)evaluate_sizes(list.derived, sizes, known);
        for (const auto& [dim, size] : sizes) known[dim] = size;
        for (const DerivedSize& each : list.derived) {
            known.erase(each.dim);
            sizes.emplace(each.dim, 0);
        }
        for (const auto& [dim, size] : sizes) {
            if (is_swept(computed, dim)) {
                return fail("size_conflict", fmt::format("--dims: {} is given twice", in_ticks(dim)), "give it once");
            }
        }
        for (const DerivedSize& each : list.derived) computed.push_back({{each.dim}, {}, true});
    }
    std::optional<Error> problem;
    for_each_size(grid, [&](std::span<const std::int64_t> at) {
        if (problem) return;
        Sizes here = known;
        for (std::size_t i = 0; i < grid.size(); ++i) {
            for (const std::string& dim : grid[i].dims) here[dim] = at[i];
        }
        for (const SizeList& list : lists) {
            std::vector<DerivedSize> left = list.derived;
            Sizes derived;
            problem = evaluate_sizes(left, derived, here);
            if (problem) {
                problem->message += " at " + point_text(grid, at);
                return;
            }
            for (const auto& [dim, size] : derived) here[dim] = size;
        }
        for (SweepAxis& axis : computed) axis.sizes.push_back(here[axis.dims.front()]);
    });
    if (problem) return fail(*problem);
    return computed;
}

/// Parses "4/8".
Result<ExpertGroups> parse_expert_groups(const std::string& text) {
    const std::size_t slash = text.find('/');
    const auto chosen = parse_size(std::string_view(text).substr(0, slash));
    const auto of =
        parse_size(slash == std::string::npos ? std::string_view() : std::string_view(text).substr(slash + 1));
    if (chosen && of) return ExpertGroups{*chosen, *of};
    return fail("bad_expert_groups", fmt::format("--expert-groups: `{}` does not have the form CHOSEN/GROUPS", text),
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
    if (axes.empty()) return axes;
    ROOFLINE_TRY(auto computed, computed_axes(request, axes));
    std::ranges::move(computed, std::back_inserter(axes));
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
        ROOFLINE_TRY(auto list, parse_size_list(text));
        ROOFLINE_CHECK(check_not_swept(list, grid_axes(axes)));
        std::erase_if(list.derived, [&](const DerivedSize& each) { return is_swept(axes, each.dim); });
        if (auto problem = evaluate_sizes(list.derived, list.plain, program.sizes)) return fail(*problem);
        ROOFLINE_CHECK(bind(list.plain));
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

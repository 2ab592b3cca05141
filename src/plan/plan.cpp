#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <set>

#include "notation/notation.hpp"

namespace roofline::core {

namespace {

struct PlanAxis {
    std::string_view name;
    std::int64_t Plan::* size;
};

// The order in which axes are placed on links: those that wait for their messages in every layer come first.
constexpr std::array<PlanAxis, 7> axes{{{"tensor", &Plan::tensor},
                                        {"sequence", &Plan::sequence},
                                        {"context", &Plan::context},
                                        {"expert", &Plan::expert},
                                        {"fsdp", &Plan::fsdp},
                                        {"data", &Plan::data},
                                        {"pipeline", &Plan::pipeline}}};

/// The names that frameworks use.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> usual_names{
    {{"dp", "data"}, {"tp", "tensor"}, {"sp", "sequence"}, {"cp", "context"}, {"ep", "expert"}, {"pp", "pipeline"}}};

Status read_axis(const MeshAxis& axis, Plan& plan) {
    const std::string_view name = axis_called(axis.name);
    const auto known = std::find_if(axes.begin(), axes.end(), [&](const PlanAxis& each) { return each.name == name; });
    if (known == axes.end()) {
        std::vector<std::string> names;
        for (const PlanAxis& each : axes) names.emplace_back(each.name);
        return fail("unknown_axis", fmt::format("a plan has no axis `{}`", axis.name.substr(0, 40)),
                    did_you_mean(axis.name, names, fmt::format("the axes are {}", fmt::join(names, ", "))));
    }
    if (axis.size < 1)
        return fail("bad_plan", fmt::format("{}={}: an axis must have at least one chip", axis.name, axis.size));
    plan.*known->size = axis.size;
    if (!axis.links.empty()) plan.links.push_back({std::string(name), axis.links});
    return {};
}

const AxisLinks* links_of(const std::vector<AxisLinks>& links, std::string_view axis) {
    const auto found =
        std::find_if(links.begin(), links.end(), [&](const AxisLinks& each) { return each.axis == axis; });
    return found == links.end() ? nullptr : &*found;
}

// Returns the axes with more than one chip, as they are written, with the degree of experts that lie on the chips of
// other axes apart.
std::vector<std::string> written_axes(const Plan& plan) {
    Plan shown = plan;
    if (plan.experts_over_tensor) {
        shown.data *= plan.expert;
        shown.expert = 1;
    }
    std::vector<std::string> placed;
    std::vector<std::string> others;
    for (const PlanAxis& axis : std::views::reverse(axes)) {
        if (shown.*axis.size > 1 && links_of(plan.links, axis.name) == nullptr) {
            others.push_back(fmt::format("{}={}", axis.name, shown.*axis.size));
        }
    }
    for (const auto& [name, links] : plan.links) {
        const auto axis =
            std::find_if(axes.begin(), axes.end(), [&](const PlanAxis& each) { return each.name == name; });
        if (axis == axes.end() || shown.*axis->size == 1) continue;
        placed.push_back(fmt::format("{}={} on {}", name, shown.*axis->size, fmt::join(links, "+")));
    }
    placed.insert(placed.end(), others.begin(), others.end());
    return placed;
}

// Returns the product; empty beyond 2^62.
std::optional<std::int64_t> product(const Plan& plan) {
    std::int64_t chips = 1;
    for (const PlanAxis& axis : axes) {
        if (__builtin_mul_overflow(chips, plan.*axis.size, &chips)) return std::nullopt;
    }
    return chips;
}

// Returns the plan with the smallest change of one axis that makes the product right.
std::optional<Plan> nearest_plan(const Plan& plan, std::int64_t chips) {
    std::optional<Plan> best;
    double least = 0;
    // Axes that share weights or batches take any size; axes that cut layers and heads are changed only if nothing else
    // helps.
    for (const auto axis : {&Plan::fsdp, &Plan::data, &Plan::tensor, &Plan::context, &Plan::expert, &Plan::pipeline}) {
        Plan other = plan;
        other.*axis = 1;
        const auto rest = product(other);
        if (!rest || *rest > chips || chips % *rest != 0) continue;
        other.*axis = chips / *rest;
        // The numbers of layers, heads and experts are limited, so more of these axes may exceed the model.
        const bool tokens = axis == &Plan::fsdp || axis == &Plan::data;
        if (!tokens && plan.*axis % other.*axis != 0) continue;
        const auto from = static_cast<double>(plan.*axis);
        const auto to = static_cast<double>(other.*axis);
        const double change = std::max(from / to, to / from) * (from == 1 ? 2 : 1);
        if (best && change >= least) continue;
        best = other;
        least = change;
    }
    return best;
}

}  // namespace

std::string_view axis_called(std::string_view name) {
    const auto usual =
        std::find_if(usual_names.begin(), usual_names.end(), [&](const auto& e) { return e.first == name; });
    return usual == usual_names.end() ? name : usual->second;
}

std::int64_t Plan::chips() const { return product(*this).value_or(0); }

std::vector<std::pair<std::string_view, std::int64_t>> plan_axes(const Plan& plan) {
    std::vector<std::pair<std::string_view, std::int64_t>> sizes;
    for (const PlanAxis& axis : axes) sizes.emplace_back(axis.name, plan.*axis.size);
    return sizes;
}

bool Plan::same_axes(const Plan& other) const {
    return zero == other.zero && tensor_tokens == other.tensor_tokens &&
           experts_over_tensor == other.experts_over_tensor &&
           std::all_of(axes.begin(), axes.end(),
                       [&](const PlanAxis& axis) { return this->*axis.size == other.*axis.size; });
}

std::string mesh_option(const Plan& plan) {
    std::vector<std::string> parts = written_axes(plan);
    if (plan.experts_over_tensor) parts.push_back(fmt::format("expert={}", plan.expert * plan.tensor));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string plan_text(const Plan& plan) {
    std::vector<std::string> parts = written_axes(plan);
    if (plan.experts_over_tensor)
        parts.push_back(fmt::format("expert={} on the same chips", plan.expert * plan.tensor));
    if (plan.zero > 0) parts.push_back(fmt::format("ZeRO-{}", plan.zero));
    return parts.empty() ? "one chip" : fmt::format("{}", fmt::join(parts, ", "));
}

Result<Plan> parse_plan(const std::vector<std::string>& texts, std::int64_t chips, std::vector<std::string>* notes) {
    std::string text;
    for (const std::string& each : texts) text += (text.empty() ? "mesh " : ", ") + each;
    ROOFLINE_TRY(auto read, parse_program(text, "--mesh"));
    if (!read.values.empty() || !read.dims.empty()) {
        return fail("syntax", "the text contains more than a mesh", "write it like data=4,tensor=8");
    }
    Plan plan;
    std::set<std::string_view> given;
    std::vector<std::string> called;
    for (const MeshAxis& axis : read.mesh) {
        const std::string_view name = axis_called(axis.name);
        if (!given.insert(name).second) {
            return fail("bad_plan", fmt::format("the axis `{}` is given twice", name), "give it once");
        }
        if (name != axis.name) called.push_back(fmt::format("{} is called `{}`", axis.name, name));
        ROOFLINE_CHECK(read_axis(axis, plan));
    }
    if (!called.empty() && notes != nullptr) {
        const bool experts = given.contains("expert") && plan.chips() == chips;
        notes->push_back(fmt::format("in a plan {}{}{}", fmt::join(called, ", "),
                                     given.contains("data") ? "; replicas that share out weights are `fsdp`, and what "
                                                              "they share with --zero stays `data`"
                                                            : "",
                                     experts ? "; the sizes of all axes, `expert` too, multiply to the chips" : ""));
    }
    Plan others = plan;
    others.expert = 1;
    if (plan.expert > 1 && plan.chips() != chips && others.chips() == chips) {
        if (links_of(plan.links, "expert") != nullptr) {
            return fail("bad_plan", "`expert` lies on the chips of the other axes, so it has no links of its own",
                        "place `tensor` or `data`");
        }
        return with_experts_on_same_chips(std::move(others), plan.expert);
    }
    ROOFLINE_CHECK(check_plan(plan, chips));
    return plan;
}

Result<Plan> with_experts_on_same_chips(Plan plan, std::int64_t degree) {
    if (degree == 1) return plan;
    const bool over_tensor = plan.tensor > 1 && degree % plan.tensor == 0;
    const std::int64_t members = over_tensor ? degree / plan.tensor : degree;
    if (plan.data % members != 0) {
        return fail(
            "bad_plan",
            fmt::format("expert={} does not divide the chips of data={} and tensor={}", degree, plan.data, plan.tensor),
            fmt::format("experts lie over `tensor` and then over `data`: expert={} does", plan.data * plan.tensor));
    }
    plan.data /= members;
    plan.expert = members;
    const auto data =
        std::find_if(plan.links.begin(), plan.links.end(), [](const AxisLinks& each) { return each.axis == "data"; });
    if (members > 1 && data != plan.links.end()) {
        AxisLinks expert{"expert", data->links};
        plan.links.insert(data, std::move(expert));
    }
    plan.experts_over_tensor = over_tensor;
    return plan;
}

Result<FixedAxes> parse_fixed_axes(const std::vector<std::string>& texts) {
    FixedAxes fixed;
    if (texts.empty()) return fixed;
    std::string text;
    for (const std::string& each : texts) text += (text.empty() ? "mesh " : ", ") + each;
    ROOFLINE_TRY(const auto read, parse_program(text, "--mesh"));
    if (!read.values.empty() || !read.dims.empty()) {
        return fail("syntax", "the text contains more than a mesh", "write it like data=4,tensor=8");
    }
    Plan checked;
    for (const MeshAxis& axis : read.mesh) {
        ROOFLINE_CHECK(read_axis(axis, checked));
        if (!fixed.degrees.emplace(axis_called(axis.name), axis.size).second) {
            return fail("bad_plan", fmt::format("the axis `{}` is given twice", axis.name), "give it once");
        }
    }
    fixed.links = std::move(checked.links);
    return fixed;
}

Result<std::vector<std::string>> parse_axes(const std::vector<std::string>& texts) {
    std::vector<std::string> names;
    for (const std::string& text : texts) {
        for (std::string_view rest = text; !rest.empty();) {
            const std::size_t comma = rest.find(',');
            Plan checked;
            const MeshAxis axis{std::string(rest.substr(0, comma)), 1, {}};
            ROOFLINE_CHECK(read_axis(axis, checked));
            names.emplace_back(axis_called(axis.name));
            rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        }
    }
    return names;
}

Status check_plan(const Plan& plan, std::int64_t chips) {
    for (const auto& [name, degree] : plan_axes(plan)) {
        if (degree >= 1) continue;
        return fail("bad_plan", fmt::format("{}={}: an axis has one chip at least", name, degree), "leave it at 1");
    }
    const auto product = roofline::core::product(plan);
    if (product == chips) return {};
    const auto near = nearest_plan(plan, chips);
    return fail("bad_plan",
                fmt::format("{} needs {} chips, but the slice has {}", plan_text(plan),
                            product ? fmt::format("{}", *product) : "too many", chips),
                near ? fmt::format("{} needs {}", plan_text(*near), chips)
                     : fmt::format("the product of the axis sizes must be {}", chips));
}

std::vector<MeshAxis> mesh_of(const Plan& plan) {
    std::vector<MeshAxis> mesh;
    auto placed = plan.links.begin();
    for (const PlanAxis& axis : axes) {
        const AxisLinks* const links = links_of(plan.links, axis.name);
        if (links == nullptr) {
            if (plan.*axis.size > 1) mesh.push_back({std::string(axis.name), plan.*axis.size, {}});
            continue;
        }
        // those with links stand where axes with links would, but in their own order
        const auto next =
            std::find_if(axes.begin(), axes.end(), [&](const PlanAxis& each) { return each.name == placed->axis; });
        if (next != axes.end() && plan.*next->size > 1) mesh.push_back({placed->axis, plan.*next->size, placed->links});
        ++placed;
    }
    return mesh;
}

}  // namespace roofline::core

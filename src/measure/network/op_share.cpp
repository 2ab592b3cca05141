#include "measure/network/op_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "notation/notation.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

// Adds a value for an operand to the program `one`, with the operation's names of its dimensions.
ValueId take(const Program& program, const Operand& operand, Program& one) {
    Value value = program.values[operand.value];
    value.type.unreduced.clear();
    value.type.at.clear();
    value.intermediate = false;
    value.type_follows = false;
    value.carried = false;
    value.param = false;
    for (std::size_t d = 0; d < value.type.axes.size(); ++d) value.type.axes[d] = {operand.dims[d], {}};
    one.values.push_back(std::move(value));
    return one.values.size() - 1;
}

// Maps the dimensions of an operation on a chip to those of its share, with their sizes and where they begin.
class Shares {
public:
    Shares(const Program& program, const OpStrategies& ways, const Strategy& way, const System& system,
           std::int64_t chip)
        : program_(program), ways_(ways), way_(way), system_(system), chip_(chip) {}

    Status rename(std::vector<std::string>& dims, std::optional<std::size_t> tensor, OpShare& share) const {
        for (std::string& dim : dims) {
            const auto found = std::find(ways_.dims().begin(), ways_.dims().end(), dim);
            if (found == ways_.dims().end()) continue;
            const auto place = static_cast<std::size_t>(found - ways_.dims().begin());
            const DimShare part = ways_.dim_share(way_, place, tensor);
            const auto size = program_.sizes.find(dim);
            if (size == program_.sizes.end()) {
                return fail("no_size", fmt::format("`{}` has no size", dim), fmt::format("--dims {}=1024", dim));
            }
            const std::int64_t parts = chips_across(system_, part.axes);
            if (size->second % parts != 0) {
                return fail("uneven",
                            fmt::format("{} = {} is not divisible into {} shards", dim_text(program_, dim),
                                        size->second, parts),
                            "ranks hold equal shards: choose divisible sizes");
            }
            HeldShard held;
            held.lies.rank = 1;
            held.lies.dims[0] = part.axes;
            held.before = part.before;
            held.behind = part.behind;
            const Box box = box_of(held, {size->second}, system_, chip_);
            // Names of whole dimensions stand for a chip's shards here.
            const std::string name = share.program.local_dims.add({dim, 1, part.halo});
            share.program.sizes[name] = box.size.front();
            if (parts > 1) share.options.parts[name] = {box.start.front(), size->second};
            if (name.front() != '#' && !has(share.program.dims, name)) share.program.dims.push_back(name);
            dim = name;
        }
        return {};
    }

private:
    const Program& program_;
    const OpStrategies& ways_;
    const Strategy& way_;
    const System& system_;
    std::int64_t chip_;
};

bool is_split(const OpStrategies& ways, const Strategy& way, const std::string& dim) {
    const auto place = std::find(ways.dims().begin(), ways.dims().end(), dim) - ways.dims().begin();
    return static_cast<std::size_t>(place) < ways.dims().size() && !way.split[static_cast<std::size_t>(place)].empty();
}

bool rows_are_split(const OpStrategies& ways, const Strategy& way) {
    const std::vector<std::string>& along = ways.op().along;
    return std::any_of(along.begin(), along.end(), [&](const std::string& dim) { return is_split(ways, way, dim); });
}

// Layouts assume that looked-up or written rows are in order if there are as many as places; random indices are not.
Status check_rows(const OpStrategies& ways, const Strategy& way) {
    const Op& op = ways.op();
    if (op.function != "gather" && op.function != "scatter") return {};
    for (const std::string& dim : op.inputs[1].dims) {
        if (has(op.inputs[0].dims, dim) || !is_split(ways, way, dim) || !is_split(ways, way, op.along.front()))
            continue;
        return fail("unsupported",
                    fmt::format("`{}` has both {} and {} split over ranks; the layout assumes ordered indices, and the "
                                "indices of a run are random",
                                op.function, dim, op.along.front()),
                    "split only one of them");
    }
    return {};
}

// Describes how a function is computed if its rows are split: numbers of each row (statistics), and the result that
// follows from them. `@` stands for the dimensions of a row and `#` for the number of its elements. Operation counts
// and their order match the table of functions.
struct RowRecipe {
    std::string_view function;
    struct Round {
        std::vector<std::string_view> numbers;
        Reduction reduction = Reduction::sum;
    };
    std::vector<Round> rounds;
    std::string_view last;
};

const std::vector<RowRecipe>& row_recipes() {
    static const std::vector<RowRecipe> recipes{
        {"max", {{{"max[@](A)"}, Reduction::max}}, "R0"},
        {"min", {{{"min[@](A)"}, Reduction::min}}, "R0"},
        {"mean", {}, "sum[@](A) / #"},
        {"softmax", {{{"max[@](A)"}, Reduction::max}, {{"sum[@](exp(A - R0))"}, Reduction::sum}}, "exp(A - R0) / R1"},
        {"logsumexp", {{{"max[@](A)"}, Reduction::max}, {{"sum[@](exp(A - R0))"}, Reduction::sum}}, "R0 + log(R1)"},
        {"norm", {{{"sum[@](square(A))"}, Reduction::sum}}, "A * rsqrt(R0 / #)"},
        {"layernorm",
         {{{"sum[@](A)", "sum[@](square(A))"}, Reduction::sum}},
         "(A - R0 / #) * rsqrt(R1 / # - square(R0 / #))"},
        {"dsoftmax", {{{"sum[@](A * B)"}, Reduction::sum}}, "A * (B - R0)"},
        {"dnorm", {{{"sum[@](square(A))", "sum[@](A * B)"}, Reduction::sum}}, "rsqrt(R0 / #) * (B - A * R1 / R0)"},
        {"dlayernorm",
         {{{"sum[@](A)", "sum[@](square(A))", "sum[@](B)", "sum[@](A * B)"}, Reduction::sum}},
         "rsqrt(R1 / # - square(R0 / #)) * (B - R2 / # - (A - R0 / #) * ((R3 - R0 * R2 / #) / (R1 - square(R0) / #)))"},
    };
    return recipes;
}

const RowRecipe* recipe_of(const Op& op) {
    if (op.kind != OpKind::apply) return nullptr;
    const auto& recipes = row_recipes();
    const auto found =
        std::find_if(recipes.begin(), recipes.end(), [&](const auto& each) { return each.function == op.function; });
    return found == recipes.end() ? nullptr : &*found;
}

std::string replaced(std::string_view text, char letter, const std::string& by) {
    std::string made;
    for (const char each : text) made += each == letter ? by : std::string(1, each);
    return made;
}

// One part of a recipe as a program over the operands A and B and the statistics R0, R1, ... that were reduced before.
class RecipeProgram {
public:
    RecipeProgram(const Program& program, const OpStrategies& ways, const Strategy& way, const System& system)
        : program_(program), ways_(ways), way_(way), system_(system) {}

    Result<OpShare> make(std::string_view expression, std::size_t known, bool last) const {
        const Op& op = ways_.op();
        const Dtype statistics = statistics_dtype(op);
        std::vector<std::string> rows;
        for (const std::string& dim : ways_.dims()) {
            if (!has(op.along, dim)) rows.push_back(dim);
        }
        std::string text = declared("A", program_.values[op.inputs.front().value].type.dtype, op.inputs.front().dims);
        text += "\n";
        if (op.inputs.size() > 1) {
            const TensorType& second = program_.values[op.inputs[1].value].type;
            text += declared("B", second.dtype, op.inputs[1].dims) + "\n";
        }
        for (std::size_t i = 0; i < known; ++i) text += declared(fmt::format("R{}", i), statistics, rows) + "\n";
        const Dtype out = last ? program_.values[op.output.value].type.dtype : statistics;
        text += declared("Made", out, last ? op.output.dims : rows) + " = ";
        std::vector<std::string> along;
        std::int64_t count = 1;
        for (const std::string& dim : op.along) {
            along.push_back(name_of(dim));
            count *= *size_of(program_, dim);
        }
        text +=
            replaced(replaced(expression, '@', fmt::format("{}", fmt::join(along, ","))), '#', std::to_string(count));
        ROOFLINE_TRY(auto parsed, parse_program(text));
        OpShare share;
        share.program = std::move(parsed);
        label_values(share.program);
        for (std::size_t d = 0; d < ways_.dims().size(); ++d) {
            const std::int64_t size = *size_of(program_, ways_.dims()[d]);
            share.program.sizes[fmt::format("D{}", d)] = size / chips_across(system_, way_.split[d]);
        }
        const auto value = [&](std::string_view name) {
            const auto& values = share.program.values;
            return static_cast<ValueId>(
                std::find_if(values.begin(), values.end(), [&](const Value& each) { return each.name == name; }) -
                values.begin());
        };
        share.inputs.push_back(value("A"));
        if (op.inputs.size() > 1) share.inputs.push_back(value("B"));
        for (std::size_t i = 0; i < known; ++i) share.inputs.push_back(value(fmt::format("R{}", i)));
        share.output = value("Made");
        return share;
    }

private:
    [[nodiscard]] std::string name_of(const std::string& dim) const {
        return fmt::format("D{}", std::find(ways_.dims().begin(), ways_.dims().end(), dim) - ways_.dims().begin());
    }
    [[nodiscard]] std::string declared(const std::string& what, Dtype dtype,
                                       const std::vector<std::string>& dims) const {
        std::vector<std::string> names;
        for (const std::string& dim : dims) names.push_back(name_of(dim));
        return fmt::format("{} : {}[{}]", what, name(dtype), fmt::join(names, ", "));
    }

    const Program& program_;
    const OpStrategies& ways_;
    const Strategy& way_;
    const System& system_;
};

// Neighbours that are rotated together must be on one chip.
Status check_pairs(const Program& program, const OpStrategies& ways, const Strategy& way, const System& system) {
    const std::vector<std::string>& dims = ways.op().output.dims;
    const std::string last = dims.empty() ? "" : dims.back();
    if (!is_split(ways, way, last)) return {};
    const auto place = std::find(ways.dims().begin(), ways.dims().end(), last) - ways.dims().begin();
    const std::int64_t parts = chips_across(system, way.split[static_cast<std::size_t>(place)]);
    const auto size = size_of(program, last);
    if (!size || *size / parts % 2 == 0) return {};
    return fail("unsupported",
                fmt::format("{} rotates pairs of neighbours along {}, and shards of {} elements split pairs",
                            ways.op().function, dim_text(program, last), *size / parts),
                "choose a size whose shards have an even number of elements, or split another dimension");
}

Status check_positions(const Program& program, const OpStrategies& ways, const Strategy& way, const System& system) {
    const Op& op = ways.op();
    if (op.function == "rope" || op.function == "unrope") return check_pairs(program, ways, way, system);
    if (op.kind != OpKind::apply || !rows_are_split(ways, way)) return {};
    const FunctionInfo& function = *find_function(op.function);
    const bool whole =
        function.statistics.rounds > 0 || (function.kind == FunctionKind::keep && !function.looks_back());
    if (!whole) return check_rows(ways, way);
    return fail("unsupported", fmt::format("`{}` along split rows cannot run yet", op.function),
                "split another dimension, or gather it in a separate statement");
}

}  // namespace

Dtype statistics_dtype(const Op& op) { return info(op.arithmetic).accumulator; }

HeldShard held_by_way(const OpStrategies& ways, const Strategy& way, std::size_t tensor) {
    const Op& op = ways.op();
    const bool result = tensor == op.inputs.size();
    const std::vector<std::string>& dims = result ? op.output.dims : op.inputs[tensor].dims;
    HeldShard held{result ? ways.made(way) : ways.used(way, tensor)};
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const auto place = std::find(ways.dims().begin(), ways.dims().end(), dims[d]) - ways.dims().begin();
        const DimShare share = ways.dim_share(way, static_cast<std::size_t>(place), tensor);
        if (!share.halo) continue;
        held.lies.dims[d] = share.axes;
        held.dim = d;
        held.before = share.before;
        held.behind = share.behind;
    }
    return held;
}

HeldShard held_extra(const OpStrategies& ways, const Strategy& way, const std::vector<std::string>& dims) {
    HeldShard held;
    held.lies.rank = static_cast<std::uint8_t>(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const auto place = std::find(ways.dims().begin(), ways.dims().end(), dims[d]) - ways.dims().begin();
        held.lies.dims[d] = way.split[static_cast<std::size_t>(place)];
    }
    return held;
}

std::vector<std::pair<std::string, std::int64_t>> group_shares(const OpStrategies& ways, const Strategy& way,
                                                               const Operand& choices, const System& system) {
    const HeldShard held = held_extra(ways, way, choices.dims);
    const auto groups = std::find(ways.dims().begin(), ways.dims().end(), ways.op().along[1]) - ways.dims().begin();
    const AxisList filled = way.split[static_cast<std::size_t>(groups)];
    std::vector<std::pair<std::string, std::int64_t>> shares;
    for (std::size_t i = 0; i < filled.size();) {
        std::size_t d = 0;
        while (d < choices.dims.size() && (held.lies.dims[d].empty() || !filled.from(i).starts_with(held.lies.dims[d])))
            ++d;
        if (d == choices.dims.size()) return {};
        shares.emplace_back(choices.dims[d], chips_across(system, held.lies.dims[d]));
        i += held.lies.dims[d].size();
    }
    return shares;
}

Result<OpShare> share_of_op(const Program& program, const OpStrategies& ways, const Strategy& way, const System& system,
                            std::int64_t chip, const std::optional<Operand>& choices) {
    const RowRecipe* recipe = recipe_of(ways.op());
    if (recipe != nullptr && recipe->rounds.empty() && rows_are_split(ways, way)) {
        return RecipeProgram(program, ways, way, system).make(recipe->last, 0, true);
    }
    ROOFLINE_CHECK(check_positions(program, ways, way, system));
    OpShare one;
    Op op = ways.op();
    const Shares shares(program, ways, way, system, chip);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        ROOFLINE_CHECK(shares.rename(op.inputs[i].dims, i, one));
    }
    ROOFLINE_CHECK(shares.rename(op.output.dims, op.inputs.size(), one));
    ROOFLINE_CHECK(shares.rename(op.along, std::nullopt, one));
    if (op.function == "causal") one.options.mask_fill = causal_fill(program, op.output.value);
    std::map<ValueId, ValueId> taken;
    for (Operand& input : op.inputs) {
        const auto [known, added] = taken.try_emplace(input.value, 0);
        if (added) known->second = take(program, input, one.program);
        input.value = known->second;
        one.inputs.push_back(input.value);
    }
    if (choices) {
        Operand beside = *choices;
        ROOFLINE_CHECK(shares.rename(beside.dims, std::nullopt, one));
        beside.value = take(program, beside, one.program);
        one.inputs.push_back(beside.value);
        one.options.choices = std::move(beside);
    }
    op.output.value = take(program, op.output, one.program);
    one.output = op.output.value;
    label_values(one.program);
    Statement statement;
    statement.result = op.output.value;
    statement.ops.push_back(std::move(op));
    one.program.body.nodes.emplace_back(std::move(statement));
    return one;
}

Result<RowParts> row_parts(const Program& program, const OpStrategies& ways, const Strategy& way, const System& system,
                           std::int64_t chip) {
    const RowRecipe* recipe = recipe_of(ways.op());
    if (recipe == nullptr) return fail(check_positions(program, ways, way, system).error());
    // sizes are checked as for any operation
    OpShare whole;
    std::vector<std::string> dims = ways.dims();
    ROOFLINE_CHECK(Shares(program, ways, way, system, chip).rename(dims, std::nullopt, whole));
    const RecipeProgram programs(program, ways, way, system);
    RowParts parts;
    std::size_t known = 0;
    for (const RowRecipe::Round& round : recipe->rounds) {
        RowParts::Round made;
        made.reduction = round.reduction;
        for (const std::string_view number : round.numbers) {
            ROOFLINE_TRY(auto share, programs.make(number, known, false));
            made.numbers.push_back(std::move(share));
        }
        known += round.numbers.size();
        parts.rounds.push_back(std::move(made));
    }
    ROOFLINE_TRY(parts.last, programs.make(recipe->last, known, true));
    return parts;
}

}  // namespace roofline::core

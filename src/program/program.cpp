#include "program/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "program/elementwise_products.hpp"

namespace roofline::core {

bool Program::sharded() const {
    return std::any_of(values.begin(), values.end(), [](const Value& value) {
        return !value.type.unreduced.empty() || !value.type.at.empty() ||
               std::any_of(value.type.axes.begin(), value.type.axes.end(),
                           [](const Axis& axis) { return !axis.mesh.empty(); });
    });
}

bool Program::sized() const {
    return std::all_of(dims.begin(), dims.end(), [&](const std::string& dim) { return sizes.contains(dim); });
}

std::string dim_text(const Program& program, const std::string& dim) {
    if (dim.empty() || dim.front() != '#') return dim;
    const auto found = program.sizes.find(dim);
    return found == program.sizes.end() ? dim : std::to_string(found->second);
}

namespace {

// Returns "_X", "_XY" for single capitals, "_{data,X}" otherwise.
std::string mesh_text(const std::vector<std::string>& axes) {
    if (axes.empty()) return "";
    const bool single = std::all_of(axes.begin(), axes.end(), [](const std::string& axis) {
        return axis.size() == 1 && axis[0] >= 'A' && axis[0] <= 'Z';
    });
    return single ? fmt::format("_{}", fmt::join(axes, "")) : fmt::format("_{{{}}}", fmt::join(axes, ","));
}

}  // namespace

std::string type_text(const Program& program, const TensorType& type, std::set<std::string>* sized) {
    std::string text = fmt::format("{}[", name(type.dtype));
    for (std::size_t i = 0; i < type.axes.size(); ++i) {
        const Axis& axis = type.axes[i];
        if (i > 0) text += ", ";
        text += dim_text(program, axis.dim) + mesh_text(axis.mesh);
        const auto size = program.sizes.find(axis.dim);
        if (sized != nullptr && !axis.anonymous() && size != program.sizes.end() && sized->insert(axis.dim).second) {
            text += fmt::format("={}", size->second);
        }
    }
    text += "]";
    if (!type.unreduced.empty()) text += fmt::format("{{U{}}}", mesh_text(type.unreduced));
    return text;
}

std::string place_text(const MeshPlace& place) {
    std::string text;
    for (const auto& [axis, coordinate] : place)
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis, coordinate);
    return text;
}

std::string where_text(const Value& value) {
    std::string text = value.level == "hbm" ? "" : " in " + value.level;
    if (!value.type.at.empty()) text += " at " + place_text(value.type.at);
    return text;
}

std::string route_text(const Message& message, std::string_view between) {
    std::string text;
    if (!message.axes.empty()) text += fmt::format(" over {}", fmt::join(message.axes, between));
    if (!message.from.empty()) text += " from " + place_text(message.from);
    if (!message.to.empty()) text += " to " + place_text(message.to);
    if (message.hops > 0) text += fmt::format(", {} hop{}", message.hops, message.hops == 1 ? "" : "s");
    return text;
}

void label_values(Program& program) {
    std::set<std::string_view> taken;
    for (const Value& value : program.values) taken.insert(value.name);
    std::size_t index = 0;
    const auto next_label = [&index] {
        const std::string letter(1, static_cast<char>('A' + index % 26));
        const std::string label = index < 26 ? letter : letter + std::to_string(index / 26);
        ++index;
        return label;
    };
    for (Value& value : program.values) {
        value.label = value.name;
        if (!value.name.empty() || value.intermediate) continue;
        do {
            value.label = next_label();
        } while (taken.contains(value.label));
    }
}

const std::string& value_name(const Program& program, ValueId id) { return program.values[id].label; }

std::vector<std::string> dims_of(const TensorType& type) {
    std::vector<std::string> dims;
    for (const Axis& axis : type.axes) dims.push_back(axis.dim);
    return dims;
}

bool has(const std::vector<std::string>& dims, std::string_view dim) {
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

Polynomial elements(const LocalDims& local, const std::vector<std::string>& dims) {
    std::vector<Symbol> symbols;
    symbols.reserve(dims.size());
    std::vector<const LocalDim*> with_halo;
    for (const std::string& dim : dims) {
        const LocalDim* part = local.find(dim);
        if (part != nullptr && part->halo) {
            with_halo.push_back(part);
        } else {
            symbols.push_back(part == nullptr ? Symbol{dim, 1} : part->symbol());
        }
    }
    Polynomial product = Polynomial::product(std::move(symbols));
    for (const LocalDim* part : with_halo) product *= part->size();
    return product;
}

namespace {

// The symbol of a dimension in points().
Symbol point_symbol(const LocalDims& local, const std::string& dim) {
    const LocalDim* part = local.find(dim);
    return part == nullptr || part->halo ? Symbol{dim, 1} : part->symbol();
}

}  // namespace

Polynomial points(const LocalDims& local, const std::vector<std::string>& dims) {
    std::vector<Symbol> symbols;
    symbols.reserve(dims.size());
    for (const std::string& dim : dims) symbols.push_back(point_symbol(local, dim));
    return Polynomial::product(std::move(symbols));
}

Polynomial bytes_of(const LocalDims& local, const Value& value) {
    const BitsPerElement bits = stored_bits(value.type.dtype);
    std::vector<Symbol> symbols;
    symbols.reserve(value.type.axes.size());
    for (const Axis& axis : value.type.axes) symbols.push_back(local.symbol(axis.dim));
    return Polynomial::product(std::move(symbols), Rational(bits.numerator, bits.denominator * std::int64_t{8}));
}

namespace {

/// The rows and columns of a plane among an operation's dimensions, and the sizes that they represent.
struct Plane {
    Symbol rows;
    Symbol columns;
    bool row_halo = false;     ///< a chip has its columns, and the rows that see them
    bool column_halo = false;  ///< a chip has its rows, and the columns that they see
};

// Returns the unmasked part of a plane whose T rows are the last of S positions: row i sees the S - T + i positions up
// to its own, or the last W of them. That is T W' points minus a triangle at the beginning, where rows see fewer than
// W' = min(W, S), with side W' - (S - T) if that is positive. The usual convention counts the triangle as half a
// square, and therefore half of the plane at T = S; in reality the diagonal is computed too. A single row has no
// triangle. If there are more rows than positions, the first rows see nothing. If rows and columns are shards, each
// chip has its share of all that; with a halo each row, or column, of a chip has all of its band.
Polynomial kept_of(const Plane& plane, const MaskedPlane& mask, const MaskCase& at, bool exact) {
    const Polynomial rows = Polynomial::symbol(plane.rows);
    const Polynomial columns = Polynomial::symbol(plane.columns);
    const bool windowed = !mask.window.empty();
    const Polynomial window = windowed ? Polynomial::dim(mask.window) : Polynomial();
    if (windowed && plane.column_halo) return rows * window;
    if (windowed && plane.row_halo) return columns * window;
    const Polynomial width = at.window ? window * Polynomial(Rational(1, plane.columns.divisor)) : columns;
    if (at.rows == MaskCase::Rows::one || at.full_windows) return rows * width;
    if (at.rows == MaskCase::Rows::all && !at.window && !exact) return rows * columns * Polynomial(Rational(1, 2));
    const Polynomial all_rows = Polynomial::dim(plane.rows.dim);
    const Polynomial all_columns = Polynomial::dim(plane.columns.dim);
    const bool more = at.rows == MaskCase::Rows::more;
    Polynomial side = more ? all_columns : all_rows;
    if (at.window) side = at.rows == MaskCase::Rows::last ? window - all_columns + all_rows : window;
    const Rational chips = Rational(plane.rows.divisor) * Rational(plane.columns.divisor);
    const Polynomial seeing = more ? all_columns * Polynomial(Rational(1, plane.rows.divisor)) : rows;
    const Polynomial triangle = exact ? side * (side - Polynomial(1)) : side * side;
    return seeing * width - triangle * Polynomial(Rational(1, 2) / chips);
}

// Returns the count with the band in place of the plane's two dimensions, in every term that has both.
Polynomial banded(const Plane& plane, const Polynomial& band, const Polynomial& count) {
    Polynomial result;
    for (const auto& [monomial, coefficient] : count.terms()) {
        Monomial rest;
        int found = 0;
        for (const Factor& factor : monomial) {
            if (factor.symbol == plane.rows || factor.symbol == plane.columns) {
                ++found;
                if (factor.power > 1) rest.push_back({factor.symbol, factor.power - 1});
            } else {
                rest.push_back(factor);
            }
        }
        result += found == 2 ? Polynomial::term(std::move(rest), coefficient) * band
                             : Polynomial::term(monomial, coefficient);
    }
    return result;
}

// Replaces the symbols of shards with halos by their positions.
Polynomial spread(const LocalDims& local, const Polynomial& count) {
    Polynomial result;
    for (const auto& [monomial, coefficient] : count.terms()) {
        Polynomial term{coefficient};
        for (const Factor& factor : monomial) {
            const bool halo = local.has_halo(factor.symbol.dim);
            const Polynomial one = halo ? local.size(factor.symbol.dim) : Polynomial::symbol(factor.symbol);
            for (std::int32_t i = 0; i < factor.power; ++i) term *= one;
        }
        result += term;
    }
    return result;
}

}  // namespace

MaskCase mask_case(const MaskedPlane& plane, const Sizes& sizes) {
    const auto size_of = [&](const std::string& dim) -> std::optional<std::int64_t> {
        const auto found = sizes.find(dim);
        return found == sizes.end() ? std::nullopt : std::optional(found->second);
    };
    const auto rows = size_of(plane.rows);
    const auto columns = size_of(plane.columns);
    MaskCase result;
    if (rows == 1) {
        result.rows = MaskCase::Rows::one;
    } else if (rows && columns) {
        result.rows = *rows > *columns    ? MaskCase::Rows::more
                      : *rows == *columns ? MaskCase::Rows::all
                                          : MaskCase::Rows::last;
    } else if (!plane.window.empty()) {
        result.rows = MaskCase::Rows::all;
    }
    const auto window = plane.window.empty() ? std::nullopt : size_of(plane.window);
    result.window = !plane.window.empty() && !(window && columns && *window >= *columns);
    result.full_windows = result.window && window && rows && columns && *columns - *rows >= *window;
    return result;
}

std::vector<MaskCase> mask_cases(const Program& program, const Sizes& sizes) {
    std::vector<MaskCase> cases;
    for (const Value& value : program.values) {
        for (const MaskedPlane& plane : value.masks) cases.push_back(mask_case(plane, sizes));
    }
    return cases;
}

Polynomial masked(const Program& program, const Op& op, const std::vector<std::string>& dims, const Polynomial& count,
                  bool exact) {
    auto planes = program.values[op.output.value].masks;
    for (const Operand& input : op.inputs) {
        for (const MaskedPlane& plane : program.values[input.value].masks) {
            if (std::find(planes.begin(), planes.end(), plane) == planes.end()) planes.push_back(plane);
        }
    }
    const LocalDims& local = program.local_dims;
    // Dimensions of one chip may be shards of the plane's dimensions.
    const auto share = [&](const std::string& whole) {
        return std::find_if(dims.begin(), dims.end(),
                            [&](const std::string& dim) { return local.whole(dim) == whole; });
    };
    const auto has_halo = [&](const std::string& dim) { return local.has_halo(dim); };
    Polynomial left = op.share == Rational(1) ? count : count * Polynomial(op.share);
    for (const MaskedPlane& plane : planes) {
        const auto rows = share(plane.rows);
        const auto columns = share(plane.columns);
        if (rows == dims.end() || columns == dims.end()) continue;
        const Plane shares{point_symbol(local, *rows), point_symbol(local, *columns), has_halo(*rows),
                           has_halo(*columns)};
        left = banded(shares, kept_of(shares, plane, mask_case(plane, program.sizes), exact), left);
    }
    return std::any_of(dims.begin(), dims.end(), has_halo) ? spread(local, left) : left;
}

std::string mesh_text(const std::vector<MeshAxis>& mesh) {
    std::vector<std::string> axes;
    for (const MeshAxis& axis : mesh) {
        const std::string links = axis.links.empty() ? "" : fmt::format(" on {}", fmt::join(axis.links, "+"));
        axes.push_back(fmt::format("{}={}{}", axis.name, axis.size, links));
    }
    return fmt::format("{}", fmt::join(axes, ", "));
}

Sizes comparable_sizes(Sizes sizes, const std::vector<std::string>& dims) {
    constexpr std::int64_t assumed = 1'000'000;
    for (const std::string& dim : dims) sizes.try_emplace(dim, assumed);
    return sizes;
}

Result<std::vector<std::string>> bind_sizes(Program& program, const Sizes& sizes) {
    std::vector<std::string> notes;
    for (const auto& [dim, size] : sizes) {
        if (std::find(program.dims.begin(), program.dims.end(), dim) == program.dims.end()) {
            return fail("unknown_dimension", fmt::format("the program has no dimension `{}`", dim),
                        did_you_mean(dim, program.dims,
                                     program.dims.empty() ? "it names no dimensions"
                                                          : fmt::format("it has {}", fmt::join(program.dims, ", "))));
        }
        const auto [place, added] = program.sizes.try_emplace(dim, size);
        if (!added && place->second != size) {
            notes.push_back(
                fmt::format("{} = {} from the command line replaces {} in the text", dim, size, place->second));
            place->second = size;
        }
    }
    order_elementwise(program);
    return notes;
}

}  // namespace roofline::core

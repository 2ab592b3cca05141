#include "notation/lower_expr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "notation/written_collectives.hpp"
#include "program/typing.hpp"

namespace roofline::core {

namespace {

using Kind = ast::Expr::Kind;

// Returns the error for a number of dimensions in the brackets of a function; "" when it is right.
std::string_view wants_along(const FunctionInfo& function, std::size_t along) {
    if (written_collective(function.name)) {
        return along != 0 ? "" : "needs the mesh axes that it goes over, as in all_reduce[X](x)";
    }
    switch (function.kind) {
        case FunctionKind::map:
            return along == 0 ? "" : "takes no dimensions";
        case FunctionKind::mask:
            return along == 2 || along == 3 ? ""
                                            : "takes two dimensions, as in causal[T,S](x), and optionally a window";
        case FunctionKind::gather:
        case FunctionKind::scatter:
            return along == 1 ? "" : "takes one dimension, as in gather[V](table, ids)";
        case FunctionKind::slide:
            return along == 1 ? "" : "takes one dimension, as in conv[T](x, taps)";
        case FunctionKind::dispatch:
            return along == 2 ? "" : "takes two dimensions, as in dispatch[E,C](x, experts)";
        case FunctionKind::combine:
            return along == 3 ? "" : "takes three dimensions, as in combine[E,C,A](y, weights)";
        case FunctionKind::match:
            return along == 3 ? "" : "takes three dimensions, as in match[E,C,D](y, x, weights)";
        case FunctionKind::correlate:
            return along >= 2 ? ""
                              : "takes the sliding dimension, the taps and the summed dimensions: taps[T,Q,B](x, y)";
        case FunctionKind::rearrange:
        case FunctionKind::view:
        case FunctionKind::receive:
            return along == 0 ? "" : "takes no dimensions";
        case FunctionKind::opaque:
            return "";
        case FunctionKind::scatter_add:
        case FunctionKind::expand:
        case FunctionKind::reduce:
        case FunctionKind::keep:
            break;
    }
    return along != 0 ? "" : "needs the dimensions it works along, as in softmax[S](x)";
}

// Whether the arguments of a function keep all their dimensions, for any result.
bool takes_whole(FunctionKind kind) {
    return kind == FunctionKind::gather || kind == FunctionKind::scatter || kind == FunctionKind::dispatch ||
           kind == FunctionKind::combine || kind == FunctionKind::slide || kind == FunctionKind::scatter_add ||
           kind == FunctionKind::match || kind == FunctionKind::correlate || kind == FunctionKind::rearrange ||
           kind == FunctionKind::view || kind == FunctionKind::opaque || kind == FunctionKind::receive;
}

// Whether the expression is a function whose result has the type that is written.
bool has_written_type(const ast::Expr& expr) {
    const FunctionInfo* function = expr.kind == Kind::call ? find_function(expr.name) : nullptr;
    return function != nullptr && function->written_type();
}

}  // namespace

Status ExprLowering::root(const ast::Expr& expr, std::optional<TensorType> type, Value result) {
    Needed needed;
    if (type) {
        needed.emplace();
        for (const Axis& axis : type->axes) {
            if (!axis.anonymous()) needed->insert(axis.dim);
        }
    }
    if (has_written_type(expr)) {
        if (!type) {
            return source_.fail_at(expr.span, "result_type",
                                   fmt::format("the result of `{}` does not follow from its arguments", expr.name),
                                   "write its type: Y : bf16[B, F] = ...");
        }
        written_ = dims_of(*type);
    }
    auto made = lower(expr, needed);
    if (!made) return fail(made.error());
    if (statement_.ops.empty() || statement_.ops.back().output.value != made->value) {
        Op move;  // the expression is only a tensor
        move.kind = OpKind::move;
        move.inputs = {*made};
        move.span = expr.span;
        const Value& from = program_.values[made->value];
        if (!type) result.level = from.level;
        move.arithmetic = type ? type->dtype : from.type.dtype;
        made = emit(std::move(move), made->dims, from.type.dtype);
        if (!made) return fail(made.error());
    }

    Value& value = program_.values[made->value];
    if (!type) {
        type.emplace();
        type->dtype = value.type.dtype;
        for (const std::string& dim : made->dims) type->axes.push_back({dim, {}});
    }
    if (!has_written_type(expr)) ROOFLINE_CHECK(fit_result(expr, *made, *type, result));
    result.type = std::move(*type);
    result.masks = value.masks;
    const std::string name = result.name;
    value = std::move(result);
    if (!name.empty()) scope_.name_value(made->value, name);
    statement_.result = made->value;
    return {};
}

// The written dimensions must be those of the expression; anonymous ones are paired in order.
Status ExprLowering::fit_result(const ast::Expr& expr, const Operand& made, TensorType& type, Value& result) {
    std::vector<std::string> unnamed;
    for (const std::string& dim : made.dims) {
        if (is_anonymous(dim)) {
            unnamed.push_back(dim);
            continue;
        }
        const bool kept =
            std::any_of(type.axes.begin(), type.axes.end(), [&](const Axis& axis) { return axis.dim == dim; });
        if (!kept) {
            return source_.fail_at(
                result.span, "result_type",
                fmt::format("the expression has dimension `{}`, but the result {} does not", dim,
                            type_text(program_, type)),
                fmt::format("only a product sums over dimensions that its result lacks; write sum[{}](...) to sum",
                            dim));
        }
    }
    Dims labels;
    std::size_t next = 0;
    for (const Axis& axis : type.axes) {
        if (!axis.anonymous()) {
            if (!has(made.dims, axis.dim)) {
                const std::set<std::string> all = all_dims(expr).value_or(std::set<std::string>{});
                const bool summed = all.contains(axis.dim);
                return source_.fail_at(result.span, "result_type",
                                       fmt::format("the result has dimension `{}`, which {}", axis.dim,
                                                   summed ? "the expression sums over" : "no operand has"),
                                       did_you_mean(axis.dim, {all.begin(), all.end()},
                                                    fmt::format("the operands have {}", fmt::join(all, ", "))));
            }
            labels.push_back(axis.dim);
            continue;
        }
        if (next == unnamed.size() || scope_.size_of(unnamed[next]) != scope_.size_of(axis.dim)) {
            std::vector<std::string> sizes;
            for (const std::string& dim : unnamed) sizes.push_back(dim_text(program_, dim));
            return source_.fail_at(
                expr.span, "result_type",
                fmt::format("the result {} does not follow from the expression, which has dimensions [{}]",
                            type_text(program_, type), fmt::join(sizes, ", ")),
                "a bare number is matched only as in a matrix product; name the dimensions");
        }
        labels.push_back(unnamed[next++]);
    }
    if (next != unnamed.size()) {
        return source_.fail_at(
            expr.span, "result_type",
            fmt::format("the expression has an unnamed dimension of {} that the result {} does not have",
                        dim_text(program_, unnamed[next]), type_text(program_, type)),
            "a bare number is matched only as in a matrix product; name the dimensions");
    }
    statement_.ops.back().output.dims = std::move(labels);
    return {};
}

Result<Operand> ExprLowering::lower(const ast::Expr& expr, const Needed& needed) {
    switch (expr.kind) {
        case Kind::tensor:
            return tensor(expr);
        case Kind::name: {
            ROOFLINE_TRY(auto id, scope_.find(expr.name, expr.span));
            return Operand{id, dims_of(program_.values[id].type)};
        }
        case Kind::number:
            return source_.fail_at(expr.span, "syntax", "a tensor is needed here, not a number",
                                   "numbers can scale, shift or divide tensors: 0.5 * x, 1 + x");
        case Kind::product:
            return product(expr, needed);
        case Kind::named_product:
            return named_product(expr, needed);
        case Kind::call:
            return call(expr, needed);
    }
    return source_.fail_at(expr.span, "syntax", "an expression is needed here");
}

Result<Operand> ExprLowering::tensor(const ast::Expr& expr) {
    ROOFLINE_TRY(auto type, scope_.type(expr.type));
    if (!expr.name.empty() && scope_.lookup(expr.name)) {
        return source_.fail_at(expr.span, "defined_twice", fmt::format("`{}` is already defined", expr.name));
    }
    if (find_function(expr.name) != nullptr) {
        return source_.fail_at(expr.span, "reserved", fmt::format("`{}` is a function's name", expr.name),
                               "give the tensor another name");
    }
    Value value;
    value.name = expr.name;
    value.type = std::move(type);
    value.level = expr.type.level;
    value.in_place = true;
    value.span = expr.span;
    Dims dims = dims_of(value.type);
    return Operand{scope_.define(std::move(value)), std::move(dims)};
}

Result<Operand> ExprLowering::call(const ast::Expr& expr, const Needed& needed) {
    const FunctionInfo* function = find_function(expr.name);
    if (function == nullptr)
        return source_.fail_at(expr.span, "unknown_function", fmt::format("there is no function `{}`", expr.name));
    if (function->arguments != any_number && static_cast<int>(expr.args.size()) != function->arguments) {
        return source_.fail_at(expr.span, "arguments",
                               fmt::format("`{}` takes {} argument{}, not {}", expr.name, function->arguments,
                                           function->arguments == 1 ? "" : "s", expr.args.size()));
    }
    if (const std::string_view how = wants_along(*function, expr.along.size()); !how.empty()) {
        return source_.fail_at(expr.span, "arguments", fmt::format("`{}` {}", expr.name, how));
    }

    const std::optional<Dims> written = std::exchange(written_, std::nullopt);
    if (function->written_type() && !written) {
        return source_.fail_at(expr.span, "result_type",
                               fmt::format("the result of `{}` does not follow from its arguments", expr.name),
                               "make it a statement of its own, with a written type");
    }
    const std::size_t first_op = statement_.ops.size();
    std::vector<Operand> inputs;
    std::vector<Constant> constants;
    for (const ast::Expr& argument : expr.args) {
        if (argument.kind == Kind::number && function->kind == FunctionKind::map) {
            constants.push_back({inputs.size() + constants.size(), argument.number});
            continue;
        }
        Needed inner = needed;
        if (inner) {
            for (const ast::Word& word : expr.along) inner->insert(word.text);
        }
        if (takes_whole(function->kind)) {
            ROOFLINE_TRY(inner, all_dims(argument));
        }
        ROOFLINE_TRY(auto input, lower(argument, inner));
        inputs.push_back(std::move(input));
    }
    if (inputs.empty() && !expr.args.empty()) return lower(expr.args.front(), needed);  // only numbers: refused there
    if (const auto collective = written_collective(expr.name)) {
        return exchange(expr, *collective, std::move(inputs), written);
    }

    ROOFLINE_CHECK(check_along(expr, *function, inputs));
    auto made = finish_call(expr, std::move(inputs), std::move(constants), written);
    if (made && function->kind == FunctionKind::mask) {
        MaskedPlane plane{expr.along[0].text, expr.along[1].text};
        if (plane.rows == plane.columns) {
            return source_.fail_at(expr.span, "arguments", "a causal mask needs two different dimensions");
        }
        if (expr.along.size() == 3) plane.window = expr.along[2].text;
        mask_operands(program_, statement_.ops, first_op, plane);
    }
    return made;
}

// The array that a collective leaves in memory. Its bytes are known once the mesh is.
Result<Operand> ExprLowering::exchange(const ast::Expr& expr, CollectiveKind kind, std::vector<Operand> inputs,
                                       const std::optional<Dims>& written) {
    if (inputs.empty()) {
        return source_.fail_at(expr.span, "arguments", fmt::format("`{}` needs an argument", expr.name));
    }
    Message message;
    message.kind = kind;
    for (const ast::Word& word : expr.along) message.axes.push_back(word.text);
    statement_.messages.push_back(std::move(message));
    ast::Expr received = expr;
    received.name = "received";
    received.along.clear();
    return finish_call(received, std::move(inputs), {}, written);
}

// Checks which of the bracketed dimensions an argument must have; groups of experts and windows are new ones.
Status ExprLowering::check_along(const ast::Expr& expr, const FunctionInfo& function,
                                 const std::vector<Operand>& inputs) {
    const bool of_first = function.kind == FunctionKind::gather || function.kind == FunctionKind::scatter ||
                          function.kind == FunctionKind::slide;
    const Dims present = of_first ? inputs.front().dims : together(inputs);
    for (std::size_t i = 0; i < expr.along.size(); ++i) {
        const ast::Word& word = expr.along[i];
        const bool fresh = function.kind == FunctionKind::dispatch || function.kind == FunctionKind::expand ||
                           function.kind == FunctionKind::opaque || (function.kind == FunctionKind::mask && i == 2) ||
                           (function.kind == FunctionKind::scatter_add && i == 0) ||
                           (function.kind == FunctionKind::correlate && i == 1);
        if (fresh) {
            if (has(present, word.text)) {
                return source_.fail_at(word.span, "arguments",
                                       fmt::format("`{}` is already a dimension of the argument", word.text),
                                       "name another one");
            }
            ROOFLINE_CHECK(scope_.dim(word.text, {}, word.span));
        } else if (!has(present, word.text)) {
            return source_.fail_at(
                word.span, "unknown_dimension",
                fmt::format("`{}` has no dimension `{}` to work along", expr.name, word.text),
                did_you_mean(word.text, present, fmt::format("its argument has {}", fmt::join(present, ", "))));
        }
    }
    return {};
}

Result<Operand> ExprLowering::finish_call(const ast::Expr& expr, std::vector<Operand> inputs,
                                          std::vector<Constant> constants, const std::optional<Dims>& written) {
    Op op;
    op.kind = OpKind::apply;
    op.function = expr.name;
    op.constants = std::move(constants);
    op.span = expr.span;
    for (const ast::Word& word : expr.along) op.along.push_back(word.text);

    op.inputs = std::move(inputs);
    const bool placed = moves_rows(op);
    auto arithmetic =
        placed ? Result<Dtype>(program_.values[op.inputs.front().value].type.dtype) : arithmetic_of(expr, op.inputs);
    if (!arithmetic) return fail(arithmetic.error());
    op.arithmetic = *arithmetic;

    if (written) op.output.dims = *written;
    Dims dims = result_dims(op);
    if (!placed && !written) {
        // If two operands that are not the same tensor have unnamed dimensions, it is ambiguous which of these
        // correspond.
        std::size_t unnamed = 0;
        std::size_t most = 0;
        for (const Operand& input : op.inputs) {
            const auto count =
                static_cast<std::size_t>(std::count_if(input.dims.begin(), input.dims.end(), is_anonymous));
            most = std::max(most, count);
        }
        const Dims all = together(op.inputs);
        unnamed = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_anonymous));
        if (unnamed > most) {
            return source_.fail_at(expr.span, "unnamed_dimensions",
                                   "it is ambiguous which unnamed dimensions of the operands correspond",
                                   "name them: bf16[B=8, D=128] + bf16[B, D]");
        }
    }
    const Dtype dtype = placed ? *arithmetic : result_dtype(*arithmetic);
    return emit(std::move(op), std::move(dims), dtype);
}

Result<Dtype> ExprLowering::arithmetic_of(const ast::Expr& expr, const std::vector<Operand>& inputs) const {
    if (statement_.using_dtype) return info(*statement_.using_dtype).arithmetic;
    std::vector<Dtype> dtypes;
    for (const Operand& input : inputs) dtypes.push_back(program_.values[input.value].type.dtype);
    DtypeClash clash;
    if (const auto dtype = roofline::core::arithmetic_of(dtypes, clash)) return *dtype;
    return source_.fail_at(
        expr.span, "ambiguous_arithmetic",
        fmt::format("the arithmetic of {} with {} is ambiguous", name(clash.left), name(clash.right)),
        fmt::format("choose one: end the statement with `using {}`", name(clash.left)));
}

Result<Operand> ExprLowering::emit(Op op, Dims dims, Dtype dtype) {
    constexpr std::size_t most_dims = 64;
    if (dims.size() > most_dims) {
        return source_.fail_at(
            op.span, "too_many_dimensions",
            fmt::format("a tensor of this expression has {} dimensions; the maximum is {}", dims.size(), most_dims));
    }
    Value value;
    value.intermediate = true;
    value.span = op.span;
    value.type.dtype = dtype;
    for (const std::string& dim : dims) value.type.axes.push_back({dim, {}});
    op.output.dims = std::move(dims);
    inherit_masks(program_, op, value);
    op.output.value = scope_.define(std::move(value));
    Operand output = op.output;
    statement_.ops.push_back(std::move(op));
    return output;
}

}  // namespace roofline::core

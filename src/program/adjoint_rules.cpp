#include "program/adjoint_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "program/functions.hpp"

namespace roofline::core {

namespace {

using Formulas = std::vector<std::optional<Formula>>;
using Dims = std::vector<std::string>;
using D = Differentiated;

// Building blocks of formulas.
Formula fn(const char* function, const Formula& x, const Dims& along = {}) {
    return Formula::call(function, {x}, along);
}
Formula fn2(const char* function, const Formula& x, const Formula& y, const Dims& along = {}) {
    return Formula::call(function, {x, y}, along);
}
Dims joined(Dims first, const Dims& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
}
Dims without(const Dims& dims, const Dims& others) {
    Dims left;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(left),
                 [&](const auto& dim) { return !has(others, dim); });
    return left;
}

// The gradient rows of a table are summed at their indices; those dimensions of the indices that the table also has are
// batch dimensions.
Formulas of_gather(const D& d) {
    const Dims added = without(d.y()->dims, d.x()->dims);
    return {fn2("scatteradd", d.y(), d.g, joined(d.op.along, added)), {}};
}

// One over the number of elements of a mean, if sizes are known.
Formulas of_mean(const D& d) {
    double count = 1;
    for (const std::string& dim : d.op.along) {
        const auto size = d.program.sizes.find(dim);
        if (size == d.program.sizes.end()) return {};
        count *= static_cast<double>(size->second);
    }
    return {d.g * Formula(1 / count)};
}

struct Rule {
    std::string_view function;
    Formulas (*gradients)(const D& d);
};

// x, y, z are the arguments, r is the result and g is its gradient. The forward pass keeps the tensors that a formula
// reads. Sums over broadcast dimensions, and repetition along summed dimensions, are inserted where the gradients are
// accumulated.
const Rule rules[] = {
    {"add", [](const D& d) -> Formulas { return {d.g, d.g}; }},
    {"sub", [](const D& d) -> Formulas { return {d.g, -d.g}; }},
    {"mul", [](const D& d) -> Formulas { return {d.g * d.y(), d.g * d.x()}; }},
    {"div", [](const D& d) -> Formulas { return {d.g / d.y(), -(d.g * d.r / d.y())}; }},
    {"neg", [](const D& d) -> Formulas { return {-d.g}; }},
    {"abs", [](const D& d) -> Formulas { return {d.g * (fn("step", d.x()) * 2.0 - 1.0)}; }},
    {"square", [](const D& d) -> Formulas { return {d.g * d.x() * 2.0}; }},
    {"maximum",
     [](const D& d) -> Formulas { return {d.g * fn("step", d.x() - d.y()), d.g * fn("step", d.y() - d.x())}; }},
    {"minimum",
     [](const D& d) -> Formulas { return {d.g * fn("step", d.y() - d.x()), d.g * fn("step", d.x() - d.y())}; }},
    {"where",
     [](const D& d) -> Formulas {
         return {{}, Formula::call("where", {d.x(), d.g, 0.0}), Formula::call("where", {d.x(), 0.0, d.g})};
     }},
    {"relu", [](const D& d) -> Formulas { return {d.g * fn("step", d.x())}; }},
    {"relu2", [](const D& d) -> Formulas { return {d.g * fn("relu", d.x()) * 2.0}; }},
    {"exp", [](const D& d) -> Formulas { return {d.g * d.r}; }},
    {"log", [](const D& d) -> Formulas { return {d.g / d.x()}; }},
    {"sqrt", [](const D& d) -> Formulas { return {d.g / d.r * 0.5}; }},
    {"rsqrt", [](const D& d) -> Formulas { return {d.g * d.r / d.x() * -0.5}; }},
    {"sin", [](const D& d) -> Formulas { return {d.g * fn("cos", d.x())}; }},
    {"cos", [](const D& d) -> Formulas { return {-(d.g * fn("sin", d.x()))}; }},
    {"tanh", [](const D& d) -> Formulas { return {d.g * (1.0 - fn("square", d.r))}; }},
    {"erf", [](const D& d) -> Formulas { return {d.g * fn("exp", -fn("square", d.x())) * 1.1283791670955126}; }},
    {"sigmoid", [](const D& d) -> Formulas { return {fn2("dsigmoid", d.x(), d.g)}; }},
    {"softplus", [](const D& d) -> Formulas { return {d.g * fn("sigmoid", d.x())}; }},
    {"silu", [](const D& d) -> Formulas { return {fn2("dsilu", d.x(), d.g)}; }},
    {"gelu", [](const D& d) -> Formulas { return {fn2("dgelu", d.x(), d.g)}; }},
    {"rope", [](const D& d) -> Formulas { return {fn("unrope", d.g)}; }},
    {"convert", [](const D& d) -> Formulas { return {d.g}; }},
    {"sum", [](const D& d) -> Formulas { return {d.g}; }},
    {"max", [](const D& d) -> Formulas { return {d.g * (1.0 - fn("step", d.r - d.x()))}; }},
    {"min", [](const D& d) -> Formulas { return {d.g * (1.0 - fn("step", d.x() - d.r))}; }},
    {"mean", of_mean},
    {"logsumexp", [](const D& d) -> Formulas { return {fn("exp", d.x() - d.r) * d.g}; }},  // its softmax
    {"softmax", [](const D& d) -> Formulas { return {fn2("dsoftmax", d.r, d.g, d.op.along)}; }},
    {"norm", [](const D& d) -> Formulas { return {fn2("dnorm", d.x(), d.g, d.op.along)}; }},
    {"layernorm", [](const D& d) -> Formulas { return {fn2("dlayernorm", d.x(), d.g, d.op.along)}; }},
    {"scan",
     [](const D& d) -> Formulas {
         const Formula back = fn2("dscan", d.x(), d.g, d.op.along);
         return {back * fn("prior", d.r, d.op.along), back};
     }},
    {"causal", [](const D& d) -> Formulas { return {d.g}; }},
    {"gather", of_gather},
    {"scatter", [](const D& d) -> Formulas { return {{}, {}, fn2("gather", d.g, d.y(), d.op.along)}; }},
    {"dispatch",
     [](const D& d) -> Formulas {
         return {fn2("collect", d.g, d.y(), joined(d.op.along, without(d.y()->dims, d.x()->dims))), {}};
     }},
    {"combine",
     [](const D& d) -> Formulas {
         const Dims groups{d.op.along[0], d.op.along[1]};
         const Dims summed = without(d.x()->dims, groups);
         return {fn2("spread", d.g, d.y(), groups),
                 Formula::call("match", {d.x(), d.g, d.y()}, joined(groups, summed))};
     }},
    {"conv",
     [](const D& d) -> Formulas {
         const Dims taps = without(d.y()->dims, d.x()->dims);
         const Dims summed = without(d.x()->dims, joined(d.y()->dims, d.op.along));
         return {fn2("dconv", d.g, d.y(), d.op.along),
                 fn2("taps", d.x(), d.g, joined(joined(d.op.along, taps), summed))};
     }},
};

// The gradient of each factor: the gradient times the other factors, summed over the dimensions that this factor lacks.
Formulas of_product(const D& d) {
    Formulas terms;
    for (std::size_t i = 0; i < d.arguments.size(); ++i) {
        std::vector<Formula> factors{d.g};
        for (std::size_t j = 0; j < d.arguments.size(); ++j) {
            if (j != i) factors.push_back(d.arguments[j]);
        }
        Dims summed;
        for (const Formula& factor : factors) {
            for (const std::string& dim : without(factor->dims, d.arguments[i]->dims)) {
                if (!has(summed, dim)) summed.push_back(dim);
            }
        }
        terms.emplace_back(Formula::product(std::move(factors), std::move(summed)));
    }
    return terms;
}

}  // namespace

Result<std::vector<std::optional<Formula>>> adjoint_of(const Differentiated& d) {
    if (d.op.kind == OpKind::contract) return of_product(d);
    if (d.op.kind == OpKind::move) return Formulas{d.g};
    const auto* rule =
        std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return r.function == d.op.function; });
    Formulas terms = rule == std::end(rules) ? Formulas{} : rule->gradients(d);
    if (!terms.empty()) return terms;
    const bool unsized_mean = d.op.function == "mean";
    auto error = fail("no_derivative",
                      unsized_mean ? "the derivative of a mean needs the sizes of its dimensions"
                                   : fmt::format("`{}` has no derivative", d.op.function),
                      unsized_mean ? "give the sizes in the text, or write sum[...](x) / count"
                                   : "express it with functions that have one, or declare its result as an input");
    error.value().place = Place{"", d.op.span.line, d.op.span.column, "", 0};
    return error;
}

}  // namespace roofline::core

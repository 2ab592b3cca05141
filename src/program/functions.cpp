#include "program/functions.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace roofline::core {

namespace {

using enum FunctionKind;

// The statistics of each row that chips exchange when they split the rows of a function.
constexpr RowStatistics one_number{1, 1};
constexpr RowStatistics two_numbers{1, 2};
constexpr RowStatistics four_numbers{1, 4};
constexpr RowStatistics max_then_sum{2, 1};

constexpr FunctionInfo with_state(FunctionInfo function, StateUse state) {
    function.state = state;
    return function;
}

// name, kind, arguments, FLOPs and transcendentals per element, the same per row, a description, and the statistics of
// rows.
constexpr FunctionInfo table[] = {
    {"add", map, 2, 1, 0, 0, 0, "x + y"},
    {"sub", map, 2, 1, 0, 0, 0, "x - y"},
    {"mul", map, 2, 1, 0, 0, 0, "x * y"},
    {"div", map, 2, 1, 0, 0, 0, "x / y"},
    {"neg", map, 1, 1, 0, 0, 0, "-x"},
    {"abs", map, 1, 1, 0, 0, 0, "|x|"},
    {"square", map, 1, 1, 0, 0, 0, "x * x"},
    {"maximum", map, 2, 1, 0, 0, 0, "the larger of x and y"},
    {"minimum", map, 2, 1, 0, 0, 0, "the smaller of x and y"},
    {"where", map, 3, 1, 0, 0, 0, "x where c holds, else y"},
    {"relu", map, 1, 1, 0, 0, 0, "max(x, 0)"},
    {"relu2", map, 1, 2, 0, 0, 0, "max(x, 0)^2"},
    {"exp", map, 1, 0, 1, 0, 0, "e^x"},
    {"log", map, 1, 0, 1, 0, 0, "ln x"},
    {"sqrt", map, 1, 0, 1, 0, 0, "x^(1/2)"},
    {"rsqrt", map, 1, 0, 1, 0, 0, "x^(-1/2)"},
    {"sin", map, 1, 0, 1, 0, 0, "sin x"},
    {"cos", map, 1, 0, 1, 0, 0, "cos x"},
    {"tanh", map, 1, 0, 1, 0, 0, "tanh x"},
    {"erf", map, 1, 0, 1, 0, 0, "erf x"},
    {"sigmoid", map, 1, 3, 1, 0, 0, "1 / (1 + e^-x): negate, add, divide"},
    {"softplus", map, 1, 1, 2, 0, 0, "ln(1 + e^x)"},
    {"silu", map, 1, 4, 1, 0, 0, "x * sigmoid(x)"},
    {"gelu", map, 1, 8, 1, 0, 0, "x/2 (1 + tanh(c (x + 0.044715 x^3))): 6 multiplies, 2 adds and a tanh"},
    {"rope", map, 1, 3, 0, 0, 0, "x cos + x' sin with given tables: 2 multiplies, 1 add"},
    {"convert", map, 1, 1, 0, 0, 0, "x in another dtype"},
    {"step", map, 1, 1, 0, 0, 0, "1 where x > 0, else 0"},
    {"tan", map, 1, 0, 1, 0, 0, "tan x"},
    {"atan2", map, 2, 0, 1, 0, 0, "the angle of the point (x, y)"},
    {"cbrt", map, 1, 0, 1, 0, 0, "x^(1/3)"},
    {"pow", map, 2, 0, 1, 0, 0, "x^y"},
    {"expm1", map, 1, 0, 1, 0, 0, "e^x - 1"},
    {"log1p", map, 1, 0, 1, 0, 0, "ln(1 + x)"},
    {"round", map, 1, 1, 0, 0, 0, "x as a whole number: rounded, floor or ceiling"},
    {"mod", map, 2, 1, 0, 0, 0, "the remainder of x / y"},
    {"sign", map, 1, 1, 0, 0, 0, "-1, 0 or 1"},
    {"clamp", map, 3, 2, 0, 0, 0, "y, at least x and at most z: two compares"},
    {"compare", map, 2, 1, 0, 0, 0, "whether x is less than, equal to or greater than y"},
    {"bits", map, 1, 1, 0, 0, 0, "one operation on the bits of x: not, count, is finite"},
    {"bits2", map, 2, 1, 0, 0, 0, "one operation on the bits of x and y: and, or, shift"},
    {"dsigmoid", map, 2, 6, 1, 0, 0, "derivative of sigmoid at x, times y: s (1 - s) y"},
    {"dsilu", map, 2, 8, 1, 0, 0, "derivative of silu at x, times y: s (1 + x (1 - s)) y"},
    {"dgelu", map, 2, 15, 1, 0, 0, "derivative of gelu at x, times y: 10 multiplies, 5 adds and a tanh"},
    {"unrope", map, 1, 3, 0, 0, 0, "inverse rotation of rope, which is its derivative"},
    {"sum", reduce, 1, 1, 0, 0, 0, "one add per element"},
    {"max", reduce, 1, 1, 0, 0, 0, "one compare per element", one_number},
    {"min", reduce, 1, 1, 0, 0, 0, "one compare per element", one_number},
    {"prod", reduce, 1, 1, 0, 0, 0, "one multiply per element"},
    {"mean", reduce, 1, 1, 0, 1, 0, "one add per element, one multiply per row"},
    {"logsumexp", reduce, 1, 3, 1, 1, 1, "maximum, subtract, exp and add per element; a log and an add per row",
     max_then_sum},
    {"softmax", keep, 1, 4, 1, 0, 0, "maximum, subtract, exp, add, divide", max_then_sum},
    {"norm", keep, 1, 3, 0, 2, 1,
     "root mean square: square, add, scale per element; a multiply, an add and a rsqrt per row", one_number},
    {"layernorm", keep, 1, 5, 0, 3, 1,
     "add, subtract, square, add, scale per element; two multiplies, an add and a rsqrt per row", two_numbers},
    {"scan", keep, 2, 2, 0, 0, 0, "h[t] = a[t] h[t-1] + b[t]: a multiply and an add per element"},
    {"dsoftmax", keep, 2, 4, 0, 0, 0, "derivative of softmax where it is x, times y: x (y - sum(x y))", one_number},
    {"dnorm", keep, 2, 7, 0, 5, 1,
     "derivative of norm at x, times y: square, add, multiply, add, scale twice, subtract; rsqrt and scales per row",
     two_numbers},
    {"dlayernorm", keep, 2, 11, 0, 7, 1,
     "derivative of layernorm at x, times y: 5 adds, 3 subtracts, 3 multiplies; rsqrt, means and scales per row",
     four_numbers},
    {"dscan", keep, 2, 2, 0, 0, 0, "scan backwards: h[t] = a[t+1] h[t+1] + b[t]"},
    {"prior", keep, 1, 0, 0, 0, 0, "x at the previous position: no work of its own", {}, 1},
    {"causal", mask, 1, 0, 0, 0, 0, "no work of its own; restricts its plane to the columns that rows see"},
    {"gather", gather, 2, 0, 0, 0, 0, "rows of a table, read once for each index"},
    {"scatter", scatter, 3, 0, 0, 0, 0, "rows written into a tensor in place"},
    {"dispatch", dispatch, 2, 0, 0, 0, 0, "rows put into groups, one group for each expert"},
    {"combine", combine, 2, 2, 0, 0, 0, "a multiply and an add per element of each expert's row"},
    {"conv", slide, 2, 2, 0, 0, 0, "a multiply and an add per element and tap"},
    {"dconv", slide, 2, 2, 0, 0, 0, "conv in the other direction: a multiply and an add per element and tap"},
    with_state({"resume", slide, 2, 0, 0, 0, 0, "x after a state, which is read and replaced by the one after x"},
               StateUse::replaced),
    with_state({"leave", slide, 2, 0, 0, 0, 0, "x from the first position on; the state after x is written"},
               StateUse::written),
    {"windows", rearrange, 1, 0, 0, 0, 0, "the elements of x at each place of a window, as a convolution reads them"},
    {"view", view, 1, 0, 0, 0, 0, "the same memory under other dimensions, as many elements"},
    {"slice", rearrange, any_number, 0, 0, 0, 0, "a part of x: as much is read as the result has", {}, 0, true},
    {"copy", rearrange, 1, 0, 0, 0, 0, "x in another layout"},
    {"transpose", rearrange, 1, 0, 0, 0, 0, "x with its dimensions in another order"},
    {"reverse", rearrange, 1, 0, 0, 0, 0, "x backwards along some dimensions"},
    {"pad", rearrange, any_number, 0, 0, 0, 0, "x with more elements around or between its own"},
    {"concat", rearrange, any_number, 0, 0, 0, 0, "the arguments one after another"},
    {"iota", rearrange, any_number, 0, 0, 0, 0, "numbers that are made where they are needed"},
    {"received", receive, 1, 0, 0, 0, 0, "what a collective left in memory: its bytes cross links, which are counted"},
    {"opaque", opaque, any_number, 0, 0, 0, 0, "the FLOPs that stand in brackets, a size, on all arguments"},
    {"custom", opaque, any_number, 0, 0, 0, 0, "as opaque, of a kernel that may use matrix units", {}, 0, false, true},
    {"unknown", opaque, any_number, 0, 0, 0, 0, "work that nothing is known of; its arguments are read"},
    {"update", scatter, 3, 1, 0, 0, 0, "rows combined with those of a tensor in place, which are read and written"},
    {"expand", expand, 1, 0, 0, 0, 0, "the same numbers at every position of additional dimensions"},
    {"scatteradd", scatter_add, 2, 1, 0, 0, 0, "rows summed at their indices, from zero: an add per element"},
    {"spread", dispatch, 2, 1, 0, 0, 0, "rows put into groups, weighted: a multiply per element of each expert's row"},
    {"collect", combine, 2, 1, 0, 0, 0, "an add per element of each expert's row"},
    {"match", match, 3, 2, 0, 0, 0, "a multiply and an add per element of each expert's row"},
    {"taps", correlate, 2, 2, 0, 0, 0, "a multiply and an add per element and tap"},
    {"all_gather", receive, any_number, 0, 0, 0, 0, "an all-gather over the mesh axes in brackets, of one chip's x"},
    {"reduce_scatter", receive, any_number, 0, 0, 0, 0, "a reduce-scatter over these axes, of one chip's x"},
    {"all_reduce", receive, any_number, 0, 0, 0, 0, "an all-reduce over these axes, of one chip's x"},
    {"all_to_all", receive, any_number, 0, 0, 0, 0, "an all-to-all over these axes, of one chip's x"},
    {"permute", receive, any_number, 0, 0, 0, 0, "each chip's x goes to another chip along these axes"},
    {"broadcast", receive, any_number, 0, 0, 0, 0, "one chip's x goes to all chips along these axes"},
};

}  // namespace

const FunctionInfo* find_function(std::string_view name) {
    // It is asked several times for each operation of a program, which may have ten thousands.
    static const std::unordered_map<std::string_view, const FunctionInfo*> by_name = [] {
        std::unordered_map<std::string_view, const FunctionInfo*> functions;
        for (const FunctionInfo& each : table) functions.emplace(each.name, &each);
        return functions;
    }();
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
}

const std::vector<FunctionInfo>& all_functions() {
    static const std::vector<FunctionInfo> functions(std::begin(table), std::end(table));
    return functions;
}

std::vector<std::string> function_names() {
    std::vector<std::string> names;
    for (const FunctionInfo& f : table) names.emplace_back(f.name);
    return names;
}

}  // namespace roofline::core

// The functions of the notation: one table, from which parsing, typing and counting all follow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

/// How a function's result relates to its arguments.
enum class FunctionKind {
    map,       ///< element by element; arguments broadcast
    reduce,    ///< the bracketed dimensions disappear: sum[S](x)
    keep,      ///< works along the bracketed dimensions and keeps them: softmax[S](x), norm[D](x), scan[T](a, b)
    mask,      ///< causal[T,S](x): only what rows see of the T x S plane is computed; causal[T,S,W](x): a band of W
    gather,    ///< gather[V](table, ids): rows of `table` along V, one for each element of `ids`
    scatter,   ///< scatter[S](target, ids, update): writes `update` into `target` along S
    dispatch,  ///< dispatch[E,C](x, ids): rows of x into groups of C, one for each expert of `ids`
    combine,   ///< combine[E,C,A](y, weights): rows back from their groups, weighted and added up over A
    slide,     ///< conv[T](x, taps): each point along T from those before it; the taps are what `taps` has beside x
    // What derivatives need besides.
    expand,       ///< expand[S](x): the same numbers at every place of S, which x lacks
    scatter_add,  ///< scatteradd[V,B](ids, x): rows of x, added up along V where `ids` says, summed over B
    match,        ///< match[E,C,D](y, x, weights): rows in groups times the rows they came from, summed over D
    correlate,    ///< taps[T,Q,B](x, y): y times what stood before it in x, by Q steps along T, summed over T and B
};

/// What chips that split the dimensions along which a function works must tell each other about each of its rows: a softmax its
/// maximum, then its sum. None and a reduction: parts of the result add up. None otherwise: it needs these dimensions whole.
struct RowStatistics {
    int rounds = 0;   ///< all-reduces, one after the other
    int numbers = 1;  ///< of a row, in each
};

/// Counts are the field's: an add, multiply, compare, divide or convert is one FLOP; exp, log, tanh, sqrt and their like are
/// transcendentals and counted apart.
struct FunctionInfo {
    std::string_view name;
    FunctionKind kind;
    int arguments;                ///< exactly this many
    int flops;                    ///< per element of the arguments' common shape
    int transcendentals;          ///< per element
    int row_flops = 0;            ///< once for each row, that is for each combination of the other dimensions
    int row_transcendentals = 0;  ///< likewise
    std::string_view formula;     ///< what is counted, for the manual and --explain
    RowStatistics statistics{};
    int steps_back = 0;  ///< along the dimension that it works along, to which one place of the result looks back

    /// Whether places of the result depend on so many before them, or behind them, as it has taps or steps_back says.
    [[nodiscard]] bool looks_back() const {
        return kind == FunctionKind::slide || kind == FunctionKind::correlate || steps_back > 0;
    }
};

[[nodiscard]] const FunctionInfo* find_function(std::string_view name);
[[nodiscard]] const std::vector<FunctionInfo>& all_functions();
[[nodiscard]] std::vector<std::string> function_names();

}  // namespace roofline::core

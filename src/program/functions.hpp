// The table of functions of the notation, from which parsing, typing and counting are derived.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

/// How the result of a function relates to its arguments.
enum class FunctionKind {
    map,     ///< element by element; arguments broadcast
    reduce,  ///< the bracketed dimensions disappear: sum[S](x)
    keep,    ///< works along the bracketed dimensions and keeps them: softmax[S](x), norm[D](x), scan[T](a, b)
    mask,    ///< causal[T,S](x): only what rows see of the T x S plane is computed; causal[T,S,W](x): a band of width W
    gather,  ///< gather[V](table, ids): rows of `table` along V, one for each element of `ids`
    scatter,   ///< scatter[S](target, ids, update): writes `update` into `target` along S
    dispatch,  ///< dispatch[E,C](x, ids): puts rows of x into groups of C, one group per expert of `ids`
    combine,   ///< combine[E,C,A](y, weights): brings rows back from their groups, weighted and summed over A
    /// Conv[T](x, taps): computes each point along T from those before it; the taps are the dimension that `taps` has
    /// and x lacks.
    slide,
    // Functions whose result has the type that is written, because it does not follow from the arguments.
    rearrange,  ///< transpose(x), concat(x, y): the same numbers in other places
    view,       ///< view(x): the same memory under other dimensions
    opaque,     ///< opaque[W](x, y): W FLOPs on arguments of which nothing else is known
    receive,    ///< received(x): what a collective leaves in memory; all_reduce[X](x): of a collective over mesh axes
    // Functions that only derivatives need.
    expand,       ///< expand[S](x): the same numbers at every position of S, which x lacks
    scatter_add,  ///< scatteradd[V,B](ids, x): rows of x, summed at positions `ids` along V, and over B
    match,        ///< match[E,C,D](y, x, weights): rows in groups times the rows that they came from, summed over D
    correlate,    ///< taps[T,Q,B](x, y): y times x at Q earlier positions along T, summed over T and B
};

/// The statistics of each row that chips exchange if they split the dimensions along which a function works: for a
/// softmax the maximum, then the sum. If there are none, a reduction sums its partial results, and any other function
/// needs these dimensions whole.
struct RowStatistics {
    int rounds = 0;   ///< number of all-reduces, one after the other
    int numbers = 1;  ///< per row, in each of them
};

/// What a function does with its last argument, a state that one run of the program leaves in memory for the next.
enum class StateUse {
    none,
    written,   ///< but not read, because no position precedes the first
    replaced,  ///< read, then overwritten
};

/// The number of arguments of a function that takes any number of them.
inline constexpr int any_number = -1;

/// A function and its counts. Counts follow the usual convention: an add, multiply, compare, divide or convert is one
/// FLOP; exp, log, tanh, sqrt and similar functions are transcendentals and are counted separately.
struct FunctionInfo {
    std::string_view name;
    FunctionKind kind;
    int arguments;                ///< exact number, or any_number
    int flops;                    ///< per element of the arguments' common shape
    int transcendentals;          ///< per element
    int row_flops = 0;            ///< once per row, that is, per combination of the other dimensions
    int row_transcendentals = 0;  ///< likewise
    std::string_view formula;     ///< description of the counts, for the manual and --explain
    RowStatistics statistics{};
    /// Number of earlier positions that a position of the result reads, along the dimension that the function works
    /// along.
    int positions_back = 0;
    /// Whether only as many elements of the argument are read as the result has: a slice.
    bool reads_part = false;
    /// Whether its FLOPs may run on matrix units: nobody says on which units they do, and a bound takes the fastest.
    bool on_matrix_units = false;
    /// Use of a last argument that stays in memory. Unless `none`, the result has the dimensions of the first argument.
    StateUse state = StateUse::none;

    /// Whether the type of the result has to be written.
    [[nodiscard]] bool written_type() const {
        return kind == FunctionKind::rearrange || kind == FunctionKind::view || kind == FunctionKind::opaque ||
               kind == FunctionKind::receive;
    }

    /// Whether positions of the result depend on a number of positions before or after them: the number of taps, or
    /// positions_back. A state is of earlier runs, and x behind it is read where it lies.
    [[nodiscard]] bool looks_back() const {
        if (state != StateUse::none) return false;
        return kind == FunctionKind::slide || kind == FunctionKind::correlate || positions_back > 0;
    }
};

[[nodiscard]] const FunctionInfo* find_function(std::string_view name);
[[nodiscard]] const std::vector<FunctionInfo>& all_functions();
[[nodiscard]] std::vector<std::string> function_names();

}  // namespace roofline::core

// Converts a program with sizes into steps that a machine can run: arrays, and kernels over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "measure/run/tape.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// An array in memory, row by row in the order of its dimensions, without gaps.
struct RunArray {
    enum class Role : std::uint8_t {
        input,   ///< declared by the program
        result,  ///< computed and stored by the program
        scratch  ///< temporary
    };
    std::string name;  ///< name in reports; "" for scratch
    std::optional<ValueId> value;
    Dtype dtype = Dtype::f32;
    std::vector<std::string> dims;
    std::vector<std::int64_t> sizes;
    Role role = Role::scratch;
    bool param = false;
    std::int64_t copies = 1;  ///< one per iteration if it is declared in a repeat or read by a later one
    std::size_t depth = 0;    ///< number of repeats around its declaration
    std::int64_t below = 0;   ///< for indices: upper limit of its numbers, which are in [0, below); 0 for others
    double scale = 1;         ///< magnitude of the random numbers it is filled with

    [[nodiscard]] std::int64_t elements() const;
    [[nodiscard]] std::int64_t bytes() const;  ///< bytes of one copy
};

/// A matmul: for every place of the batch loops, c[m, n] = sum over k of a[m, k] b[k, n]. Strides are in elements. One
/// stride of a and one of b is 1, and so is c_n.
struct MatmulStep {
    struct Batch {
        std::int64_t size = 1;
        std::int64_t a = 0, b = 0, c = 0;  ///< strides
    };
    std::vector<Batch> batch;
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t a_m = 0, a_k = 0, b_k = 0, b_n = 0, c_m = 0, c_n = 1;
    Dtype a = Dtype::f32, b = Dtype::f32, c = Dtype::f32;
    Dtype arithmetic = Dtype::f32;    ///< arithmetic of the program, before a device substitutes another one
    bool weight = false;              ///< b is an input of the program, so a kernel may pack it beforehand
    std::vector<MapFunction> then{};  ///< functions of one argument, applied to each sum before it is stored
};

/// Computes every element of the output from elements of the inputs. The last loop is the innermost.
struct MapStep {
    std::vector<std::int64_t> loops;
    Tape tape;
    std::vector<std::int64_t> out;  ///< strides of the output
};

/// A function of whole rows: a reduction (sum, max, min, mean, logsumexp), or a function that keeps the row (softmax,
/// norm, layernorm, scan and their derivatives). The tapes run over all loops, of which the last `along` form the row.
struct RowStep {
    std::string function;
    std::vector<std::int64_t> loops;
    std::size_t along = 1;
    std::vector<Tape> tapes;        ///< two for scan and derivatives, else one
    std::vector<std::int64_t> out;  ///< strides of the output; 0 along the row for a reduction
    std::int64_t offset = 0;        ///< offset of the output at the start of all loops
};

/// output[loops] = table[loops, ids[loops] - first]; 0 if the table is a part of a longer one and another part holds
/// the row.
struct GatherStep {
    std::vector<std::int64_t> loops;
    ArrayLoad table, ids;
    std::int64_t stride = 1;  ///< stride of the table along the gathered dimension
    std::int64_t below = 0;   ///< size of the gathered dimension
    std::int64_t first = 0;   ///< index of its first row in the whole table
    std::int64_t whole = 0;   ///< size of the whole table
    std::vector<std::int64_t> out;
};

/// output[loops, ids[loops] - first] = update[loops]; other elements of the output, and rows that another part holds,
/// do not change. With `adds`, the output is the sum of all updates of a place, starting from zero.
struct ScatterStep {
    std::vector<std::int64_t> loops;
    ArrayLoad update, ids;
    std::int64_t stride = 1;
    std::int64_t below = 0;
    std::int64_t first = 0;
    std::int64_t whole = 0;
    std::vector<std::int64_t> out;
    bool adds = false;
};

/// Assigns places in expert groups. The expert numbers are read in memory order, and each choice takes the next free
/// place of its expert's group. The result by choice is the place among the places of all groups, or -1; by place it is
/// the choice that has the place, or -1.
struct RouteStep {
    std::int64_t choices = 0;
    std::int64_t experts = 1;
    std::int64_t places = 1;  ///< places per group
    bool by_place = false;
};

/// Moves rows into groups: output[expert, place, rows] = from[choice, rows], times weights[choice]; 0 if no choice has
/// the place.
struct DispatchStep {
    std::vector<std::int64_t> choices;  ///< sizes of the dimensions that enumerate choices
    std::vector<std::int64_t> rows;
    std::int64_t places = 1;
    ArrayLoad from;                    ///< strides by choices, then by rows; the route, by place, is the second input
    std::optional<ArrayLoad> weights;  ///< likewise
    std::int64_t out_expert = 0, out_place = 0;
    std::vector<std::int64_t> out;  ///< strides by rows
};

/// Moves rows out of groups: output[kept loops] = sum over the other loops of from[expert, place, loops] beside[loops].
/// A choice without a place adds nothing. Among the kept loops and among the others, loops over choices come before
/// loops over rows.
struct CombineStep {
    std::vector<std::int64_t> loops;
    std::size_t kept = 0;
    bool keeps_row = false;  ///< a loop over rows is among the kept loops
    bool sums_row = false;   ///< a loop over rows is among the summed loops
    std::int64_t places = 1;
    ArrayLoad from;
    std::int64_t from_expert = 0, from_place = 0;
    ArrayLoad route;  ///< route by choice
    std::optional<ArrayLoad> beside;
    std::vector<std::int64_t> out;
};

struct RunStep {
    std::variant<MatmulStep, MapStep, RowStep, GatherStep, ScatterStep, RouteStep, DispatchStep, CombineStep> what;
    std::vector<std::size_t> inputs;  ///< arrays in the order in which the kernel takes them: a and b of a matmul
    std::size_t output = 0;
    std::size_t statement = 0;  ///< statement of the program, counted in the order of the text
    std::size_t kernel = 0;     ///< kernel of the prediction: a statement, or the fuse block that contains it
    std::string text;           ///< "matmul 64 x 4096 x 4096"; "" if it continues the previous step
};

/// Steps in order, some of them repeated.
struct StepBlock {
    std::int64_t count = 1;
    bool back = false;                                        ///< runs from the last iteration to the first
    std::vector<std::variant<std::size_t, StepBlock>> nodes;  ///< steps (by number) and nested blocks
    /// Pairs of arrays that are swapped between iterations: the one that was written, and the one that the next
    /// iteration reads.
    std::vector<std::pair<std::size_t, std::size_t>> carried;
};

struct StepProgram {
    std::vector<RunArray> arrays;
    std::vector<RunStep> steps;
    StepBlock body;
    std::vector<std::optional<std::size_t>> array_of;  ///< by value of the program; intermediates may have none
    std::vector<std::string> kernels;                  ///< description of each kernel for reports
    std::vector<std::string> notes;
};

/// Position of a part of a longer dimension, and the size of that dimension.
struct DimPart {
    std::int64_t first = 0;
    std::int64_t whole = 0;
};

struct StepOptions {
    std::vector<MapFunction> after_matmul{};  ///< functions that the device's matmuls can apply to their results
    std::map<std::string, DimPart> parts{};   ///< split dimensions, for a program that is one chip's share
    std::optional<Operand> choices{};   ///< expert choices if the program itself has no dispatch: see choices_of()
    std::optional<double> mask_fill{};  ///< value of masked places if nothing in the program itself reads them
};

/// Size of a dimension, or of one chip's share of a dimension. None if it has no size.
[[nodiscard]] std::optional<std::int64_t> size_of(const Program& program, const std::string& dim);

/// For a name that a repeat reassigns: the value that an iteration makes, and the value that the next one reads in its
/// place.
struct CarriedValue {
    ValueId made = 0;
    ValueId read = 0;
};
[[nodiscard]] std::vector<CarriedValue> carried_values(const Program& program, const Block& block);

/// Values that a repeat makes and a later repeat with the same count reads: each iteration reads the value of the same
/// iteration.
[[nodiscard]] std::set<ValueId> values_by_pass(const Program& program);
/// Returns whether a repeat runs from the last iteration to the first because it reads, like a backward pass, what an
/// earlier repeat made.
[[nodiscard]] bool goes_back(const Block& block, const std::set<ValueId>& by_pass);

/// Value that a masked place of `value` must have so that later operations ignore it: -inf if a softmax or maximum
/// follows, +inf for a minimum, else 0.
[[nodiscard]] double causal_fill(const Program& program, ValueId value);

/// Makes the steps of a program. Errors: a dimension has no size, no device computes in a dtype, or sizes exceed 63
/// bits. For a program that is one chip's share the caller must add the messages that precede the steps of each
/// statement.
[[nodiscard]] Result<StepProgram> make_steps(const Program& program, const StepOptions& options = {});

}  // namespace roofline::core

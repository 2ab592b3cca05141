// How a program with sizes becomes steps that a machine can take: arrays, and kernels over them.
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
        result,  ///< computed and stored by it
        scratch  ///< made on the way
    };
    std::string name;  ///< as reports call it; "" for scratch
    std::optional<ValueId> value;
    Dtype dtype = Dtype::f32;
    std::vector<std::string> dims;
    std::vector<std::int64_t> sizes;
    Role role = Role::scratch;
    bool param = false;
    std::int64_t copies = 1;  ///< declared in a repeat, or read by a later one: one for each pass
    std::size_t depth = 0;    ///< repeats around its declaration
    std::int64_t below = 0;   ///< an index: its numbers are in [0, below); 0 for others
    double scale = 1;         ///< of the random numbers it is filled with

    [[nodiscard]] std::int64_t elements() const;
    [[nodiscard]] std::int64_t bytes() const;  ///< of one copy
};

/// A sum of products: for every place of the batch loops c[m, n] = sum over k of a[m, k] b[k, n]. Strides are in elements. Of a
/// and b one stride of each is 1, and c_n is 1.
struct MatmulStep {
    struct Batch {
        std::int64_t size = 1;
        std::int64_t a = 0, b = 0, c = 0;  ///< strides
    };
    std::vector<Batch> batch;
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t a_m = 0, a_k = 0, b_k = 0, b_n = 0, c_m = 0, c_n = 1;
    Dtype a = Dtype::f32, b = Dtype::f32, c = Dtype::f32;
    Dtype arithmetic = Dtype::f32;    ///< of the products: the program's, before anything stands in for it
    bool weight = false;              ///< b is an input of the program, so a kernel may lay it out anew beforehand
    std::vector<MapFunction> then{};  ///< of one argument, done to each sum before it is stored
};

/// Every element of the output from elements of the inputs. The last loop is the innermost.
struct MapStep {
    std::vector<std::int64_t> loops;
    Tape tape;
    std::vector<std::int64_t> out;  ///< strides of the output
};

/// Something done along rows: a reduction (sum, max, min, mean, logsumexp), or softmax, norm, layernorm, scan and their
/// derivatives, which keep the row.
/// The tapes run over all loops, the last `along` of which are the row.
struct RowStep {
    std::string function;
    std::vector<std::int64_t> loops;
    std::size_t along = 1;
    std::vector<Tape> tapes;        ///< two for scan and derivatives, else one
    std::vector<std::int64_t> out;  ///< strides of the output; 0 along the row for a reduction
    std::int64_t offset = 0;        ///< of the output, where all loops begin
};

/// output[loops] = table[loops, ids[loops] - first], and 0 where the table is a part of a longer one that has the row elsewhere.
struct GatherStep {
    std::vector<std::int64_t> loops;
    ArrayLoad table, ids;
    std::int64_t stride = 1;  ///< of the table along the gathered dimension
    std::int64_t below = 0;   ///< its size
    std::int64_t first = 0;   ///< what of the whole table it begins with
    std::int64_t whole = 0;   ///< size of that
    std::vector<std::int64_t> out;
};

/// output[loops, ids[loops] - first] = update[loops]; nothing else of the output changes, nor rows that are elsewhere. Or, where it
/// adds, the sums of all updates of a place, from zero.
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

/// Numbers of experts, in the order in which they lie: each choice takes the next place of its expert's group, if there is one left.
/// By choice: its place among those of all groups, or -1; by place: the choice that has it, or -1.
struct RouteStep {
    std::int64_t choices = 0;
    std::int64_t experts = 1;
    std::int64_t places = 1;  ///< of each group
    bool by_place = false;
};

/// Rows into groups: output[expert, place, rows] = from[choice, rows], times weights[choice]; 0 where no choice has the place.
struct DispatchStep {
    std::vector<std::int64_t> choices;  ///< sizes of the dimensions that number them
    std::vector<std::int64_t> rows;
    std::int64_t places = 1;
    ArrayLoad from;                    ///< strides by choices, then by rows; second comes the route, by place
    std::optional<ArrayLoad> weights;  ///< likewise
    std::int64_t out_expert = 0, out_place = 0;
    std::vector<std::int64_t> out;  ///< by rows
};

/// Rows out of groups: output[kept loops] = sum over the other loops of from[expert, place, loops] beside[loops]; what found no place
/// adds nothing. Of the kept loops and of the others those over choices come first, then those over rows.
struct CombineStep {
    std::vector<std::int64_t> loops;
    std::size_t kept = 0;
    bool keeps_row = false;  ///< a loop over rows is among the kept
    bool sums_row = false;   ///< and among the others
    std::int64_t places = 1;
    ArrayLoad from;
    std::int64_t from_expert = 0, from_place = 0;
    ArrayLoad route;  ///< by choice
    std::optional<ArrayLoad> beside;
    std::vector<std::int64_t> out;
};

struct RunStep {
    std::variant<MatmulStep, MapStep, RowStep, GatherStep, ScatterStep, RouteStep, DispatchStep, CombineStep> what;
    std::vector<std::size_t> inputs;  ///< arrays, in the order in which its kernel takes them: a and b of a matmul
    std::size_t output = 0;
    std::size_t statement = 0;  ///< of the program, counted in the order of the text
    std::size_t kernel = 0;     ///< of the prediction: a statement, or the fuse block it stands in
    std::string text;           ///< "matmul 64 x 4096 x 4096"; "" for what goes on with the one before
};

/// Steps in order, some of them again and again.
struct StepBlock {
    std::int64_t count = 1;
    bool back = false;                                        ///< from the last pass to the first
    std::vector<std::variant<std::size_t, StepBlock>> nodes;  ///< steps by number
    /// At the end of a pass that another one follows these arrays change places: what was made, and what the next pass reads.
    std::vector<std::pair<std::size_t, std::size_t>> carried;
};

struct StepProgram {
    std::vector<RunArray> arrays;
    std::vector<RunStep> steps;
    StepBlock body;
    std::vector<std::optional<std::size_t>> array_of;  ///< by value of the program; intermediates may have none
    std::vector<std::string> kernels;                  ///< what each kernel is, for reports
    std::vector<std::string> notes;
};

/// Where a dimension begins that is a part of a longer one, and the size of that.
struct DimPart {
    std::int64_t first = 0;
    std::int64_t whole = 0;
};

struct StepOptions {
    std::vector<MapFunction> after_matmul{};  ///< what the device's matmul does to its sums on the way out
    std::map<std::string, DimPart> parts{};   ///< of a program that is one chip's share: dimensions that are split
    std::optional<Operand> choices{};  ///< of experts, where the program itself has no dispatch: see choices_of()
    std::optional<double>
        mask_fill{};  ///< what masked places hold, where the program itself has nothing that reads them
};

/// The size of a dimension, also of one chip's share of one. None when it has no size.
[[nodiscard]] std::optional<std::int64_t> size_of(const Program& program, const std::string& dim);

/// Of a name that a repeat assigns and had before: what a pass makes, and what the next one reads in its place.
struct CarriedValue {
    ValueId made = 0;
    ValueId read = 0;
};
[[nodiscard]] std::vector<CarriedValue> carried_values(const Program& program, const Block& block);

/// What a repeat makes and a later one of the same count reads: each pass reads that of the same pass.
[[nodiscard]] std::set<ValueId> values_by_pass(const Program& program);
/// Whether the passes of a repeat go from the last to the first: it reads what an earlier one made by pass, as a backward pass does.
[[nodiscard]] bool goes_back(const Block& block, const std::set<ValueId>& by_pass);

/// What a masked place of `value` must hold so that what is computed from it does not see it: -inf where a softmax or maximum
/// follows, +inf for a minimum, else 0.
[[nodiscard]] double causal_fill(const Program& program, ValueId value);

/// Errors: a dimension without a size, a dtype that nothing here computes in, sizes beyond 63 bits. Of a program that a layout
/// made local to one chip the messages are left to the caller: they stand before the steps of their statement.
[[nodiscard]] Result<StepProgram> make_steps(const Program& program, const StepOptions& options = {});

}  // namespace roofline::core

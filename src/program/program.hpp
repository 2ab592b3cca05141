// The program: tensors, and operations on them. Everything that is priced is a program, in whatever form it was
// written.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "algebra/polynomial.hpp"
#include "base/result.hpp"
#include "program/collective_info.hpp"
#include "program/local_dims.hpp"
#include "text/source.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// A dimension of a tensor and the mesh axes it is split over, outermost first. A dimension that was written as a bare
/// number has a name of its own that starts with '#'.
struct Axis {
    std::string dim;
    std::vector<std::string> mesh;

    [[nodiscard]] bool anonymous() const { return !dim.empty() && dim.front() == '#'; }
    bool operator==(const Axis&) const = default;
};

/// One chip of a mesh: coordinates on some of its axes, 0 on the others.
using MeshPlace = std::vector<std::pair<std::string, std::int64_t>>;

/// The type of a tensor: its dtype, its dimensions, the mesh axes over which each member holds only a partial sum, and
/// the one chip that holds all of it, if there is one; then it is not split.
struct TensorType {
    Dtype dtype = Dtype::bf16;
    std::vector<Axis> axes;
    std::vector<std::string> unreduced;
    MeshPlace at;

    bool operator==(const TensorType&) const = default;
};

/// A causal mask: of the plane `rows` x `columns` only the part below the diagonal is computed, and with a `window`
/// only a band of that many columns.
struct MaskedPlane {
    std::string rows;
    std::string columns;
    std::string window{};  ///< a dimension's name, or ""

    bool operator==(const MaskedPlane&) const = default;
};

/// A tensor of the program: a declared one, a computed and named one, or the unnamed intermediate of a nested
/// expression.
struct Value {
    std::string name;   ///< "" for intermediates and for the unnamed operands of a one-liner
    std::string label;  ///< its name in reports; label_values() sets it
    TensorType type;
    std::string level = "hbm";  ///< memory level that holds it; "host" is the host's memory
    bool param = false;         ///< a parameter
    bool frozen = false;        ///< of a parameter: not trained, it has no gradient
    bool cache = false;  ///< kept from one run of the program to the next: keys and values, the state of a recurrence
    std::string part{};  ///< part of a model that it belongs to: "attention", "mlp"; "" for none
    bool intermediate = false;  ///< never stored: part of a nested expression
    bool type_follows = false;  ///< computed without a written type: its sharding may be chosen
    bool in_place = false;      ///< an input that is written where it is used, without a declaration
    bool carried = false;       ///< assigned in a repeat under a name from before it: the next iteration reads it
    std::vector<MaskedPlane> masks{};  ///< planes of which a part is never computed
    Span span;

    bool operator==(const Value&) const = default;
};

using ValueId = std::size_t;

/// A value as an operand: its dimensions under the names that the operation gives them. They differ from the value's
/// own only for anonymous dimensions.
struct Operand {
    ValueId value = 0;
    std::vector<std::string> dims;

    bool operator==(const Operand&) const = default;
};

/// Operands of one product have at most this many dimensions together.
inline constexpr std::size_t max_product_dims = 256;

enum class OpKind {
    contract,  ///< contraction: a product of two or more operands, summed over `along`
    apply,     ///< a function from functions.hpp, named by `function`, along the dimensions `along`
    move,      ///< the same numbers in another place, layout or dtype: resharding, copy between levels, conversion
};

/// A number among the arguments of an elementwise function.
struct Constant {
    std::size_t position = 0;  ///< index among the arguments, including tensors
    double value = 0;

    bool operator==(const Constant&) const = default;
};

struct Op {
    OpKind kind = OpKind::apply;
    std::string function;  ///< for `apply`
    std::vector<Operand> inputs;
    std::vector<Constant> constants;
    Operand output;
    std::vector<std::string> along;  ///< dimensions that are summed (contract) or worked along (apply)
    bool named_sum = false;          ///< for contract: the sum was written `*_D`
    Dtype arithmetic = Dtype::bf16;  ///< the dtype of the FLOPs
    /// The share of the points of its dimensions that is computed: windows of a convolution that reach over an edge
    /// have fewer taps.
    Rational share{1};
    Span span;

    bool operator==(const Op&) const = default;
};

/// A collective that a statement needs. Nobody writes it: the layout of the program puts it there.
struct Message {
    CollectiveKind kind = CollectiveKind::all_gather;
    std::vector<std::string>
        axes;            ///< mesh axes, together; for a gather and a scatter those that the array is split over
    std::string tensor;  ///< the tensor's name in reports
    Polynomial bytes;  ///< V: bytes of the whole array that one group of chips holds together, as nccl-tests count them
    MeshPlace from{};  ///< of a send, scatter, broadcast: the chip that holds V
    MeshPlace to{};    ///< of a send, gather: the chip that receives it
    std::vector<std::string>
        axes_after{};  ///< of a permute: the same axes in the order in which they split the array afterwards
    /// Of a permute to the next chip along the axes, as they split the array: the number of sequential hops until each
    /// chip has what it needs of those before it.
    std::int64_t hops = 0;
    /// The share of V that is sent for any routing: one copy of a token that goes to several experts, because a chip
    /// that has several of them needs only one copy and returns one sum (DeepSeek-V3, arXiv 2412.19437, section 3.2.2).
    Rational sure{1};
    Rational copies{1};       ///< copies of each token in V: one per expert
    std::size_t number = 0;   ///< number among the program's messages, from 1
    std::size_t follows = 0;  ///< number of the message that it waits for because that one moves the same array; or 0

    bool operator==(const Message&) const = default;
};

/// One line of the program: the operations of its expression in order of evaluation; the last one computes `result`.
struct Statement {
    std::vector<Op> ops;
    ValueId result = 0;
    bool one_liner = false;         ///< written `... -> type`
    std::vector<Message> messages;  ///< of a program with a layout, in the order in which they happen
    bool one_chip = false;          ///< of such a program: only one chip executes it
    std::optional<Dtype> using_dtype;
    std::string part{};  ///< part of a model that it belongs to; "" for none
    Span span;

    bool operator==(const Statement&) const = default;
};

struct Block;
using Node = std::variant<Statement, Block>;

/// A sequence of nodes. In a `fuse` block, values that are computed and used up inside do not cross the outer memory; a
/// `repeat` block runs `count` times.
struct Block {
    enum class Kind { sequence, fuse, repeat };
    Kind kind = Kind::sequence;
    std::string count;              ///< of repeat: a dimension's name, starting with '#' for a number
    std::size_t values_before = 0;  ///< values with smaller ids precede the block in the text
    std::size_t values_after = 0;   ///< values with smaller ids, down to values_before, are in the block
    std::vector<Node> nodes;
    Span span;

    bool operator==(const Block&) const = default;
};

/// An axis of a mesh: its number of chips, and the links of the slice that it is placed on, if given.
struct MeshAxis {
    std::string name;
    std::int64_t size = 1;
    std::vector<std::string> links{};  ///< "ici.1", "nvlink"; innermost first; empty: they are chosen

    bool operator==(const MeshAxis&) const = default;
};

/// Returns "X=4, Y=16 on ici.0+ici.2".
[[nodiscard]] std::string mesh_text(const std::vector<MeshAxis>& mesh);

/// Equal groups of consecutive experts; the experts of a token are in `chosen` of these groups.
struct ExpertGroups {
    std::int64_t chosen = 1;
    std::int64_t of = 1;

    bool operator==(const ExpertGroups&) const = default;
};

struct Program {
    std::vector<Value> values;
    Block body;
    std::vector<std::string> dims;  ///< named dimensions in order of first appearance, repeat counts included
    Sizes sizes;                    ///< of named and anonymous dimensions, as far as they are known
    LocalDims local_dims;           ///< of one chip's part of a program: what the names of its dimensions stand for
    std::vector<MeshAxis> mesh;     ///< in the order given
    ExpertGroups expert_groups;     ///< groups for node-limited routing; all experts by default

    bool operator==(const Program&) const = default;

    [[nodiscard]] bool sharded() const;  ///< whether any tensor is split, unreduced, or on one chip
    [[nodiscard]] bool sized() const;    ///< whether every dimension has a size
};

/// Returns "B", or the number for an anonymous dimension.
[[nodiscard]] std::string dim_text(const Program& program, const std::string& dim);

/// Returns "bf16[B, D]"; given `sized`, "bf16[B=64, D=8]" with the size of each dimension that is not yet in `sized`,
/// which is then added.
[[nodiscard]] std::string type_text(const Program& program, const TensorType& type,
                                    std::set<std::string>* sized = nullptr);

/// Returns "X=0,Y=3".
[[nodiscard]] std::string place_text(const MeshPlace& place);

/// Returns the place of a value as written after its type: " in host at X=0,Y=3"; "" for a value in device memory that
/// is not on a single chip.
[[nodiscard]] std::string where_text(const Value& value);

/// Returns the text after a message's tensor: " over X, Y", " over X, Y to X=0,Y=0", " from X=0,Y=0"; axes are
/// separated by `between`.
[[nodiscard]] std::string route_text(const Message& message, std::string_view between = ", ");

/// Gives every value its name in reports: its own, or for stored values without one A, B, C ... by order of appearance,
/// skipping names that are taken.
void label_values(Program& program);

/// Returns the name in reports; label_values() must have been called.
[[nodiscard]] const std::string& value_name(const Program& program, ValueId id);

/// Returns the dimensions of a type in order.
[[nodiscard]] std::vector<std::string> dims_of(const TensorType& type);

/// True when `dim` is among `dims`.
[[nodiscard]] bool has(const std::vector<std::string>& dims, std::string_view dim);

/// Returns the elements of a value: the product of its dimensions, of which `local` has those that are parts of others.
[[nodiscard]] Polynomial elements(const LocalDims& local, const std::vector<std::string>& dims);

/// Returns the bytes of a value, block scales included.
[[nodiscard]] Polynomial bytes_of(const LocalDims& local, const Value& value);

/// Returns elements() for masked(): the name of a shard with a halo is a symbol of its own.
[[nodiscard]] Polynomial points(const LocalDims& local, const std::vector<std::string>& dims);

/// Selects the formula of a mask's share at some sizes: whether its rows are one, the last or all of the positions or
/// more than there are (`last` if sizes are not known), and whether a window narrows it, for all rows alike
/// (`full_windows`) or not.
struct MaskCase {
    enum class Rows { one, last, all, more };
    Rows rows = Rows::last;
    bool window = false;
    bool full_windows = false;

    auto operator<=>(const MaskCase&) const = default;
};
[[nodiscard]] MaskCase mask_case(const MaskedPlane& plane, const Sizes& sizes);
/// Returns the cases of all masks of a program. Counts at other sizes with the same cases use the same formulas.
[[nodiscard]] std::vector<MaskCase> mask_cases(const Program& program, const Sizes& sizes);

/// Returns the unmasked part of a count of an operation's points() over the dimensions `dims`. The T rows of a plane
/// are the last of S positions: of T S points T S - T^2/2 are left, half at T = S; a single row sees all of S; if there
/// are more rows than positions the first rows see nothing, S^2/2. With a window W < S, T W - (W - (S - T))^2/2, and T
/// W where S - T >= W. `exact` counts the diagonal: s(s-1)/2 for each s^2/2. On a chip whose columns have a halo each
/// row sees all W, and on one whose rows have it each column is seen by as many.
[[nodiscard]] Polynomial masked(const Program& program, const Op& op, const std::vector<std::string>& dims,
                                const Polynomial& count, bool exact = false);

/// Returns these sizes, and a million for each dimension of `dims` without one, to compare alternatives.
[[nodiscard]] Sizes comparable_sizes(Sizes sizes, const std::vector<std::string>& dims);

/// Gives dimensions sizes from outside (a command line), which take precedence over those in the text. Returns a note
/// for each size that was replaced. Errors: a dimension that the program does not have.
[[nodiscard]] Result<std::vector<std::string>> bind_sizes(Program& program, const Sizes& sizes);

}  // namespace roofline::core

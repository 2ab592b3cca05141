// The state in which the instructions of a module become statements of a program.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "network/replica_groups.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// What an instruction stands for where it is used: an array in memory, a number that no memory holds, or a tuple.
struct Bound {
    XlaShape shape{};
    std::optional<ValueId> value{};  ///< nothing for a number, a tuple, a token and an array without elements
    bool number = false;             ///< a constant with the same value everywhere
    double constant = 0;             ///< of a number, as far as it is known
    std::shared_ptr<const std::vector<Bound>> parts{};  ///< of a tuple
    /// Of an array that was broadcast and is in memory as it was: its shape there, and the place of each of its
    /// dimensions in `shape`.
    std::optional<XlaShape> narrow{};
    std::vector<std::size_t> places{};
};

/// Names for the dimensions of one operation: two of its dimensions have different names, and equal sizes have equal
/// names in different operations, so that their counts are equal.
class DimNames {
public:
    explicit DimNames(Program& program) : program_(program) {}
    /// Returns a name that this operation has not used yet.
    std::string add(std::int64_t size);
    /// The same for each size of an array that is not 1; complex numbers are pairs.
    std::vector<std::string> add_all(const XlaShape& shape);

private:
    Program& program_;
    std::vector<std::pair<std::int64_t, int>> used_;  ///< sizes, few of them, and how often each was used
};

/// An operand of an operation with names for its dimensions.
[[nodiscard]] Operand operand(const Bound& bound, std::vector<std::string> dims);

/// The value of a number that a compiler computes without telling it.
inline constexpr double unknown_number = std::numeric_limits<double>::quiet_NaN();
/// A constant with the same value in each element of an array of this shape.
[[nodiscard]] Bound number_of_shape(const XlaShape& shape, double value);
/// The dtype of the FLOPs on elements of an array.
[[nodiscard]] Dtype arithmetic_of_shape(const XlaShape& shape);
/// Whether the numbers are different, and each a dimension of an array of this rank.
[[nodiscard]] bool are_dims(const std::vector<std::int64_t>& dims, std::size_t rank);

/// The dimensions of a matmul: pairs that are summed, and pairs that both operands and the result have.
struct DotDims {
    std::vector<std::int64_t> left_sum;
    std::vector<std::int64_t> right_sum;
    std::vector<std::int64_t> left_batch;
    std::vector<std::int64_t> right_batch;
};

class ModuleLowering {
public:
    /// `costs` are those of the module by XLA's own rules.
    ModuleLowering(const XlaModule& module, const XlaModuleCost& costs, const std::string& name,
                   const ImportOptions& options);

    [[nodiscard]] Result<ImportedProgram> lower();

private:
    using Bounds = std::vector<Bound>;

    // lower_module.cpp: computations and control flow
    [[nodiscard]] Result<Bound> computation(std::uint32_t index, const Bounds& arguments, Block& into);
    [[nodiscard]] Result<Bound> instruction(InstructionRef ref, const Bounds& operands, const Bounds& arguments,
                                            Block& into);
    [[nodiscard]] Result<Bound> fusion(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> loop(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> conditional(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> asynchronous(InstructionRef ref, const Bounds& operands, Block& into);
    /// Records what an instruction starts, or waits for: `before` are the values before it, `started` the places in
    /// ImportedProgram::started of what its computation started, by instruction.
    void follow(InstructionRef ref, ValueId before, std::map<std::uint32_t, std::size_t>& started);
    void carry(const Bound& root);
    /// The array, or all arrays of a tuple, in memory; single numbers stay what they are.
    [[nodiscard]] Bound stored(InstructionRef ref, const Bound& bound, Block& into);
    /// Records that arrays at the same places of two tuples have the same memory.
    void share_memory(const Bound& one, const Bound& other);
    /// Records which results have the memory of an argument: `input_output_alias` of the module.
    void share_donated(const Bounds& arguments, const Bound& result);
    void keep_results();

    // lower_instruction.cpp, lower_matmul.cpp, lower_movement.cpp: one operation each
    [[nodiscard]] Result<Bound> operation(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> moving_operation(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> elementwise(InstructionRef ref, const Bounds& operands, std::string_view function,
                                            Block& into);
    [[nodiscard]] Result<Bound> dot(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> product(InstructionRef ref, const Bound& left, const Bound& right,
                                        const XlaShape& result, const DotDims& dims, Block& into);
    [[nodiscard]] Result<Bound> batch_norm(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> window_product(InstructionRef ref, const Bound& left, const Bound& right,
                                               const XlaShape& result, std::int64_t features, double flops,
                                               Block& into);
    [[nodiscard]] Result<Bound> convolution(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> reduce(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> rearrange(InstructionRef ref, const Bounds& operands, std::string_view function,
                                          Block& into);
    [[nodiscard]] Result<Bound> broadcast(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> gather(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> scatter(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> update_slice(InstructionRef ref, const Bounds& operands, Block& into);
    /// Work on all operands that gives all results, by an opaque function of the notation; `flops` in all.
    [[nodiscard]] Result<Bound> opaque(InstructionRef ref, const Bounds& operands, std::string_view function,
                                       double flops, Block& into);
    /// Adds a fuse block, or its statements where there is only one or a fusion is around them.
    void add_kernel(Block block, Block& into);
    [[nodiscard]] double counted_flops(InstructionRef ref) const;
    /// The same, with what XLA's rules count too often put right.
    [[nodiscard]] double own_flops(InstructionRef ref) const;

    // lower_custom_call.cpp
    [[nodiscard]] Result<Bound> custom_call(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> library_matmul(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Result<Bound> library_convolution(InstructionRef ref, const Bounds& operands, Block& into);
    /// Adds the operands behind the first two to a product, such as a bias, and applies a function unless it is "".
    [[nodiscard]] Bound epilogue(InstructionRef ref, const Bound& product, const Bounds& operands,
                                 std::string_view function, Block& into);
    /// The result of a library's call: `made`, and workspace, which holds nothing afterwards.
    [[nodiscard]] Bound library_results(InstructionRef ref, std::vector<Bound> made) const;
    [[nodiscard]] Result<Bound> attention(InstructionRef ref, const Bounds& operands, bool backward, Block& into);
    /// Splices statements of the notation in: declared tensors of `text` are the given arrays. Returns the value of
    /// each name in `results`.
    [[nodiscard]] Result<std::vector<ValueId>> splice(InstructionRef ref, const std::string& text,
                                                      const std::map<std::string, Bound>& inputs,
                                                      const std::vector<std::string>& results, Block& into);

    // lower_collective.cpp
    [[nodiscard]] Result<Bound> collective(InstructionRef ref, const Bounds& operands, Block& into);
    [[nodiscard]] Status place_collectives();

    // shared
    [[nodiscard]] const XlaInstruction& at(InstructionRef ref) const {
        return module_.computations[ref.computation].instructions[ref.instruction];
    }
    [[nodiscard]] Bound input(const XlaShape& shape, std::string_view name, std::optional<InstructionRef> made = {});
    [[nodiscard]] ValueId new_value(const XlaShape& shape, std::string_view name, std::optional<InstructionRef> made);
    /// Adds a statement with one operation, whose result has this shape. `dims` names the result's dimensions.
    Bound emit(InstructionRef ref, Op op, const XlaShape& result, std::vector<std::string> dims, Block& into);
    /// Whether in_memory() writes an array for a number.
    enum class Numbers : std::uint8_t { written, stay };
    /// Returns the array as an operation finds it in memory: what was broadcast, and a number, are written now.
    Bound in_memory(InstructionRef ref, const Bound& bound, Block& into, Numbers numbers = Numbers::written);
    [[nodiscard]] std::vector<Bound> all_in_memory(InstructionRef ref, const std::vector<Bound>& bounds, Block& into);
    [[nodiscard]] Bound tuple(std::vector<Bound> parts, const XlaShape& shape) const;
    [[nodiscard]] tl::unexpected<Error> fail_at(InstructionRef ref, std::string message, std::string hint = {}) const;
    [[nodiscard]] Status want_operands(InstructionRef ref, std::size_t least) const;
    void gap(InstructionRef ref, std::string what);

    const XlaModule& module_;
    const XlaModuleCost& costs_;
    Source source_;
    const ImportOptions& options_;
    ImportedProgram out_;
    bool compiled_ = false;  ///< fused or scheduled already: what is in no fusion is a kernel of its own
    bool inside_fusion_ = false;
    int depth_ = 0;                                ///< of calls
    std::optional<InstructionRef> caller_{};       ///< the innermost call with a source line that is being inlined
    std::vector<std::vector<StridedDim>> groups_;  ///< of the collectives, in the order of their statements
    std::size_t statements_ = 0;
};

/// Tells which instructions are parts or other views of arrays that nothing reads, so that nobody makes them: PyTorch
/// records the part of x that `x[:, :1] = y` writes to.
std::vector<bool> unused_views(const XlaComputation& all);

/// Puts statements that a compiler would fuse into fuse blocks: elementwise operations, reductions and movements with
/// what uses them, and with one matmul at most.
void group_statements(Program& program);

}  // namespace roofline::core

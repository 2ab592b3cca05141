// A training step under construction: the analysed forward program, and statements that are still trees.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "program/adjoint.hpp"
#include "program/formula.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A value that a `repeat` carries from one iteration to the next.
struct Carry {
    ValueId before = 0;  ///< input of the first iteration
    ValueId inside = 0;  ///< input of any iteration; made by a copy without cost, so that it has a separate name
    ValueId after = 0;   ///< output of an iteration
};

/// A unit that runs as one kernel: a statement, or a `fuse` block.
struct ForwardUnit {
    bool fused = false;
    std::vector<const Statement*> statements;
    std::size_t block = 0;
};

struct ForwardBlock;
struct ForwardNode {
    enum class Kind { declaration, unit, block };
    Kind kind = Kind::unit;
    std::size_t id = 0;  ///< of a value, a unit, a block
};

/// The program itself (block 0) or one of its repeats.
struct ForwardBlock {
    std::string count;
    std::size_t parent = 0;
    std::vector<Carry> carries;
    std::vector<ForwardNode> nodes;
};

/// The forward program in single-assignment form: each name has one meaning, except for values that a repeat carries.
struct ForwardDraft {
    Program program;  ///< values, dimensions and sizes; its body is in the blocks
    std::deque<Statement> statements;
    std::vector<ForwardUnit> units;
    std::vector<ForwardBlock> blocks;
    std::vector<const Op*> made_by;           ///< by value; null for declared ones
    std::vector<const Statement*> statement;  ///< by operation result: the statement that contains the operation
    std::vector<std::size_t> unit;            ///< by value, for computed ones
    std::vector<std::size_t> home;            ///< by value: the block it belongs to
    std::vector<std::size_t> uses;            ///< by value: number of operations that read it
    std::vector<bool> leaves_unit;            ///< by value: read outside of its unit, or a result
    std::vector<std::string> source_name;     ///< its name in the original text

    [[nodiscard]] Formula tensor(ValueId id) const;
    /// Returns the operation that computes a value, expanded down to values that have names or are among `stashed`.
    [[nodiscard]] Formula made(ValueId id, const std::vector<bool>& stashed) const;
    /// Whether a block is another one or lies inside it.
    [[nodiscard]] bool inside(std::size_t block, std::size_t outer) const;
};

/// Analyses a forward program. Errors: dimensions without names, a sharded program.
[[nodiscard]] Result<ForwardDraft> analyse_forward(const Program& forward);

struct DraftStatement {
    ValueId result = 0;
    Formula term;
    StepPhase phase = StepPhase::backward;
    std::string part{};
    std::optional<Dtype> using_dtype{};
    Span span{};
};

struct DraftDeclaration {
    ValueId value = 0;
};

struct DraftBlock;
using DraftNode = std::variant<DraftStatement, DraftDeclaration, DraftBlock>;

struct DraftBlock {
    Block::Kind kind = Block::Kind::sequence;
    std::string count{};
    std::optional<std::size_t> of_unit{};  ///< of a fused backward block: the unit of which it is the derivative
    std::size_t of_block = 0;              ///< the forward block of which it is the derivative
    std::vector<DraftNode> nodes{};
    /// Forward values that are recomputed, and the values that replace them here.
    std::map<ValueId, ValueId> instead{};
};

/// A source of names that no tensor and no function has.
class Names {
public:
    explicit Names(const Program& program);
    [[nodiscard]] std::string fresh(const std::string& wanted);

private:
    std::map<std::string, int, std::less<>> taken_;
};

/// Whether a gradient can flow to an input of an operation at all.
[[nodiscard]] bool passes_gradient(const Op& op, std::size_t input);

/// Returns, by value, whether the backward pass computes its gradient: it is a trained parameter, with
/// `input_gradients` a declared floating-point tensor that nothing overwrites, or computed from one.
[[nodiscard]] std::vector<bool> values_with_gradients(const ForwardDraft& forward, bool input_gradients);

/// The backward pass. New values are appended to the draft's program.
struct BackwardDraft {
    DraftBlock body;
    std::map<ValueId, ValueId> gradients;  ///< of parameters
    std::map<ValueId, ValueId> sums;  ///< declared tensors in which gradients of micro-batches accumulate, by parameter
    std::vector<bool> stashed;        ///< by forward value: parts of expressions that have to be stored
};
[[nodiscard]] Result<BackwardDraft> differentiate(ForwardDraft& forward, const TrainingOptions& options, Names& names);

/// Inserts the recomputation into the backward pass. Returns the forward values that are kept for it.
[[nodiscard]] std::vector<ValueId> rematerialise(ForwardDraft& forward, BackwardDraft& backward,
                                                 const TrainingOptions& options, Names& names);

/// The optimizer's statements, one `repeat` for each forward repeat that has parameters, and its states with their
/// parameters.
struct OptimizerDraft {
    DraftBlock body;
    std::map<ValueId, ValueId> states;  ///< and their parameters
};
[[nodiscard]] OptimizerDraft optimizer_of(ForwardDraft& forward, const BackwardDraft& backward,
                                          const TrainingOptions& options, Names& names);

/// Writes draft blocks as a program, one after the other.
class StepWriter {
public:
    StepWriter(const ForwardDraft& forward, const std::vector<bool>& stashed);

    [[nodiscard]] Status write(const DraftBlock& block);
    [[nodiscard]] ValueId written(ValueId draft) const { return place_.at(draft); }
    [[nodiscard]] bool has_written(ValueId draft) const { return place_.contains(draft); }
    [[nodiscard]] TrainingProgram finish();

private:
    [[nodiscard]] Status nodes(const DraftBlock& block, Block& out);
    [[nodiscard]] Status statement(const DraftStatement& draft, Block& out);
    [[nodiscard]] Result<Operand> lower(const Formula& term, Statement& statement);
    [[nodiscard]] Result<Operand> emit(Op op, Statement& statement, std::size_t first);
    [[nodiscard]] std::vector<Formula> factors(const Formula& term, const Statement& statement) const;
    [[nodiscard]] Dtype dtype(const Formula& term, const Statement& statement) const;
    ValueId declare(ValueId draft);
    [[nodiscard]] ValueId renamed(ValueId draft) const;

    const ForwardDraft& forward_;
    const std::vector<bool>& stashed_;
    TrainingProgram step_;
    std::map<ValueId, ValueId> place_;
    std::vector<const DraftBlock*> around_;
    std::map<std::string, ValueId, std::less<>> named_;  ///< the newest value of each name
};

}  // namespace roofline::core

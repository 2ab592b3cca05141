// A training step while it is being made: the forward program taken apart, and statements that are still trees.
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

/// A value that a `repeat` carries from pass to pass.
struct Carry {
    ValueId before = 0;  ///< what the first pass gets
    ValueId inside = 0;  ///< what a pass gets; made by a copy that costs nothing, so that it has a name of its own
    ValueId after = 0;   ///< what it hands on
};

/// What runs as one: a statement, or a `fuse` block.
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

/// The forward program with every value assigned once: no name means two things but for what a repeat carries.
struct ForwardDraft {
    Program program;  ///< values, dimensions and sizes; its body is in the blocks
    std::deque<Statement> statements;
    std::vector<ForwardUnit> units;
    std::vector<ForwardBlock> blocks;
    std::vector<const Op*> made_by;           ///< by value; null for declared ones
    std::vector<const Statement*> statement;  ///< that an operation's result is made in
    std::vector<std::size_t> unit;            ///< by value, of computed ones
    std::vector<std::size_t> home;            ///< the block a value belongs to
    std::vector<std::size_t> uses;            ///< operations that read a value
    std::vector<bool> leaves_unit;            ///< read outside of its unit, or a result
    std::vector<std::string> source_name;     ///< the name in the text it came from

    [[nodiscard]] Formula tensor(ValueId id) const;
    /// The operation that made a value, down to what has a name or is among `stashed`.
    [[nodiscard]] Formula made(ValueId id, const std::vector<bool>& stashed) const;
    [[nodiscard]] bool inside(std::size_t block, std::size_t outer) const;  ///< a block lies in another or is it
};

/// Errors: dimensions without names, a split program.
[[nodiscard]] Result<ForwardDraft> take_apart(const Program& forward);

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
    std::optional<std::size_t> of_unit{};  ///< of a fused backward: the unit that it is the derivative of
    std::size_t of_block = 0;              ///< the forward block that it is the derivative of
    std::vector<DraftNode> nodes{};
    std::map<ValueId, ValueId> instead{};  ///< forward values that were computed again, and what they are called here
};

/// Names that no tensor and no function has.
class Names {
public:
    explicit Names(const Program& program);
    [[nodiscard]] std::string fresh(const std::string& wanted);

private:
    std::map<std::string, int, std::less<>> taken_;
};

/// The backward pass. New values are appended to the draft's program.
struct BackwardDraft {
    DraftBlock body;
    std::map<ValueId, ValueId> gradients;  ///< of parameters
    std::map<ValueId, ValueId> sums;       ///< declared ones that microbatches add up in, by parameter
    std::vector<bool> stashed;             ///< by forward value: parts of expressions that are to be stored on the way
};
[[nodiscard]] Result<BackwardDraft> differentiate(ForwardDraft& forward, const TrainingOptions& options, Names& names);

/// Puts into the backward pass what it computes again. Returns the forward values that are kept for it.
[[nodiscard]] std::vector<ValueId> rematerialise(ForwardDraft& forward, BackwardDraft& backward,
                                                 const TrainingOptions& options, Names& names);

/// The optimizer's statements, a `repeat` for each that has parameters, and its states with the parameters they belong to.
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

// Makes the steps of a program; the implementation of make_steps().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "measure/run/steps.hpp"

namespace roofline::core {

/// An array whose dimensions have the names that an operation gives them.
struct ArrayView {
    std::size_t array = 0;
    std::vector<std::string> dims;
};

/// An intermediate value: an array, or a function of other values that no array holds yet.
struct LazyValue {
    TapeOp op;                      ///< without its registers and strides
    std::vector<std::size_t> args;  ///< other lazy values
    ArrayView view;                 ///< the array of a load
    std::vector<std::string> dims;
    std::string row, column;  ///< loops of causal; `row` of a shifted load
    std::int64_t offset = 0;  ///< of a shifted load, in elements of its array
    Dtype arithmetic = Dtype::f32;
};

class StepBuilder {
public:
    StepBuilder(const Program& program, const StepOptions& options) : program_(program), options_(options) {}

    Result<StepProgram> run();

private:
    using Dims = std::vector<std::string>;

    struct Repeat {
        std::int64_t count = 1;
        std::size_t values_before = 0;
    };

    // blocks and arrays
    Status block(const Block& block, StepBlock& out, bool fused);
    void carry(const Block& block, StepBlock& out) const;
    Status size_values();
    Result<std::size_t> array_for(ValueId id);
    std::size_t scratch(const Dims& dims, Dtype dtype);
    [[nodiscard]] std::int64_t size(const std::string& dim) const;
    [[nodiscard]] std::vector<std::int64_t> sizes_of(const Dims& dims) const;
    void step(RunStep step);

    // statements
    Status statement(const Statement& statement);
    Result<std::size_t> operation(const Op& op, bool last);
    Result<std::size_t> input(const Operand& operand);
    Result<ArrayView> target(const Op& op, Dtype scratch_dtype);
    Result<std::size_t> function(const Op& op);
    Result<std::size_t> rows(const Op& op);
    Result<std::size_t> slide(const Op& op);
    std::size_t shifted(const ArrayView& view, const std::string& along, std::int64_t steps, const Dims& dims);
    std::size_t tap(const ArrayView& taps, const std::string& dim, std::int64_t index, const Dims& dims);
    std::size_t applied(MapFunction function, std::vector<std::size_t> args, const Op& op);
    [[nodiscard]] DimPart part(const std::string& dim) const;
    Result<std::size_t> gather(const Op& op);
    Result<std::size_t> scatter(const Op& op);
    Result<std::size_t> scatter_add(const Op& op);
    Result<std::size_t> correlate(const Op& op);
    Result<ArrayView> numbers_of_rows(const Operand& operand, const std::string& function);
    Result<ArrayView> route(const Op& op, bool by_place);
    Result<std::size_t> to_experts(const Op& op);
    Result<std::size_t> from_experts(const Op& op);
    Result<std::size_t> move(const Op& op);
    Status finish(const Op& op, std::size_t lazy);
    std::size_t load(ArrayView view);
    ArrayView materialise(std::size_t lazy);
    void map_into(std::size_t lazy, const ArrayView& out);
    bool fold_into_matmul(std::size_t lazy, const ArrayView& out);
    void indices(std::size_t array, std::int64_t below);

    // tapes
    Tape tape(std::size_t lazy, const Dims& loops, std::vector<std::size_t>& inputs) const;
    std::size_t record(std::size_t lazy, const Dims& loops, Tape& tape, std::vector<std::size_t>& inputs) const;
    [[nodiscard]] Dtype registers(std::size_t lazy) const;
    [[nodiscard]] std::vector<std::int64_t> strides(const ArrayView& view, const Dims& loops) const;

    // matmuls
    Result<std::size_t> contraction(const Op& op);
    void product(ArrayView a, ArrayView b, const ArrayView& c, Dtype arithmetic);
    ArrayView without(const ArrayView& view, const Dims& gone);
    void matmul(ArrayView a, ArrayView b, ArrayView c, Dtype arithmetic);
    enum class Fix : std::uint8_t { none, a, b, c };
    Fix try_matmul(const ArrayView& a, const ArrayView& b, const ArrayView& c, MatmulStep& step) const;
    ArrayView copied(const ArrayView& view, const Dims& dims);
    void scale_inputs(std::size_t a, std::size_t b, std::int64_t k);

    const Program& program_;
    const StepOptions& options_;
    StepProgram out_;
    std::vector<Repeat> repeats_;
    std::set<ValueId> by_pass_;
    std::vector<LazyValue> lazy_;          ///< values of the current statement
    std::map<ValueId, std::size_t> made_;  ///< intermediates of the current statement
    Dims choice_dims_;                     ///< dimensions of the choices that were routed last
    StepBlock* nodes_ = nullptr;           ///< where steps are added
    std::size_t statement_ = 0;
};

/// Dtype that sums of products, and values in registers, have for an arithmetic: f64, f32 or int32.
[[nodiscard]] Dtype sums_in(Dtype arithmetic);

/// Merges loops that step through all arrays contiguously. `all` holds the strides of each array, by loop.
void coalesce(std::vector<std::int64_t>& loops, const std::vector<std::vector<std::int64_t>*>& all);

}  // namespace roofline::core

// Operations at sizes that a caller has as numbers: whole sweeps, and one point after another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "base/result.hpp"
#include "bound/sweep.hpp"
#include "predict/sweep_columns.hpp"

namespace roofline::core {

/// A dimension and its size at each point.
struct PointSizes {
    std::string dim;
    std::vector<std::int64_t> sizes;
};

/// The answer for a program at many points. Point i has the i-th size of each column.
struct OpSweep {
    std::vector<SweepAxis> axes;
    Prediction answer;
};

/// Answers the request at the points that the columns give together; its dims give the other sizes. Errors: several
/// machines; no column; columns of different lengths; a size below 1; those of op_answers().
[[nodiscard]] Result<OpSweep> sweep_op(const OpRequest& request, std::vector<PointSizes> columns);

/// The figures of a program at one point.
struct OpPoint {
    std::shared_ptr<const std::vector<std::vector<std::string>>> keys;  ///< see SweepFigures
    std::vector<double> values;                                         ///< by key; NaN where there is none
    std::string bound_by;                                               ///< "" if nothing takes time
};

/// A request whose program is read and priced once and evaluated at sizes that follow. The formulas of a program on one
/// chip without masks hold at all sizes; others are laid out anew at each point, which takes a thousand times as long.
class CompiledOp {
public:
    /// `dims` are the dimensions whose sizes follow. Errors: several machines; another dimension without a size; those
    /// of op_answers().
    [[nodiscard]] static Result<CompiledOp> compile(OpRequest request, std::vector<std::string> dims);
    CompiledOp(CompiledOp&&) noexcept;
    CompiledOp& operator=(CompiledOp&&) noexcept;
    CompiledOp(const CompiledOp&) = delete;
    CompiledOp& operator=(const CompiledOp&) = delete;
    ~CompiledOp();

    [[nodiscard]] const std::vector<std::string>& dims() const { return dims_; }
    /// Whether at() only evaluates formulas.
    [[nodiscard]] bool has_formulas() const { return formulas_ != nullptr; }

    /// Returns the figures at these sizes, in the order of dims(). Not for several threads at a time. Errors: a size
    /// below 1; those of sweep_op().
    [[nodiscard]] Result<OpPoint> at(std::span<const std::int64_t> sizes);

private:
    struct Formulas;
    CompiledOp(OpRequest request, std::vector<std::string> dims);

    OpRequest request_;
    std::vector<std::string> dims_;
    std::unique_ptr<Formulas> formulas_;
};

}  // namespace roofline::core

// Lowering of expressions to operations: which dimensions a product sums over, in which dtype, and the shape of the
// result.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "notation/ast.hpp"
#include "notation/scope.hpp"
#include "program/functions.hpp"
#include "program/program.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// Turns the expression of one statement into the statement's operations.
class ExprLowering {
public:
    ExprLowering(const Source& source, Program& program, Scope& scope, Statement& statement)
        : source_(source), program_(program), scope_(scope), statement_(statement) {}

    /// Lowers the whole expression; `result` is the value that it computes, `type` its written type (empty: it must
    /// follow).
    [[nodiscard]] Status root(const ast::Expr& expr, std::optional<TensorType> type, Value result);

private:
    using Dims = std::vector<std::string>;
    using Needed = std::optional<std::set<std::string>>;  ///< dimensions that must be kept; empty: not known

    [[nodiscard]] Result<Operand> lower(const ast::Expr& expr, const Needed& needed);
    [[nodiscard]] Result<Operand> tensor(const ast::Expr& expr);
    [[nodiscard]] Result<Operand> product(const ast::Expr& expr, const Needed& needed);
    [[nodiscard]] Result<Operand> named_product(const ast::Expr& expr, const Needed& needed);
    [[nodiscard]] Result<Operand> call(const ast::Expr& expr, const Needed& needed);
    [[nodiscard]] Result<Operand> exchange(const ast::Expr& expr, CollectiveKind kind, std::vector<Operand> inputs,
                                           const std::optional<Dims>& written);
    [[nodiscard]] Status check_along(const ast::Expr& expr, const FunctionInfo& function,
                                     const std::vector<Operand>& inputs);
    [[nodiscard]] Result<Operand> finish_call(const ast::Expr& expr, std::vector<Operand> inputs,
                                              std::vector<Constant> constants, const std::optional<Dims>& written);
    [[nodiscard]] Result<Operand> scaled(const ast::Expr& expr, Operand operand, const std::vector<double>& constants);
    [[nodiscard]] Result<Operand> multiply(const ast::Expr& expr, std::vector<Operand> inputs, const Dims& summed,
                                           bool named);
    [[nodiscard]] Result<Operand> emit(Op op, Dims dims, Dtype dtype);

    /// Returns the dimensions that an expression keeps, before it is lowered, if the enclosing expression needs
    /// `needed`. A product sums over dimensions that several of its factors share and that are not needed; if `needed`
    /// is not known it sums only over the dimensions that it names.
    [[nodiscard]] Result<std::set<std::string>> offered(const ast::Expr& expr, const Needed& needed);
    [[nodiscard]] Result<std::set<std::string>> all_dims(const ast::Expr& expr);
    [[nodiscard]] Result<std::vector<Operand>> factors(const std::vector<const ast::Expr*>& exprs,
                                                       const Needed& needed);
    [[nodiscard]] Status add_leaves(const std::vector<const ast::Expr*>& factors, std::set<std::string>& dims);
    [[nodiscard]] static std::vector<const ast::Expr*> pointers(const std::vector<ast::Expr>& exprs);
    [[nodiscard]] Result<Dims> works_along(const ast::Expr& expr);
    [[nodiscard]] Status match_anonymous(const ast::Expr& expr, std::vector<Operand>& inputs);
    [[nodiscard]] Result<Dims> summed_names(const ast::Expr& expr, const std::set<std::string>& available) const;
    [[nodiscard]] Result<Dtype> arithmetic_of(const ast::Expr& expr, const std::vector<Operand>& inputs) const;
    [[nodiscard]] Status fit_result(const ast::Expr& expr, const Operand& made, TensorType& type, Value& result);

    const Source& source_;
    Program& program_;
    Scope& scope_;
    Statement& statement_;
    std::map<const ast::Expr*, std::set<std::string>> all_dims_;  ///< results of all_dims()
    /// The dimensions of the written type, for the function at the root if its result does not follow from arguments.
    std::optional<Dims> written_;
};

}  // namespace roofline::core

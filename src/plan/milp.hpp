// Mixed-integer linear programs, and what solves them: a library that may be absent, behind an interface.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// A variable from 0 to `most`.
struct MilpColumn {
    double cost = 0;
    double most = 1;
    bool whole = true;
};

/// low <= sum of coefficient times variable <= high; infinities are no limits.
struct MilpRow {
    std::vector<std::pair<std::size_t, double>> terms;  ///< each variable once
    double low = 0;
    double high = 0;
};

/// The sum of cost times variable is to be least.
struct Milp {
    std::vector<MilpColumn> columns;
    std::vector<MilpRow> rows;
};

struct MilpAnswer {
    std::vector<double> values;  ///< of the variables; whole ones are rounded
    double bound = 0;            ///< no solution costs less
};

class MilpSolver {
public:
    virtual ~MilpSolver() = default;
    /// Minimises. The same program has the same answer, whatever the machine and its load. Errors: `infeasible` if no
    /// values satisfy the rows; `unsolved` if none were found within the limit of the search.
    [[nodiscard]] virtual Result<MilpAnswer> solve(const Milp& program) = 0;
    /// "Cbc 2.10.8"
    [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace roofline::core

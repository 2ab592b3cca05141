// The module that solves mixed-integer programs with COIN-OR's Cbc, by branch and cut.
#include <coin/Cbc_C_Interface.h>
#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <limits>
#include <memory>

#include "measure/module.hpp"
#include "plan/milp.hpp"

namespace roofline::core {

namespace {

/// Nodes of the search tree after which the best solution so far is returned with the bound: a limit by number, because
/// one by time would give different answers on different machines.
constexpr int most_nodes = 200'000;

struct DeleteModel {
    void operator()(void* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<void, DeleteModel>;

double limit_of(double value) {
    constexpr double infinite = std::numeric_limits<double>::max();
    return std::isinf(value) ? std::copysign(infinite, value) : value;
}

// The rows by columns, as the library stores them.
Model loaded(const Milp& program) {
    std::vector<std::vector<std::pair<int, double>>> by_column(program.columns.size());
    std::vector<double> row_low;
    std::vector<double> row_high;
    for (const MilpRow& row : program.rows) {
        const auto at = static_cast<int>(row_low.size());
        row_low.push_back(limit_of(row.low));
        row_high.push_back(limit_of(row.high));
        for (const auto& [column, coefficient] : row.terms) by_column[column].emplace_back(at, coefficient);
    }
    std::vector<int> starts{0};
    std::vector<int> rows;
    std::vector<double> coefficients;
    std::vector<double> costs;
    std::vector<double> most;
    const std::vector<double> least(program.columns.size(), 0);
    for (std::size_t i = 0; i < program.columns.size(); ++i) {
        for (const auto& [row, coefficient] : by_column[i]) {
            rows.push_back(row);
            coefficients.push_back(coefficient);
        }
        starts.push_back(static_cast<int>(rows.size()));
        costs.push_back(program.columns[i].cost);
        most.push_back(limit_of(program.columns[i].most));
    }
    const auto columns = static_cast<int>(program.columns.size());
    Model model(Cbc_newModel());
    Cbc_setLogLevel(model.get(), 0);
    // With its preprocessing, Cbc 2.10.8 calls solutions optimal that are not: for three jobs with eight options in
    // three pools, one that costs 205,401 instead of 181,089. Tests compare with trying everything.
    Cbc_setParameter(model.get(), "preprocess", "off");
    Cbc_setParameter(model.get(), "maxNodes", fmt::format("{}", most_nodes).c_str());
    Cbc_loadProblem(model.get(), columns, static_cast<int>(row_low.size()), starts.data(), rows.data(),
                    coefficients.data(), least.data(), most.data(), costs.data(), row_low.data(), row_high.data());
    for (int i = 0; i < columns; ++i) {
        if (program.columns[static_cast<std::size_t>(i)].whole) Cbc_setInteger(model.get(), i);
    }
    return model;
}

class CbcSolver : public MilpSolver {
public:
    Result<MilpAnswer> solve(const Milp& program) override {
        try {
            return solved(program);
        } catch (const std::exception& problem) {
            return fail("unsolved", fmt::format("{} failed: {}", name(), problem.what()));
        } catch (...) {  // the library throws types of its own
            return fail("unsolved", fmt::format("{} failed", name()));
        }
    }
    [[nodiscard]] std::string name() const override { return fmt::format("Cbc {}", Cbc_getVersion()); }

private:
    [[nodiscard]] Result<MilpAnswer> solved(const Milp& program) const {
        const Model model = loaded(program);
        Cbc_solve(model.get());
        if (Cbc_isProvenInfeasible(model.get()) != 0) {
            return fail("infeasible", "no values satisfy all rows of the program");
        }
        if (Cbc_numberSavedSolutions(model.get()) == 0 && Cbc_isProvenOptimal(model.get()) == 0) {
            return fail("unsolved", fmt::format("{} found no solution in {} nodes", name(), most_nodes));
        }
        MilpAnswer answer;
        const double* values = Cbc_getColSolution(model.get());
        for (std::size_t i = 0; i < program.columns.size(); ++i) {
            answer.values.push_back(program.columns[i].whole ? std::round(values[i]) : values[i]);
        }
        answer.bound = Cbc_isProvenOptimal(model.get()) != 0 ? Cbc_getObjValue(model.get())
                                                             : Cbc_getBestPossibleObjValue(model.get());
        return answer;
    }
};

CbcSolver the_solver;

}  // namespace

}  // namespace roofline::core

ROOFLINE_MODULE(cbc, roofline::core::MilpSolver, roofline::core::the_solver);

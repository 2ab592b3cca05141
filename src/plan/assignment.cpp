#include "plan/assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace roofline::core {

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

// The places of the options that no other one of the same pool beats in both chips and cost, of equal ones the first.
std::vector<std::size_t> useful_options(const std::vector<AssignmentOption>& options) {
    std::vector<std::size_t> places(options.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(options[a].pool, options[a].chips, options[a].usd, a) <
               std::tuple(options[b].pool, options[b].chips, options[b].usd, b);
    });
    std::vector<std::size_t> useful;
    for (const std::size_t at : places) {
        const bool beaten = !useful.empty() && options[useful.back()].pool == options[at].pool &&
                            options[useful.back()].usd <= options[at].usd;
        if (!beaten) useful.push_back(at);
    }
    return useful;
}

// A variable per useful option, which says whether it is chosen.
class AssignmentProgram {
public:
    AssignmentProgram(std::span<const std::int64_t> chips, std::span<const std::vector<AssignmentOption>> jobs)
        : jobs_(jobs) {
        std::vector<MilpRow> pools(chips.size());
        for (std::size_t i = 0; i < chips.size(); ++i) {
            pools[i].low = -unlimited;
            pools[i].high = static_cast<double>(chips[i]);
        }
        for (std::size_t job = 0; job < jobs.size(); ++job) {
            MilpRow one{{}, 1, 1};
            for (const std::size_t at : useful_options(jobs[job])) {
                const AssignmentOption& option = jobs[job][at];
                const std::size_t column = program_.columns.size();
                program_.columns.push_back({option.usd, 1, true});
                options_.emplace_back(job, at);
                one.terms.emplace_back(column, 1);
                pools[option.pool].terms.emplace_back(column, static_cast<double>(option.chips));
            }
            program_.rows.push_back(std::move(one));
        }
        first_pool_ = program_.rows.size();
        for (MilpRow& pool : pools) program_.rows.push_back(std::move(pool));
    }

    [[nodiscard]] Result<Assignment> least_cost(MilpSolver& solver) const {
        ROOFLINE_TRY(const auto solved, solver.solve(program_));
        Assignment answer{std::vector<std::size_t>(jobs_.size()), 0, solved.bound};
        for (std::size_t column = 0; column < options_.size(); ++column) {
            if (solved.values[column] < 1) continue;
            const auto& [job, at] = options_[column];
            answer.chosen[job] = at;
        }
        for (std::size_t job = 0; job < jobs_.size(); ++job) answer.usd += jobs_[job][answer.chosen[job]].usd;
        // the solver's sum has another order
        answer.bound_usd = std::abs(answer.bound_usd - answer.usd) <= 1e-9 * answer.usd
                               ? answer.usd
                               : std::min(answer.bound_usd, answer.usd);
        return answer;
    }

    // Each pool may have more chips, and these are what costs.
    [[nodiscard]] Result<std::vector<std::int64_t>> fewest_lacking(MilpSolver& solver) const {
        Milp program = program_;
        for (MilpColumn& column : program.columns) column.cost = 0;
        for (std::size_t row = first_pool_; row < program.rows.size(); ++row) {
            program.rows[row].terms.emplace_back(program.columns.size(), -1);
            program.columns.push_back({1, unlimited, true});
        }
        ROOFLINE_TRY(const auto solved, solver.solve(program));
        std::vector<std::int64_t> lacking;
        for (std::size_t column = options_.size(); column < program.columns.size(); ++column) {
            lacking.push_back(std::llround(solved.values[column]));
        }
        return lacking;
    }

private:
    std::span<const std::vector<AssignmentOption>> jobs_;
    Milp program_;
    std::vector<std::pair<std::size_t, std::size_t>> options_;  ///< job and option of each variable
    std::size_t first_pool_ = 0;                                ///< row of the first pool
};

}  // namespace

Result<Assignment> assign(std::span<const std::int64_t> chips, std::span<const std::vector<AssignmentOption>> jobs,
                          MilpSolver& solver) {
    return AssignmentProgram(chips, jobs).least_cost(solver);
}

Result<std::vector<std::int64_t>> lacking_chips(std::span<const std::int64_t> chips,
                                                std::span<const std::vector<AssignmentOption>> jobs,
                                                MilpSolver& solver) {
    return AssignmentProgram(chips, jobs).fewest_lacking(solver);
}

}  // namespace roofline::core

#include "report/plan/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/figure.hpp"
#include "report/model/model_words.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr double day_s = 86400;

std::string_view limit_option(PlanLimit limit) {
    switch (limit) {
        case PlanLimit::days:
            return "--days";
        case PlanLimit::usd:
            return "--usd";
        case PlanLimit::power:
            return "--power";
        case PlanLimit::chips:
            return "--chips";
    }
    return "";
}

// Returns "104,690", or "0.0023".
std::string usd_text(double usd) {
    constexpr double grouped_from = 1000;
    constexpr double grouped_to = 1e15;
    return usd >= grouped_from && usd < grouped_to ? grouped(std::llround(usd)) : number_text(usd);
}

// Returns the least number of three digits that is not below the value.
double rounded_up(double value) {
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
    return std::ceil(value / unit - 1e-9) * unit;
}

std::string bounded_text(const TrainAnswer& plan, const std::string& text) {
    return std::string(at_least(plan)) + text;
}

// A value of a plan; chips and memory are known without its time.
std::string objective_value(const TrainAnswer& plan, PlanObjective objective, PlanBasis basis, double value) {
    const bool timed = objective != PlanObjective::chips && objective != PlanObjective::memory;
    const std::string text = value_text(objective, basis, value);
    return timed ? bounded_text(plan, text) : text;
}

// Adds a value of a plan to a row.
void objective_cell(TableRow& row, const TrainAnswer& plan, PlanObjective objective, PlanBasis basis, double value) {
    const std::string_view unit = objective == PlanObjective::time     ? "s"
                                  : objective == PlanObjective::cost   ? "USD"
                                  : objective == PlanObjective::energy ? "J"
                                  : objective == PlanObjective::memory ? "B"
                                                                       : "";
    row.number(objective_value(plan, objective, basis, value), value, unit);
}

void step_cell(TableRow& row, const TrainAnswer& plan) {
    row.number(bounded_text(plan, to_text(Seconds{step_seconds(plan)})), step_seconds(plan), "s");
}

// The columns of a job or a plan of it.
class JobColumns {
public:
    explicit JobColumns(const PlanJobsAnswer& answer) : answer_(answer) {
        for (const PlanJobAnswer& job : answer.jobs) {
            batches_ = batches_ || job.batch_tokens != answer.jobs.front().batch_tokens;
            sequences_ = sequences_ || job.sequence != answer.jobs.front().sequence;
            products_ = products_ || job.products != answer.jobs.front().products;
            optimizers_ = optimizers_ || optimizer_text(job.options) != optimizer_text(answer.jobs.front().options);
        }
    }

    void head(Table& table) const {
        if (answer_.jobs.size() > 1) add(table, "slice", false);
        if (batches_) add(table, "batch", true);
        if (sequences_) add(table, "seq", true);
        if (products_) add(table, "matmuls", false);
        if (optimizers_) add(table, "optimizer", false);
    }

    void cells(TableRow& row, const PlanJobAnswer& job) const {
        if (answer_.jobs.size() > 1) row.text(job.slice);
        if (batches_) {
            row.number(short_count(Rational(job.batch_tokens)), static_cast<double>(job.batch_tokens));
        }
        if (sequences_) row.text(grouped(job.sequence));
        if (products_) row.text(job.products ? std::string(name(*job.products)) : "as stored");
        if (optimizers_) row.text(optimizer_text(job.options));
    }

    static void add(Table& table, std::string head, bool right) {
        table.head.push_back(std::move(head));
        table.right.push_back(right);
    }

    // What is shown of a plan beside its step.
    [[nodiscard]] std::vector<PlanObjective> objectives() const {
        std::vector<PlanObjective> shown;
        const auto asked = [&](PlanObjective objective) {
            const auto& front = answer_.front_of;
            return answer_.objective == objective ||
                   (front && (front->first == objective || front->second == objective));
        };
        const bool run = answer_.basis == PlanBasis::run;
        if (run || answer_.basis == PlanBasis::tokens) shown.push_back(PlanObjective::time);
        if (run || asked(PlanObjective::cost)) shown.push_back(PlanObjective::cost);
        for (const PlanObjective each : {PlanObjective::energy, PlanObjective::memory}) {
            if (asked(each)) shown.push_back(each);
        }
        return shown;
    }

    void plan_head(Table& table) const {
        add(table, "plan", false);
        add(table, "", false);
        if (answer_.basis != PlanBasis::run) add(table, "step", true);
        for (const PlanObjective each : objectives()) add(table, std::string(name(each)), true);
    }

    void plan_cells(TableRow& row, const TrainAnswer& plan, const PlanValues& values) const {
        row.text(plan_text(plan.plan)).text(choice_text(plan));
        if (answer_.basis != PlanBasis::run) step_cell(row, plan);
        for (const PlanObjective each : objectives()) {
            if (const auto value = values.of(each)) {
                objective_cell(row, plan, each, answer_.basis, *value);
            } else {
                row.text("-");
            }
        }
    }

private:
    const PlanJobsAnswer& answer_;
    bool batches_ = false;
    bool sequences_ = false;
    bool products_ = false;
    bool optimizers_ = false;
};

std::string verdict_of(const PlanJobsAnswer& answer, const PlanJobAnswer& job) {
    if (!job.exceeded.empty()) {
        std::vector<std::string> parts;
        for (const ExceededLimit& each : job.exceeded) parts.push_back(exceeded_text(each));
        return fmt::format("your limit: {}", fmt::join(parts, ", "));
    }
    if (job.refused) return job.refused->message;
    const PlanJobAnswer& best = answer.jobs[answer.chosen];
    if (&job == &best || !best.values) return "best";
    const double factor = *job.values->of(answer.objective) / *best.values->of(answer.objective);
    const bool bound = !job.best->step->times.expected && best.best->step->times.expected;
    return beside_text(factor) + (bound ? ", lower bound" : "");
}

}  // namespace

std::string choice_text(const TrainAnswer& answer) {
    std::string text =
        answer.batch->microbatches == 1 ? "1 microbatch" : fmt::format("{} microbatches", answer.batch->microbatches);
    if (!answer.schedule.empty()) text += ", " + answer.schedule;
    return text + ", remat " + remat_text(answer.options);
}

std::string whole_text(const TrainAnswer& answer) {
    return fmt::format("{}, {}", core::plan_text(answer.plan), choice_text(answer));
}

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string beside_text(double factor) {
    constexpr double shown = 0.0005;  // as +0.1 %
    return std::abs(factor - 1) < shown ? "equal" : fmt::format("{:+.1f} %", 100 * (factor - 1));
}

std::string_view at_least(const TrainAnswer& answer) { return answer.step->times.expected ? "" : ">= "; }

std::string_view basis_text(PlanBasis basis) {
    return basis == PlanBasis::run ? "of the run" : basis == PlanBasis::step ? "per step" : "per million tokens";
}

std::string objective_text(PlanObjective objective, PlanBasis basis) {
    switch (objective) {
        case PlanObjective::time:
        case PlanObjective::cost:
        case PlanObjective::energy:
            return fmt::format("{} {}", name(objective), basis_text(basis));
        case PlanObjective::chips:
            return "chips";
        case PlanObjective::memory:
            return "memory per chip";
    }
    return "";
}

std::string value_text(PlanObjective objective, PlanBasis basis, double value) {
    switch (objective) {
        case PlanObjective::time:
            return basis == PlanBasis::run ? days_text(value) : to_text(Seconds{value});
        case PlanObjective::cost:
            return usd_text(value) + " USD";
        case PlanObjective::energy:
            return to_text(Joules{value});
        case PlanObjective::chips:
            return grouped(static_cast<std::int64_t>(value));
        case PlanObjective::memory:
            return to_text(Bytes{value});
    }
    return "";
}

std::string exceeded_text(const ExceededLimit& exceeded) {
    switch (exceeded.limit) {
        case PlanLimit::days:
            return fmt::format("{} of {} days", number_text(exceeded.value / day_s),
                               number_text(exceeded.allowed / day_s));
        case PlanLimit::usd:
            return fmt::format("{} of {} USD", usd_text(exceeded.value), usd_text(exceeded.allowed));
        case PlanLimit::power:
            return fmt::format("{} of {}", to_text(Power{exceeded.value}), to_text(Power{exceeded.allowed}));
        case PlanLimit::chips:
            return fmt::format("{} of {} chips", grouped(static_cast<std::int64_t>(exceeded.value)),
                               grouped(static_cast<std::int64_t>(exceeded.allowed)));
    }
    return "";
}

std::string passing_option(const ExceededLimit& exceeded) {
    const double value = exceeded.limit == PlanLimit::days ? exceeded.value / day_s : exceeded.value;
    return fmt::format(
        "{} {}", limit_option(exceeded.limit),
        exceeded.limit == PlanLimit::usd ? fmt::format("{:.0f}", rounded_up(value)) : number_text(rounded_up(value)));
}

std::string shell_lines(const std::vector<std::string>& words, std::size_t indent, std::size_t width) {
    constexpr std::size_t further = 4;
    constexpr std::string_view continued = " \\";
    std::string text;
    std::string line(indent, ' ');
    bool fresh = true;
    for (const std::string& word : words) {
        if (!fresh && line.size() + 1 + word.size() + continued.size() > width) {
            text += fmt::format("{}{}\n", line, continued);
            line.assign(indent + further, ' ');
            fresh = true;
        }
        line += (fresh ? "" : " ") + word;
        fresh = false;
    }
    return fmt::format("{}{}\n", text, line);
}

Table jobs_table(const PlanJobsAnswer& answer) {
    const JobColumns columns(answer);
    Table table;
    columns.head(table);
    JobColumns::add(table, "plans", true);
    columns.plan_head(table);
    JobColumns::add(table, fmt::format("by {}", name(answer.objective)), false);
    for (const PlanJobAnswer& job : answer.jobs) {
        TableRow row(table);
        columns.cells(row, job);
        row.text(job.counts.looked_at > 0 ? grouped(job.counts.looked_at) : "");
        if (job.best) columns.plan_cells(row, *job.best, *job.values);
        table.rows.back().resize(table.head.size() - 1);
        row.text(verdict_of(answer, job));
    }
    return table;
}

Table front_table(const PlanJobsAnswer& answer) {
    const JobColumns columns(answer);
    Table table;
    for (const PlanObjective each : {answer.front_of->first, answer.front_of->second}) {
        JobColumns::add(table, std::string(name(each)), true);
    }
    columns.head(table);
    const auto shown = [&](PlanObjective objective) {
        return answer.front_of->first == objective || answer.front_of->second == objective;
    };
    const bool step = !(shown(PlanObjective::time) && answer.basis == PlanBasis::step);
    JobColumns::add(table, "plan", false);
    JobColumns::add(table, "", false);
    if (step) JobColumns::add(table, "step", true);
    if (!shown(PlanObjective::memory)) JobColumns::add(table, "memory", true);
    for (const FrontPlan& each : answer.front) {
        TableRow row(table);
        for (const PlanObjective objective : {answer.front_of->first, answer.front_of->second}) {
            objective_cell(row, each.answer, objective, answer.basis, *each.values.of(objective));
        }
        columns.cells(row, answer.jobs[each.job]);
        row.text(plan_text(each.answer.plan)).text(choice_text(each.answer));
        if (step) step_cell(row, each.answer);
        if (!shown(PlanObjective::memory)) row.number(to_text(Bytes{each.values.bytes}), each.values.bytes, "B");
    }
    return table;
}

}  // namespace roofline::core

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "report/plan/plan_words.hpp"
#include "report/plot/plot.hpp"
#include "report/serve/serve_words.hpp"
#include "report/serve_plan/serving_plan_json.hpp"
#include "report/serve_plan/serving_plan_report.hpp"
#include "report/serve_plan/serving_plan_words.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Of two set-ups whose figures differ by less, the order is chance: expected times of servers have errors of tens of
// per cent, of which set-ups share a part.
constexpr double near_tie_of_servers = 1.05;

std::string seconds_text(double value) { return to_text(Seconds{value}); }

std::string usd_text(const std::optional<double>& usd) { return usd ? fmt::format("{:.3g}", *usd) : "-"; }

class ServingPlanText {
public:
    explicit ServingPlanText(const ServingPlanReport& report)
        : search_(report.search), answer_(report.answer), report_(report) {}

    std::string run() {
        head();
        best();
        if (answer_.meets) plans();
        frontier();
        elasticities();
        counts();
        for (const auto* notes : {&search_.job.notes, &answer_.notes}) {
            for (const std::string& note : *notes) out_ += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
        }
        out_ += "\n  The set-up above in full:\n" + shell_lines(report_.command, 4, page_width);
        return std::move(out_);
    }

private:
    void say(const std::string& text) { out_ += "  " + wrapped(text, 2, 4, page_width) + "\n"; }

    void line(const std::string& label, const std::string& value, const std::string& remark) {
        out_ += fmt::format("  {:<17} {:>10}   {}\n", label, value, wrapped(remark, 33, 33, page_width));
    }

    void head() {
        const std::string targets = targets_text(search_);
        std::string aim = "the most output tokens/s per chip";
        if (search_.objective == ServingObjective::cost) aim = "the fewest USD per million output tokens";
        if (search_.objective == ServingObjective::chips) {
            aim = fmt::format("the fewest chips that answer {} requests/s", number_text(search_.rate));
        }
        out_ += wrapped(fmt::format(
                            "{} on up to {} chips of {}{}, {} prompt and {} output tokens: {}{}",
                            answer_.served.model.name, search_.job.slice.chips(), search_.job.slice.machine.name,
                            search_.prefill ? fmt::format(" and {} of {} for prefill", search_.prefill->slice.chips(),
                                                          search_.prefill->slice.machine.name)
                                            : "",
                            search_.job.prompt, search_.job.output, aim, targets.empty() ? "" : ", with " + targets),
                        0, 2, page_width) +
                "\n\n";
    }

    void best() {
        const ServingPlan& best = answer_.best;
        const ServingRates& rates = best.rates;
        if (!answer_.meets) {
            const std::string options = relaxed();
            if (options.empty()) {
                say("These chips do not carry the rate within the targets. The set-up that comes nearest:\n");
            } else {
                say("No set-up that was simulated meets the targets. This one comes nearest; it would with " + options +
                    ".\n");
            }
        }
        line("set-up", fmt::format("{} chip{}", best.set_up.chips(), best.set_up.chips() == 1 ? "" : "s"),
             set_up_text(best.set_up));
        const auto chips = answer_.replicas * best.set_up.chips();
        const bool carries = search_.objective == ServingObjective::chips;
        line("deployments", fmt::format("{}", answer_.replicas),
             carries ? fmt::format("{} chips that answer {} requests/s", chips, number_text(search_.rate))
                     : fmt::format("such set-ups side by side, on {} chips: {} tokens/s", chips,
                                   rate_text(rates.tokens_per_s * static_cast<double>(answer_.replicas))));
        if (answer_.rate_of_each > 0) {
            line("requests/s", number_text(answer_.rate_of_each), "arrive at each of them, at random");
        } else {
            line("requests", fmt::format("{}", best.set_up.concurrency()), "in flight at each of them");
        }
        line("tokens/s a chip", rate_text(best.tokens_per_s_per_chip()),
             fmt::format("{} tokens/s and {} requests/s of one", rate_text(rates.tokens_per_s),
                         rate_text(rates.requests_per_s)));
        line("tokens/s a user", rate_text(rates.user_tokens_per_s()), "after the first token: 1 / TPOT");
        line("TTFT", seconds_text(rates.ttft.mean), percentiles(rates.ttft));
        line("TPOT", seconds_text(rates.tpot.mean), percentiles(rates.tpot));
        line("memory", to_text(Bytes{best.memory_bytes}), "of each chip that decodes");
        if (best.usd_per_million) line("USD/M tokens", usd_text(best.usd_per_million), "of output");
        if (answer_.served.under_load) {
            out_ += "  " +
                    wrapped(fmt::format("times as {} serves; mean error {} % of TPOT on models that it was not fitted "
                                        "to",
                                        answer_.served.under_load->software,
                                        percent_text(answer_.served.under_load->error)),
                            2, 4, page_width) +
                    "\n";
        }
        out_ += "\n";
    }

    [[nodiscard]] std::string percentiles(const TimeSpread& times) const {
        if (!answer_.expected) return "without overlap, on an idle server";
        return fmt::format("mean; half within {}, 99 % within {}", seconds_text(times.p50), seconds_text(times.p99));
    }

    // The options that the nearest set-up would meet.
    [[nodiscard]] std::string relaxed() const {
        std::string text;
        const auto add = [&](const char* option, const std::optional<double>& target, const TimeSpread& times) {
            const double value = figure_of(times, search_.statistic);
            if (!target || value <= *target) return;
            constexpr double ms = 1e3;
            text += fmt::format("{}{} {}ms", text.empty() ? "" : " and ", option, std::ceil(value * ms * 10) / 10);
        };
        add("--ttft", search_.targets.ttft_s, answer_.best.rates.ttft);
        add("--tpot", search_.targets.tpot_s, answer_.best.rates.tpot);
        return text;
    }

    [[nodiscard]] Table table_of(const std::vector<ServingPlan>& plans, bool beside) const {
        Table table;
        table.head = {"a chip", "a user", "TTFT", "TPOT", "USD/M", "chips", "requests", "set-up"};
        if (beside) table.head.insert(table.head.begin(), "");
        table.right = std::vector<bool>(table.head.size(), true);
        table.right.back() = false;
        for (const ServingPlan& each : plans) {
            std::vector<std::string> row{rate_text(each.tokens_per_s_per_chip()),
                                         rate_text(each.rates.user_tokens_per_s()),
                                         seconds_text(figure_of(each.rates.ttft, shown())),
                                         seconds_text(figure_of(each.rates.tpot, shown())),
                                         usd_text(each.usd_per_million),
                                         fmt::format("{}", each.set_up.chips()),
                                         fmt::format("{}", each.set_up.concurrency()),
                                         set_up_text(each.set_up)};
            if (beside) {
                const double behind = value_of(search_, each) / value_of(search_, plans.front());
                row.insert(row.begin(), table.rows.empty() ? "best" : fmt::format("x{:.2f}", behind));
            }
            table.rows.push_back(std::move(row));
        }
        return table;
    }

    // The figure that the targets are held against; without targets, means.
    [[nodiscard]] TimeStatistic shown() const {
        return search_.targets.any() ? search_.statistic : TimeStatistic::mean;
    }

    void plans() {
        if (answer_.plans.size() < 2) return;
        say("The best set-ups with different servers (tokens/s; x: how much more they cost or need):");
        out_ += "\n" + table_text(table_of(answer_.plans, true), 2) + "\n";
        const double best = value_of(search_, answer_.plans.front());
        const auto ties = std::count_if(answer_.plans.begin() + 1, answer_.plans.end(), [&](const ServingPlan& each) {
            return value_of(search_, each) < near_tie_of_servers * best;
        });
        if (ties > 0) {
            say(fmt::format("{} of them {} within {:.0f} % of the best: a near-tie, in which a measurement decides.\n",
                            ties, ties == 1 ? "is" : "are", 100 * (near_tie_of_servers - 1)));
        }
    }

    void frontier() {
        if (answer_.frontier.size() < 2) return;
        say("The frontier, with and without targets: no simulated set-up has more tokens/s per chip and per user:");
        out_ += "\n" + table_text(table_of(answer_.frontier, false), 2) + "\n";
    }

    void elasticities() {
        if (answer_.elasticities.empty()) return;
        std::string text = "1 % more of a figure changes the best set-up's tokens/s by: ";
        const std::size_t count = std::min<std::size_t>(answer_.elasticities.size(), 6);
        for (std::size_t i = 0; i < count; ++i) {
            text += fmt::format("{}{} {:+.2f} %", i == 0 ? "" : ", ", answer_.elasticities[i].path,
                                answer_.elasticities[i].value);
        }
        say(text + ".");
    }

    void counts() {
        const ServingCounts& counts = answer_.counts;
        std::string text =
            fmt::format("{} set-ups were searched and {} simulated", grouped(counts.searched), grouped(counts.priced));
        if (report_.search_s) text += fmt::format(", in {}", seconds_text(*report_.search_s));
        text += ".";
        const auto add = [&](std::int64_t count, const char* why) {
            if (count > 0) text += fmt::format(" {} {}.", grouped(count), why);
        };
        add(counts.divides, "do not divide the model");
        add(counts.memory, "do not fit in memory");
        add(counts.target, "miss the targets by estimate");
        add(counts.slower, "are worse by estimate");
        add(counts.failed, "cannot be predicted");
        say(text);
    }

    const ServingSearch& search_;
    const ServingSearchAnswer& answer_;
    const ServingPlanReport& report_;
    std::string out_;
};

std::string aim_of(const ServingPlanReport& report, ServingObjective objective) {
    const ServingPlan& best = report.answer.best;
    switch (objective) {
        case ServingObjective::throughput:
            return rate_text(best.tokens_per_s_per_chip());
        case ServingObjective::cost:
            return usd_text(best.usd_per_million);
        case ServingObjective::chips:
            return fmt::format("{}", best.set_up.chips());
    }
    return "";
}

// One row per machine, and which is the best in what.
std::string compared_plans(const std::vector<ServingPlanReport>& reports) {
    Table table;
    table.head = {"on", "tokens/s a chip", "USD/M tokens", "chips of one", "a user", "meets", "set-up"};
    table.right = {false, true, true, true, true, false, false};
    const ServingPlanReport* ends[3] = {};
    for (const ServingPlanReport& each : reports) {
        const ServingPlan& best = each.answer.best;
        table.rows.push_back({each.name, aim_of(each, ServingObjective::throughput),
                              aim_of(each, ServingObjective::cost), aim_of(each, ServingObjective::chips),
                              rate_text(best.rates.user_tokens_per_s()), each.answer.meets ? "yes" : "no",
                              set_up_text(best.set_up)});
        if (!each.answer.meets) continue;
        const auto better = [&](const ServingPlanReport*& held, double value, const auto& of) {
            if (std::isfinite(value) && (held == nullptr || value < of(*held))) held = &each;
        };
        const auto per_token = [](const ServingPlanReport& one) { return -one.answer.best.tokens_per_s_per_chip(); };
        const auto cost = [](const ServingPlanReport& one) {
            return one.answer.best.usd_per_million.value_or(std::numeric_limits<double>::infinity());
        };
        const auto chips = [](const ServingPlanReport& one) {
            return static_cast<double>(one.answer.best.set_up.chips());
        };
        better(ends[0], per_token(each), per_token);
        better(ends[1], cost(each), cost);
        better(ends[2], chips(each), chips);
    }
    std::string text = table_text(table, 2) + "\n";
    const char* const labels[] = {"most tokens/s a chip", "fewest USD per token", "smallest set-up"};
    for (std::size_t i = 0; i < std::size(ends); ++i) {
        if (ends[i] != nullptr) text += fmt::format("  {:<22} {}\n", labels[i], ends[i]->name);
    }
    return text;
}

Table frontiers_table(const std::vector<ServingPlanReport>& reports) {
    Table table;
    table.head = {"on",
                  "tokens_per_s_per_user",
                  "tokens_per_s_per_chip",
                  "ttft_s",
                  "tpot_s",
                  "ttft_p99_s",
                  "tpot_p99_s",
                  "usd_per_million_tokens",
                  "chips",
                  "concurrency",
                  "set_up"};
    for (const ServingPlanReport& report : reports) {
        for (const ServingPlan& each : report.answer.frontier) {
            const ServingRates& rates = each.rates;
            const auto number = [](double value) { return fmt::format("{:.6g}", value); };
            table.rows.push_back({report.name, number(rates.user_tokens_per_s()), number(each.tokens_per_s_per_chip()),
                                  number(rates.ttft.mean), number(rates.tpot.mean), number(rates.ttft.p99),
                                  number(rates.tpot.p99), each.usd_per_million ? number(*each.usd_per_million) : "",
                                  fmt::format("{}", each.set_up.chips()), fmt::format("{}", each.set_up.concurrency()),
                                  set_up_text(each.set_up)});
        }
    }
    return table;
}

}  // namespace

std::string serving_plan_text(const std::vector<ServingPlanReport>& reports, const std::vector<Error>& errors,
                              Format format) {
    if (format == Format::json) return serving_plan_json(reports, errors);
    if (format == Format::csv) return table_csv(frontiers_table(reports));
    if (format == Format::markdown) return table_markdown(frontiers_table(reports));
    std::string text;
    for (const ServingPlanReport& each : reports) {
        if (!text.empty()) text += "\n";
        text += ServingPlanText(each).run();
    }
    if (reports.size() > 1) text += "\n" + compared_plans(reports);
    return text;
}

std::string serving_plan_picture(const std::vector<ServingPlanReport>& reports) {
    const ServingPlanReport& front = reports.front();
    SweepPlot plot;
    plot.title = fmt::format("{}, {} prompt and {} output tokens", front.answer.served.model.name,
                             front.search.job.prompt, front.search.job.output);
    plot.subtitle = reports.size() == 1 ? fmt::format("up to {} chips of {}", front.search.job.slice.chips(),
                                                      front.search.job.slice.machine.name)
                                        : fmt::format("{} machines", reports.size());
    plot.x_label = "tokens/s per user";
    plot.y_label = "tokens/s per chip";
    plot.y_unit = "tokens/s";
    plot.log_x = true;
    for (const ServingPlanReport& each : reports) {
        PlotCurve curve;
        curve.label = each.name;
        curve.family = each.name;
        for (const auto& point : std::views::reverse(each.answer.frontier)) {
            curve.points.emplace_back(point.rates.user_tokens_per_s(), point.tokens_per_s_per_chip());
        }
        if (each.answer.meets) {
            curve.critical = each.answer.best.rates.user_tokens_per_s();
            curve.critical_text = "best";
        }
        plot.curves.push_back(std::move(curve));
    }
    return to_svg(plot);
}

}  // namespace roofline::core

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "report/page/page_writer.hpp"
#include "report/plan/plan_words.hpp"
#include "report/plot/plot.hpp"
#include "report/serve/serve_page.hpp"
#include "report/serve/serve_words.hpp"
#include "report/serve_plan/serving_plan_json.hpp"
#include "report/serve_plan/serving_plan_report.hpp"
#include "report/serve_plan/serving_plan_words.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string up_to_chips(std::int64_t chips) {
    return chips == 1 ? "one chip" : fmt::format("up to {} chips", grouped(chips));
}

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
        changes();
        counts();
        for (const auto* notes : {&search_.job.notes, &answer_.notes}) {
            for (const std::string& note : *notes) {
                out_ += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
                page_.note(note);
            }
        }
        page_.section(PagePlace::basis, "The best set-up in full");
        page_.code(shell_lines(report_.command, 0, page_width));
        out_ += "\n  The set-up above in full:\n" + shell_lines(report_.command, 4, page_width);
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    void say(const std::string& text) {
        out_ += "  " + wrapped(text, 2, 4, page_width) + "\n";
        page_.say(text);
    }

    void line(const std::string& label, const std::string& value, const std::string& remark, std::string exact = {}) {
        page_.fact({label, value, remark, std::move(exact)});
        out_ += fmt::format("  {:<17} {:>10}   {}\n", label, value, wrapped(remark, 33, 33, page_width));
    }

    void head() {
        const std::string targets = targets_text(search_);
        std::string aim = "the most output tokens/s per chip";
        if (search_.objective == ServingObjective::cost) aim = "the fewest USD per million output tokens";
        if (search_.objective == ServingObjective::chips) {
            aim = fmt::format("the fewest chips that answer {} requests/s", number_text(search_.rate));
        }
        const std::string where =
            fmt::format("{} of {}{}", up_to_chips(search_.job.slice.chips()), search_.job.slice.machine.name,
                        search_.prefill ? fmt::format(" and {} of {} for prefill", search_.prefill->slice.chips(),
                                                      search_.prefill->slice.machine.name)
                                        : "");
        const std::string sought = fmt::format("{}{}", aim, targets.empty() ? "" : ", with " + targets);
        out_ += wrapped(fmt::format("{} on {}, {} prompt and {} output tokens: {}", answer_.served.model.name, where,
                                    search_.job.prompt, search_.job.output, sought),
                        0, 2, page_width) +
                "\n\n";
        page_.title(fmt::format("The best servers of {} on {}", answer_.served.model.name, where));
        page_.question(fmt::format("Which set-up has {}, for {} prompt and {} output tokens, and what would beat it?",
                                   sought, search_.job.prompt, search_.job.output));
        tiles();
        page_.section(PagePlace::answer, "The best set-up");
    }

    void tiles() {
        const ServingPlan& best = answer_.best;
        page_.headline({"set-up", set_up_text(best.set_up)});
        page_.headline({"tokens/s per chip", rate_text(best.tokens_per_s_per_chip()), "",
                        exact_number(best.tokens_per_s_per_chip(), "/s")});
        if (best.usd_per_million) {
            page_.headline({"USD per million tokens", usd_text(best.usd_per_million), "of output",
                            exact_number(*best.usd_per_million, "USD")});
        }
        const auto time = [&](const char* label, const TimeSpread& times) {
            const double seconds = figure_of(times, shown());
            page_.headline({label, seconds_text(seconds), shown() == TimeStatistic::mean ? "mean" : "99th percentile",
                            exact_number(seconds, "s")});
        };
        time("TTFT", best.rates.ttft);
        time("TPOT", best.rates.tpot);
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
        line("tokens/s per chip", rate_text(best.tokens_per_s_per_chip()),
             fmt::format("{} tokens/s and {} requests/s of one", rate_text(rates.tokens_per_s),
                         rate_text(rates.requests_per_s)));
        line("tokens/s per user", rate_text(rates.user_tokens_per_s()), "after the first token: 1 / TPOT");
        line("TTFT", seconds_text(rates.ttft.mean), percentiles(rates.ttft), exact_number(rates.ttft.mean, "s"));
        line("TPOT", seconds_text(rates.tpot.mean), percentiles(rates.tpot), exact_number(rates.tpot.mean, "s"));
        line("memory", to_text(Bytes{best.memory_bytes}), "of each chip that decodes",
             exact_number(best.memory_bytes, "B"));
        if (best.usd_per_million) {
            line("USD/M tokens", usd_text(best.usd_per_million), "of output",
                 exact_number(*best.usd_per_million, "USD"));
        }
        if (answer_.served.under_load) {
            say(fmt::format("times as {} serves; mean error {} % of TPOT on models that it was not fitted to",
                            answer_.served.under_load->software, percent_text(answer_.served.under_load->error)));
        }
        out_ += "\n";
    }

    [[nodiscard]] std::string percentiles(const TimeSpread& times) const {
        if (!answer_.expected) return "without overlap, on an idle server";
        return fmt::format("mean; half within {}, 99 % within {}", seconds_text(times.p50), seconds_text(times.p99));
    }

    // The options that the nearest set-up would meet.
    [[nodiscard]] std::string relaxed() const {
        const auto beyond = [&](const std::optional<double>& target, const TimeSpread& times) {
            const double value = figure_of(times, search_.statistic);
            return target && value > *target ? std::optional(value) : std::nullopt;
        };
        return targets_options(beyond(search_.targets.ttft_s, answer_.best.rates.ttft),
                               beyond(search_.targets.tpot_s, answer_.best.rates.tpot));
    }

    [[nodiscard]] Table table_of(const std::vector<ServingPlan>& plans, bool beside) const {
        Table table;
        table.head = {"per chip", "per user", "TTFT", "TPOT", "USD/M", "chips", "requests", "set-up"};
        const bool sure = beside && answer_.expected;
        if (sure) table.head.insert(table.head.begin(), "certainty");
        if (beside) table.head.insert(table.head.begin(), "");
        table.right = std::vector<bool>(table.head.size(), true);
        table.right.back() = false;
        for (const ServingPlan& each : plans) {
            const bool first = table.rows.empty();
            TableRow row(table);
            if (beside) {
                const double behind = value_of(search_, each) / value_of(search_, plans.front());
                row.text(first ? "best" : fmt::format("x{:.2f}", behind));
            }
            if (sure) {
                const auto share = first ? std::nullopt : certainty(search_, answer_, each);
                row.text(share ? share_text(*share) : "");
            }
            row.number(rate_text(each.tokens_per_s_per_chip()), each.tokens_per_s_per_chip(), "/s");
            row.number(rate_text(each.rates.user_tokens_per_s()), each.rates.user_tokens_per_s(), "/s");
            for (const TimeSpread& times : {each.rates.ttft, each.rates.tpot}) {
                row.number(seconds_text(figure_of(times, shown())), figure_of(times, shown()), "s");
            }
            if (each.usd_per_million) {
                row.number(usd_text(each.usd_per_million), *each.usd_per_million, "USD");
            } else {
                row.text(usd_text(each.usd_per_million));
            }
            row.text(fmt::format("{}", each.set_up.chips())).text(fmt::format("{}", each.set_up.concurrency()));
            row.text(set_up_text(each.set_up));
        }
        return table;
    }

    // The figure that the targets are held against; without targets, means.
    [[nodiscard]] TimeStatistic shown() const {
        return search_.targets.any() ? search_.statistic : TimeStatistic::mean;
    }

    void plans() {
        if (answer_.plans.size() < 2) return;
        page_.section(PagePlace::choice, "Runners-up");
        say("The best set-ups with different servers (tokens/s; x: how much more they cost or need):");
        table(table_of(answer_.plans, true));
        if (!answer_.expected) return;
        const auto ties = std::count_if(answer_.plans.begin() + 1, answer_.plans.end(), [&](const ServingPlan& each) {
            return certainty(search_, answer_, each).value_or(1) < near_tie_certainty;
        });
        say("certainty: the share of measured pairs of set-ups whose expected rates differ as much, in which the one "
            "that was expected to be better was indeed better.");
        if (ties > 0) {
            say(fmt::format("{} of them {} below {}: near-ties, between which a measurement decides.", ties,
                            ties == 1 ? "is" : "are", share_text(near_tie_certainty)));
        }
        out_ += "\n";
    }

    void frontier() {
        if (answer_.frontier.size() < 2) return;
        page_.section(PagePlace::choice, "The frontier");
        page_.picture(serving_plan_picture({report_}));
        say("The frontier, with and without targets: no simulated set-up has more tokens/s per chip and per user:");
        table(table_of(answer_.frontier, false));
    }

    void table(Table table) {
        out_ += "\n" + table_text(table, 2) + "\n";
        page_.table(std::move(table));
    }

    void changes() {
        page_.section(PagePlace::changes, "What would change the answer");
        const std::vector<Elasticity>& all = answer_.changes.elasticities;
        std::vector<std::string> parts;
        for (const Elasticity& each : all) parts.push_back(fmt::format("{} {:+.2f}", each.path, each.value));
        if (!parts.empty()) {
            say(fmt::format("Change of the best set-up's tokens/s, in %, per 1 % more of: {}.",
                            fmt::join(parts, ", ")));
        }
        constexpr std::size_t most_flips = 3;
        for (std::size_t i = 0; i < std::min(most_flips, answer_.changes.flips.size()); ++i) {
            const ServingFlip& flip = answer_.changes.flips[i];
            say(fmt::format("With {} {} {} ({:.2f} times the machine's): {} would be better.", flip.path,
                            flip.factor > 1 ? "above" : "below", flip.at, flip.factor, set_up_text(flip.other.set_up)));
        }
        for (const BetterServing& each : answer_.next) {
            say(fmt::format("With {}, {} with {} requests would have {}.", needs_text(each),
                            set_up_text(each.plan.set_up), each.plan.set_up.concurrency(), gain_text(each.gain)));
        }
    }

    // Of a fraction that each token takes less.
    [[nodiscard]] std::string gain_text(double gain) const {
        switch (search_.objective) {
            case ServingObjective::throughput:
                return fmt::format("{:.0f} % more tokens/s per chip", 100 * gain / (1 - gain));
            case ServingObjective::cost:
                return fmt::format("{:.0f} % fewer USD per token", 100 * gain);
            case ServingObjective::chips:
                return fmt::format("{:.0f} % fewer chips", 100 * gain);
        }
        return "";
    }

    void counts() {
        page_.section(PagePlace::basis, "What was searched");
        const ServingCounts& counts = answer_.counts;
        std::string text =
            fmt::format("{} set-ups were searched and {} simulated", grouped(counts.searched), grouped(counts.priced));
        if (report_.search_s) text += fmt::format(", in {}", seconds_text(*report_.search_s));
        text += ".";
        const auto add = [&](std::int64_t count, const char* one, const char* many) {
            if (count > 0) text += fmt::format(" {} {}.", grouped(count), count == 1 ? one : many);
        };
        add(counts.divides, "does not divide the model", "do not divide the model");
        add(counts.memory, "does not fit in memory", "do not fit in memory");
        add(counts.target, "misses the targets by estimate", "miss the targets by estimate");
        add(counts.slower, "is worse by estimate", "are worse by estimate");
        add(counts.failed, "cannot be predicted", "cannot be predicted");
        say(text);
    }

    const ServingSearch& search_;
    const ServingSearchAnswer& answer_;
    const ServingPlanReport& report_;
    std::string out_;
    PageWriter page_;
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
std::string compared_plans(const std::vector<ServingPlanReport>& reports, PageWriter& page) {
    Table table;
    table.head = {"on", "tokens/s per chip", "USD/M tokens", "chips of one", "per user", "meets", "set-up"};
    table.right = {false, true, true, true, true, false, false};
    /// The best machines in one figure, and all that are equal to them.
    struct End {
        double value = std::numeric_limits<double>::infinity();
        std::string names{};
    };
    End ends[3];
    for (const ServingPlanReport& each : reports) {
        const ServingPlan& best = each.answer.best;
        table.rows.push_back({each.name, aim_of(each, ServingObjective::throughput),
                              aim_of(each, ServingObjective::cost), aim_of(each, ServingObjective::chips),
                              rate_text(best.rates.user_tokens_per_s()), each.answer.meets ? "yes" : "no",
                              set_up_text(best.set_up)});
        if (!each.answer.meets) continue;
        const auto offer = [&](End& end, double value) {
            if (!std::isfinite(value) || value > end.value) return;
            end.names = value < end.value ? each.name : fmt::format("{}, {}", end.names, each.name);
            end.value = value;
        };
        offer(ends[0], -best.tokens_per_s_per_chip());
        offer(ends[1], best.usd_per_million.value_or(std::numeric_limits<double>::infinity()));
        offer(ends[2], static_cast<double>(best.set_up.chips()));
    }
    std::string text = table_text(table, 2) + "\n";
    page.table(std::move(table));
    const char* const labels[] = {"most tokens/s per chip", "fewest USD per token", "smallest set-up"};
    for (std::size_t i = 0; i < std::size(ends); ++i) {
        if (ends[i].names.empty()) continue;
        const bool tie = ends[i].names.find(", ") != std::string::npos;
        text += fmt::format("  {:<23} {}{}\n", labels[i], ends[i].names, tie ? " (equal)" : "");
        page.fact(labels[i], "", ends[i].names + (tie ? " (equal)" : ""));
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
    PageWriter page;
    if (reports.size() > 1) text += "\n" + compared_plans(reports, page);
    return text;
}

ReportPage serving_plan_page(const std::vector<ServingPlanReport>& reports) {
    const auto page_of = [](const ServingPlanReport& report) {
        ServingPlanText text(report);
        (void)text.run();
        ReportPage sections = text.page();
        PageWriter page;
        const std::string title = sections.title;
        const std::string question = sections.question;
        page.add(std::move(sections));
        if (report.emitted) {
            page.section(PagePlace::answer, "Launch");
            page.code(report.emitted->text);
        }
        PageWriter served;
        add_serving(served, report.answer.served);
        ReportPage server = served.take();
        for (PageSection& each : server.sections) each.place = std::max(each.place, PagePlace::detail);
        page.add(std::move(server), "One server");
        page.title(title);
        page.question(question);
        return page.take();
    };
    if (reports.size() == 1) return page_of(reports.front());
    PageWriter page;
    page.title(
        fmt::format("The best servers of {} on {} machines", reports.front().answer.served.model.name, reports.size()));
    page.question("Which machine serves this model best, and with which set-up?");
    page.section(PagePlace::answer, "Side by side");
    (void)compared_plans(reports, page);
    page.picture(serving_plan_picture(reports));
    for (const ServingPlanReport& report : reports) page.add(page_of(report), report.name);
    return page.take();
}

std::string serving_plan_picture(const std::vector<ServingPlanReport>& reports) {
    const ServingPlanReport& front = reports.front();
    SweepPlot plot;
    plot.title = fmt::format("{}, {} prompt and {} output tokens", front.answer.served.model.name,
                             front.search.job.prompt, front.search.job.output);
    plot.subtitle = reports.size() == 1 ? fmt::format("{} of {}", up_to_chips(front.search.job.slice.chips()),
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

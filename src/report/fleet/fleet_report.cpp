#include "report/fleet/fleet_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/figure.hpp"
#include "report/page/page_writer.hpp"
#include "report/plan/plan_words.hpp"
#include "report/serve_plan/serving_plan_words.hpp"
#include "report/train/train_words.hpp"
#include "text/enumerated.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

/// Of what a job costs, what it would cost elsewhere for that to be said.
constexpr double worth_saying = 0.99;

std::string usd_text(double usd) { return fmt::format("{} USD", in_groups(usd)); }

// "fsdp=64, 2 microbatches, remat none", or "4 replicas of tensor=8"
std::string plan_of(const FleetOffer& offer) {
    if (offer.training) return fmt::format("{}, {}", core::plan_text(offer.plan), choice_text(*offer.training));
    const std::string replica = set_up_text(*offer.set_up);
    return offer.replicas == 1 ? replica : fmt::format("{} replicas of {}", offer.replicas, replica);
}

// "41.3 days", or "30 of 36.1 requests/s"
std::string reaches(const FleetJobAnswer& job, const FleetOffer& offer) {
    if (offer.seconds) return std::string(offer.bounds ? ">= " : "") + days_text(*offer.seconds);
    return fmt::format("{} of {} requests/s", number_text(job.rate),
                       number_text(*offer.rate * static_cast<double>(offer.replicas)));
}

Table job_table() {
    return {
        {"job", "pool", "chips", "slice", "cost", "time or load", "plan"}, {}, {false, false, true, false, true, true}};
}

class FleetText {
public:
    explicit FleetText(const FleetAnswer& answer) : answer_(answer) {}

    std::string run() {
        page_.title(
            fmt::format("The cheapest assignment of {} jobs to {} pools", answer_.jobs.size(), answer_.pools.size()));
        page_.question("Which job runs on which chips, for the least cost of all together?");
        if (answer_.usd) {
            page_.headline({"cost of the fleet", usd_text(*answer_.usd),
                            fmt::format("training as a whole, served models for {}", days_text(answer_.period_s)),
                            exact_number(*answer_.usd, "USD")});
            out_ += fmt::format("The fleet costs {}: training runs as a whole, served models for {}.\n\n",
                                usd_text(*answer_.usd), days_text(answer_.period_s));
            page_.section(PagePlace::answer, "Who runs where");
            jobs();
            page_.section(PagePlace::answer, "Chips of the pools");
            pools();
            page_.section(PagePlace::basis, "Proof");
            proof();
            page_.section(PagePlace::changes, "What would change the answer");
            elsewhere();
            gains();
            commands();
            page_.section(PagePlace::choice, "All options of the jobs");
            page_.table(options_table());
        } else if (!answer_.lacking.empty()) {
            page_.section(PagePlace::answer, "Answer");
            page_.say("Each job runs on some pool, but not all of them at the same time.");
            out_ += "Each job runs on some pool, but not all of them at the same time.\n\n";
            options();
            lacking();
        } else {
            page_.section(PagePlace::answer, "Answer");
            page_.say("Not every job runs on one of the pools.");
            out_ += "Not every job runs on one of the pools.\n\n";
            options();
        }
        refusals();
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    void say(const std::string& text) {
        out_ += "  " + wrapped(text, 2, 4, page_width) + "\n";
        page_.say(text);
    }

    void print(Table table) {
        out_ += table_text(table, 2) + "\n";
        page_.table(std::move(table));
    }

    [[nodiscard]] const std::string& pool(const FleetOffer& offer) const { return answer_.pools[offer.pool].name; }

    void jobs() {
        Table table = job_table();
        for (const FleetJobAnswer& job : answer_.jobs) row(table, job, job.taken());
        print(std::move(table));
    }

    void row(Table& table, const FleetJobAnswer& job, const FleetOffer& offer) const {
        TableRow cells(table);
        cells.text(job.name).text(pool(offer)).text(grouped(offer.chips)).text(offer.slice);
        cells.number(usd_text(offer.usd), offer.usd, "USD").text(reaches(job, offer)).text(plan_of(offer));
    }

    [[nodiscard]] Table options_table() const {
        Table table = job_table();
        for (const FleetJobAnswer& job : answer_.jobs) {
            for (const FleetOffer& offer : job.offers) row(table, job, offer);
        }
        return table;
    }

    void options() {
        if (Table table = options_table(); !table.rows.empty()) print(std::move(table));
    }

    void pools() {
        Table table{{"pool", "machine", "chips", "used", "left"}, {}, {false, false, true, true, true}};
        for (std::size_t i = 0; i < answer_.pools.size(); ++i) {
            const FleetPool& each = answer_.pools[i];
            table.rows.push_back({each.name, each.machine, grouped(each.chips), grouped(answer_.used[i]),
                                  grouped(each.chips - answer_.used[i])});
        }
        print(std::move(table));
    }

    void proof() {
        if (answer_.bound_usd == *answer_.usd) {
            say(fmt::format("No assignment of these options costs less ({}).", answer_.solver));
        } else {
            say(fmt::format("The least cost is between {} and this one, {:.2g} % above it: the search of {} was ended.",
                            usd_text(answer_.bound_usd), 100 * (*answer_.usd / answer_.bound_usd - 1), answer_.solver));
        }
    }

    // Jobs that would cost less alone, whose place others need more.
    void elsewhere() {
        for (const FleetJobAnswer& job : answer_.jobs) {
            const auto cheapest = std::min_element(job.offers.begin(), job.offers.end(),
                                                   [](const auto& a, const auto& b) { return a.usd < b.usd; });
            if (cheapest->usd > worth_saying * job.taken().usd) continue;
            say(fmt::format("{} alone would cost {} on {} chips of {}.", job.name, usd_text(cheapest->usd),
                            grouped(cheapest->chips), pool(*cheapest)));
        }
    }

    void gains() {
        for (const FleetGain& gain : answer_.gains) {
            say(fmt::format("{} more chips of {} would save {}.", grouped(gain.chips), answer_.pools[gain.pool].name,
                            usd_text(gain.usd)));
        }
    }

    void commands() {
        out_ += "\n  Each job alone, or one of its replicas:\n";
        page_.section(PagePlace::basis, "Each job alone, or one of its replicas");
        for (const FleetJobAnswer& job : answer_.jobs) {
            out_ += shell_lines(job.command, 4, page_width);
            page_.code(shell_lines(job.command, 0, page_width));
        }
    }

    void lacking() {
        std::vector<std::string> words;
        for (std::size_t i = 0; i < answer_.pools.size(); ++i) {
            if (answer_.lacking[i] == 0) continue;
            words.push_back(fmt::format("{} more chips of {}", grouped(answer_.lacking[i]), answer_.pools[i].name));
        }
        say(fmt::format("With {} they would: no fewer chips in all suffice.", enumerated(words)));
    }

    void refusals() {
        bool first = true;
        page_.section(PagePlace::choice, "Where jobs do not run");
        for (const FleetJobAnswer& job : answer_.jobs) {
            for (std::size_t i = 0; i < job.refused.size(); ++i) {
                if (job.refused[i].empty()) continue;
                if (std::exchange(first, false) && !out_.ends_with("\n\n")) out_ += "\n";
                say(fmt::format("{} does not run on {}: {}.", job.name, answer_.pools[i].name, job.refused[i]));
            }
        }
    }

    const FleetAnswer& answer_;
    std::string out_;
    PageWriter page_;
};

Json offer_json(const FleetAnswer& answer, const FleetOffer& offer) {
    Json plan = Json::object();
    for (const auto& [axis, degree] : plan_axes(offer.plan)) {
        if (degree > 1) plan[std::string(axis)] = degree;
    }
    return {{"pool", answer.pools[offer.pool].name},
            {"slice", offer.slice},
            {"chips", offer.chips},
            {"replicas", offer.replicas},
            {"usd", offer.usd},
            {"mesh", std::move(plan)},
            {"set_up", offer.set_up ? Json(set_up_text(*offer.set_up)) : Json()},
            {"seconds", figure_value(offer.seconds)},
            {"requests_per_s", figure_value(offer.rate)},
            {"bounds", offer.bounds}};
}

}  // namespace

std::string fleet_text(const FleetAnswer& answer) { return FleetText(answer).run(); }

ReportPage fleet_page(const FleetAnswer& answer) {
    FleetText text(answer);
    (void)text.run();
    return text.page();
}

std::string fleet_json(const FleetAnswer& answer) {
    Json json = Json::object();
    json["schema"] = 1;
    json["usd"] = figure_value(answer.usd);
    json["bound_usd"] = answer.usd ? Json(answer.bound_usd) : Json();
    json["period_s"] = answer.period_s;
    json["solver"] = answer.solver;
    json["pools"] = Json::array();
    for (std::size_t i = 0; i < answer.pools.size(); ++i) {
        const FleetPool& pool = answer.pools[i];
        json["pools"].push_back({{"name", pool.name},
                                 {"machine", pool.machine},
                                 {"chips", pool.chips},
                                 {"used", answer.usd ? Json(answer.used[i]) : Json()},
                                 {"lacking", answer.lacking.empty() ? Json() : Json(answer.lacking[i])}});
    }
    json["jobs"] = Json::array();
    for (const FleetJobAnswer& job : answer.jobs) {
        Json each = {{"name", job.name}, {"chosen", job.chosen ? offer_json(answer, job.taken()) : Json()}};
        each["command"] = optional_string(fmt::format("{}", fmt::join(job.command, " ")));
        each["options"] = Json::array();
        for (const FleetOffer& offer : job.offers) each["options"].push_back(offer_json(answer, offer));
        each["refused"] = Json::object();
        for (std::size_t i = 0; i < job.refused.size(); ++i) {
            if (!job.refused[i].empty()) each["refused"][answer.pools[i].name] = job.refused[i];
        }
        json["jobs"].push_back(std::move(each));
    }
    json["gains"] = Json::array();
    for (const FleetGain& gain : answer.gains) {
        json["gains"].push_back({{"pool", answer.pools[gain.pool].name}, {"chips", gain.chips}, {"usd", gain.usd}});
    }
    return dumped(json) + "\n";
}

Table fleet_table(const FleetAnswer& answer) {
    Table table{{"job", "pool", "slice", "chips", "replicas", "usd", "seconds", "requests_per_s", "plan", "chosen"},
                {},
                {false, false, false, true, true, true, true, true}};
    const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; };
    for (const FleetJobAnswer& job : answer.jobs) {
        for (std::size_t i = 0; i < job.offers.size(); ++i) {
            const FleetOffer& offer = job.offers[i];
            table.rows.push_back({job.name, answer.pools[offer.pool].name, offer.slice, fmt::format("{}", offer.chips),
                                  fmt::format("{}", offer.replicas), fmt::format("{}", offer.usd), cell(offer.seconds),
                                  cell(offer.rate),
                                  offer.training ? core::plan_text(offer.plan) : set_up_text(*offer.set_up),
                                  job.chosen == i ? "yes" : "no"});
        }
    }
    return table;
}

}  // namespace roofline::core

#include "predict/design/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "machine/toml_file.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string figure_text(const Machine& machine, const CostTerm& term, double number) {
    const auto change = changed_figure(machine, figure_assignment(term.path, number, term.unit));
    return change ? change->after : fmt::format("{} {}", number, term.unit);
}

class CostTermReader {
public:
    CostTermReader(Reader& table, const Machine& machine) : table_(table), machine_(machine) {}

    // Empty path: the machine has no such figure.
    CostTerm run() {
        CostTerm term;
        term.path = table_.required_text("figure");
        const bool listed = table_.has("point");
        std::vector<std::string> at;
        std::vector<double> usd;
        for (Reader& point : table_.each("point")) {
            at.push_back(point.required_text("at"));
            usd.push_back(point.number("usd", 0));
            point.finish();
        }
        const std::string per = listed ? "" : table_.required_text("per");
        const std::string from = listed ? "" : table_.required_text("from");
        const std::string to = listed ? "" : table_.required_text("to");
        if (!listed) usd = table_.numbers("usd");
        term.source = table_.required_text("source");
        static_cast<void>(table_.text("note"));
        table_.finish();
        if (!has_figure(term)) return term;
        if (listed) {
            for (const std::string& each : at) term.at.push_back(number("point", term, each));
            term.usd = usd;
            if (at.size() < 2) table_.fault("point", "cost_model", "a table has at least two points", "");
        } else if (usd.size() == 1) {
            const double amount = number("per", term, per);
            term.at = {number("from", term, from), number("to", term, to)};
            for (const double each : term.at) term.usd.push_back(amount > 0 ? usd.front() * each / amount : 0);
        } else {
            table_.fault("usd", "cost_model", "a term with `per` has one price",
                         "for a table give [[term.point]] with `at` and `usd`");
        }
        for (std::size_t i = 1; i < std::min(term.at.size(), term.usd.size()); ++i) {
            if (term.at[i - 1] < term.at[i] && term.usd[i - 1] <= term.usd[i]) continue;
            table_.fault(listed ? "point" : "from", "cost_model",
                         fmt::format("the cost of {} does not rise with the figure", term.path),
                         "give its points in rising order of both");
            break;
        }
        return term;
    }

private:
    // Without a figure a relative value is refused, and an absolute one is not.
    bool has_figure(CostTerm& term) {
        const auto change = changed_figure(machine_, term.path + "=*1");
        if (change) {
            term.path = change->path;
            term.unit = change->unit;
            return true;
        }
        if (change.error().code != "no_figure" && change.error().code != "unknown_path") {
            table_.fault("figure", change.error().code, change.error().message, change.error().hint);
        }
        return false;
    }

    double number(std::string_view key, const CostTerm& term, const std::string& text) {
        const auto change = changed_figure(machine_, fmt::format("{}={}", term.path, text));
        if (change) return change->number;
        table_.fault(key, change.error().code, change.error().message, change.error().hint);
        return 0;
    }

    Reader& table_;
    const Machine& machine_;
};

}  // namespace

Result<double> CostTerm::cost(const Machine& machine, double number) const {
    constexpr double slack = 1e-9;
    if (number < at.front() * (1 - slack) || number > at.back() * (1 + slack)) {
        return fail("cost_range",
                    fmt::format("the cost model has {} from {} to {}, and {} is outside", path,
                                figure_text(machine, *this, at.front()), figure_text(machine, *this, at.back()),
                                figure_text(machine, *this, number)),
                    "extend its range in the file of --cost, or vary the figure within it");
    }
    const auto above = std::clamp<std::ptrdiff_t>(std::upper_bound(at.begin(), at.end(), number) - at.begin(), 1,
                                                  static_cast<std::ptrdiff_t>(at.size()) - 1);
    const auto i = static_cast<std::size_t>(above);
    return usd[i - 1] + (usd[i] - usd[i - 1]) * (number - at[i - 1]) / (at[i] - at[i - 1]);
}

const CostTerm* CostModel::term(std::string_view path) const {
    const auto found = std::ranges::find_if(terms, [&](const CostTerm& each) { return each.path == path; });
    return found == terms.end() ? nullptr : &*found;
}

Result<CostModel> parse_cost_model(const TomlInput& toml, const std::string& origin, const Machine& machine) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    CostModel model;
    model.name = origin;
    model.base = file.number("base", 0);
    model.source = file.text("source");
    static_cast<void>(file.text("note"));
    for (Reader& table : file.each("term")) {
        CostTerm term = CostTermReader(table, machine).run();
        if (term.at.empty()) {
            model.absent.push_back(std::move(term.path));
        } else if (model.term(term.path) != nullptr) {
            table.fault("figure", "cost_model", fmt::format("{} has two terms", term.path),
                        "make them one, or a table");
        } else {
            model.terms.push_back(std::move(term));
        }
    }
    file.finish();
    ROOFLINE_CHECK(text.status());
    return model;
}

}  // namespace roofline::core

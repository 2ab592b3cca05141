#include "report/op/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/op/op_cells.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Approximate numbers of points to which text output and a report thin out a longer sweep.
constexpr std::size_t max_rows = 40;
constexpr std::size_t max_page_rows = 1000;

class SweepTable {
public:
    /// Shows about `most` points, all if it is 0.
    SweepTable(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes, Format format,
               std::size_t most)
        : axes_(axes), raw_(format == Format::csv), named_(answers.size() > 1 || raw_) {
        resources_ = resources_of(answers);
        for (const Prediction& answer : answers) {
            split_ = split_ || !answer.layouts.empty();
            expected_ = expected_ || answer.expected_s.has_value();
            for (const std::string& id : resources_of(answer.alternative_predictions)) {
                if (!has(resources_, id)) resources_.push_back(id);
            }
        }
        points_ = point_count(axes);
        if (most > 0 && points_ > most) stride_ = (points_ + most - 1) / most;
        head(answers);
        for (const Prediction& answer : answers) rows(answer);
    }

    [[nodiscard]] const Table& table() const { return table_; }

    [[nodiscard]] std::string left_out() const {
        if (stride_ == 1) return {};
        return fmt::format("\n  {} points, every {} shown; all of them with --csv or --json\n", points_,
                           to_ordinal(stride_));
    }

private:
    [[nodiscard]] static std::string to_ordinal(std::size_t number) {
        const std::size_t last = number % 10;
        const bool teen = number / 10 % 10 == 1;
        return fmt::format("{}{}", number,
                           !teen && last == 1   ? "st"
                           : !teen && last == 2 ? "nd"
                           : !teen && last == 3 ? "rd"
                                                : "th");
    }

    void column(std::string_view label, std::string_view csv_name, bool right = true) {
        table_.head.emplace_back(raw_ ? csv_name : label);
        table_.right.push_back(right);
    }

    void head(const std::vector<Prediction>& answers) {
        if (named_) column("machine", "machine", false);
        for (const SweepAxis& axis : axes_) {
            for (const std::string& dim : axis.dims) column(dim, dim);
        }
        column("FLOPs", "flops");
        column("FLOP/B", "flop_per_byte");
        for (const std::string& id : resources_) column(resource_label(answers, id), "time_" + id + "_s");
        column("lower", "lower_s");
        if (expected_) column("expected", "expected_s");
        column("no overlap", "upper_s");
        column("bound by", "bound_by", false);
        column(expected_ ? "lower FLOP/s" : "FLOP/s", "flop_per_s");
        column("of peak", "peak_fraction");
        if (expected_) {
            column("expected FLOP/s", "expected_flop_per_s");
            column("of peak", "expected_peak_fraction");
        }
        if (split_) column("communication", "communication", false);
    }

    void rows(const Prediction& answer) {
        std::size_t index = 0;
        for_each_point(answer, axes_,
                       [&](std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
                           const Prediction& at, std::optional<double> expected_s) {
                           const bool last = ++index == points_;
                           if ((index - 1) % stride_ == 0 || last) row(at, sizes, point, expected_s);
                       });
    }

    template <class Q>
    void cell(TableRow& row, double value, std::string_view unit) const {
        if (raw_) {
            row.text(raw(value));
        } else {
            row.number(to_text(Q{value}), value, unit);
        }
    }

    void row(const Prediction& answer, std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
             std::optional<double> expected_s) {
        const auto levels = levels_of(answer);
        const auto ids = resources_of(answer);
        const auto main = static_cast<std::size_t>(
            std::find(levels.begin(), levels.end(), answer.analysis.total.main_level) - levels.begin());
        const Pricing& pricing = answer.analysis.total.pricing;
        TableRow cells(table_);
        if (named_) cells.text(raw_ ? answer.machine.id : answer.machine.name);
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            for (std::size_t j = 0; j < axes_[i].dims.size(); ++j) cells.text(std::to_string(sizes[i]));
        }
        const double flops = point.flops();
        const double bytes = main < point.read.size() ? point.read[main] + point.write[main] : 0;
        cell<Flops>(cells, flops, "FLOP");
        cells.text(bytes <= 0 ? "" : raw_ ? raw(flops / bytes) : number_text(flops / bytes));
        for (const std::string& id : resources_) {
            const auto place = std::find(ids.begin(), ids.end(), id) - ids.begin();
            const auto at = static_cast<std::size_t>(place);
            if (at == ids.size()) {
                cells.text("");
            } else {
                cell<Seconds>(cells, point.least_seconds(at), "s");
            }
        }
        const Bounds& bounds = point.bounds;
        cell<Seconds>(cells, bounds.lower, "s");
        if (expected_s) {
            cell<Seconds>(cells, *expected_s, "s");
        } else if (expected_) {
            cells.text("");
        }
        cell<Seconds>(cells, bounds.upper, "s");
        const Resource* bound = bounds.bound_by ? &pricing.resources[*bounds.bound_by] : nullptr;
        cells.text(bound == nullptr ? "" : raw_ ? bound->id : bound->label);
        const Resource* compute = pricing.compute();
        const double busy =
            compute == nullptr ? 0 : point.seconds[static_cast<std::size_t>(compute - pricing.resources.data())];
        const auto rate = [&](double seconds) {
            cell<FlopRate>(cells, seconds > 0 ? flops / seconds : 0, "FLOP/s");
            const bool known = compute != nullptr && seconds > 0;
            cells.text(!known ? "" : raw_ ? raw(busy / seconds) : percent_text(busy / seconds) + " %");
        };
        rate(bounds.lower);
        if (expected_s) {
            rate(*expected_s);
        } else if (expected_) {
            cells.text("").text("");
        }
        if (split_) cells.text(communication_text(answer));
    }

    const std::vector<SweepAxis>& axes_;
    bool raw_ = false;
    bool named_ = false;
    bool expected_ = false;  ///< at least one machine is calibrated for this
    bool split_ = false;     ///< sharded over a mesh: collectives are listed
    std::vector<std::string> resources_;
    std::size_t points_ = 1;
    std::size_t stride_ = 1;
    Table table_;
};

}  // namespace

Table sweep_points(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes) {
    return SweepTable(answers, axes, Format::text, max_page_rows).table();
}

std::string sweep_table(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes, Format format) {
    const SweepTable sweep(answers, axes, format, format == Format::text ? max_rows : 0);
    std::string text = render(sweep.table(), format);
    if (format != Format::csv) text += sweep.left_out() + notes_text(answers);
    return text;
}

}  // namespace roofline::core

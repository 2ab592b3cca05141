#include "report/op/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/op/op_cells.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Approximate number of points to which text output thins out a longer sweep.
constexpr std::size_t max_rows = 40;

class SweepTable {
public:
    SweepTable(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes, Format format)
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
        if (format == Format::text && points_ > max_rows) stride_ = (points_ + max_rows - 1) / max_rows;
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
    [[nodiscard]] std::string cell(double value) const {
        return raw_ ? raw(value) : to_text(Q{value});
    }

    void row(const Prediction& answer, std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
             std::optional<double> expected_s) {
        const auto levels = levels_of(answer);
        const auto ids = resources_of(answer);
        const auto main = static_cast<std::size_t>(
            std::find(levels.begin(), levels.end(), answer.analysis.total.main_level) - levels.begin());
        const Pricing& pricing = answer.analysis.total.pricing;
        std::vector<std::string> cells;
        if (named_) cells.push_back(raw_ ? answer.machine.id : answer.machine.name);
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            cells.insert(cells.end(), axes_[i].dims.size(), std::to_string(sizes[i]));
        }
        const double flops = point.flops();
        const double bytes = main < point.read.size() ? point.read[main] + point.write[main] : 0;
        cells.push_back(cell<Flops>(flops));
        cells.push_back(bytes <= 0 ? "" : raw_ ? raw(flops / bytes) : number_text(flops / bytes));
        for (const std::string& id : resources_) {
            const auto place = std::find(ids.begin(), ids.end(), id) - ids.begin();
            const auto at = static_cast<std::size_t>(place);
            cells.push_back(at == ids.size() ? "" : cell<Seconds>(point.least_seconds(at)));
        }
        const Bounds& bounds = point.bounds;
        cells.push_back(cell<Seconds>(bounds.lower));
        if (expected_) cells.push_back(expected_s ? cell<Seconds>(*expected_s) : std::string());
        cells.push_back(cell<Seconds>(bounds.upper));
        const Resource* bound = bounds.bound_by ? &pricing.resources[*bounds.bound_by] : nullptr;
        cells.push_back(bound == nullptr ? "" : raw_ ? bound->id : bound->label);
        const Resource* compute = pricing.compute();
        const double busy =
            compute == nullptr ? 0 : point.seconds[static_cast<std::size_t>(compute - pricing.resources.data())];
        const auto rate = [&](double seconds) {
            cells.push_back(cell<FlopRate>(seconds > 0 ? flops / seconds : 0));
            const bool known = compute != nullptr && seconds > 0;
            cells.push_back(!known ? "" : raw_ ? raw(busy / seconds) : percent_text(busy / seconds) + " %");
        };
        rate(bounds.lower);
        if (expected_s) {
            rate(*expected_s);
        } else if (expected_) {
            cells.insert(cells.end(), 2, "");
        }
        if (split_) cells.push_back(communication_text(answer));
        table_.rows.push_back(std::move(cells));
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

std::string sweep_table(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes, Format format) {
    const SweepTable sweep(answers, axes, format);
    std::string text = render(sweep.table(), format);
    if (format != Format::csv) text += sweep.left_out() + notes_text(answers);
    return text;
}

}  // namespace roofline::core

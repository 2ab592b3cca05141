#include "machine/figure_range.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/ascii.hpp"
#include "units/range_text.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Rounding must not lose the end of a range.
constexpr double slack = 1e-9;

class FigureRangeReader {
public:
    FigureRangeReader(const Machine& machine, std::string_view text, std::size_t steps, std::size_t most)
        : machine_(machine), text_(text), steps_(steps), most_(most) {}

    Result<FigureAxis> run() {
        const std::size_t equals = text_.find('=');
        if (equals == std::string_view::npos) return bad("is not PATH=RANGE");
        axis_.path = std::string(trimmed(text_.substr(0, equals)));
        const RangeText range = split_range(text_.substr(equals + 1));
        if (range.items.empty()) {
            ROOFLINE_CHECK(add_range(range));
        } else {
            if (range.items.size() > most_) return too_many(static_cast<double>(range.items.size()));
            for (const std::string_view item : range.items) {
                ROOFLINE_TRY(const double number, value(item, {}));
                axis_.numbers.push_back(number);
            }
        }
        return std::move(axis_);
    }

private:
    tl::unexpected<Error> bad(const std::string& why, std::string hint = {}) const {
        if (hint.empty()) hint = "write, for example, hbm.bandwidth=2TB/s..16TB/s*1.5, ..+1TB/s or 2TB/s,4TB/s";
        return fail("bad_sweep", fmt::format("the range {} {}", in_ticks(text_.substr(0, 80)), why), std::move(hint));
    }

    tl::unexpected<Error> too_many(double count) const {
        return bad(fmt::format("has {:.0f} values, and at most {} are taken", count, most_), "use a larger increment");
    }

    // Whether it is a number without a unit.
    static bool bare(std::string_view word) {
        return !word.empty() && word.find_first_not_of("0123456789.eE+- ") == std::string_view::npos;
    }

    static std::string_view unit_of(std::string_view word) {
        const std::size_t end = word.find_last_of("0123456789.");
        return end == std::string_view::npos ? std::string_view() : word.substr(end + 1);
    }

    // A value in the axis's unit; a bare number has `unit`. A price or a rate is positive, and so is every other
    // figure.
    Result<double> value(std::string_view word, std::string_view unit) {
        const std::string text = bare(word) ? fmt::format("{}{}", word, unit) : std::string(word);
        const std::string number(word.starts_with('*') ? trimmed(word.substr(1)) : word);
        char* end = nullptr;
        const double parsed = std::strtod(number.c_str(), &end);
        if (end != number.c_str() && !(parsed > 0)) {
            return bad(fmt::format("has the value {}, and a figure is positive", in_ticks(word)));
        }
        ROOFLINE_TRY(auto change, changed_figure(machine_, fmt::format("{}={}", axis_.path, text)));
        axis_.path = std::move(change.path);
        axis_.unit = std::move(change.unit);
        return change.number;
    }

    Status add_range(const RangeText& range) {
        const std::string_view unit = range.to.starts_with('*') ? std::string_view() : unit_of(range.to);
        ROOFLINE_TRY(const double to, value(range.to, unit));
        ROOFLINE_TRY(const double from, value(range.from, unit));
        if (from > to)
            return bad("runs backwards", fmt::format("the smaller value comes first: {}..{}", range.to, range.from));
        if (range.increment == 0) return add_even(from, to);
        double count = 0;
        double by = 0;
        if (range.increment == '*') {
            const std::string word(range.by);
            char* end = nullptr;
            by = std::strtod(word.c_str(), &end);
            if (word.empty() || end != word.c_str() + word.size() || !std::isfinite(by)) {
                return bad(fmt::format("has no usable increment: {} is not a factor", in_ticks(word)));
            }
            if (!(by > 1)) return bad("would never end", "a factor is above 1: ..*1.5");
            count = std::floor(std::log(to / from) / std::log(by) + slack) + 1;
        } else {
            const std::string word(range.by);
            const double parsed = std::strtod(word.c_str(), nullptr);
            if (!(parsed > 0)) return bad("would never end", "an increment is above 0: ..+1TB/s");
            ROOFLINE_TRY(by, value(range.by, unit));
            count = std::floor((to - from) / by + slack) + 1;
        }
        if (count > static_cast<double>(most_)) return too_many(count);
        for (double i = 0; i < count; ++i) {
            axis_.numbers.push_back(range.increment == '*' ? from * std::pow(by, i) : from + by * i);
        }
        return {};
    }

    // As many values as wanted, both ends among them.
    Status add_even(double from, double to) {
        if (steps_ == 0) return bad("has no increment");
        if (steps_ == 1 || from == to) {
            axis_.numbers.push_back(from);
            return {};
        }
        for (std::size_t i = 0; i + 1 < steps_; ++i) {
            axis_.numbers.push_back(from *
                                    std::pow(to / from, static_cast<double>(i) / static_cast<double>(steps_ - 1)));
        }
        axis_.numbers.push_back(to);
        return {};
    }

    const Machine& machine_;
    std::string_view text_;
    std::size_t steps_;
    std::size_t most_;
    FigureAxis axis_;
};

}  // namespace

std::string FigureAxis::assignment(double number) const { return figure_assignment(path, number, unit); }

std::string FigureAxis::text(const Machine& machine, double number) const {
    const auto change = changed_figure(machine, assignment(number));
    return change ? change->after : fmt::format("{} {}", number, unit);
}

bool names_figure(std::string_view name) {
    name = trimmed(name);
    return name.find('.') != std::string_view::npos || name == "price" || name == "power" || name == "clock";
}

Result<FigureAxis> parse_figure_range(const Machine& machine, std::string_view text, std::size_t steps,
                                      std::size_t most) {
    return FigureRangeReader(machine, text, steps, most).run();
}

}  // namespace roofline::core

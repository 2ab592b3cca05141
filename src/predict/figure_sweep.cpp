#include "predict/figure_sweep.hpp"

#include <cmath>
#include <utility>

namespace roofline::core {

namespace {

constexpr double precision = 1.01;  // a factor

class FigureSweeper {
public:
    FigureSweeper(FigureSweep sweep, const SweptQuestion& question, const SweptText& text)
        : sweep_(std::move(sweep)), question_(question), text_(text) {}

    Result<FigureSweep> run() {
        ROOFLINE_CHECK(add_points());
        std::size_t stride = 1;
        for (std::size_t axis = sweep_.axes.size(); axis-- > 0;) {
            const std::size_t size = sweep_.axes[axis].numbers.size();
            for (std::size_t i = 0; i < sweep_.points.size() && sweep_.axes[axis].figure; ++i) {
                if (sweep_.points[i].at[axis] + 1 == size) continue;
                ROOFLINE_CHECK(add_flips(axis, i, i + stride));
            }
            stride *= size;
        }
        return std::move(sweep_);
    }

private:
    struct Change {
        std::string SweptAnswer::* what;
        bool of_plan;
    };

    [[nodiscard]] std::vector<double> numbers_at(const std::vector<std::size_t>& at) const {
        std::vector<double> numbers;
        for (std::size_t axis = 0; axis < at.size(); ++axis) numbers.push_back(sweep_.axes[axis].numbers[at[axis]]);
        return numbers;
    }

    Status add_points() {
        std::size_t count = 1;
        for (const SweptAxis& axis : sweep_.axes) count *= axis.numbers.size();
        std::optional<Error> first;
        bool any = false;
        for (std::size_t i = 0; i < count; ++i) {
            SweptPoint point;
            point.at.resize(sweep_.axes.size());
            std::size_t rest = i;
            for (std::size_t axis = sweep_.axes.size(); axis-- > 0;) {
                point.at[axis] = rest % sweep_.axes[axis].numbers.size();
                rest /= sweep_.axes[axis].numbers.size();
            }
            auto answer = question_(numbers_at(point.at));
            if (answer) {
                any = true;
                point.answer = std::move(*answer);
            } else {
                if (answer.error().code == "interrupted") return fail(answer.error());
                if (!first) first = answer.error();
                point.refused = answer.error().message;
            }
            sweep_.points.push_back(std::move(point));
        }
        if (!any && first) return fail(std::move(*first));
        return {};
    }

    Status add_flips(std::size_t axis, std::size_t from, std::size_t to) {
        if (!sweep_.points[from].answer || !sweep_.points[to].answer) return {};
        for (const Change& change : {Change{&SweptAnswer::plan, true}, Change{&SweptAnswer::bound_by, false}}) {
            ROOFLINE_CHECK(add_flips(axis, from, to, change));
        }
        return {};
    }

    // Finds one change after another, each between the value before it and the far end.
    Status add_flips(std::size_t axis, std::size_t from, std::size_t to, const Change& change) {
        std::vector<double> numbers = numbers_at(sweep_.points[from].at);
        const std::string& last = (*sweep_.points[to].answer).*(change.what);
        std::string before = (*sweep_.points[from].answer).*(change.what);
        double low = numbers[axis];
        const double end = numbers_at(sweep_.points[to].at)[axis];
        constexpr int most_changes = 8;
        for (int i = 0; i < most_changes && before != last; ++i) {
            double high = end;
            std::string after = last;
            while (std::max(low, high) > precision * std::min(low, high)) {
                numbers[axis] = std::sqrt(low * high);
                const auto middle = question_(numbers);
                if (!middle) return middle.error().code == "interrupted" ? Status(fail(middle.error())) : Status();
                const std::string& here = (*middle).*(change.what);
                if (here == before) {
                    low = numbers[axis];
                } else {
                    high = numbers[axis];
                    after = here;
                }
            }
            sweep_.flips.push_back(
                {sweep_.points[from].at, axis, high, text_(axis, high), change.of_plan, before, after});
            before = std::move(after);
            low = high;
        }
        return {};
    }

    FigureSweep sweep_;
    const SweptQuestion& question_;
    const SweptText& text_;
};

}  // namespace

Result<FigureSweep> sweep_figures(FigureSweep sweep, const SweptQuestion& question, const SweptText& text) {
    return FigureSweeper(std::move(sweep), question, text).run();
}

}  // namespace roofline::core

// Kernels that move rows to experts and back, and that add rows up at given indices. Sums are double.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "measure/run/cpu_kernels.hpp"
#include "measure/run/kernel_loops.hpp"

namespace roofline::core {

namespace {

using loops::dtypes_of;
using loops::element;
using loops::offset_at;
using loops::place_at;
using loops::product;
using Places = std::vector<std::int64_t>;

/// An array that kernels read expert numbers or indices from.
struct NumberSource {
    ArrayLoad load;
    Dtype dtype = Dtype::f32;

    [[nodiscard]] double one(std::span<void* const> arrays, std::int64_t offset) const {
        double number = 0;
        load_elements(dtype, element(arrays[load.array], offset, dtype), 0, &number, 1);
        return number;
    }
    void many(std::span<void* const> arrays, std::int64_t offset, std::int64_t stride,
              std::vector<double>& numbers) const {
        load_elements(dtype, element(arrays[load.array], offset, dtype), stride, numbers.data(), numbers.size());
    }
};

Status outside_error() { return fail("bad_index", "an index is outside the dimension that it indexes"); }

/// Assigns choices to places. One thread does it because the place of a choice depends on all choices before it.
class RouteKernel : public StepKernel {
public:
    RouteKernel(const RunStep& step, const StepProgram& program)
        : route_(std::get<RouteStep>(step.what)), ids_(dtypes_of(step, program).front()) {}

    Status run(std::span<void* const> arrays) override {
        auto* out = static_cast<std::int32_t*>(arrays[1]);
        std::vector<std::int64_t> filled(static_cast<std::size_t>(route_.experts), 0);
        if (route_.by_place) std::fill_n(out, route_.experts * route_.places, -1);
        numbers_.resize(static_cast<std::size_t>(route_.choices));
        load_elements(ids_, arrays[0], 1, numbers_.data(), numbers_.size());
        for (std::int64_t choice = 0; choice < route_.choices; ++choice) {
            const double expert = numbers_[static_cast<std::size_t>(choice)];
            if (!(expert >= 0) || expert >= static_cast<double>(route_.experts)) return outside_error();
            const std::int64_t place = filled[static_cast<std::size_t>(expert)]++;
            const bool fits = place < route_.places;
            const std::int64_t at = static_cast<std::int64_t>(expert) * route_.places + place;
            if (!route_.by_place) out[choice] = fits ? static_cast<std::int32_t>(at) : -1;
            if (route_.by_place && fits) out[at] = static_cast<std::int32_t>(choice);
        }
        return {};
    }

private:
    RouteStep route_;
    Dtype ids_;
    std::vector<double> numbers_;
};

/// Moves rows to experts. The threads divide the places of all groups.
class DispatchKernel : public StepKernel {
public:
    DispatchKernel(const RunStep& step, const StepProgram& program, Team& team)
        : step_(std::get<DispatchStep>(step.what)), team_(team), out_(program.arrays[step.output].dtype) {
        if (step_.rows.empty()) {  // one number per choice
            step_.rows = {1};
            step_.out = {1};
            step_.from.strides.push_back(1);
            if (step_.weights) step_.weights->strides.push_back(0);
        }
        const std::vector<Dtype> dtypes = dtypes_of(step, program);
        from_ = {step_.from, dtypes[0]};
        if (step_.weights) weights_ = {*step_.weights, dtypes[2]};
        places_ = program.arrays[step.inputs[1]].elements();
    }

    Status run(std::span<void* const> arrays) override {
        const auto* route = static_cast<const std::int32_t*>(arrays[1]);
        const std::int64_t pieces = product(step_.rows, 0, step_.rows.size() - 1);
        team_.run([&](int thread) {
            const Share share = share_of(places_ * pieces, thread, team_.threads());
            Places place(step_.choices.size() + step_.rows.size());
            std::vector<double> numbers(static_cast<std::size_t>(step_.rows.back()));
            for (std::int64_t unit = share.first; unit < share.last; ++unit) {
                const std::int64_t at = unit / pieces;
                const std::int64_t group = at / step_.places * step_.out_expert + at % step_.places * step_.out_place;
                piece(arrays, route[at], unit % pieces, group, place, numbers);
            }
        });
        return {};
    }

private:
    void piece(std::span<void* const> arrays, std::int64_t choice, std::int64_t piece, std::int64_t group,
               Places& place, std::vector<double>& numbers) const {
        const std::size_t many = step_.choices.size();
        Places row(step_.rows.size());
        place_at(step_.rows, 0, step_.rows.size() - 1, piece, row);
        char* to = element(arrays.back(), group + offset_at(step_.out, row), out_);
        if (choice < 0) {
            std::fill(numbers.begin(), numbers.end(), 0);
            store_elements(out_, numbers.data(), to, step_.out.back(), numbers.size());
            return;
        }
        place_at(step_.choices, 0, many, choice, place);
        std::copy(row.begin(), row.end(), place.begin() + static_cast<std::ptrdiff_t>(many));
        const std::int64_t from = offset_at(from_.load.strides, place);
        const std::int64_t stride = from_.load.strides.back();
        if (!step_.weights && from_.dtype == out_ && stride == 1 && step_.out.back() == 1) {
            std::memcpy(to, element(arrays[0], from, out_), numbers.size() * element_bytes(out_));
            return;
        }
        from_.many(arrays, from, stride, numbers);
        if (step_.weights) {
            const double weight = weights_.one(arrays, offset_at(weights_.load.strides, place));
            for (double& number : numbers) number *= weight;
        }
        store_elements(out_, numbers.data(), to, step_.out.back(), numbers.size());
    }

    DispatchStep step_;
    Team& team_;
    Dtype out_;
    NumberSource from_;
    NumberSource weights_;
    std::int64_t places_ = 1;
};

/// Combines rows of experts. The innermost loop runs along rows of the result or of what is summed.
class CombineKernel : public StepKernel {
public:
    CombineKernel(const RunStep& step, const StepProgram& program, Team& team)
        : step_(std::get<CombineStep>(step.what)), team_(team), out_(program.arrays[step.output].dtype) {
        const std::vector<Dtype> dtypes = dtypes_of(step, program);
        from_ = {step_.from, dtypes[0]};
        if (step_.beside) beside_ = {*step_.beside, dtypes[2]};
        outer_ = step_.kept - (step_.keeps_row ? 1 : 0);
        summed_ = step_.loops.size() - (!step_.keeps_row && step_.sums_row ? 1 : 0);
        const bool row = step_.keeps_row || step_.sums_row;
        inner_ = step_.keeps_row ? step_.kept - 1 : step_.loops.size() - 1;
        length_ = row ? step_.loops[inner_] : 1;
        from_stride_ = row ? from_.load.strides[inner_] : 0;
        beside_stride_ = row && step_.beside ? beside_.load.strides[inner_] : 0;
        out_stride_ = step_.keeps_row ? step_.out[inner_] : 1;
    }

    Status run(std::span<void* const> arrays) override {
        team_.run([&](int thread) {
            const Share share = share_of(product(step_.loops, 0, outer_), thread, team_.threads());
            Places place(step_.loops.size());
            std::vector<double> sums(static_cast<std::size_t>(step_.keeps_row ? length_ : 1));
            std::vector<double> row(static_cast<std::size_t>(length_));
            std::vector<double> factors(row.size());
            for (std::int64_t at = share.first; at < share.last; ++at) {
                std::fill(place.begin(), place.end(), 0);
                place_at(step_.loops, 0, outer_, at, place);
                add_up(arrays, place, sums, row, factors);
                Places kept(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(step_.kept));
                if (step_.keeps_row) kept.back() = 0;
                store_elements(out_, sums.data(), element(arrays.back(), offset_at(step_.out, kept), out_), out_stride_,
                               sums.size());
            }
        });
        return {};
    }

private:
    void add_up(std::span<void* const> arrays, Places& place, std::vector<double>& sums, std::vector<double>& row,
                std::vector<double>& factors) const {
        const auto* route = static_cast<const std::int32_t*>(arrays[1]);
        std::fill(sums.begin(), sums.end(), 0);
        const std::int64_t terms = product(step_.loops, step_.kept, summed_);
        for (std::int64_t term = 0; term < terms; ++term) {
            place_at(step_.loops, step_.kept, summed_, term, place);
            const std::int64_t at = route[offset_at(step_.route.strides, place)];
            if (at < 0) continue;
            const std::int64_t from = at / step_.places * step_.from_expert + at % step_.places * step_.from_place +
                                      offset_at(from_.load.strides, place);
            from_.many(arrays, from, from_stride_, row);
            if (step_.beside) {
                beside_.many(arrays, offset_at(beside_.load.strides, place), beside_stride_, factors);
                for (std::size_t i = 0; i < row.size(); ++i) row[i] *= factors[i];
            }
            if (step_.keeps_row) {
                for (std::size_t i = 0; i < row.size(); ++i) sums[i] += row[i];
            } else {
                for (const double number : row) sums.front() += number;
            }
        }
    }

    CombineStep step_;
    Team& team_;
    Dtype out_;
    NumberSource from_;
    NumberSource beside_;
    std::size_t outer_ = 0;   ///< kept loops outside the innermost one
    std::size_t summed_ = 0;  ///< end of the summed loops outside the innermost one
    std::size_t inner_ = 0;
    std::int64_t length_ = 1;
    std::int64_t from_stride_ = 0;
    std::int64_t beside_stride_ = 0;
    std::int64_t out_stride_ = 1;
};

/// Adds rows at given indices. Each thread owns a part of the result's rows and looks for the updates that belong
/// there.
template <class T>
class ScatterAddKernel : public StepKernel {
public:
    ScatterAddKernel(const RunStep& step, const StepProgram& program, Team& team)
        : step_(std::get<ScatterStep>(step.what)), team_(team), bytes_(program.arrays[step.output].bytes()) {
        if (step_.loops.empty()) {
            step_.loops = {1};
            step_.ids.strides = step_.update.strides = step_.out = {0};
        }
        const std::vector<Dtype> dtypes = dtypes_of(step, program);
        ids_ = {step_.ids, dtypes[0]};
        update_ = {step_.update, dtypes[1]};
        inner_ = step_.ids.strides.back() == 0 ? step_.loops.size() - 1 : step_.loops.size();
    }

    Status run(std::span<void* const> arrays) override {
        std::memset(arrays.back(), 0, static_cast<std::size_t>(bytes_));
        std::atomic<bool> outside{false};
        team_.run([&](int thread) {
            const Share share = share_of(step_.below, thread, team_.threads());
            const std::int64_t rows = product(step_.loops, 0, inner_);
            const std::int64_t length = inner_ < step_.loops.size() ? step_.loops.back() : 1;
            std::vector<double> numbers(static_cast<std::size_t>(length));
            Places place(step_.loops.size());
            for (std::int64_t row = 0; row < rows; ++row) {
                place_at(step_.loops, 0, inner_, row, place);
                const double id = ids_.one(arrays, offset_at(ids_.load.strides, place));
                if (!(id >= 0) || id >= static_cast<double>(step_.whole)) {
                    outside = true;
                    continue;
                }
                const std::int64_t here = static_cast<std::int64_t>(id) - step_.first;
                if (here < share.first || here >= share.last) continue;
                const std::int64_t stride = length > 1 ? step_.out.back() : 0;
                T* to = static_cast<T*>(arrays.back()) + here * step_.stride + offset_at(step_.out, place);
                update_.many(arrays, offset_at(update_.load.strides, place),
                             length > 1 ? update_.load.strides.back() : 0, numbers);
                for (std::int64_t i = 0; i < length; ++i)
                    to[i * stride] =
                        static_cast<T>(to[i * stride] + static_cast<T>(numbers[static_cast<std::size_t>(i)]));
            }
        });
        return outside ? outside_error() : Status{};
    }

private:
    ScatterStep step_;
    Team& team_;
    std::int64_t bytes_;
    NumberSource ids_;
    NumberSource update_;
    std::size_t inner_ = 0;  ///< loops outside the innermost one; all loops if the innermost one enumerates rows too
};

}  // namespace

std::unique_ptr<StepKernel> make_expert_kernel(const RunStep& step, const StepProgram& program, Team& team) {
    if (std::holds_alternative<RouteStep>(step.what)) return std::make_unique<RouteKernel>(step, program);
    if (std::holds_alternative<DispatchStep>(step.what)) return std::make_unique<DispatchKernel>(step, program, team);
    if (std::holds_alternative<CombineStep>(step.what)) return std::make_unique<CombineKernel>(step, program, team);
    const Dtype sums = program.arrays[step.output].dtype;
    if (sums == Dtype::f64) return std::make_unique<ScatterAddKernel<double>>(step, program, team);
    if (sums == Dtype::int32) return std::make_unique<ScatterAddKernel<std::int32_t>>(step, program, team);
    return std::make_unique<ScatterAddKernel<float>>(step, program, team);
}

}  // namespace roofline::core

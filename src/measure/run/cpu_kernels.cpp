#include "measure/run/cpu_kernels.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "measure/run/kernel_loops.hpp"
#include "measure/run/row_functions.hpp"
#include "measure/run/tape_run.hpp"

namespace roofline::core {

namespace {

using Loops = std::vector<std::int64_t>;
using loops::dtypes_of;
using loops::element;
using loops::offset_at;
using loops::place_at;
using loops::product;
using loops::unit_elements;

template <class T>
class MapKernel : public StepKernel {
public:
    MapKernel(const RunStep& step, const StepProgram& program, Team& team)
        : map_(std::get<MapStep>(step.what)), out_(program.arrays[step.output].dtype), team_(team) {
        if (map_.loops.empty()) {  // a scalar
            map_.loops = {1};
            map_.out = {1};
            for (ArrayLoad& load : map_.tape.loads) load.strides = {0};
        }
        for (int i = 0; i < team.threads(); ++i) runs_.emplace_back(map_.tape, dtypes_of(step, program));
    }

    Status run(std::span<void* const> arrays) override {
        const std::int64_t length = map_.loops.back();
        const std::int64_t pieces = (length - 1) / unit_elements + 1;
        const std::int64_t rows = product(map_.loops, 0, map_.loops.size() - 1);
        team_.run([&](int thread) {
            const Share share = share_of(rows * pieces, thread, team_.threads());
            Loops place(map_.loops.size());
            for (std::int64_t unit = share.first; unit < share.last; ++unit) {
                place_at(map_.loops, unit / pieces * length, place);
                const std::int64_t first = unit % pieces * unit_elements;
                stretch(thread, arrays, place, first, std::min(length, first + unit_elements));
            }
        });
        return {};
    }

private:
    void stretch(int thread, std::span<void* const> arrays, Loops& place, std::int64_t first, std::int64_t last) {
        constexpr auto block = static_cast<std::int64_t>(TapeRun<T>::block);
        for (std::int64_t at = first; at < last; at += block) {
            place.back() = at;
            const auto count = static_cast<std::size_t>(std::min(block, last - at));
            const T* made =
                runs_[static_cast<std::size_t>(thread)].evaluate(arrays.first(arrays.size() - 1), place, count);
            store_elements(out_, made, element(arrays.back(), offset_at(map_.out, place), out_), map_.out.back(),
                           count);
        }
    }

    MapStep map_;
    Dtype out_;
    Team& team_;
    std::vector<TapeRun<T>> runs_;
};

/// Runs sum, mean, max and min. These reductions store no row, and several threads share a long row. Partial sums are
/// double.
template <class T>
class ReduceKernel : public StepKernel {
public:
    ReduceKernel(const RunStep& step, const StepProgram& program, Team& team)
        : row_(std::get<RowStep>(step.what)), out_(program.arrays[step.output].dtype), team_(team) {
        const std::size_t outer = row_.loops.size() - row_.along;
        rows_ = product(row_.loops, 0, outer);
        length_ = product(row_.loops, outer, row_.loops.size());
        const std::int64_t most = (length_ - 1) / unit_elements + 1;
        const std::int64_t enough = std::int64_t{4} * team.threads();
        pieces_ = rows_ >= enough ? 1 : std::min(most, enough);
        adds_ = row_.function == "sum" || row_.function == "mean";
        for (int i = 0; i < team.threads(); ++i) runs_.emplace_back(row_.tapes.front(), dtypes_of(step, program));
        partial_.resize(static_cast<std::size_t>(pieces_ > 1 ? rows_ * pieces_ : 0));
    }

    Status run(std::span<void* const> arrays) override {
        team_.run([&](int thread) {
            const Share share = share_of(rows_ * pieces_, thread, team_.threads());
            Loops place(row_.loops.size());
            for (std::int64_t unit = share.first; unit < share.last; ++unit) {
                const std::int64_t row = unit / pieces_;
                const Share piece = share_of(length_, static_cast<int>(unit % pieces_), static_cast<int>(pieces_));
                const double result = stretch(thread, arrays, place, row, piece);
                if (pieces_ > 1) {
                    partial_[static_cast<std::size_t>(unit)] = result;
                } else {
                    store(result, row, arrays.back(), place);
                }
            }
        });
        if (pieces_ == 1) return {};
        Loops place(row_.loops.size());
        for (std::int64_t row = 0; row < rows_; ++row) {
            double result = partial_[static_cast<std::size_t>(row * pieces_)];
            for (std::int64_t i = 1; i < pieces_; ++i)
                result = join(result, partial_[static_cast<std::size_t>(row * pieces_ + i)]);
            store(result, row, arrays.back(), place);
        }
        return {};
    }

private:
    [[nodiscard]] double join(double a, double b) const {
        if (adds_) return a + b;
        return row_.function == "max" ? (b > a ? b : a) : (b < a ? b : a);
    }

    double stretch(int thread, std::span<void* const> arrays, Loops& place, std::int64_t row, Share piece) {
        constexpr auto block = static_cast<std::int64_t>(TapeRun<T>::block);
        const std::int64_t inner = row_.loops.back();
        double result = 0;
        for (std::int64_t at = piece.first; at < piece.last;) {
            place_at(row_.loops, row * length_ + at, place);
            const std::int64_t count = std::min({block, inner - place.back(), piece.last - at});
            const T* numbers = runs_[static_cast<std::size_t>(thread)].evaluate(arrays.first(arrays.size() - 1), place,
                                                                                static_cast<std::size_t>(count));
            double partial = static_cast<double>(numbers[0]);
            if (adds_) {
                double lanes[8] = {};
                std::int64_t i = 0;
                for (; i + 8 <= count; i += 8) {
                    for (std::int64_t j = 0; j < 8; ++j) lanes[j] += static_cast<double>(numbers[i + j]);
                }
                partial = 0;
                for (; i < count; ++i) partial += static_cast<double>(numbers[i]);
                for (const double lane : lanes) partial += lane;
            } else {
                const auto many = static_cast<std::size_t>(count);
                partial = static_cast<double>(row_.function == "max" ? largest_element(numbers, many)
                                                                     : smallest_element(numbers, many));
            }
            result = at == piece.first ? partial : join(result, partial);
            at += count;
        }
        return result;
    }

    void store(double result, std::int64_t row, void* output, Loops& place) const {
        const double number = row_.function == "mean" ? result / static_cast<double>(length_) : result;
        place_at(row_.loops, row * length_, place);
        store_elements(out_, &number, element(output, row_.offset + offset_at(row_.out, place), out_), 1, 1);
    }

    RowStep row_;
    Dtype out_;
    Team& team_;
    std::int64_t rows_ = 1;
    std::int64_t length_ = 1;
    std::int64_t pieces_ = 1;
    bool adds_ = false;
    std::vector<TapeRun<T>> runs_;
    std::vector<double> partial_;
};

template <class T>
class RowKernel : public StepKernel {
public:
    RowKernel(const RunStep& step, const StepProgram& program, Team& team)
        : row_(std::get<RowStep>(step.what)), out_(program.arrays[step.output].dtype), team_(team) {
        const std::size_t outer = row_.loops.size() - row_.along;
        rows_ = product(row_.loops, 0, outer);
        length_ = product(row_.loops, outer, row_.loops.size());
        keeps_ = std::any_of(row_.out.begin() + static_cast<std::ptrdiff_t>(outer), row_.out.end(),
                             [](std::int64_t stride) { return stride != 0; });
        const auto threads = static_cast<std::size_t>(team.threads());
        for (std::size_t i = 0; i < threads; ++i) {
            for (const Tape& tape : row_.tapes) runs_.emplace_back(tape, dtypes_of(step, program));
        }
        buffers_.resize(threads * row_.tapes.size());
    }

    Status run(std::span<void* const> arrays) override {
        team_.run([&](int thread) {
            const auto first_buffer = static_cast<std::size_t>(thread) * row_.tapes.size();
            for (std::size_t i = 0; i < row_.tapes.size(); ++i)
                buffers_[first_buffer + i].resize(static_cast<std::size_t>(length_));
            const Share share = share_of(rows_, thread, team_.threads());
            Loops place(row_.loops.size());
            for (std::int64_t row = share.first; row < share.last; ++row) {
                for (std::size_t i = 0; i < row_.tapes.size(); ++i) fill(first_buffer + i, row, arrays, place);
                T* numbers = buffers_[first_buffer].data();
                const auto count = static_cast<std::size_t>(length_);
                const T* second = row_.tapes.size() > 1 ? buffers_[first_buffer + 1].data() : nullptr;
                // row_arithmetic() gives integers another type
                if constexpr (std::is_floating_point_v<T>) along_row(row_.function, numbers, second, count);
                store(numbers, row, arrays.back(), place);
            }
        });
        return {};
    }

private:
    template <class Visit>
    void stretches(std::int64_t row, Loops& place, Visit visit) const {
        constexpr auto block = static_cast<std::int64_t>(TapeRun<T>::block);
        const std::int64_t inner = row_.loops.back();
        for (std::int64_t at = 0; at < length_;) {
            place_at(row_.loops, row * length_ + at, place);
            const std::int64_t count = std::min({block, inner - place.back(), length_ - at});
            visit(at, static_cast<std::size_t>(count));
            at += count;
        }
    }

    void fill(std::size_t buffer, std::int64_t row, std::span<void* const> arrays, Loops& place) {
        stretches(row, place, [&](std::int64_t at, std::size_t count) {
            const T* made = runs_[buffer].evaluate(arrays.first(arrays.size() - 1), place, count);
            std::copy_n(made, count, buffers_[buffer].data() + at);
        });
    }

    void store(const T* numbers, std::int64_t row, void* output, Loops& place) const {
        if (!keeps_) {
            place_at(row_.loops, row * length_, place);
            store_elements(out_, numbers, element(output, row_.offset + offset_at(row_.out, place), out_), 1, 1);
            return;
        }
        stretches(row, place, [&](std::int64_t at, std::size_t count) {
            store_elements(out_, numbers + at, element(output, row_.offset + offset_at(row_.out, place), out_),
                           row_.out.back(), count);
        });
    }

    RowStep row_;
    Dtype out_;
    Team& team_;
    std::int64_t rows_ = 1;
    std::int64_t length_ = 1;
    bool keeps_ = false;
    std::vector<TapeRun<T>> runs_;         ///< one per thread and tape
    std::vector<std::vector<T>> buffers_;  ///< one row each
};

/// Runs gathers and scatters. Bytes are copied if table and result have the same dtype, else elements are converted.
class GatherScatterKernel : public StepKernel {
public:
    GatherScatterKernel(const RunStep& step, const StepProgram& program, Team& team) : team_(team) {
        const std::vector<Dtype> dtypes = dtypes_of(step, program);
        const Dtype output = program.arrays[step.output].dtype;
        if (const auto* gather = std::get_if<GatherStep>(&step.what)) {
            loops_ = gather->loops;
            from_ = gather->table.strides;
            to_ = gather->out;
            ids_ = gather->ids.strides;
            stride_ = gather->stride;
            below_ = gather->below;
            first_ = gather->first;
            whole_ = gather->whole;
            gathers_ = true;
            id_dtype_ = dtypes[1];
            from_dtype_ = dtypes[0];
        } else {
            const auto& scatter = std::get<ScatterStep>(step.what);
            loops_ = scatter.loops;
            from_ = scatter.update.strides;
            to_ = scatter.out;
            ids_ = scatter.ids.strides;
            stride_ = scatter.stride;
            below_ = scatter.below;
            first_ = scatter.first;
            whole_ = scatter.whole;
            id_dtype_ = dtypes[0];
            from_dtype_ = dtypes[1];
        }
        to_dtype_ = output;
        if (loops_.empty()) {
            loops_ = {1};
            from_ = to_ = {1};
            ids_ = {0};
        }
    }

    // If several rows had the same index, the last would win on one thread but an arbitrary one on several; so one
    // thread does a scatter.
    Status run(std::span<void* const> arrays) override {
        std::atomic<bool> outside{false};
        const void* ids = arrays[gathers_ ? 1 : 0];
        const void* from = arrays[gathers_ ? 0 : 1];
        const std::size_t inner = ids_.back() == 0 ? loops_.size() - 1 : loops_.size();
        const std::int64_t rows = product(loops_, 0, inner);
        const std::int64_t length = inner < loops_.size() ? loops_.back() : 1;
        const auto part = [&](std::int64_t first, std::int64_t last) {
            Loops place(loops_.size());
            std::vector<double> numbers(static_cast<std::size_t>(std::min(length, unit_elements)));
            for (std::int64_t row = first; row < last; ++row) {
                place_at(loops_, row * length, place);
                double id = 0;
                load_elements(id_dtype_, element(const_cast<void*>(ids), offset_at(ids_, place), id_dtype_), 0, &id, 1);
                if (!(id >= 0) || id >= static_cast<double>(whole_)) {
                    outside = true;
                    continue;
                }
                const std::int64_t here = static_cast<std::int64_t>(id) - first_;
                const std::int64_t jump = here * stride_;
                const std::int64_t source = offset_at(from_, place) + (gathers_ ? jump : 0);
                const std::int64_t target = offset_at(to_, place) + (gathers_ ? 0 : jump);
                if (here < 0 || here >= below_) {
                    if (gathers_) clear(arrays.back(), target, length);
                    continue;
                }
                copy(from, source, arrays.back(), target, length, numbers);
            }
        };
        if (gathers_) {
            team_.run([&](int thread) {
                const Share share = share_of(rows, thread, team_.threads());
                part(share.first, share.last);
            });
        } else {
            part(0, rows);
        }
        if (outside) return fail("bad_index", "an index is outside the dimension that it indexes");
        return {};
    }

private:
    // Sets a row to zero because another part of the table holds it.
    void clear(void* to, std::int64_t target, std::int64_t length) const {
        const double zero = 0;
        const std::int64_t step = length > 1 ? to_.back() : 1;
        for (std::int64_t at = 0; at < length; ++at)
            store_elements(to_dtype_, &zero, element(to, target + at * step, to_dtype_), 1, 1);
    }

    void copy(const void* from, std::int64_t source, void* to, std::int64_t target, std::int64_t length,
              std::vector<double>& numbers) const {
        const std::int64_t step_from = length > 1 ? from_.back() : 1;
        const std::int64_t step_to = length > 1 ? to_.back() : 1;
        char* out = element(to, target, to_dtype_);
        const char* in = element(const_cast<void*>(from), source, from_dtype_);
        if (from_dtype_ == to_dtype_ && step_from == 1 && step_to == 1) {
            std::copy_n(in, static_cast<std::size_t>(length) * element_bytes(from_dtype_), out);
            return;
        }
        for (std::int64_t at = 0; at < length; at += unit_elements) {
            const auto count = static_cast<std::size_t>(std::min(unit_elements, length - at));
            load_elements(from_dtype_, in + at * step_from * static_cast<std::int64_t>(element_bytes(from_dtype_)),
                          step_from, numbers.data(), count);
            store_elements(to_dtype_, numbers.data(),
                           out + at * step_to * static_cast<std::int64_t>(element_bytes(to_dtype_)), step_to, count);
        }
    }

    Team& team_;
    Loops loops_, from_, to_, ids_;
    std::int64_t stride_ = 1;
    std::int64_t below_ = 0;
    std::int64_t first_ = 0;
    std::int64_t whole_ = 0;
    bool gathers_ = false;
    Dtype id_dtype_ = Dtype::int32;
    Dtype from_dtype_ = Dtype::f32;
    Dtype to_dtype_ = Dtype::f32;
};

template <template <class> class Kernel>
std::unique_ptr<StepKernel> by_arithmetic(Dtype arithmetic, const RunStep& step, const StepProgram& program,
                                          Team& team) {
    if (arithmetic == Dtype::f64) return std::make_unique<Kernel<double>>(step, program, team);
    if (arithmetic == Dtype::int32) return std::make_unique<Kernel<std::int32_t>>(step, program, team);
    return std::make_unique<Kernel<float>>(step, program, team);
}

bool reduces(const RowStep& row) {
    return row.function == "sum" || row.function == "mean" || row.function == "max" || row.function == "min";
}

/// Dtype that a row is computed in: softmax, norms and means of integers are not integers.
Dtype row_arithmetic(const RowStep& row) {
    Dtype arithmetic = row.tapes.front().arithmetic;
    for (const Tape& tape : row.tapes) {
        if (tape.arithmetic == Dtype::f64 || arithmetic == Dtype::int32) arithmetic = tape.arithmetic;
    }
    const bool whole = row.function == "sum" || row.function == "max" || row.function == "min";
    return arithmetic == Dtype::int32 && !whole ? Dtype::f64 : arithmetic;
}

}  // namespace

std::unique_ptr<StepKernel> make_cpu_kernel(const RunStep& step, const StepProgram& program, Team& team) {
    if (const auto* map = std::get_if<MapStep>(&step.what))
        return by_arithmetic<MapKernel>(map->tape.arithmetic, step, program, team);
    if (const auto* row = std::get_if<RowStep>(&step.what)) {
        return reduces(*row) ? by_arithmetic<ReduceKernel>(row_arithmetic(*row), step, program, team)
                             : by_arithmetic<RowKernel>(row_arithmetic(*row), step, program, team);
    }
    if (const auto* matmul = std::get_if<MatmulStep>(&step.what)) return make_plain_matmul(*matmul, team);
    const auto* scatter = std::get_if<ScatterStep>(&step.what);
    if (std::holds_alternative<GatherStep>(step.what) || (scatter != nullptr && !scatter->adds))
        return std::make_unique<GatherScatterKernel>(step, program, team);
    return make_expert_kernel(step, program, team);
}

}  // namespace roofline::core

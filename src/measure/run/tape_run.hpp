// Runs a tape over a stretch of its last loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/run/elements.hpp"
#include "measure/run/tape.hpp"

namespace roofline::core {

/// The registers of one thread for a tape. T is its arithmetic: float, double or std::int32_t.
template <class T>
class TapeRun {
public:
    static constexpr std::size_t block = 256;

    TapeRun(const Tape& tape, const std::vector<Dtype>& dtypes)
        : tape_(&tape), dtypes_(dtypes), registers_(tape.ops.size() * block) {}

    /// The numbers at `place` (of every loop), `count` of them along the last loop, at most `block`. They stay valid
    /// until the next call. `arrays` are the step's inputs.
    const T* evaluate(std::span<void* const> arrays, std::span<const std::int64_t> place, std::size_t count) {
        for (std::size_t i = 0; i < tape_->ops.size(); ++i) one(i, arrays, place, count);
        return at(tape_->ops.size() - 1);
    }

private:
    T* at(std::size_t i) { return registers_.data() + i * block; }

    void one(std::size_t i, std::span<void* const> arrays, std::span<const std::int64_t> place, std::size_t count) {
        const TapeOp& op = tape_->ops[i];
        T* out = at(i);
        switch (op.kind) {
            case TapeOp::Kind::load:
                load(tape_->loads[op.load], arrays, place, out, {0, static_cast<std::int64_t>(count)});
                return;
            case TapeOp::Kind::constant:
                std::fill_n(out, count, static_cast<T>(op.number));
                return;
            case TapeOp::Kind::function:
                map_elements(op.function, at(op.in[0]), at(op.in[1]), at(op.in[2]), out, count);
                return;
            case TapeOp::Kind::rope:
                turn(at(op.in[0]), out, op.number, count);
                return;
            case TapeOp::Kind::causal:
                mask(op, at(op.in[0]), out, place, count);
                return;
            case TapeOp::Kind::shifted: {
                const Stretch inside = within(op, place, static_cast<std::int64_t>(count));
                std::fill_n(out, inside.first, T{});
                load(tape_->loads[op.load], arrays, place, out, inside);
                std::fill(out + inside.last, out + count, T{});
                return;
            }
        }
    }

    struct Stretch {
        std::int64_t first = 0, last = 0;  ///< range of positions along the last loop
    };

    static void load(const Dtype dtype, const char* bytes, std::int64_t stride, T* out, const Stretch& numbers) {
        if (numbers.last <= numbers.first) return;
        load_elements(dtype, bytes + numbers.first * stride * static_cast<std::int64_t>(element_bytes(dtype)), stride,
                      out + numbers.first, static_cast<std::size_t>(numbers.last - numbers.first));
    }

    void load(const ArrayLoad& load, std::span<void* const> arrays, std::span<const std::int64_t> place, T* out,
              const Stretch& numbers) const {
        std::int64_t offset = load.offset;
        for (std::size_t loop = 0; loop < place.size(); ++loop) offset += place[loop] * load.strides[loop];
        const Dtype dtype = dtypes_[load.array];
        const auto* bytes = static_cast<const char*>(arrays[load.array]);
        TapeRun::load(dtype, bytes + offset * static_cast<std::int64_t>(element_bytes(dtype)),
                      load.strides.empty() ? 0 : load.strides.back(), out, numbers);
    }

    // Range of positions along the last loop that lie inside the shifted array.
    static Stretch within(const TapeOp& op, std::span<const std::int64_t> place, std::int64_t count) {
        if (op.below == 0) return {0, count};
        const std::int64_t at = place[op.row] + op.shift;
        if (op.row + 1 < place.size()) return {0, at >= 0 && at < op.below ? count : 0};
        const std::int64_t first = std::clamp<std::int64_t>(-at, 0, count);
        return {first, std::clamp(op.below - at, first, count)};
    }

    // Rotates pairs of neighbours by one radian in either direction; a last element without a neighbour is paired with
    // itself.
    static void turn(const T* in, T* out, double way, std::size_t count) {
        constexpr double cosine = 0.5403023058681398;
        constexpr double sine = 0.8414709848078965;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t other = std::min(i ^ 1U, count - 1);
            const double sign = (i & 1U) == 0 ? -way : way;
            out[i] = static_cast<T>(static_cast<double>(in[i]) * cosine + sign * sine * static_cast<double>(in[other]));
        }
    }

    void mask(const TapeOp& op, const T* in, T* out, std::span<const std::int64_t> place, std::size_t count) const {
        const std::size_t last = place.size() - 1;
        for (std::size_t i = 0; i < count; ++i) {
            const auto step = static_cast<std::int64_t>(i);
            const std::int64_t row = place[op.row] + (op.row == last ? step : 0);
            const std::int64_t column = place[op.column] + (op.column == last ? step : 0);
            const std::int64_t before = row + op.shift - column;
            const bool kept = before >= 0 && (op.window == 0 || before < op.window);
            out[i] = kept ? in[i] : static_cast<T>(op.number);
        }
    }

    const Tape* tape_;
    std::vector<Dtype> dtypes_;  ///< of the step's inputs
    std::vector<T> registers_;
};

}  // namespace roofline::core

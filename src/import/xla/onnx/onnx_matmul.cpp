// Matmuls of ONNX.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

// A matmul as numpy has it: vectors get a dimension, batches are broadcast.
OnnxValue numpy_matmul(OnnxCall& call, OnnxValue left, OnnxValue right, const XlaElement* element) {
    OnnxBuilder& hlo = call.hlo();
    if (left.shape.dims.empty() || right.shape.dims.empty()) {
        call.fail("a single number cannot be multiplied as a matrix");
        return left;
    }
    const bool row = left.shape.dims.size() == 1;
    const bool column = right.shape.dims.size() == 1;
    if (row) left = hlo.reshape(left, {1, left.shape.dims[0]});
    if (column) right = hlo.reshape(right, {right.shape.dims[0], 1});
    const OnnxDims l = left.shape.dims;
    const OnnxDims r = right.shape.dims;
    const OnnxDims left_batch(l.begin(), l.end() - 2);
    const OnnxDims right_batch(r.begin(), r.end() - 2);
    const auto batch = hlo.common_dims(left_batch, right_batch);
    if (!batch) return left;
    OnnxValue made;
    OnnxDims result = *batch;
    result.push_back(l[l.size() - 2]);
    result.push_back(r.back());
    const auto last = static_cast<std::int64_t>(l.size()) - 1;
    if (product_of(right_batch) == 1) {
        // Weights: one matmul with all rows.
        made = hlo.dot(left, hlo.reshape(right, {r[r.size() - 2], r.back()}), {{last}, {0}, {}, {}}, element);
    } else {
        OnnxDims wide_left = *batch;
        wide_left.insert(wide_left.end(), l.end() - 2, l.end());
        OnnxDims wide_right = *batch;
        wide_right.insert(wide_right.end(), r.end() - 2, r.end());
        OnnxDims axes;
        for (std::size_t d = 0; d < batch->size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
        const auto rank = static_cast<std::int64_t>(batch->size());
        made = hlo.dot(hlo.broadcast(left, wide_left), hlo.broadcast(right, wide_right),
                       {{rank + 1}, {rank}, axes, axes}, element);
    }
    if (call.failed()) return left;
    if (column) result.pop_back();
    if (row) result.erase(result.end() - (column ? 1 : 2));
    return hlo.reshape(made, std::move(result));
}

void write_matmul(OnnxCall& call) { call.out(0, numpy_matmul(call, call.in(0), call.in(1), call.element())); }

// Zero points shift sums of rows and columns, which libraries do inside the kernel.
void write_matmul_integer(OnnxCall& call) {
    call.out(0, numpy_matmul(call, call.in(0), call.in(1), find_xla_element("s32")));
}

// The matmul's sums scaled to `to`.
OnnxValue requantised(OnnxCall& call, const OnnxValue& sums, const OnnxValue& scale, const XlaElement* to) {
    OnnxBuilder& hlo = call.hlo();
    const XlaElement* const f32 = find_xla_element("f32");
    const OnnxValue factor = product_of(scale.shape.dims) == 1 ? hlo.reshape(scale, {}) : scale;
    const OnnxValue scaled = hlo.apply("mul", {hlo.convert(sums, f32), factor});
    return hlo.convert(hlo.apply("round", {scaled}), to);
}

void write_qlinear_matmul(OnnxCall& call) {
    const OnnxValue sums = numpy_matmul(call, call.in(0), call.in(3), find_xla_element("s32"));
    if (!call.failed()) call.out(0, requantised(call, sums, call.in(6), call.in(7).shape.element));
}

void write_matmul_integer_to_float(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    OnnxValue sums = numpy_matmul(call, call.in(0), call.in(1), find_xla_element("s32"));
    if (call.failed()) return;
    OnnxValue value = hlo.apply("mul", {hlo.convert(sums, call.in(2).shape.element), call.in(2)});
    value = hlo.apply("mul", {value, call.in(3)});
    if (call.has(6)) value = hlo.apply("add", {value, call.in(6)});
    call.out(0, std::move(value));
}

void write_gemm(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const bool fused = call.node().type == "FusedMatMul";
    const OnnxValue a = call.in(0);
    const OnnxValue b = call.in(1);
    if (!fused && (a.shape.dims.size() != 2 || b.shape.dims.size() != 2)) {
        call.fail("its operands are no matrices");
        return;
    }
    OnnxValue value;
    if (fused) {
        const auto turned = [&](OnnxValue from, std::string_view name) {
            if (call.integer(name, 0) == 0 || from.shape.dims.size() < 2) return from;
            OnnxDims order;
            for (std::size_t d = 0; d < from.shape.dims.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
            std::swap(order[order.size() - 1], order[order.size() - 2]);
            return hlo.transpose(from, order);
        };
        value = numpy_matmul(call, turned(a, "transA"), turned(b, "transB"), call.element());
    } else {
        const std::int64_t sum_a = call.integer("transA", 0) != 0 ? 0 : 1;
        const std::int64_t sum_b = call.integer("transB", 0) != 0 ? 1 : 0;
        value = hlo.dot(a, b, {{sum_a}, {sum_b}, {}, {}}, call.element());
        if (!call.failed() && sum_a == 0 && sum_b == 0) value = hlo.reshape(value, {a.shape.dims[1], b.shape.dims[1]});
    }
    if (call.failed()) return;
    const auto scaled = [&](const OnnxValue& from, std::string_view name) {
        const double factor = call.real(name, 1);
        if (factor == 1) return from;
        return hlo.apply("mul", {from, OnnxBuilder::scalar(from.shape.element, factor)});
    };
    value = scaled(value, "alpha");
    if (call.has(2) && call.real("beta", 1) != 0) {
        value = hlo.apply("add", {value, hlo.broadcast(scaled(call.in(2), "beta"), value.shape.dims)});
    }
    call.out(0, std::move(value));
}

// Weights in blocks of few bits, which the kernel unpacks: B[N, blocks, bytes of a block] is W[N, K].
void write_matmul_bits(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const std::int64_t k = call.integer("K", 0);
    const std::int64_t n = call.integer("N", 0);
    const std::int64_t bits = call.integer("bits", 4);
    const XlaElement* const packed = find_xla_element(fmt::format("u{}", bits));
    if (packed == nullptr || k < 1 || n < 1 || k > (1 << 30) || n > (1 << 30)) {
        call.fail("its attributes K, N and bits say nothing that a matmul could have");
        return;
    }
    const OnnxValue b = call.in(1);
    if (b.shape.bytes() * 8 < n * k * bits) {
        call.fail(fmt::format("its weights {} are fewer than {} x {} of {} bits", shape_text(b.shape), n, k, bits));
        return;
    }
    const OnnxValue unpacked = hlo.emit("bitcast-convert", array_of(packed, {n, k}), {b});
    const OnnxValue weights = hlo.convert(unpacked, call.element());
    OnnxDims shape = call.dims(0);
    if (shape.empty() || shape.back() != k) {
        call.fail(fmt::format("its input {} does not end in K={}", shape_text(call.in(0).shape), k));
        return;
    }
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    OnnxValue value = hlo.dot(call.in(0), weights, {{last}, {1}, {}, {}}, call.element());
    if (call.has(5)) value = hlo.apply("add", {value, call.in(5)});
    call.out(0, std::move(value));
}

/// The letters of an einsum: those of each operand, and of the result.
struct EinsumLetters {
    std::vector<std::string> operands;
    std::string result;
};

std::optional<EinsumLetters> letters_of(std::string_view equation) {
    EinsumLetters letters;
    std::string now;
    bool after = false;
    for (std::size_t i = 0; i < equation.size(); ++i) {
        const char c = equation[i];
        if (c == ' ') continue;
        if (c == ',' || c == '-') {
            if (after) return std::nullopt;
            letters.operands.push_back(std::move(now));
            now.clear();
            if (c == '-') {
                if (i + 1 == equation.size() || equation[++i] != '>') return std::nullopt;
                after = true;
            }
        } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
            if (now.find(c) != std::string::npos) return std::nullopt;  // a diagonal
            now += c;
        } else {
            return std::nullopt;
        }
    }
    if (after) {
        letters.result = std::move(now);
        return letters;
    }
    // Without an arrow the result has the letters that occur once, in the order of the alphabet.
    letters.operands.push_back(std::move(now));
    std::string all;
    for (const std::string& each : letters.operands) all += each;
    std::sort(all.begin(), all.end());
    for (const char c : all) {
        if (std::count(all.begin(), all.end(), c) == 1) letters.result += c;
    }
    return letters;
}

// Sums what only this operand has.
OnnxValue summed(OnnxCall& call, const OnnxValue& from, std::string& letters, std::string_view needed) {
    OnnxDims axes;
    std::string left;
    for (std::size_t d = 0; d < letters.size(); ++d) {
        if (needed.find(letters[d]) == std::string_view::npos) {
            axes.push_back(static_cast<std::int64_t>(d));
        } else {
            left += letters[d];
        }
    }
    letters = left;
    return axes.empty() ? from : call.hlo().reduce("add", from, axes, false);
}

void write_einsum(OnnxCall& call) {
    auto letters = letters_of(call.text("equation", ""));
    if (!letters) {  // an ellipsis or a diagonal
        call.give_up();
        return;
    }
    if (letters->operands.size() != call.inputs()) {
        call.fail("its equation has not as many operands as it has inputs");
        return;
    }
    for (std::size_t i = 0; i < call.inputs(); ++i) {
        if (call.dims(i).size() == letters->operands[i].size()) continue;
        call.fail(fmt::format("its input {} has the shape {}, and {} letters", i, shape_text(call.in(i).shape),
                              letters->operands[i].size()));
        return;
    }
    OnnxBuilder& hlo = call.hlo();
    OnnxValue value = call.in(0);
    std::string have = letters->operands[0];
    for (std::size_t i = 1; i < call.inputs() && !call.failed(); ++i) {
        std::string rest = letters->result;
        for (std::size_t j = i + 1; j < call.inputs(); ++j) rest += letters->operands[j];
        std::string own = letters->operands[i];
        value = summed(call, value, have, rest + own);
        const OnnxValue other = summed(call, call.in(i), own, rest + have);
        DotAxes axes;
        std::string made;
        for (std::size_t d = 0; d < have.size(); ++d) {
            const std::size_t place = own.find(have[d]);
            if (place == std::string::npos) continue;
            const bool batch = rest.find(have[d]) != std::string::npos;
            (batch ? axes.left_batch : axes.left_sum).push_back(static_cast<std::int64_t>(d));
            (batch ? axes.right_batch : axes.right_sum).push_back(static_cast<std::int64_t>(place));
            if (batch) made += have[d];
        }
        for (const char c : have) {
            if (own.find(c) == std::string::npos) made += c;
        }
        for (const char c : own) {
            if (have.find(c) == std::string::npos) made += c;
        }
        value = hlo.dot(value, other, axes, call.element());
        have = std::move(made);
    }
    if (call.failed()) return;
    value = summed(call, value, have, letters->result);
    OnnxDims order;
    for (const char c : letters->result) {
        const std::size_t place = have.find(c);
        if (place == std::string::npos) {
            call.fail("its result has a letter that no operand has");
            return;
        }
        order.push_back(static_cast<std::int64_t>(place));
    }
    call.out(0, hlo.transpose(value, order));
}

constexpr OnnxOperatorRow matmul_rows[] = {
    {"MatMul", write_matmul},
    {"Gemm", write_gemm},
    {"FusedMatMul", write_gemm},
    {"MatMulInteger", write_matmul_integer},
    {"MatMulIntegerToFloat", write_matmul_integer_to_float},
    {"QLinearMatMul", write_qlinear_matmul},
    {"MatMulNBits", write_matmul_bits},
    {"Einsum", write_einsum},
};

}  // namespace

OnnxOperator find_matmul_operator(std::string_view name) { return find_row(matmul_rows, name); }

}  // namespace roofline::core

#include "work/kernel_signature.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace roofline::core {

namespace {

// The place of a tensor is searched among those before it.
constexpr std::size_t most_statements = 64;

class SignatureWriter {
public:
    SignatureWriter(const Program& program, const KernelParts& kernel) : program_(program), kernel_(kernel) {}

    bool write() {
        if (kernel_.statements.size() > most_statements) return false;
        number(kernel_.fused);
        polynomial(kernel_.count);
        for (const Statement* each : kernel_.statements) {
            if (!statement(*each)) return false;
            for (const Op& op : each->ops) number(kernel_.stays_inside(op.output.value));
        }
        return true;
    }
    KernelSignature take() { return std::move(signature_); }

private:
    template <class T>
    void number(T value) {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Int128>);
        signature_.text.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    // Most numbers are small: one byte for these, and a mark before any other.
    void count(std::size_t value) {
        constexpr std::size_t most = 254;
        signature_.text.push_back(static_cast<char>(std::min(value, most + 1)));
        if (value > most) number(value);
    }
    void word(const std::string& text) {
        count(text.size());
        signature_.text += text;
    }
    void words(const std::vector<std::string>& all) {
        count(all.size());
        for (const std::string& each : all) word(each);
    }
    void rational(const Rational& value) {
        number(value.numerator());
        number(value.denominator());
        number(value.overflowed());
    }
    void polynomial(const Polynomial& sum) {
        count(sum.terms().size());
        for (const auto& [monomial, coefficient] : sum.terms()) {
            count(monomial.size());
            for (const Factor& factor : monomial) {
                word(factor.symbol.dim);
                number(factor.symbol.divisor);
                number(factor.power);
            }
            rational(coefficient);
        }
    }

    bool statement(const Statement& each) {
        count(each.ops.size());
        for (const Op& op : each.ops) operation(op);
        number(each.one_chip);
        number(each.using_dtype.has_value());
        if (each.using_dtype) number(*each.using_dtype);
        word(each.part);
        count(each.messages.size());
        return std::all_of(each.messages.begin(), each.messages.end(), [&](const Message& one) {
            message(one);
            return one.from.empty() && one.to.empty() && one.follows == 0;
        });
    }

    void message(const Message& one) {
        number(one.kind);
        words(one.axes);
        words(one.axes_after);
        polynomial(one.bytes);
        number(one.hops);
        rational(one.sure);
        rational(one.copies);
    }

    void operation(const Op& op) {
        number(op.kind);
        word(op.function);
        count(op.inputs.size());
        for (const Operand& input : op.inputs) operand(input);
        operand(op.output);
        count(op.constants.size());
        for (const Constant& constant : op.constants) {
            number(constant.position);
            number(constant.value);
        }
        words(op.along);
        number(op.named_sum);
        number(op.arithmetic);
        rational(op.share);
    }

    void operand(const Operand& each) {
        const auto known = std::find(signature_.values.begin(), signature_.values.end(), each.value);
        count(static_cast<std::size_t>(known - signature_.values.begin()));
        words(each.dims);
        if (known != signature_.values.end()) return;
        signature_.values.push_back(each.value);
        const Value& value = program_.values[each.value];
        number(kernel_.computed(each.value));
        number(value.type.dtype);
        count(value.type.axes.size());
        for (const Axis& axis : value.type.axes) word(axis.dim);
        word(value.level);
        for (const bool flag :
             {value.param, value.frozen, value.cache, value.intermediate, value.in_place, value.carried})
            number(flag);
        word(value.part);
        count(value.masks.size());
        for (const MaskedPlane& plane : value.masks) {
            word(plane.rows);
            word(plane.columns);
            word(plane.window);
        }
    }

    const Program& program_;
    const KernelParts& kernel_;
    KernelSignature signature_;
};

}  // namespace

std::optional<KernelSignature> kernel_signature(const Program& program, const KernelParts& kernel) {
    SignatureWriter writer(program, kernel);
    if (!writer.write()) return std::nullopt;
    return writer.take();
}

}  // namespace roofline::core

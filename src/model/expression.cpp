#include "model/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr int max_depth = 60;

bool missing(const ConfigResult& value) { return std::holds_alternative<NoValue>(value); }

std::optional<double> real(const ConfigResult& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* number = std::get_if<double>(&value)) return *number;
    return std::nullopt;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Returns whether two values are equal. Values of different kinds are not, except integers and fractional numbers.
bool equal(const ConfigResult& a, const ConfigResult& b) {
    const auto x = real(a);
    const auto y = real(b);
    if (x && y) return *x == *y;
    if (std::holds_alternative<const FileValue*>(a) || std::holds_alternative<const FileValue*>(b)) return false;
    return a == b;
}

class Evaluation {
public:
    Evaluation(std::string_view text, const ConfigNames& names) : text_(text), names_(names) {}

    Result<ConfigResult> run() {
        auto value = alternatives();
        skip();
        if (value && at_ < text_.size()) return wrong("expected the end");
        return value;
    }

private:
    tl::unexpected<Error> wrong(std::string_view what) const {
        return fail("key_table",
                    fmt::format("in the expression `{}`, before `{}`: {}", text_, text_.substr(at_), what));
    }

    void skip() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }

    bool accept(std::string_view symbol) {
        skip();
        if (!text_.substr(at_).starts_with(symbol)) return false;
        // `<` must not match the beginning of `<=`, nor `/` that of `//`; a word must end where its letters end
        const char next = at_ + symbol.size() < text_.size() ? text_[at_ + symbol.size()] : ' ';
        if ((symbol == "<" || symbol == ">") && next == '=') return false;
        if (symbol == "/" && next == '/') return false;
        if (is_letter(symbol.front()) && (is_letter(next) || is_digit(next))) return false;
        at_ += symbol.size();
        return true;
    }

    Result<ConfigResult> alternatives() {
        if (++depth_ > max_depth) return wrong("it is nested too deeply");
        auto value = disjunction();
        while (value && accept("|")) {
            auto other = unless(!missing(*value), [this] { return disjunction(); });
            if (!other) return other;
            if (missing(*value)) value = std::move(other);
        }
        --depth_;
        return value;
    }

    Result<ConfigResult> disjunction() {
        auto left = conjunction();
        while (left && accept("or")) {
            ROOFLINE_TRY(auto right, unless(decided(*left, false), [this] { return conjunction(); }));
            left = logic(*left, right, false);
        }
        return left;
    }

    Result<ConfigResult> conjunction() {
        auto left = negation();
        while (left && accept("and")) {
            ROOFLINE_TRY(auto right, unless(decided(*left, true), [this] { return negation(); }));
            left = logic(*left, right, true);
        }
        return left;
    }

    // Parses on; if the value does not matter, keys are not looked up, so absent keys cause no error.
    template <class Read>
    Result<ConfigResult> unless(bool settled, Read read) {
        if (settled) ++skipping_;
        auto value = read();
        if (settled) --skipping_;
        return value;
    }

    // Returns whether the left operand of `and` or `or` decides the result.
    static bool decided(const ConfigResult& left, bool both) {
        const auto* condition = std::get_if<bool>(&left);
        return condition != nullptr && *condition != both;
    }

    Result<ConfigResult> logic(const ConfigResult& a, const ConfigResult& b, bool both) const {
        if (missing(a)) return a;
        const auto* x = std::get_if<bool>(&a);
        if (x == nullptr) return wrong("expected a condition, not " + text_of(a));
        if (*x != both) return a;  // the right operand does not matter, even if it is absent
        if (missing(b)) return b;
        if (!std::holds_alternative<bool>(b)) return wrong("expected a condition, not " + text_of(b));
        return b;
    }

    Result<ConfigResult> negation() {
        if (!accept("not")) return comparison();
        auto value = negation();
        if (!value || missing(*value)) return value;
        const auto* condition = std::get_if<bool>(&*value);
        if (condition == nullptr) return wrong("expected a condition, not " + text_of(*value));
        return ConfigResult(!*condition);
    }

    Result<ConfigResult> comparison() {
        ROOFLINE_TRY(auto left, sum());
        for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">", "in"}) {
            if (!accept(op)) continue;
            ROOFLINE_TRY(auto right, sum());
            if (missing(left)) return left;
            if (missing(right)) return right;
            return compare(op, left, right);
        }
        return left;
    }

    Result<ConfigResult> compare(std::string_view op, const ConfigResult& a, const ConfigResult& b) const {
        if (op == "==") return ConfigResult(equal(a, b));
        if (op == "!=") return ConfigResult(!equal(a, b));
        if (op == "in") {
            ROOFLINE_TRY(auto list, list_of(b));
            return ConfigResult(std::any_of((list)->items.begin(), (list)->items.end(),
                                            [&](const FileValue& item) { return equal(result_of(item), a); }));
        }
        const auto x = real(a);
        const auto y = real(b);
        if (!x || !y) return wrong(fmt::format("{} and {} cannot be compared", text_of(a), text_of(b)));
        return ConfigResult(op == "<" ? *x < *y : op == "<=" ? *x <= *y : op == ">" ? *x > *y : *x >= *y);
    }

    Result<ConfigResult> sum() {
        auto left = term();
        while (left) {
            const char op = accept("+") ? '+' : accept("-") ? '-' : ' ';
            if (op == ' ') return left;
            ROOFLINE_TRY(auto right, term());
            left = arithmetic(op, *left, right);
        }
        return left;
    }

    Result<ConfigResult> term() {
        auto left = item();
        while (left) {
            const char op = accept("*") ? '*' : accept("//") ? 'f' : accept("/") ? '/' : accept("%") ? '%' : ' ';
            if (op == ' ') return left;
            ROOFLINE_TRY(auto right, item());
            left = arithmetic(op, *left, right);
        }
        return left;
    }

    Result<ConfigResult> arithmetic(char op, const ConfigResult& a, const ConfigResult& b) const {
        if (missing(a)) return a;
        if (missing(b)) return b;
        const auto* x = std::get_if<std::int64_t>(&a);
        const auto* y = std::get_if<std::int64_t>(&b);
        if (x != nullptr && y != nullptr) return whole(op, *x, *y);
        const auto u = real(a);
        const auto v = real(b);
        if (!u || !v) return mismatch(std::string(1, op), u ? b : a);
        const double result = op == '+' ? *u + *v : op == '-' ? *u - *v : op == '*' ? *u * *v : *u / *v;
        if (op == 'f' || op == '%' || !std::isfinite(result)) {
            return mismatch(std::string(1, op), x != nullptr ? b : a);  // the operand that is not an integer
        }
        return ConfigResult(result);
    }

    Result<ConfigResult> whole(char op, std::int64_t a, std::int64_t b) const {
        std::int64_t result = 0;
        if (op == '+' || op == '-' || op == '*') {
            const bool overflow = op == '+'   ? __builtin_add_overflow(a, b, &result)
                                  : op == '-' ? __builtin_sub_overflow(a, b, &result)
                                              : __builtin_mul_overflow(a, b, &result);
            if (overflow) return fail("overflow", fmt::format("`{}` is beyond 63 bits", text_));
            return ConfigResult(result);
        }
        if (b <= 0 || a < 0) return fail("bad_value", fmt::format("`{}` divides {} by {}", text_, a, b));
        if (op == '/' && a % b != 0) {
            return fail("bad_value", fmt::format("`{}` leaves a remainder: {} is not a multiple of {}", text_, a, b),
                        "check the two keys: such a model cannot be built");
        }
        return ConfigResult(op == '%' ? a % b : a / b);
    }

    Result<ConfigResult> mismatch(std::string_view op, const ConfigResult& value) const {
        return fail("bad_value", fmt::format("{} in `{}` is not a valid operand of `{}`", text_of(value), text_, op));
    }

    Result<ConfigResult> item() {
        auto value = atom();
        while (value) {
            if (accept("[")) {
                ROOFLINE_TRY(auto index, alternatives());
                if (!accept("]")) return wrong("expected `]`");
                value = at(*value, index);
            } else if (accept(".")) {
                const std::string_view key = word();
                if (missing(*value)) continue;
                const auto* table = std::get_if<const FileValue*>(&*value);
                if (table == nullptr || (*table)->kind != FileValue::Kind::table) return wrong("no table");
                const FileValue* member = (*table)->find(key);
                value = member == nullptr || member->is_null() ? ConfigResult(NoValue{std::string(key)})
                                                               : result_of(*member);
            } else {
                break;
            }
        }
        return value;
    }

    Result<ConfigResult> at(const ConfigResult& list, const ConfigResult& index) const {
        if (missing(list)) return list;
        if (missing(index)) return index;
        const auto* place = std::get_if<std::int64_t>(&index);
        if (const auto* text = std::get_if<std::string>(&list); text != nullptr && place != nullptr) {
            if (*place < 0 || static_cast<std::size_t>(*place) >= text->size()) return outside(*place, text->size());
            return ConfigResult(std::string(1, (*text)[static_cast<std::size_t>(*place)]));
        }
        ROOFLINE_TRY(auto items, list_of(list));
        const std::size_t count = (items)->items.size();
        if (place == nullptr || *place < 0 || static_cast<std::size_t>(*place) >= count) {
            return outside(place == nullptr ? -1 : *place, count);
        }
        return result_of((items)->items[static_cast<std::size_t>(*place)]);
    }

    tl::unexpected<Error> outside(std::int64_t place, std::size_t count) const {
        return fail("bad_value", fmt::format("`{0}`: a list of {2} items has no item {1}", text_, place, count),
                    "a list with one item per layer is too short");
    }

    Result<const FileValue*> list_of(const ConfigResult& value) const {
        const auto* found = std::get_if<const FileValue*>(&value);
        if (found != nullptr && (*found)->kind == FileValue::Kind::list) return *found;
        return fail("bad_value", fmt::format("`{}` needs a list, not {}", text_, text_of(value)));
    }

    std::string_view word() {
        skip();
        const std::size_t begin = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
        return text_.substr(begin, at_ - begin);
    }

    Result<ConfigResult> atom() {
        skip();
        if (accept("(")) {
            auto inner = alternatives();
            if (inner && !accept(")")) return wrong("expected `)`");
            return inner;
        }
        if (accept("'")) {
            const std::size_t end = text_.find('\'', at_);
            if (end == std::string_view::npos) return wrong("the string is not terminated");
            const std::string_view inside = text_.substr(at_, end - at_);
            at_ = end + 1;
            return ConfigResult(std::string(inside));
        }
        if (at_ < text_.size() && is_digit(text_[at_])) {
            std::int64_t number = 0;
            const char* begin = text_.data() + at_;
            const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
            if (error != std::errc{}) return wrong("no number");
            at_ += static_cast<std::size_t>(end - begin);
            return ConfigResult(number);
        }
        const std::string_view name = word();
        if (name.empty()) return wrong("expected a key, a number or `(`");
        if (name == "yes" || name == "true") return ConfigResult(true);
        if (name == "no" || name == "false") return ConfigResult(false);
        if (accept("(")) return call(name);
        return skipping_ > 0 ? ConfigResult(NoValue{std::string(name)}) : names_(name);
    }

    Result<ConfigResult> call(std::string_view name) {
        std::vector<ConfigResult> arguments;
        do {
            // `if` parses the branch that it does not take without looking up keys
            const bool chosen = name == "if" && !arguments.empty();
            const bool other = chosen && decided(arguments.front(), arguments.size() == 1);
            ROOFLINE_TRY(auto argument, unless(other, [this] { return alternatives(); }));
            arguments.push_back(std::move(argument));
        } while (accept(","));
        if (!accept(")")) return wrong("expected `)`");
        if (name == "present" && arguments.size() == 1) return ConfigResult(!missing(arguments.front()));
        if (name == "if" && arguments.size() == 3) {
            if (missing(arguments[0])) return arguments[0];
            const auto* condition = std::get_if<bool>(arguments.data());
            if (condition == nullptr) return wrong("expected a condition, not " + text_of(arguments[0]));
            return arguments[*condition ? 1 : 2];
        }
        for (const ConfigResult& argument : arguments) {
            if (missing(argument)) return argument;
        }
        return function(name, arguments);
    }

    Result<ConfigResult> function(std::string_view name, const std::vector<ConfigResult>& arguments) const {
        if (name == "len" && arguments.size() == 1) {
            if (const auto* text = std::get_if<std::string>(arguments.data())) {
                return ConfigResult(static_cast<std::int64_t>(text->size()));
            }
            ROOFLINE_TRY(auto list, list_of(arguments[0]));
            return ConfigResult(static_cast<std::int64_t>((list)->items.size()));
        }
        if (name == "count" && arguments.size() == 2) {
            ROOFLINE_TRY(auto list, list_of(arguments[0]));
            return ConfigResult(static_cast<std::int64_t>(
                std::count_if((list)->items.begin(), (list)->items.end(),
                              [&](const FileValue& item) { return equal(result_of(item), arguments[1]); })));
        }
        if (name == "floor" && arguments.size() == 1) {
            const auto number = real(arguments[0]);
            if (!number || std::fabs(*number) > 9e15) return mismatch(name, arguments[0]);
            return ConfigResult(static_cast<std::int64_t>(std::floor(*number)));
        }
        const auto* a = arguments.empty() ? nullptr : std::get_if<std::int64_t>(arguments.data());
        const auto* b = arguments.size() != 2 ? nullptr : std::get_if<std::int64_t>(&arguments[1]);
        if (a == nullptr || b == nullptr) return wrong(fmt::format("`{}` cannot take these arguments", name));
        if (name == "min") return ConfigResult(std::min(*a, *b));
        if (name == "max") return ConfigResult(std::max(*a, *b));
        if (name == "round_up") {
            if (*a < 0 || *b < 1 || *a > INT64_MAX - *b) return mismatch(name, arguments[0]);
            return ConfigResult((*a + *b - 1) / *b * *b);
        }
        return wrong(fmt::format("no function `{}`", name));
    }

    std::string_view text_;
    const ConfigNames& names_;
    std::size_t at_ = 0;
    int depth_ = 0;
    int skipping_ = 0;
};

}  // namespace

ConfigResult result_of(const FileValue& value) {
    switch (value.kind) {
        case FileValue::Kind::null:
            return NoValue{};
        case FileValue::Kind::boolean:
            return value.boolean;
        case FileValue::Kind::whole:
            return value.whole;
        case FileValue::Kind::real:
            return value.real;
        case FileValue::Kind::text:
            return value.text;
        case FileValue::Kind::list:
        case FileValue::Kind::table:
            break;
    }
    return &value;
}

std::string text_of(const ConfigResult& value) {
    if (const auto* absent = std::get_if<NoValue>(&value)) return fmt::format("nothing (`{}`)", absent->key);
    if (const auto* condition = std::get_if<bool>(&value)) return *condition ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
    if (const auto* number = std::get_if<double>(&value)) {
        constexpr double exact = 1e15;  // 1000.0 is not an integer and must not look like one
        const bool whole_value = *number == std::floor(*number) && std::abs(*number) < exact;
        return whole_value ? fmt::format("{:.1f}", *number) : fmt::format("{}", *number);
    }
    if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("\"{}\"", text->substr(0, 40));
    return std::string(kind_name(std::get<const FileValue*>(value)->kind));
}

Result<ConfigResult> evaluate(std::string_view text, const ConfigNames& names) { return Evaluation(text, names).run(); }

}  // namespace roofline::core

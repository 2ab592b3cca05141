#include "import/xla/stablehlo/mlir_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_type = 64;
constexpr std::size_t most_sizes = 64;
constexpr std::string_view ask_for_sizes = "export the module with static shapes: every size a number";

class TypeReader {
public:
    explicit TypeReader(MlirScanner& scanner) : scanner_(scanner) {}

    Result<XlaShape> take(int depth) {
        if (depth > deepest_type) return scanner_.fail_here("too_deep", "types are nested deeper than 64 levels");
        scanner_.skip_blanks();
        const std::size_t from = scanner_.at();
        if (scanner_.take_word("tensor")) return take_tensor(from);
        if (scanner_.take_word("tuple")) return take_tuple(from, depth);
        XlaShape shape;
        ROOFLINE_TRY(shape.element, take_element());
        return shape;
    }

private:
    // The element type of a tensor, or a type that is no tensor.
    Result<const XlaElement*> take_element() {
        const std::size_t from = scanner_.at();
        if (scanner_.peek() == '!') return take_dialect_type(from);
        const std::string_view word = scanner_.take_word();
        if (scanner_.peek() == '<') ROOFLINE_CHECK(scanner_.take_group());
        const std::string_view name = scanner_.between(from, scanner_.at());
        const XlaElement* element = find_xla_element(word == "index" ? "s64" : name);
        if (element != nullptr) return element;
        return scanner_.fail_at(from, "bad_stablehlo",
                                name.empty() ? std::string("a type is missing, such as `tensor<8x128xf32>`")
                                             : fmt::format("there is no element type {}", in_ticks(name)));
    }

    // `!stablehlo.token`, `!quant.uniform<i8:f32, 0.1>`, or one that only its dialect knows.
    Result<const XlaElement*> take_dialect_type(std::size_t from) {
        scanner_.take("!");
        const std::string_view name = scanner_.take_word();
        std::string_view parameters;
        if (scanner_.peek() == '<') {
            ROOFLINE_TRY(parameters, scanner_.take_group());
        }
        if (name == "stablehlo.token" || name == "mhlo.token") return find_xla_element("token");
        if (name.starts_with("vhlo.")) {
            return scanner_.fail_at(from, "vhlo", "this module is written in VHLO, the form for storage",
                                    "give StableHLO as text: `jax.jit(f).lower(...).as_text()`");
        }
        if (name.starts_with("quant.")) {
            parameters.remove_prefix(std::min<std::size_t>(1, parameters.size()));
            const XlaElement* stored = find_xla_element(parameters.substr(0, parameters.find_first_of("<:>,")));
            if (stored != nullptr) return stored;
        }
        return find_xla_element("opaque");
    }

    // `<4x?x8xf32, #stablehlo.bounds<?, 5, ?>>`.
    Result<XlaShape> take_tensor(std::size_t from) {
        ROOFLINE_CHECK(scanner_.expect("<", "after `tensor`"));
        XlaShape shape;
        bool open_dims = false;
        while (is_digit(scanner_.peek()) || scanner_.peek() == '?' || scanner_.peek() == '*') {
            ROOFLINE_TRY(const std::int64_t size, take_size());
            open_dims = open_dims || size < 0;
            shape.dims.push_back(size);
            if (shape.dims.size() > most_sizes) {
                return scanner_.fail_at(from, "too_large", "a shape has more than 64 dimensions");
            }
        }
        ROOFLINE_TRY(shape.element, take_element());
        if (scanner_.take(",")) {
            ROOFLINE_TRY(const auto encoding, scanner_.take_dictionary_value());
            if (open_dims) read_bounds(encoding, shape);
        }
        ROOFLINE_CHECK(scanner_.expect(">", "after the element type of a tensor"));
        if (std::any_of(shape.dims.begin(), shape.dims.end(), [](std::int64_t size) { return size < 0; })) {
            return scanner_.fail_at(from, "dynamic_shape", "a dimension of this tensor has no size and no bound",
                                    std::string(ask_for_sizes));
        }
        if (!countable(shape)) {
            return scanner_.fail_at(from, "too_large", "this shape has more bits than 63 bits can count",
                                    "check its sizes");
        }
        return shape;
    }

    // A size and the `x` after it; -1 for `?`.
    Result<std::int64_t> take_size() {
        const std::size_t from = scanner_.at();
        if (scanner_.peek() == '*') {
            return scanner_.fail_here("dynamic_shape", "this tensor has no rank", std::string(ask_for_sizes));
        }
        std::int64_t size = -1;
        if (scanner_.peek() == '?') {
            scanner_.go_to(from + 1);
        } else {
            const std::string_view text = scanner_.text();
            const auto [end, error] = std::from_chars(text.data() + from, text.data() + text.size(), size);
            if (error != std::errc{}) {
                return scanner_.fail_here("too_large", "this size is larger than 63 bits can count", "check it");
            }
            scanner_.go_to(static_cast<std::size_t>(end - text.data()));
        }
        if (scanner_.peek() != 'x') return scanner_.fail_here("bad_stablehlo", "expected `x` after a size");
        scanner_.go_to(scanner_.at() + 1);
        return size;
    }

    static void read_bounds(std::string_view encoding, XlaShape& shape) {
        std::size_t at = encoding.find("bounds<");
        if (at == std::string_view::npos) return;
        at += 7;
        for (std::int64_t& dim : shape.dims) {
            while (at < encoding.size() && (encoding[at] == ' ' || encoding[at] == ',')) ++at;
            std::int64_t bound = 0;
            const auto [end, error] = std::from_chars(encoding.data() + at, encoding.data() + encoding.size(), bound);
            if (error != std::errc{}) {
                ++at;  // a question mark
            } else {
                at = static_cast<std::size_t>(end - encoding.data());
                if (dim < 0) {
                    dim = bound;
                    shape.dynamic = true;
                }
            }
            at = std::min(at, encoding.size());
        }
    }

    Result<XlaShape> take_tuple(std::size_t from, int depth) {
        ROOFLINE_CHECK(scanner_.expect("<", "after `tuple`"));
        XlaShape shape;
        while (!scanner_.take(">")) {
            if (!shape.parts.empty()) ROOFLINE_CHECK(scanner_.expect(",", "between the parts of a tuple"));
            ROOFLINE_TRY(auto part, take(depth + 1));
            shape.parts.push_back(std::move(part));
        }
        if (countable(shape)) return shape;
        return scanner_.fail_at(from, "too_large", "this tuple has more bits than 63 bits can count");
    }

    MlirScanner& scanner_;
};

}  // namespace

Result<XlaShape> MlirTypes::take(MlirScanner& scanner) {
    scanner.skip_blanks();
    constexpr std::string_view tensor = "tensor<";
    const std::size_t from = scanner.at();
    if (!scanner.next_is(tensor)) return TypeReader(scanner).take(0);
    // A tensor without brackets inside ends at the first one that closes.
    const std::size_t inside = from + tensor.size();
    const std::size_t end = scanner.text().find_first_of("<>", inside);
    const bool plain = end != std::string_view::npos && scanner.text()[end] == '>';
    const std::string_view written = scanner.between(inside, plain ? end : inside);
    const auto known = plain ? known_.find(written) : known_.end();
    if (known != known_.end()) {
        scanner.go_to(end + 1);
        return known->second;
    }
    ROOFLINE_TRY(auto shape, TypeReader(scanner).take(0));
    if (plain) known_.emplace(written, shape);
    return shape;
}

}  // namespace roofline::core

#include <doctest/doctest.h>

#include "model/expression.hpp"

using namespace roofline::core;

namespace {

FileValue list(std::initializer_list<std::int64_t> items) {
    FileValue value;
    value.kind = FileValue::Kind::list;
    for (const std::int64_t item : items) {
        FileValue one;
        one.kind = FileValue::Kind::whole;
        one.whole = item;
        value.items.push_back(one);
    }
    return value;
}

std::string said(std::string_view text) {
    static const FileValue kinds = list({0, 1, 1});
    const ConfigNames names = [](std::string_view name) -> ConfigResult {
        if (name == "width") return std::int64_t{4096};
        if (name == "heads") return std::int64_t{32};
        if (name == "odd") return std::int64_t{7};
        if (name == "pattern") return std::string("M-E");
        if (name == "gated") return true;
        if (name == "ratio") return 2.625;
        if (name == "kinds") return &kinds;
        return NoValue{std::string(name)};
    };
    auto value = evaluate(text, names);
    return value ? text_of(*value) : value.error().code;
}

}  // namespace

TEST_CASE("numbers, keys, and replacements for absent keys") {
    CHECK(said("width / heads") == "128");
    CHECK(said("head_dim | width / heads") == "128");
    CHECK(said("odd | width / heads") == "7");
    CHECK(said("head_dim * 2 | 5") == "5");  // the result of an absent key is absent
    CHECK(said("head_dim") == "nothing (`head_dim`)");
    CHECK(said("2 + 3 * 4 - 1") == "13");
    CHECK(said("(2 + 3) * 4") == "20");
    CHECK(said("width // odd") == "585");
    CHECK(said("width % odd") == "1");
    CHECK(said("floor(2 * ratio * width / 3)") == "7168");
    CHECK(said("round_up(7000, 256)") == "7168");
    CHECK(said("min(width, heads) + max(1, 2)") == "34");
}

TEST_CASE("conditions and lists") {
    CHECK(said("gated and width == 4096") == "true");
    CHECK(said("not gated or odd != 7") == "false");
    CHECK(said("odd >= 7 and odd < 8") == "true");
    CHECK(said("pattern[1] == '-'") == "true");
    CHECK(said("kinds[2] == 1") == "true");
    CHECK(said("7 in kinds") == "false");
    CHECK(said("count(kinds, 1) + len(kinds)") == "5");
    CHECK(said("if(gated, 1, 2)") == "1");
    CHECK(said("present(head_dim)") == "false");
    CHECK(said("no and missing") == "false");  // an operand that does not matter may be absent
    CHECK(said("gated == 1") == "false");
    // A branch that is not taken is parsed but not evaluated.
    CHECK(said("width | width / odd") == "4096");
    CHECK(said("if(gated, 1, kinds[7])") == "1");
    CHECK(said("if(not gated, width / odd, 2)") == "2");
    CHECK(said("no and kinds[7] == 1") == "false");
    CHECK(said("yes or kinds[7] == 1") == "true");
}

TEST_CASE("an expression without a valid result is an error") {
    CHECK(said("width / odd") == "bad_value");
    CHECK(said("width / 0") == "bad_value");
    CHECK(said("kinds[3]") == "bad_value");
    CHECK(said("pattern[9]") == "bad_value");
    CHECK(said("pattern * 2") == "bad_value");
    CHECK(said("9223372036854775807 + 1") == "overflow");
    CHECK(said("width and gated") == "key_table");
    CHECK(said("width +") == "key_table");
    CHECK(said("width heads") == "key_table");
    CHECK(said("unknown(1, 2)") == "key_table");
    CHECK(said("'open") == "key_table");
    CHECK(said(std::string(100, '(') + "1") == "key_table");
}

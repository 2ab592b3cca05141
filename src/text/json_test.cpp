#include <doctest/doctest.h>

#include <cmath>

#include "text/json.hpp"

using namespace roofline::core;

namespace {

std::string code(std::string_view text) {
    auto value = parse_json(text, "x.json");
    return value ? "" : value.error().code;
}

}  // namespace

TEST_CASE("JSON of every kind, with Python's additions") {
    const auto value = parse_json(
        R"( {"a": [1, -2.5e3, true, null, "x\u00e9\ud83d\ude00\n"],
        "big": 9223372036854775807, "more": 9223372036854775808,
            "inf": Infinity, "nan": NaN, "less": -Infinity, "empty": {}, "none": []} )",
        "x.json");
    REQUIRE(value);
    const FileValue& list = *value->find("a");
    REQUIRE(list.items.size() == 5);
    CHECK(list.items[0].whole == 1);
    CHECK(list.items[1].real == -2500);
    CHECK(list.items[2].boolean);
    CHECK(list.items[3].is_null());
    CHECK(list.items[4].text == "x\xC3\xA9\xF0\x9F\x98\x80\n");
    CHECK(value->find("big")->whole == INT64_MAX);
    CHECK(value->find("more")->kind == FileValue::Kind::real);
    CHECK(std::isinf(value->find("inf")->real));
    CHECK(std::isnan(value->find("nan")->real));
    CHECK(value->find("less")->real < 0);
    CHECK(value->find("absent") == nullptr);
}

TEST_CASE("text that is not JSON is refused at its place") {
    for (const std::string_view text : {"[1,]",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "01",
                                        "1.x",
                                        "+1",
                                        "nul ",
                                        "\"\\x\"",
                                        "\"\\u12\"",
                                        "\"\\ud800\"",
                                        "\"\\ud800\\u0041\"",
                                        "\"a\nb\"",
                                        "\"\xFF\"",
                                        "1 2",
                                        "{\"a\":1 \"b\":2}",
                                        "--1",
                                        "0x10",
                                        ".5",
                                        "NaN1",
                                        "1NaN",
                                        "-NaN",
                                        "[1Infinity]",
                                        "nan",
                                        "Infinit"}) {
        CAPTURE(text);
        CHECK(code(text) == "bad_json");
    }
    for (const std::string_view text :
         {"", "  ", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "[1", "[1,", "\"open", "-", "1e"}) {
        CAPTURE(text);
        CHECK(code(text) == "cut_off");
    }
    CHECK(code("1e999") == "bad_number");
    CHECK(code("{\"a\":1,\"a\":2}") == "defined_twice");
    CHECK(code("{\"a\":{\"a\":1},\"b\":{\"a\":1}}").empty());
    CHECK(code(std::string(100'000, '[')) == "too_deep");
    CHECK(code(std::string(64, '[') + std::string(64, ']')).empty());
    CHECK(code(std::string(65, '[') + std::string(65, ']')) == "too_deep");
    const auto wrong = parse_json("{\n  \"a\": ?\n}", "x.json");
    REQUIRE(!wrong);
    REQUIRE(wrong.error().place);
    CHECK(wrong.error().place->line == 2);
    CHECK(wrong.error().place->column == 8);
}

TEST_CASE("every value knows its position, including Python's words") {
    const std::string text = R"({"a": 12, "b\"": [true , NaN,-Infinity], "NaN": "x, NaN, \" y", "c": {"d": null}})";
    const auto value = parse_json(text, "x.json");
    REQUIRE(value);
    CHECK(value->find("a")->offset == text.find("12"));
    const FileValue& list = *value->find("b\"");
    CHECK(list.offset == text.find("[true"));
    CHECK(list.items[0].offset == text.find("true"));
    CHECK(list.items[1].offset == text.find("NaN,-"));
    CHECK(list.items[2].offset == text.find("-Inf"));
    CHECK(list.items[2].real < -1e308);
    CHECK(value->find("NaN")->offset == text.find("\"x, "));
    CHECK(value->find("NaN")->text == "x, NaN, \" y");  // words inside a string stay
    CHECK(value->find("c")->offset == text.find("{\"d\""));
    CHECK(value->find("c")->find("d")->offset == text.find("null"));
}

TEST_CASE("endless values are refused") {
    std::string many = "[0";
    for (int i = 0; i < 1'000'000; ++i) many += ",0";
    CHECK(code(many + "]") == "too_large");
}

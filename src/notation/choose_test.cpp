#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

std::string chosen(std::string_view text, const Choices& choices = {}) {
    auto program = parse_program(text, "", choices);
    return program ? print(*program) : program.error().code + ": " + program.error().message;
}

constexpr std::string_view with_options =
    "option wide = no, biased = no\n"
    "X : bf16[B, D]\n"
    "when wide { param W : bf16[D, F] } else { param W : bf16[D, E] }\n"
    "when biased and not wide or wide { param V : bf16[D] }\n"
    "Y : bf16[B, D] = relu(X)\n";

}  // namespace

TEST_CASE("an option chooses what is read, and what is not chosen is removed") {
    CHECK(chosen(with_options) == "X : bf16[B, D]\nparam W : bf16[D, E]\nY : bf16[B, D] = relu(X)\n");
    CHECK(chosen(with_options, {{{"wide", true}}, {}}) ==
          "X : bf16[B, D]\nparam W : bf16[D, F]\nparam V : bf16[D]\nY : bf16[B, D] = relu(X)\n");
    CHECK(chosen(with_options, {{{"biased", true}}, {}}) ==
          "X : bf16[B, D]\nparam W : bf16[D, E]\nparam V : bf16[D]\nY : bf16[B, D] = relu(X)\n");
}

TEST_CASE("options that do not exist, are declared twice or inside a block are errors, with the nearest name") {
    const auto wrong = parse_program(with_options, "", {{{"wid", true}}, {}});
    REQUIRE(!wrong);
    CHECK(wrong.error().message == "there is no option `wid`");
    CHECK(wrong.error().hint == "did you mean `wide`?");
    CHECK(chosen("option a = no\nwhen b { X : bf16[B] }\nY : bf16[B] = relu(X)") ==
          "unknown_name: there is no option `b`");
    CHECK(chosen("option a = no\noption a = yes").starts_with("defined_twice"));
    CHECK(chosen("X : bf16[B]\nrepeat L { option a = no }").starts_with("syntax"));
    CHECK(chosen("option a = maybe").starts_with("syntax"));
    CHECK(chosen("option a = no\nwhen not { }").starts_with("syntax"));
}

TEST_CASE("keywords may still name tensors") {
    CHECK(chosen("part : bf16[B]\nwhen = relu(part)\noption : bf16[B] = relu(when)\ncache : bf16[B] = relu(option)")
              .find("cache : bf16[B] = relu(option)") != std::string::npos);
}

TEST_CASE("statements know their part, and a program with parts and caches prints so that it can be read again") {
    constexpr std::string_view text =
        "part mlp { param W : bf16[D, F] }\n"
        "cache K : bf16[S, D]\n"
        "X : bf16[T, D]\n"
        "Pos : int32[T]\n"
        "part mlp { H : bf16[T, F] = X * W }\n"
        "K = scatter[S](K, Pos, X)\n";
    const auto program = parse_program(text);
    REQUIRE(program);
    CHECK(program->values[0].part == "mlp");
    CHECK(program->values[0].param);
    CHECK(program->values[1].cache);
    CHECK(program->values.back().cache);  // the same name, in the next run
    CHECK(std::get<Statement>(program->body.nodes[0]).part == "mlp");
    CHECK(std::get<Statement>(program->body.nodes[1]).part.empty());
    const auto again = parse_program(print(*program));
    REQUIRE(again);
    CHECK(*again == *program);
    CHECK(chosen("cache K : bf16[S] = X").starts_with("syntax"));
}

TEST_CASE("iterations of a repeat that differ become separate blocks") {
    constexpr std::string_view text =
        "option wide = no\n"
        "X : bf16[B, D]\n"
        "repeat L {\n"
        "param W : bf16[D, F]\n"
        "when wide { param V : bf16[D] }\n"
        "H : bf16[B, F] = X * W\n"
        "X = X + H *_F W\n"
        "}\n";
    Choices choices;
    choices.repeats["L"] = {{2, {{"wide", false}}, {{"F", 8}}}, {3, {{"wide", true}}, {{"F", 16}}}};
    const auto program = parse_program(text, "", choices);
    REQUIRE(program);
    CHECK(program->sizes.at("F") == 8);
    CHECK(program->sizes.at("F2") == 16);
    REQUIRE(program->body.nodes.size() == 2);
    const Block& first = std::get<Block>(program->body.nodes[0]);
    const Block& second = std::get<Block>(program->body.nodes[1]);
    CHECK(program->sizes.at(first.count) == 2);
    CHECK(program->sizes.at(second.count) == 3);
    CHECK(first.values_after == second.values_before);
    CHECK(program->values[first.values_before].name == "W");
    CHECK(program->values[second.values_before].name == "W_2");
    CHECK(program->values[second.values_before + 1].name == "V_2");
    CHECK(program->values[second.values_before].type.axes[1].dim == "F2");
    CHECK(program->values.back().name == "X");  // carried from block to block
    CHECK(program->values.back().carried);

    // A single kind is the repeat as it was written.
    choices.repeats["L"] = {{5, {{"wide", true}}, {{"F", 16}}}};
    const auto alike = parse_program(text, "", choices);
    REQUIRE(alike);
    CHECK(alike->sizes.at("L") == 5);
    CHECK(alike->sizes.at("F") == 16);

    choices.repeats["M"] = {{1, {}, {}}};
    CHECK(chosen(text, choices) == "unknown_name: the program has no `repeat M`");
    choices.repeats = {{"L", {}}};
    CHECK(chosen(text, choices) == "size: `repeat L` has no iterations");
}

TEST_CASE("roles of dimensions are in the text and change nothing in the program") {
    const std::string text = "role columns = F, I\nrole heads = K\nX : bf16[F]\n";
    CHECK(chosen(text) == "X : bf16[F]\n");
    CHECK(parse_roles(text).value() == DimRoles{{"F", "columns"}, {"I", "columns"}, {"K", "heads"}});
    CHECK(parse_roles("X : bf16[F]").value().empty());
    const auto twice = parse_roles("role columns = F\nrole heads = F");
    REQUIRE(!twice);
    CHECK(twice.error().message == "`F` has two roles");
    CHECK(!parse_roles("role columns F"));
    CHECK(!parse_roles("role columns = 4"));
    CHECK(chosen("repeat L { role heads = K }").starts_with("syntax"));
    CHECK(chosen("role : bf16[B]\nX = relu(role)").starts_with("role : bf16[B]\n"));
}

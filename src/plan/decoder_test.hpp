// A decoder with round sizes for tests of plans, and the collectives of its layers.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>

#include "layout/lay_out.hpp"
#include "model/key_table.hpp"
#include "network/slices_test.hpp"
#include "notation/notation.hpp"
#include "program/program.hpp"

namespace roofline::core::plan_test {

inline constexpr std::int64_t B = 16;
inline constexpr std::int64_t T = 4096;
inline constexpr std::int64_t D = 2048;
inline constexpr std::int64_t K = 8;  // KV heads, each with G query heads of width H
inline constexpr std::int64_t G = 2;
inline constexpr std::int64_t H = 128;
inline constexpr std::int64_t F = 8192;
inline constexpr std::int64_t V = 32768;
inline constexpr std::int64_t L = 2;
inline constexpr std::int64_t E = 16;  // experts of width I, A of them per token
inline constexpr std::int64_t A = 2;
inline constexpr std::int64_t I = 1024;

inline constexpr std::int64_t activations = 2 * B * T * D;  // bytes of one activation tensor between blocks
inline constexpr double attention_weights = 2.0 * D * H * (K * G + 2 * K + K * G);  // bytes: Q, K and V, O
inline constexpr double mlp_weights = 2.0 * 3 * D * F;
inline constexpr double norms = 2.0 * 2 * D;

using Options = std::map<std::string, bool, std::less<>>;

inline Program sized_decoder(const Options& options = {}) {
    auto program = parse_program(architecture_text("decoder"), "", {options, {}});
    REQUIRE(program);
    const Sizes all{{"B", B}, {"T", T}, {"S", T}, {"D", D}, {"K", K}, {"G", G}, {"H", H}, {"J", H},
                    {"F", F}, {"L", L}, {"V", V}, {"E", E}, {"A", A}, {"I", I}, {"Z", I}, {"C", B * T * A / E}};
    for (const std::string& dim : program->dims) program->sizes[dim] = all.at(dim);
    return *program;
}

inline DimRoles decoder_roles() { return parse_roles(architecture_text("decoder")).value(); }

/// Lays out a program with subscripts on H100s.
inline LaidOut laid_out(const Program& program, const StayingAxes& stay, const std::string& shape) {
    static std::map<std::string, Slice> slices;
    if (!slices.contains(shape)) slices.emplace(shape, catalogue_slice("h100-sxm", shape));
    System system;
    system.slice = slices.at(shape);
    system.mesh = place_mesh(system.slice, program.mesh).value();
    auto laid = lay_out(program, system, stay, LayoutFreedom::as_written);
    REQUIRE_MESSAGE(laid, laid.error().message);
    return *laid;
}

/// The number and bytes (V, as in messages) of the collectives of one kind over the same axes.
struct Exchanged {
    int count = 0;
    double bytes = 0;

    bool operator==(const Exchanged&) const = default;
};
/// Keyed by "all_gather fsdp".
using Exchanges = std::map<std::string, Exchanged>;

inline void add_messages(const Statement& statement, const Sizes& sizes, Exchanges& all) {
    for (const Message& message : statement.messages) {
        std::string key(collective_name(message.kind));
        for (const std::string& axis : message.axes) key += " " + axis;
        Exchanged& exchanged = all[key];
        ++exchanged.count;
        exchanged.bytes += message.bytes.evaluate(sizes).value().to_double();
    }
}

}  // namespace roofline::core::plan_test

namespace doctest {
template <>
struct StringMaker<roofline::core::plan_test::Exchanges> {
    static String convert(const roofline::core::plan_test::Exchanges& all) {
        std::string text;
        for (const auto& [key, exchanged] : all) {
            text += "\n    " + key + ": " + std::to_string(exchanged.count) + ", " + std::to_string(exchanged.bytes);
        }
        return text.c_str();
    }
};
}  // namespace doctest

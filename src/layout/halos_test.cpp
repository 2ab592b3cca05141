// Tests of what a chip needs from the chips before it, compared with counts over every position.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "bound/analysis.hpp"
#include "layout/lay_out.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

struct HaloCase {
    Program program;
    System system;
    LaidOut laid;
};

HaloCase laid_halos(const std::string& text, const std::string& machine = "h100-sxm", const std::string& shape = "8") {
    HaloCase made;
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    made.program = std::move(*program);
    made.system.slice = make_slice(find_machine(machine).value(), shape).value();
    made.system.mesh = place_mesh(made.system.slice, made.program.mesh).value();
    auto out = lay_out(made.program, made.system);
    REQUIRE_MESSAGE(out.has_value(), to_text(out.error()));
    made.laid = std::move(*out);
    return made;
}

void all_statements(const Block& block, std::vector<const Statement*>& statements) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            all_statements(*inner, statements);
        } else {
            statements.push_back(&std::get<Statement>(node));
        }
    }
}

std::vector<Message> all_messages(const HaloCase& made) {
    std::vector<const Statement*> statements;
    all_statements(made.laid.local.body, statements);
    std::vector<Message> messages;
    for (const Statement* statement : statements) {
        messages.insert(messages.end(), statement->messages.begin(), statement->messages.end());
    }
    return messages;
}

double message_bytes(const HaloCase& made, const Message& message) {
    return message.bytes.evaluate(made.program.sizes).value().to_double();
}

/// Counts for T positions over n chips, where each position sees itself and the W - 1 before it. The numbers are those
/// of the busiest chip.
struct SeenPlaces {
    std::int64_t pairs = 0;    ///< pairs of a position and one that it sees
    std::int64_t columns = 0;  ///< different positions that it sees
    std::int64_t others = 0;   ///< those of them on other chips
    std::int64_t hops = 0;     ///< to the farthest of these chips
};

SeenPlaces seen_places(std::int64_t places, std::int64_t chips, std::int64_t window) {
    SeenPlaces most;
    const std::int64_t share = places / chips;
    for (std::int64_t chip = 0; chip < chips; ++chip) {
        SeenPlaces one;
        std::set<std::int64_t> columns;
        for (std::int64_t row = chip * share; row < (chip + 1) * share; ++row) {
            for (std::int64_t column = std::max<std::int64_t>(0, row - window + 1); column <= row; ++column) {
                ++one.pairs;
                columns.insert(column);
                if (column / share == chip) continue;
                one.hops = std::max(one.hops, chip - column / share);
            }
        }
        one.columns = static_cast<std::int64_t>(columns.size());
        one.others = std::count_if(columns.begin(), columns.end(), [&](auto column) { return column / share != chip; });
        most.pairs = std::max(most.pairs, one.pairs);
        most.columns = std::max(most.columns, one.columns);
        most.others = std::max(most.others, one.others);
        most.hops = std::max(most.hops, one.hops);
    }
    return most;
}

std::string windowed_attention(std::int64_t window) {
    return "mesh X=8\nT=512, S=512, H=128, W=" + std::to_string(window) +
           "\nQ : bf16[T_X, H]\nK : bf16[S_X, H]\nVa : bf16[S_X, H]\n"
           "fuse {\nP : bf16[T_X, S] = softmax[S](causal[T,S,W](Q *_H K))\nO : bf16[T_X, H] = P *_S Va\n}\n";
}

}  // namespace

TEST_CASE("a windowed attention fetches keys and values only from the chips that have them") {
    for (const std::int64_t window : {2, 17, 64, 65, 66, 150, 300}) {
        CAPTURE(window);
        const SeenPlaces most = seen_places(512, 8, window);
        const HaloCase made = laid_halos(windowed_attention(window));
        const std::vector<Message> sent = all_messages(made);
        REQUIRE(sent.size() == 2);
        for (const Message& message : sent) {
            CHECK(message.kind == CollectiveKind::permute);
            CHECK(message.axes == std::vector<std::string>{"X"});
            CHECK(message.hops == most.hops);
            CHECK(message_bytes(made, message) / 8 == static_cast<double>(most.others) * 128 * 2);
        }
        const auto analysis = analyse(made.program, made.laid.local, made.system, {});
        REQUIRE(analysis.has_value());
        // Each pair costs two matmuls of 2 FLOPs and a softmax of 4.
        const auto pairs = static_cast<double>(most.pairs);
        CHECK(analysis->total.work.flops().evaluate(made.program.sizes).value().to_double() ==
              pairs * (2 * 128 + 2 * 128 + 4));
        // Queries are read and results are written; of keys and values only the visible ones are read.
        const double traffic = 2.0 * 128 * (64 + 64 + 2 * static_cast<double>(most.columns));
        CHECK(analysis->total.work.memory.at("hbm").total().evaluate(made.program.sizes).value().to_double() ==
              traffic);
    }
}

TEST_CASE("a window that covers nearly everything turns into an all-gather") {
    const std::vector<Message> sent = all_messages(laid_halos(windowed_attention(500)));
    REQUIRE(sent.size() == 2);
    for (const Message& message : sent) CHECK(message.kind == CollectiveKind::all_gather);
}

TEST_CASE("gradients of keys and values of a window return to their chips and are added") {
    const SeenPlaces most = seen_places(512, 8, 100);
    const HaloCase made = laid_halos(
        "mesh X=8\nT=512, S=512, H=128, W=100\nQ : bf16[T_X, H]\nVa : bf16[S_X, H]\ndO : bf16[T_X, H]\n"
        "fuse {\ndP : bf16[T_X, S] = causal[T,S,W](dO *_H Va)\ndK : bf16[S_X, H] = dP *_T Q\n}\n");
    const std::vector<Message> sent = all_messages(made);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].tensor == "Va");
    CHECK(sent[1].tensor == "dK");
    for (const Message& message : sent) {
        CHECK(message.kind == CollectiveKind::permute);
        CHECK(message.hops == 2);
        CHECK(message_bytes(made, message) / 8 == static_cast<double>(most.others) * 128 * 2);
    }
}

TEST_CASE("a window uses the links from each chip to the next") {
    // On an open axis of four chips each link between neighbours carries one part: 63 positions of 128 numbers of 2
    // bytes. A TPU v5e link has 45 GB/s.
    const std::string text =
        "mesh X=4, Y=4\nT=256, S=256, H=128, W=64\nQ : bf16[T_X, H]\nK : bf16[S_X, H]\nP : bf16[T_X, S] = "
        "causal[T,S,W](Q *_H K)";
    const HaloCase made = laid_halos(text, "tpu-v5e", "4x4");
    const std::vector<Message> sent = all_messages(made);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].hops == 1);
    CHECK(message_bytes(made, sent[0]) == 4.0 * 63 * 128 * 2);
}

TEST_CASE("a function that looks back a few positions needs as many from the previous chip") {
    const std::string given =
        "mesh X=8\nB=4, T=512, D=256, Q=4\nX : bf16[B, T_X, D]\nG : bf16[B, T_X, D]\nC : bf16[Q, D]\n"
        "cache Tail : bf16[B, Q, D]\n";
    const auto one = [&](const std::string& statement, std::int64_t places) {
        CAPTURE(statement);
        const HaloCase made = laid_halos(given + statement);
        const std::vector<Message> sent = all_messages(made);
        REQUIRE(!sent.empty());
        CHECK(sent[0].kind == CollectiveKind::permute);
        CHECK(sent[0].hops == 1);
        CHECK(message_bytes(made, sent[0]) / 8 == static_cast<double>(places) * 4 * 256 * 2);
        const auto analysis = analyse(made.program, made.laid.local, made.system, {});
        REQUIRE(analysis.has_value());
        const double flops = analysis->total.work.flops().evaluate(made.program.sizes).value().to_double();
        return std::pair(sent.size(), flops);
    };
    // In seen_places() a window of Q positions corresponds to Q taps.
    REQUIRE(seen_places(512, 8, 4).others == 3);
    const double taps = 2.0 * 4 * 64 * 256 * 4;  // for each of 64 positions of a chip
    CHECK(one("Y : bf16[B, T_X, D] = conv[T](X, C)", 3) == std::pair(std::size_t{1}, taps));
    CHECK(one("Y : bf16[B, T_X, D] = dconv[T](G, C)", 3) == std::pair(std::size_t{1}, taps));
    // x behind a state is where x is: only the convolution looks back
    CHECK(one("Y : bf16[B, T_X, D] = conv[T](resume[T](X, Tail), C)", 3) == std::pair(std::size_t{1}, taps));
    CHECK(one("Y : bf16[B, T_X, D] = conv[T](leave[T](X, Tail), C)", 3) == std::pair(std::size_t{1}, taps));
    CHECK(one("Y : bf16[B, T_X, D] = prior[T](X)", 1) == std::pair(std::size_t{1}, 0.0));
    // Each chip has a partial sum of the gradient of the taps.
    CHECK(one("Dc : f32[Q, D]{U_X} = taps[T,Q,B](X, G)", 3) == std::pair(std::size_t{1}, taps));
    CHECK(one("Dc : f32[Q, D] = taps[T,Q,B](X, G)", 3) == std::pair(std::size_t{2}, taps));
}

TEST_CASE("the columns of a band are not split") {
    auto program = parse_program(
        "mesh X=8\nT=512, S=512, H=128, W=64\nQ : bf16[T, H]\nK : bf16[S_X, H]\nP : bf16[T, S_X] = causal[T,S,W](Q *_H "
        "K)");
    REQUIRE(program.has_value());
    System system;
    system.slice = make_slice(find_machine("h100-sxm").value(), "8").value();
    system.mesh = place_mesh(system.slice, program->mesh).value();
    const auto out = lay_out(*program, system);
    REQUIRE(!out.has_value());
    CHECK(out.error().code == "unsupported");
}

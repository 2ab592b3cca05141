#include "calibrate/server/server_memory.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

MemoryRule rule_of(std::string_view software, const ServerChips& chips) {
    const ServerMemory* const server = built_in_server_memories().find(software);
    REQUIRE(server != nullptr);
    return server->on(chips);
}

}  // namespace

TEST_CASE("the rule of each kind of fraction leaves its room for caches") {
    // 80 GB with 20 GB of weights and 4 GB of activations
    CHECK(cache_room({"", MemoryShare::all, 0.9}, 80, 20, 4) == approx(72 - 24));
    CHECK(cache_room({"", MemoryShare::unmoving, 0.9}, 80, 20, 4) == approx(72 - 20));
    CHECK(cache_room({"", MemoryShare::left, 0.9}, 80, 20, 4) == approx(0.9 * 56));
    // activations that take more than the fraction leaves
    CHECK(cache_room({"", MemoryShare::unmoving, 0.9}, 80, 20, 10) == approx(50));
    CHECK(cache_room({"", MemoryShare::all, 0.9}, 80, 70, 4) < 0);
}

TEST_CASE("the least fraction is the one at which the room is the cache") {
    for (const MemoryShare of : {MemoryShare::all, MemoryShare::unmoving, MemoryShare::left}) {
        const double fraction = least_fraction(of, 80, 20, 4, 30);
        CHECK(cache_room({"", of, fraction}, 80, 20, 4) == approx(30));
    }
    CHECK(least_fraction(MemoryShare::all, 80, 60, 4, 17) > 1);
}

TEST_CASE("servers use the documented fractions and blocks") {
    const ServerChips chips{80 * gib, 8};
    CHECK(rule_of("vllm", chips).fraction == 0.9);
    CHECK(rule_of("vllm", chips).of == MemoryShare::all);
    CHECK(rule_of("vllm", chips).block == 16);
    CHECK(rule_of("trtllm 1.2", chips).fraction == 0.9);
    CHECK(rule_of("trtllm 1.2", chips).of == MemoryShare::left);
    CHECK(rule_of("trtllm 1.2", chips).block == 32);
    CHECK(rule_of("sglang 0.5.9", chips).of == MemoryShare::unmoving);
    CHECK(rule_of("sglang", chips).block == 1);
    CHECK_FALSE(rule_of("sglang", chips).source.empty());
    CHECK(built_in_server_memories().find("nccl 2.29") == nullptr);
    CHECK(built_in_server_memories().find("") == nullptr);
}

TEST_CASE("a version has the defaults of the newest entry that is not newer") {
    for (const char* const old : {"vllm", "vllm 0.19.0", "vllm-0.25", "vllm 2025-10-29", "vllm nightly-5b8c"}) {
        CHECK_MESSAGE(rule_of(old, {80 * gib}).fraction == 0.9, old);
    }
    for (const char* const recent : {"vllm 0.26", "vllm-0.26.1", "vllm 0.29.0"}) {
        CHECK_MESSAGE(rule_of(recent, {80 * gib}).fraction == 0.92, recent);
    }
}

TEST_CASE("SGLang's fraction follows from what it reserves") {
    // server_args.py by hand, in MiB: 512 + 1.5 * tokens + 2 * sequences + tp * pp / 8 * 1024
    // 80 GiB, tp 8: 512 + 12288 + 1024 + 1024 = 14848 of 81920
    CHECK(rule_of("sglang", {80 * gib, 8}).fraction == 0.819);
    // tp 1: 512 + 12288 + 512 + 128 = 13440
    CHECK(rule_of("sglang", {80 * gib, 1}).fraction == 0.836);
    // tp 2 in each of 4 stages has the small graphs: 512 + 12288 + 512 + 1024 = 14336
    CHECK(rule_of("sglang", {80 * gib, 8, 4}).fraction == 0.825);
    // tp 4 is the smallest with large graphs: 512 + 12288 + 1024 + 512 = 14336
    CHECK(rule_of("sglang", {80 * gib, 4}).fraction == 0.825);
    // 192 GiB, tp 8: 512 + 24576 + 1024 + 1024 = 27136 of 196608
    CHECK(rule_of("sglang", {192 * gib, 8}).fraction == 0.862);
    // attention by 8 members: 512 * 8 * (3 + 1.5) = 18432 more
    CHECK(rule_of("sglang", {192 * gib, 8, 1, 8}).fraction == 0.768);
    // two members with graphs of 256 sequences: 512 + 12288 + 512 + 256 + 256 * 2 * 3 = 15104
    CHECK(rule_of("sglang", {80 * gib, 2, 1, 2}).fraction == 0.816);
    // 24 GiB: 512 + 3072 + 48 + 128 = 3760 of 24576
    CHECK(rule_of("sglang", {24 * gib, 1}).fraction == 0.847);
    // 160 GiB is the first that is not below the last limit: 512 + 24576 + 1024 + 128 = 26240 of 163840
    CHECK(rule_of("sglang", {160 * gib, 1}).fraction == 0.84);
    // more than there is
    CHECK(rule_of("sglang", {1 * gib, 1}).fraction == 0.001);
}

TEST_CASE("a reserve has its least value only on chips with more memory than its limit") {
    MemoryReserve reserve;
    reserve.fixed = 64;
    reserve.least = 512;
    reserve.least_above = 1024;
    reserve.classes = {{}};
    // in MiB: 64 of 1024, 512 of 2048
    CHECK(reserve.fraction_left({1 * gib}) == 0.938);
    CHECK(reserve.fraction_left({2 * gib}) == 0.75);
}

TEST_CASE("what the user chooses replaces the defaults") {
    const ServerMemory* const server = built_in_server_memories().find("trtllm");
    CHECK(MemoryChoice{server, 0.5, 64}.on({80 * gib}) ==
          MemoryRule{"trtllm", MemoryShare::left, 0.5, 64, server->source});
    CHECK(MemoryChoice{}.on({80 * gib}) == MemoryRule{});
    CHECK_FALSE(MemoryChoice{}.any());
    CHECK(MemoryChoice{nullptr, 0.9}.any());
}

TEST_CASE("tokens round up to whole blocks") {
    CHECK(in_blocks(1, 16) == 16);
    CHECK(in_blocks(16, 16) == 16);
    CHECK(in_blocks(17, 16) == 32);
    CHECK(in_blocks(17, 1) == 17);
}

TEST_CASE("a broken table is refused with its place") {
    const auto broken = [](const std::string& line) {
        const auto read =
            parse_server_memories("[[server]]\nsoftware = \"one\"\nof = \"all\"\nsource = \"s\"\n" + line, "f.toml");
        REQUIRE_FALSE(read);
        return read.error().code;
    };
    CHECK(broken("fraction = 1.5\n") == "out_of_range");
    CHECK(broken("fraction = 0\n") == "out_of_range");
    CHECK(broken("block = 0\nfraction = 0.9\n") == "out_of_range");
    CHECK(broken("block = 16\n") == "missing_key");
    CHECK(broken("fraction = 0.9\n[server.reserve]\nfixed = 1\n") == "missing_key");
    CHECK(broken("fraction = 0.9\nfractoin = 1\n") == "unknown_key");
}

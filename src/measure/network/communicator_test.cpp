#include "measure/network/communicator.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <string>

#include "measure/network/all_ranks.hpp"
#include "measure/network/ranks.hpp"
#include "measure/network/sum.hpp"
#include "measure/network/thread_group.hpp"
#include "measure/network/time_exchanges.hpp"
#include "measure/run/elements.hpp"
#include "measure/stop.hpp"

using namespace roofline::core;

namespace {

constexpr CollectiveKind all_kinds[] = {
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce,
    CollectiveKind::all_to_all, CollectiveKind::permute,        CollectiveKind::send,
    CollectiveKind::gather,     CollectiveKind::scatter,        CollectiveKind::broadcast};

}  // namespace

TEST_CASE("every exchange between threads, whole and in pieces") {
    for (const int members : {2, 3, 4}) {
        for (const std::size_t most : {std::size_t{1} << 20, std::size_t{512}}) {
            std::atomic<int> wrong = 0;
            run_in_threads(
                members,
                [&](Communicator& world) {
                    for (const CollectiveKind kind : all_kinds) {
                        for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::int32}) {
                            if (!check_exchange(world, kind, dtype, 300)) ++wrong;
                        }
                    }
                },
                most);
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("a sum in a dtype that cannot be summed is rejected") {
    run_in_threads(2, [](Communicator& world) {
        std::byte in[8]{};
        std::byte out[8]{};
        Exchange sum{CollectiveKind::all_reduce, in, out, 8, Dtype::int8};
        const auto status = exchange(world, sum);
        CHECK(!status);
        CHECK((!status && status.error().message.find("int8") != std::string::npos));
    });
}

TEST_CASE("groups are split by colour and ordered by key") {
    std::atomic<int> right = 0;
    run_in_threads(4, [&](Communicator& world) {
        auto group = world.split(world.rank() % 2, -world.rank());
        if (!group || (*group)->size() != 2) return;
        // the keys put 2 before 0 and 3 before 1
        const int expected = world.rank() >= 2 ? 0 : 1;
        const auto all = all_numbers(**group, world.rank());
        if ((*group)->rank() == expected && all && (*all)[0] == world.rank() % 2 + 2 && (*all)[1] == world.rank() % 2) {
            ++right;
        }
    });
    CHECK(right == 4);
}

TEST_CASE("an error of one rank is returned on all ranks and names the rank") {
    std::atomic<int> right = 0;
    run_in_threads(3, [&](Communicator& world) {
        const Status mine = world.rank() == 2 ? Status(fail("no_memory", "no room", "less")) : Status{};
        const Status all = common_status(world, mine);
        if (!all && all.error().code == "no_memory" && all.error().message == "rank 2: no room" &&
            all.error().hint == "less") {
            ++right;
        }
        if (common_status(world, {})) ++right;
        // an error that all ranks have is returned unchanged
        const Status same = common_status(world, fail("bad", "everywhere"));
        if (!same && same.error().message == "everywhere") ++right;
    });
    CHECK(right == 9);
}

TEST_CASE("ranks take the same number of samples, and stop together") {
    reset_stop();
    SamplingOptions options{5, 1e-4, 0, 0.01, 1, 0};
    std::atomic<int> calls[2]{};
    run_in_threads(2, [&](Communicator& world) {
        const auto sampled = sample_on_all_ranks(
            world,
            [&](std::int64_t count) -> Status {
                calls[world.rank()] += static_cast<int>(count);
                return world.barrier();
            },
            options);
        CHECK(sampled.has_value());
        CHECK((sampled && sampled->samples.size() >= 3));
    });
    CHECK(calls[0] == calls[1]);
    request_stop();
    run_in_threads(2, [&](Communicator& world) {
        const auto sampled = sample_on_all_ranks(world, [&](std::int64_t) -> Status { return {}; }, options);
        CHECK((!sampled && sampled.error().code == "interrupted"));
    });
    reset_stop();
}

TEST_CASE("bf16 is summed in f32") {
    std::uint16_t to[2] = {float_to_bf16(256), float_to_bf16(-1)};
    const std::uint16_t more[2] = {float_to_bf16(3), float_to_bf16(0.5F)};
    add_into(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(more), sizeof to, Dtype::bf16);
    CHECK(bf16_to_float(to[0]) == 260.0F);  // 259 lies between 258 and 260; ties round to even in steps of 2
    CHECK(bf16_to_float(to[1]) == -0.5F);
}

TEST_CASE("the environment variables of launchers") {
    const auto with = [](std::vector<std::pair<std::string, std::string>> all) {
        return launched([all](const char* name) -> const char* {
            for (const auto& [key, value] : all) {
                if (key == name) return value.c_str();
            }
            return nullptr;
        });
    };
    CHECK_FALSE(with({}));
    const auto open = with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}});
    REQUIRE(open);
    CHECK(open->ranks == 4);
    CHECK(open->rank == 3);
    CHECK(with({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}})->ranks == 2);
    CHECK_FALSE(with({{"PMI_SIZE", "2"}}));
    CHECK_FALSE(with({{"PMI_SIZE", "two"}, {"PMI_RANK", "0"}}));
    CHECK_FALSE(with({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "2"}}));
}

TEST_CASE("timed exchanges between threads: every kind and size, the same measurements on every rank") {
    reset_stop();
    ExchangeTimingOptions options;
    options.max_bytes = 4096;
    options.step = 8;
    options.sampling = {3, 1e-6, 0, 0.01, 1, 0};
    std::size_t rows[4]{};
    run_in_threads(4, [&](Communicator& world) {
        Progress progress;
        const auto timed = time_exchanges(world, options, progress);
        REQUIRE(timed.has_value());
        rows[world.rank()] = timed->size();
        for (const TimedExchange& each : *timed) {
            CHECK(each.spread.median > 0);
            CHECK(each.members * each.groups == 4);
        }
    });
    // Sizes are 8, 64, 512, 4096. Over four ranks, all-gathers and similar collectives begin at 64, where every rank
    // has whole elements.
    CHECK(rows[0] == 6 * 4 + 3 * 4 + 3 * 3);
    CHECK(rows[3] == rows[0]);
}

TEST_CASE("a watched group, and groups split from it, exchange the same data as the original") {
    std::atomic<int> wrong = 0;
    std::atomic<int> right = 0;
    run_in_threads(4, [&](Communicator& world) {
        RankWatch watch(60);
        const auto watched = watch.watched(world);
        for (const CollectiveKind kind : all_kinds) {
            if (!check_exchange(*watched, kind, Dtype::f32, 300)) ++wrong;
        }
        const auto half = watched->split(world.rank() / 2, world.rank());
        if (half && (*half)->size() == 2 && check_exchange(**half, CollectiveKind::all_reduce, Dtype::f64, 10)) ++right;
    });
    CHECK(wrong == 0);
    CHECK(right == 4);
}

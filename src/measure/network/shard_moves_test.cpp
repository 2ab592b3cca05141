#include "measure/network/shard_moves.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <mutex>
#include <string>

#include "machine/catalogue.hpp"
#include "measure/network/thread_group.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

// Four chips on a switch, as a mesh of X=2,Y=2.
System mesh_of_4() {
    System system;
    system.slice = make_slice(find_machine("h100-sxm").value(), "4").value();
    system.mesh = place_mesh(system.slice, {{"X", 2}, {"Y", 2}}).value();
    return system;
}

struct ShardCase {
    Sharding from;
    Sharding to;
    std::vector<std::int64_t> sizes;
    Resharding way;
};

ShardCase wanted(const std::string& text, const System& system) {
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program, to_text(program.error()));
    const Op& op = std::get<Statement>(program->body.nodes[0]).ops[0];
    ShardCase wanted;
    wanted.from = sharding_of(program->values[op.inputs[0].value].type, system).value();
    wanted.to = sharding_of(program->values[op.output.value].type, system).value();
    std::vector<double> sizes;
    for (const std::string& dim : op.inputs[0].dims) {
        wanted.sizes.push_back(dim == "B" ? 8 : dim == "D" ? 12 : 4);
        sizes.push_back(static_cast<double>(wanted.sizes.back()));
    }
    ChoiceCosts costs(system);
    ReshardSearch search(costs);
    auto way = search.run({"A", 4, sizes}, wanted.from, wanted.to);
    REQUIRE_MESSAGE(way, to_text(way.error()));
    wanted.way = std::move(*way);
    return wanted;
}

// Element before the step: its index in the whole array, times one more than the coordinate on each axis that is still
// to be summed (1 + 2 = 3 for each axis after the sum).
float number(const Sharding& sharding, const System& system, std::int64_t chip, const std::vector<std::int64_t>& sizes,
             const std::vector<std::int64_t>& place, AxisMask summed) {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) index = index * sizes[d] + place[d];
    std::int64_t factor = 1;
    for (std::size_t axis = 0; axis < system.mesh.size(); ++axis) {
        if ((sharding.unreduced >> axis & 1U) != 0) factor *= coordinate(system, chip, axis) + 1;
        if ((summed >> axis & 1U) != 0) factor *= 3;
    }
    return static_cast<float>((index + 1) * factor);
}

std::vector<float> shard(const Sharding& sharding, const System& system, std::int64_t chip,
                         const std::vector<std::int64_t>& sizes, AxisMask summed) {
    const Box box = box_of(sharding, sizes, system, chip);
    std::vector<float> numbers;
    for (std::size_t i = 0; i < box.elements(); ++i) {
        std::vector<std::int64_t> place(sizes.size());
        std::size_t rest = i;
        for (std::size_t d = sizes.size(); d-- > 0;) {
            place[d] = box.start[d] + static_cast<std::int64_t>(rest) % box.size[d];
            rest /= static_cast<std::size_t>(box.size[d]);
        }
        numbers.push_back(number(sharding, system, chip, sizes, place, summed));
    }
    return numbers;
}

// Totals of each element over all ranks. Unreduced partial sums add up, and so do copies.
class Totals {
public:
    Totals(const ShardCase& wanted, const System& system) : wanted_(wanted), system_(system) {
        for (std::int64_t i = wanted.sizes[0] * wanted.sizes[1]; i > 0; --i) sums_.push_back(0);
    }
    void add(std::int64_t chip, const std::vector<float>& numbers) {
        const Box box = box_of(wanted_.to, wanted_.sizes, system_, chip);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const std::int64_t row = box.start[0] + static_cast<std::int64_t>(i) / box.size[1];
            const std::int64_t column = box.start[1] + static_cast<std::int64_t>(i) % box.size[1];
            sums_[static_cast<std::size_t>(row * wanted_.sizes[1] + column)] += numbers[i];
        }
    }
    bool right() const {
        float factor = 1;
        for (std::size_t axis = 0; axis < system_.mesh.size(); ++axis) {
            if ((wanted_.from.unreduced >> axis & 1U) != 0) factor *= 3;  // 1 + 2
            if ((wanted_.to.used() >> axis & 1U) == 0) factor *= 2;       // copies
        }
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            if (sums_[i] != static_cast<float>(i + 1) * factor) return false;
        }
        return true;
    }

private:
    const ShardCase& wanted_;
    const System& system_;
    std::vector<float> sums_;
};

// Problem found on any rank; "" if there is none.
std::string taken(const std::string& text, bool background = false) {
    const System system = mesh_of_4();
    const ShardCase wanted = ::wanted(text, system);
    const auto summed = static_cast<AxisMask>(wanted.from.unreduced & ~wanted.to.unreduced);
    const bool opened = (wanted.to.unreduced & ~wanted.from.unreduced) != 0;
    Totals totals(wanted, system);
    std::mutex mutex;
    std::string problems;
    const auto rank = [&](Communicator& world) {
        MeshRanks ranks(world, system);
        std::string problem;
        Sharding lies = wanted.from;
        std::vector<float> now = shard(lies, system, ranks.chip(), wanted.sizes, 0);
        for (const ReshardAction& step : wanted.way.actions) {
            std::optional<Move> how;
            if (step.move) how = wanted.way.moves[*step.move];
            auto move = ShardMove::make(ranks, {HeldShard{lies}, HeldShard{step.to}, how, wanted.sizes, Dtype::f32});
            if (!move) {
                problem = move.error().message;
                break;
            }
            std::vector<float> next(move->bytes_after() / 4);
            const auto* in = reinterpret_cast<const std::byte*>(now.data());
            auto* out = reinterpret_cast<std::byte*>(next.data());
            Status status = background ? move->start(in, out) : move->run(in, out);
            if (background && status) CHECK(move->done().has_value());
            if (background && status) status = move->finish();
            if (!status) problem = status.error().message;
            now = std::move(next);
            lies = step.to;
        }
        if (problem.empty() && !opened && now != shard(wanted.to, system, ranks.chip(), wanted.sizes, summed)) {
            problem = "wrong";
        }
        const std::lock_guard lock(mutex);
        if (opened) totals.add(ranks.chip(), now);
        if (!problem.empty()) problems += std::to_string(world.rank()) + ": " + problem + "; ";
    };
    run_in_threads(4, rank);
    if (opened && problems.empty() && !totals.right()) problems = "the totals are wrong";
    return problems;
}

}  // namespace

TEST_CASE("every step that the layout derives puts each element in the right place") {
    for (const char* text : {"f32[B, D] -> f32[B_X, D_Y]",                    // slices
                             "f32[B_X, D] -> f32[B, D]",                      // all-gather of rows
                             "f32[B, D_X] -> f32[B, D]",                      // of columns
                             "f32[B_X, D_Y] -> f32[B, D]",                    // of blocks
                             "f32[B_XY, D] -> f32[B, D]",                     //
                             "f32[B_YX, D] -> f32[B, D]",                     // the other order
                             "f32[B, D]{U_X} -> f32[B, D]",                   // all-reduce, or scatter and gather
                             "f32[B, D]{U_X} -> f32[B_X, D]",                 // reduce-scatter of rows
                             "f32[B, D_Y]{U_X} -> f32[B, D_YX]",              // of columns
                             "f32[B, D]{U_XY} -> f32[B_YX, D]",               //
                             "f32[B, D]{U_XY} -> f32[B_X, D]",                //
                             "f32[B, D]{U_XY} -> f32[B, D]{U_Y}",             // the sums over Y stay unreduced
                             "f32[B, D] -> f32[B, D]{U_X}",                   // zeros on all members but one
                             "f32[B_X, D] -> f32[B, D]{U_X}",                 // zeros outside each part
                             "f32[B, D_YX] -> f32[B, D_Y]{U_X}",              //
                             "f32[B, D] -> f32[B_Y, D]{U_X}",                 // a slice and zeros
                             "f32[B_X, D] -> f32[B, D]{U_Y}",                 // with an all-gather in between
                             "f32[B, D]{U_X} -> f32[B, D]{U_Y}",              // or sums
                             "f32[B, D] at X=1,Y=0 -> f32[B, D]{U_XY}",       // where the one chip is
                             "f32[B, D] at X=1,Y=1 -> f32[B, D]{U_X}",        //
                             "f32[B_X, D] -> f32[B, D_X]",                    // all-to-all
                             "f32[B, D_XY] -> f32[B_XY, D]",                  //
                             "f32[B_XY, D] -> f32[B_YX, D]",                  // permute
                             "f32[B_X, D_Y] -> f32[B_Y, D_X]",                //
                             "f32[B_X, D_Y, E] -> f32[B, D_Y, E_X]",          // three dimensions
                             "f32[B, D] at X=0,Y=0 -> f32[B, D] at X=1,Y=1",  // send
                             "f32[B, D] at X=0,Y=1 -> f32[B, D]",             // broadcast
                             "f32[B, D] at X=1,Y=0 -> f32[B_Y, D_X]",         // scatter
                             "f32[B, D] at X=1,Y=0 -> f32[B, D_X]",           // to all that hold it
                             "f32[B_X, D_Y] -> f32[B, D] at X=1,Y=0",         // gather
                             "f32[B_X, D] -> f32[B, D] at X=1,Y=1",           // from a part of the chips
                             "f32[B, D]{U_XY} -> f32[B, D] at X=1,Y=0"}) {
        CAPTURE(text);
        CHECK(taken(text) == "");
        CHECK(taken(text, true) == "");
    }
}

TEST_CASE("uneven shards are rejected") {
    CHECK(taken("f32[E_XY, D] -> f32[E, D]") == "");
    const System system = mesh_of_4();
    run_in_threads(4, [&](Communicator& world) {
        MeshRanks ranks(world, system);
        Sharding split;
        split.rank = 1;
        split.dims[0].push_back(0);
        const auto move = ShardMove::make(ranks, {HeldShard{split}, HeldShard{split}, std::nullopt, {5}, Dtype::f32});
        CHECK_FALSE(move.has_value());
        CHECK_FALSE(
            ShardMove::make(ranks, {HeldShard{split}, HeldShard{split}, std::nullopt, {4}, Dtype::int4}).has_value());
    });
}

// Properties that expected times have whatever was measured, over the built-in machines and calibrations.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "machine/catalogue.hpp"
#include "network/placement.hpp"

using namespace roofline::core;

namespace {

constexpr CollectiveKind of_all[] = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                     CollectiveKind::all_reduce, CollectiveKind::all_to_all};

/// Constants are stored with four digits.
constexpr double rounding = 2e-3;

/// A collective among all chips of a slice; empty where the machine has no such slice or no expected time.
class Collectives {
public:
    Collectives(Calibrations& all, const std::string& machine, const std::string& shape) : all_(all) {
        auto slice = make_slice(*find_machine(machine), shape);
        if (!slice) return;
        system_.slice = std::move(*slice);
        auto mesh = place_mesh(system_.slice, {{"X", system_.slice.chips(), {}}});
        if (mesh) system_.mesh = std::move(*mesh);
    }

    /// Of arrays of `bytes` bytes: the whole one, or each chip's of an all-to-all.
    [[nodiscard]] std::optional<double> seconds(CollectiveKind kind, double bytes) const {
        if (system_.mesh.empty()) return std::nullopt;
        const auto load = collective_load(system_.slice, kind, {&system_.mesh.front()});
        if (!load || load->members < 2) return std::nullopt;
        const double whole = info(kind).size_of_member() ? bytes * static_cast<double>(load->members) : bytes;
        auto request = request_for(*load, system_, whole);
        if (!request) return std::nullopt;
        request->error = false;
        const auto expected = all_.expected(*request);
        return expected ? std::optional(expected->seconds) : std::nullopt;
    }

private:
    Calibrations& all_;
    System system_;
};

bool has_nodes_of(const Machine& machine, std::int64_t chips) {
    return machine.network.size() > 1 && machine.network.front().domain == chips;
}

}  // namespace

TEST_CASE("expected times of collectives grow with the bytes") {
    Calibrations all = Calibrations::built_in();
    for (const std::string& machine : machine_ids()) {
        for (const std::string shape : {"2", "4", "8", "8x2", "8x8", "72", "2x2", "4x4", "8x8", "2x2x4"}) {
            const Collectives slice(all, machine, shape);
            for (const CollectiveKind kind : of_all) {
                double before = 0;
                for (double bytes = 1024; bytes < 1e10; bytes *= 1.5) {
                    const auto seconds = slice.seconds(kind, bytes);
                    if (!seconds) break;
                    CAPTURE(machine);
                    CAPTURE(shape);
                    CAPTURE(collective_name(kind));
                    CAPTURE(bytes);
                    CHECK(*seconds >= before * (1 - rounding));
                    before = *seconds;
                }
            }
        }
    }
}

TEST_CASE("collectives over more nodes are not expected to be faster at the same bytes per chip") {
    Calibrations all = Calibrations::built_in();
    for (const std::string& machine : machine_ids()) {
        if (!has_nodes_of(*find_machine(machine), 8)) continue;
        const Collectives one(all, machine, "8");
        const Collectives two(all, machine, "8x2");
        const Collectives many(all, machine, "8x64");
        for (const CollectiveKind kind : of_all) {
            for (double bytes = 1024; bytes < 1e10; bytes *= 4) {
                const auto in_node = one.seconds(kind, bytes);
                const auto over_two = two.seconds(kind, bytes);
                const auto over_many = many.seconds(kind, bytes);
                if (!in_node || !over_two || !over_many) continue;
                CAPTURE(machine);
                CAPTURE(collective_name(kind));
                CAPTURE(bytes);
                CHECK(*over_two >= *in_node * (1 - rounding));
                CHECK(*over_many >= *over_two * (1 - rounding));
            }
        }
    }
}

// An all-reduce of parts that are zero elsewhere is an all-gather.
TEST_CASE("an all-gather and a reduce-scatter are not expected to take longer than an all-reduce of the array") {
    Calibrations all = Calibrations::built_in();
    for (const std::string& machine : machine_ids()) {
        for (const std::string shape : {"8", "8x2", "2x2", "4x4", "8x8"}) {
            const Collectives slice(all, machine, shape);
            for (double bytes = 1024; bytes < 1e10; bytes *= 4) {
                const auto reduce = slice.seconds(CollectiveKind::all_reduce, bytes);
                for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
                    const auto seconds = slice.seconds(kind, bytes);
                    if (!seconds || !reduce) continue;
                    CAPTURE(machine);
                    CAPTURE(shape);
                    CAPTURE(collective_name(kind));
                    CAPTURE(bytes);
                    CHECK(*seconds <= *reduce * (1 + rounding));
                }
            }
        }
    }
}

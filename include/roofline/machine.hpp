// Machines and what they are wired to: the hardware that predictions are about.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofline/dtype.hpp"
#include "roofline/result.hpp"
#include "roofline/units.hpp"

namespace roofline {

/// A chip with its memory and network: what it can do per second, what it can hold, and constants of expected times
/// that were fitted to measurements of it. A handle: immutable, cheap to copy, safe to share between threads.
class Machine {
public:
    /// A machine that comes with the library, by its id, an alias or an unambiguous beginning of either, whatever the
    /// case: "h100-sxm", "tpu-v5e". Errors: `unknown_machine` (the hint names the nearest), `ambiguous_machine`.
    [[nodiscard]] static Result<Machine> find(std::string_view name);

    /// A machine of your own, from the text of a machine file (TOML), with the constants that the file
    /// may hold itself. `file_name` stands in messages alone. Errors carry the line and column of the text.
    [[nodiscard]] static Result<Machine> from_toml(std::string_view text, std::string_view file_name = "machine.toml");

    /// The ids of the machines that come with the library, in alphabetical order.
    [[nodiscard]] static std::vector<std::string> names();

    /// The same machine with one figure changed, for what-ifs: `with("hbm.bandwidth", "3TB/s")`, `with("matmul.bf16",
    /// "*2")`. Figures are matmul.DTYPE, vector.DTYPE, LEVEL.bandwidth, LEVEL.capacity, TIER.bandwidth, TIER.latency,
    /// pcie.bandwidth, dram.bandwidth, dram.capacity, price, power and clock. Errors: no such figure on this machine
    /// (the hint names the nearest), a value of another unit.
    [[nodiscard]] Result<Machine> with(std::string_view figure, std::string_view value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, FlopRate value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Bandwidth value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Bytes value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Seconds value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Price value) const;

    /// The same machine with constants of expected times from a file that `roofline fit` wrote; they go before those of
    /// the library for the machine or server that the file names. Errors carry the line and column of the text.
    [[nodiscard]] Result<Machine> with_calibration(std::string_view toml,
                                                   std::string_view file_name = "calibration.toml") const;

    [[nodiscard]] const std::string& id() const;    ///< "tpu-v5e"
    [[nodiscard]] const std::string& name() const;  ///< "TPU v5e"

    /// Dense peak rates of one chip in that dtype: of its matrix units, and of its vector units. Empty where it has
    /// none, or none is published.
    [[nodiscard]] std::optional<FlopRate> matmul_rate(Dtype dtype) const;
    [[nodiscard]] std::optional<FlopRate> vector_rate(Dtype dtype) const;
    /// Of a memory level of one chip, reads and writes together. "hbm" is the main memory, whatever its kind; others
    /// are called l1, l2, l3, smem, vmem ... Empty where there is no such level, or no figure is published.
    [[nodiscard]] std::optional<Bandwidth> bandwidth(std::string_view level = "hbm") const;
    [[nodiscard]] std::optional<Bytes> capacity(std::string_view level = "hbm") const;
    /// What the chip costs, per second. Empty where it has no list price.
    [[nodiscard]] std::optional<Price> price() const;

    /// For the library alone.
    struct Data;
    explicit Machine(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

/// An axis of a mesh: so many chips under a name that a program's subscripts refer to. `wires` are those of the slice
/// that the axis lies on, innermost first: "ici.0", "nvlink"; none: the library places it.
struct MeshAxis {
    std::string name;
    std::int64_t size = 1;
    std::vector<std::string> wires{};
};

/// What a program runs on: one chip, or a slice of chips wired together, with a mesh of named axes on it. A handle:
/// immutable, cheap to copy, safe to share between threads.
class System {
public:
    /// One chip. Implicit, so that predict() takes a Machine.
    System(Machine machine);  // NOLINT(google-explicit-constructor)

    /// Chips wired together. The shape is that of the network from the innermost tier on: on a torus the length of each
    /// axis, "4x4" or "16x20x28", with "*4" the number of such slices; elsewhere members of each tier, "8x16" for 16
    /// nodes of 8. Errors: no such shape on this machine, more than its network joins.
    [[nodiscard]] static Result<System> slice(const Machine& machine, std::string_view shape);

    /// The same chips with a mesh on them; it goes before a mesh that a program's own text names. Errors: sizes that do
    /// not multiply to the chips, a name that stands twice, wires that the slice lacks.
    [[nodiscard]] Result<System> with_mesh(std::vector<MeshAxis> mesh) const;

    [[nodiscard]] const Machine& machine() const;
    [[nodiscard]] std::int64_t chips() const;
    [[nodiscard]] std::string shape() const;  ///< "4x4"; "1" for one chip

    /// For the library alone.
    struct Data;
    explicit System(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

}  // namespace roofline

// Machines, and slices of them that are connected by a network: the hardware that predictions are made for.
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

/// A machine: a chip with its memory levels and its network. It holds peak rates, capacities, and calibrations, which
/// are the parameters of expected times that were fitted to measurements on this machine. A handle: it is immutable,
/// cheap to copy and safe to share between threads.
class Machine {
public:
    /// Returns the machine of the library's catalogue with this id or alias; an unambiguous prefix is enough, and case
    /// does not matter: "h100-sxm", "tpu-v5e". Errors: `unknown_machine` (the hint names the nearest match),
    /// `ambiguous_machine`.
    [[nodiscard]] static Result<Machine> find(std::string_view name);

    /// Reads a machine from the text of a machine file (TOML), with the calibrations that the file may contain.
    /// `file_name` is used only in messages. Errors carry the line and the column.
    [[nodiscard]] static Result<Machine> from_toml(std::string_view text, std::string_view file_name = "machine.toml");

    /// Returns the ids of all machines of the library's catalogue in alphabetical order.
    [[nodiscard]] static std::vector<std::string> names();

    /// Returns a copy of the machine with one value changed, for what-if questions: `with("hbm.bandwidth", "3TB/s")`,
    /// `with("matmul.bf16", "*2")`. The values that can be changed are matmul.DTYPE, vector.DTYPE, LEVEL.bandwidth,
    /// LEVEL.capacity, TIER.bandwidth, TIER.latency, pcie.bandwidth, dram.bandwidth, dram.capacity, price, power and
    /// clock. Errors: this machine has no such value (the hint names the nearest match); the new value has the wrong
    /// unit.
    [[nodiscard]] Result<Machine> with(std::string_view figure, std::string_view value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, FlopRate value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Bandwidth value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Bytes value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Seconds value) const;
    [[nodiscard]] Result<Machine> with(std::string_view figure, Price value) const;

    /// Returns a copy of the machine with the calibrations of a file that `roofline fit` wrote. For the machine or
    /// server that the file names they take precedence over those of the library. Errors carry the line and the column.
    [[nodiscard]] Result<Machine> with_calibration(std::string_view toml,
                                                   std::string_view file_name = "calibration.toml") const;

    [[nodiscard]] const std::string& id() const;    ///< "tpu-v5e"
    [[nodiscard]] const std::string& name() const;  ///< "TPU v5e"

    /// Dense peak rates of one chip in this dtype: of its matrix units, and of its vector units. Empty if the chip does
    /// not support the dtype there or no rate is published.
    [[nodiscard]] std::optional<FlopRate> matmul_rate(Dtype dtype) const;
    [[nodiscard]] std::optional<FlopRate> vector_rate(Dtype dtype) const;
    /// Bandwidth (reads and writes together) and capacity of a memory level of one chip. "hbm" is the main memory,
    /// whatever its technology; other levels are named l1, l2, l3, smem, vmem ... Empty if there is no such level or no
    /// value is published.
    [[nodiscard]] std::optional<Bandwidth> bandwidth(std::string_view level = "hbm") const;
    [[nodiscard]] std::optional<Bytes> capacity(std::string_view level = "hbm") const;
    /// List price of one chip per second. Empty if it has none.
    [[nodiscard]] std::optional<Price> price() const;

    /// Internal to the library.
    struct Data;
    explicit Machine(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

/// An axis of a mesh: its name, which the subscripts of a program refer to, and its number of chips. `links` lists the
/// links of the slice that the axis occupies, innermost first ("ici.0", "nvlink"); if it is empty, the library places
/// the axis.
struct MeshAxis {
    std::string name;
    std::int64_t size = 1;
    std::vector<std::string> links{};
};

/// The hardware that a program runs on: one chip, or a slice of chips that are connected by a network, optionally with
/// a mesh of named axes. A handle: it is immutable, cheap to copy and safe to share between threads.
class System {
public:
    /// A system of one chip. The conversion is implicit, so that predict() accepts a Machine.
    System(Machine machine);  // NOLINT(google-explicit-constructor)

    /// Returns a slice of several chips. `shape` describes the network from the innermost tier outwards. On a torus it
    /// gives the length of each axis, "4x4" or "16x20x28", and a further "*4" the number of such slices; on other
    /// networks it gives the number of members per tier, "8x16" for 16 nodes of 8 chips. Errors: the machine does not
    /// come in this shape; its network does not connect that many chips.
    [[nodiscard]] static Result<System> slice(const Machine& machine, std::string_view shape);

    /// Returns the same chips with a mesh. It takes precedence over a mesh in a program's text. Errors: the product of
    /// the axes' sizes is not the number of chips; two axes have the same name; the slice does not have the links that
    /// `links` names.
    [[nodiscard]] Result<System> with_mesh(std::vector<MeshAxis> mesh) const;

    [[nodiscard]] const Machine& machine() const;
    [[nodiscard]] std::int64_t chips() const;
    [[nodiscard]] std::string shape() const;  ///< "4x4"; "1" for one chip

    /// Internal to the library.
    struct Data;
    explicit System(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

}  // namespace roofline

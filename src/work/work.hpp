// What a program asks of a machine: FLOPs by unit and dtype, bytes across each memory level. Polynomials in the dimensions
// until sizes are bound; no machine is known here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/polynomial.hpp"
#include "program/program.hpp"
#include "units/compute_unit.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// FLOPs of one kind. A multiply-add is two.
struct ComputeWork {
    Unit unit = Unit::matmul;
    Dtype dtype = Dtype::bf16;  ///< the arithmetic's
    Polynomial flops;
};

/// Bytes across the boundary of a memory level, away from the level (read) and towards it (write).
struct Traffic {
    Polynomial read;
    Polynomial write;

    [[nodiscard]] Polynomial total() const { return read + write; }
};

/// A collective and how often it happens.
struct MessageWork {
    Message message;
    Polynomial count{1};
};

/// Everything asked for. Memory is keyed by level: "hbm", "vmem" ...; "pcie" is the link to the host's memory.
struct Work {
    std::vector<ComputeWork> compute;  ///< one entry for each unit and dtype, in order of appearance
    Polynomial transcendentals;
    std::map<std::string, Traffic> memory;
    std::vector<MessageWork> messages;

    void add_flops(Unit unit, Dtype dtype, const Polynomial& flops);
    Work& operator+=(const Work& other);
    [[nodiscard]] Work times(const Polynomial& count) const;
    [[nodiscard]] Polynomial flops() const;  ///< of all units and dtypes
    [[nodiscard]] Polynomial flops(Unit unit) const;
    [[nodiscard]] bool overflowed() const;
};

/// One tensor crossing one level in a statement.
struct Transfer {
    ValueId value = 0;
    std::string level;
    bool write = false;
    Polynomial bytes;
};

/// A contraction of two operands as a matrix product: (batch) m k, k n -> m n. Empty groups are products of nothing, 1.
struct MatmulShape {
    std::vector<std::string> batch;  ///< in both operands and the result
    std::vector<std::string> m;      ///< in the left operand and the result
    std::vector<std::string> n;      ///< in the right operand and the result
    std::vector<std::string> k;      ///< summed
    Unit unit = Unit::matmul;
    Dtype dtype = Dtype::bf16;
    Polynomial flops;
};

/// Work of one kernel: a statement, or a whole fuse block.
struct KernelWork {
    std::vector<const Statement*> statements;
    Polynomial count{1};  ///< how often it runs: the product of the repeats around it
    Work work;            ///< of one run
    std::vector<Transfer> transfers;
    std::vector<MatmulShape> matmuls;
    std::vector<std::string> notes;  ///< the order of a product of three or more, tables read in part
};

struct ProgramWork {
    std::vector<KernelWork> kernels;  ///< in program order
    Work total;                       ///< counts included
};

/// Sizes of a tile, by dimension. Its tensors are fetched across the level `crosses`: an input is fetched again for every tile
/// of a result's dimension that the input lacks; results are written once. Dimensions that are not named are whole.
struct Tile {
    std::string crosses = "hbm";
    std::vector<std::string> placed_at{"hbm", "host"};  ///< tensors that live at these levels cross it
    Sizes sizes;
};

struct WorkOptions {
    bool exact_flops = false;  ///< BF(2D-1) instead of 2BDF: the first product of a sum needs no add
    std::vector<Tile> tiles;
};

/// What an elementwise, reducing or masking function costs: so much for each point of its operands' dimensions, masked ones left
/// out, and so much for each row along which it works.
struct FunctionWork {
    Polynomial flops;
    Polynomial transcendentals;
};
[[nodiscard]] FunctionWork function_work(const Program& program, const Op& op, bool exact_flops = false);

/// Derives the work. Errors: a count beyond 127 bits; a sharded program (communication is another layer's).
[[nodiscard]] Result<ProgramWork> derive_work(const Program& program, const WorkOptions& options = {});

}  // namespace roofline::core

// The work of a program: FLOPs by unit and dtype, and bytes across each memory level, as polynomials in the dimensions
// until sizes are bound. The work does not depend on a machine.
#pragma once

#include <map>
#include <optional>
#include <set>
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
    Dtype dtype = Dtype::bf16;  ///< of the arithmetic
    Polynomial flops;
};

/// Bytes across the boundary of a memory level, away from the level (read) and towards it (write).
struct Traffic {
    Polynomial read;
    Polynomial write;

    [[nodiscard]] Polynomial total() const { return read + write; }
};

/// A collective and how often it runs.
struct MessageWork {
    Message message;
    Polynomial count{1};
};

/// All work of a program or a part of it. Memory is keyed by level: "hbm", "vmem" ...; "pcie" is the link to the host's
/// memory.
struct Work {
    std::vector<ComputeWork> compute;  ///< one entry per unit and dtype, in order of appearance
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

/// The transfer of one tensor across one level in a statement.
struct Transfer {
    ValueId value = 0;
    std::string level;
    bool write = false;
    Polynomial bytes;
};

/// A contraction of two operands as a matmul: (batch) m k, k n -> m n. The size of an empty group is 1.
struct MatmulShape {
    std::vector<std::string> batch;  ///< in both operands and the result
    std::vector<std::string> m;      ///< in the left operand and the result
    std::vector<std::string> n;      ///< in the right operand and the result
    std::vector<std::string> k;      ///< summed dimensions
    Unit unit = Unit::matmul;
    Dtype dtype = Dtype::bf16;
    Polynomial flops;
};

/// The work of one kernel: a statement, or a whole fuse block.
struct KernelWork {
    std::vector<const Statement*> statements;
    Polynomial count{1};  ///< how often it runs: the product of the repeats around it
    Work work;            ///< of one run
    std::vector<Transfer> transfers;
    std::vector<MatmulShape> matmuls;
    /// About the order of a product of three or more operands, and tables that are read in part.
    std::vector<std::string> notes;
    /// Index of the first kernel of the program that is equal but for the names of its tensors, or its own. Programs of
    /// few kernels are not searched for any.
    std::size_t like = 0;
};

struct ProgramWork {
    std::vector<KernelWork> kernels;  ///< in program order
    Work total;                       ///< counts included
    LocalDims local_dims;             ///< Program::local_dims, for the dimensions of kernels
};

/// The sizes of a tile, by dimension. Its tensors are fetched across the level `crosses`: an input is fetched again for
/// every tile of a result's dimension that the input lacks; results are written once. Dimensions that are not named are
/// whole.
struct Tile {
    std::string crosses = "hbm";
    std::vector<std::string> placed_at{"hbm", "host"};  ///< tensors that live at these levels cross it
    Sizes sizes;
};

struct WorkOptions {
    bool exact_flops = false;  ///< BF(2D-1) instead of 2BDF: the first product of a sum needs no add
    std::vector<Tile> tiles;
};

/// The cost of an elementwise, reducing or masking function: one per unmasked point of its operands' dimensions, and
/// one per row along which it works.
struct FunctionWork {
    Polynomial flops;
    Polynomial transcendentals;
};
[[nodiscard]] FunctionWork function_work(const Program& program, const Op& op, bool exact_flops = false);

/// Derives the work of a program. Errors: a count beyond 127 bits; a sharded program (its layout has to be derived
/// first).
[[nodiscard]] Result<ProgramWork> derive_work(const Program& program, const WorkOptions& options = {});

/// The tensors that one kernel, a statement or a fuse block, reads from memory, and those that it writes to it.
struct KernelTensors {
    std::vector<const Statement*> statements;
    std::set<ValueId> reads;
    std::set<ValueId> writes;
};

/// Returns the tensors that the kernels of a program read and write, without counting bytes. Errors: a repeat inside a
/// fuse block.
[[nodiscard]] Result<std::vector<KernelTensors>> stored_tensors(const Program& program);

}  // namespace roofline::core

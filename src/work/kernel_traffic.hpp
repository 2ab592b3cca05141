// The kernels of a program, and the tensors that each of them moves to and from memory.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "program/functions.hpp"
#include "program/program.hpp"

namespace roofline::core {

[[nodiscard]] bool is_function(const Op& op, FunctionKind kind);

/// The kernels of a program: its statements, and its fuse blocks.
class ProgramKernels {
public:
    struct Kernel {
        std::vector<const Statement*> statements;
        Polynomial count;        ///< how often it runs
        bool fused = false;      ///< a fuse block
        std::size_t before = 0;  ///< positions of its statements in the program: after this one ...
        std::size_t end = 0;     ///< ... up to this one
    };

    explicit ProgramKernels(const Program& program);
    /// Adds the kernels of a block that runs `count` times. Errors: a repeat inside a fuse block.
    Status find(const Block& block, const Polynomial& count);
    [[nodiscard]] const std::vector<Kernel>& all() const { return all_; }
    /// Whether a statement of the program computes the value.
    [[nodiscard]] bool computed(ValueId id) const { return computed_[id]; }
    /// The value whose memory a value is: the argument of a view, or itself.
    [[nodiscard]] ValueId memory_of(ValueId id) const { return memory_of_[id]; }
    /// Whether a value that the kernel computes is not needed after it.
    [[nodiscard]] bool stays_inside(const Kernel& kernel, ValueId id) const;

private:
    Status collect(const Block& block, Kernel& kernel);
    void add(Kernel& kernel, const Statement& statement);
    void note_view(const Statement& statement);

    std::vector<Kernel> all_;
    std::vector<ValueId> memory_of_;
    std::vector<std::size_t> last_use_;  ///< by value: the position of the last statement that reads it
    std::vector<bool> computed_;
    std::size_t position_ = 0;
};

/// A tensor, or a part of it, that a kernel reads from memory or writes to it.
struct MemoryAccess {
    ValueId value = 0;
    bool write = false;
    const std::vector<std::string>* elements = nullptr;  ///< dimensions of what is read or written
    /// Likewise; of a tensor that is updated in place, those of the whole tensor.
    const std::vector<std::string>* dims = nullptr;
};

/// Finds the tensors that cross memory in one kernel.
class KernelTraffic {
public:
    KernelTraffic(const Program& program, const ProgramKernels& kernels, const ProgramKernels::Kernel& kernel);

    [[nodiscard]] std::vector<MemoryAccess> accesses();
    /// The dimensions of all tensors that the kernel writes.
    [[nodiscard]] std::vector<std::string> result_dims();

private:
    // An input that is read: all of it, or as many elements as these dimensions hold.
    struct Reading {
        ValueId value = 0;
        const std::vector<std::string>* whole = nullptr;
        const std::vector<std::string>* rows = nullptr;
    };
    struct Writing {
        const Operand* operand = nullptr;
        const std::vector<std::string>* elements = nullptr;
    };

    void add(const Op& op, bool last, bool exchanged);
    void relaid(ValueId from, ValueId to, bool exchanged);
    [[nodiscard]] bool made_here(ValueId id) const;
    void add_slice(const Op& op);
    void add_state(const Op& op);
    [[nodiscard]] bool stored(const Writing& writing) const;
    [[nodiscard]] bool needed_later(ValueId id) const;
    void find_leaving();
    void read(const Reading& reading);
    [[nodiscard]] bool reads_whole(ValueId id) const;

    const Program& program_;
    const ProgramKernels& kernels_;
    const ProgramKernels::Kernel& kernel_;
    std::vector<Reading> readings_;
    std::vector<Writing> writings_;
    std::set<ValueId> made_;
    std::vector<std::pair<ValueId, ValueId>> relaid_;  ///< two names of the same numbers, in different layouts
    std::set<ValueId> leaving_;                        ///< values that are needed outside under another name
    std::map<ValueId, ValueId> in_place_of_;           ///< a scatter's result and the tensor it updates
    std::set<ValueId> read_whole_;
    std::vector<MemoryAccess> accesses_;
};

}  // namespace roofline::core

// A module of XLA as its readers hand it on: computations of instructions. HLO text, protos and StableHLO all become
// this; what an attribute says stays text in HLO's own notation until somebody asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/xla/xla_shape.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// `key=value` of an instruction or a module; the value is text as HLO writes it: `{1,0}`, `"x"`, `b01f_01io->b01f`.
struct XlaAttribute {
    std::string_view key;
    std::string_view value;
};

/// Where an instruction comes from.
struct XlaOrigin {
    std::string_view op_name;  ///< "jit(train)/jvp(layer)/dot_general": the scopes of the framework, or ""
    std::string_view file;     ///< the user's source file, or ""
    int line = 0;              ///< of the file, or 0
};

struct XlaInstruction {
    std::string_view name;    ///< without the percent sign
    std::string_view opcode;  ///< "dot", "all-gather-start"
    XlaShape shape;
    std::vector<std::uint32_t> operands;  ///< indices of instructions before it in its computation
    std::vector<std::uint32_t> called;    ///< indices of computations: see XlaModule::called()
    std::vector<XlaAttribute> attributes;
    std::string_view literal;  ///< what stands in the parentheses of a constant, a parameter or an iota
    XlaOrigin origin;
    std::size_t offset = 0;  ///< of the name in the text of the module, or of the message in a binary file

    /// The value of an attribute; nothing if it is not there.
    [[nodiscard]] std::optional<std::string_view> attribute(std::string_view key) const;
    /// The numbers of a list such as `dimensions={0,2}`; empty if it is not there or is no list of numbers.
    [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view key) const;
    /// The number of `index=3`; nothing if it is not there or is no number.
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const;
};

struct XlaComputation {
    std::string_view name;
    std::vector<XlaInstruction> instructions;  ///< operands before those that use them
    std::uint32_t root = 0;

    [[nodiscard]] const XlaInstruction& result() const { return instructions[root]; }
};

/// The roles in which instructions call computations, in the order of XlaInstruction::called: a while has its condition
/// and body, a conditional its branches, and anything else what `to_apply`, `calls` and the like name.
struct XlaModule {
    std::string name;
    std::vector<XlaAttribute> attributes;      ///< num_partitions, input_output_alias
    std::vector<XlaComputation> computations;  ///< callees before callers
    std::uint32_t entry = 0;

    std::shared_ptr<const std::string> text;          ///< holds the characters of most views
    bool binary = false;                              ///< whether it is no text: places in it are bytes, not lines
    std::shared_ptr<std::deque<std::string>> spoken;  ///< holds those that readers wrote themselves

    [[nodiscard]] const XlaComputation& main() const { return computations[entry]; }
    [[nodiscard]] std::optional<std::string_view> attribute(std::string_view key) const;
};

/// Sorts the computations of a module so that callees come before those that call them; its entry stays the same one.
/// Returns a computation that calls itself, if there is one, and then leaves the module as it is.
[[nodiscard]] std::optional<std::uint32_t> put_callees_first(XlaModule& module);

/// Makes the entry of a module a single fusion of all that it does, as one kernel would do it. A module with a custom
/// call in its entry stays as it is, because what that is made of is unknown.
void fuse_entry(XlaModule& module);

/// Returns the numbers of a list in braces, `{0,2}`, or in brackets; nothing if it is anything else.
[[nodiscard]] std::optional<std::vector<std::int64_t>> number_list(std::string_view text);

/// Returns the value of a key in a text that may be JSON inside: `known_trip_count` of `{"known_trip_count":{"n":"7"}}`
/// is `{"n":"7"}`; keys of any depth. Nothing if the key is not there.
[[nodiscard]] std::optional<std::string_view> value_of_key(std::string_view text, std::string_view key);

}  // namespace roofline::core

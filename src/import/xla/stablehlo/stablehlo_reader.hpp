// The reader behind read_stablehlo_text(): modules and functions (stablehlo_text.cpp), operations as they are written
// (stablehlo_syntax.cpp), and the instructions that they become (stablehlo_emit.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "import/xla/stablehlo/mlir_attributes.hpp"
#include "import/xla/stablehlo/mlir_locations.hpp"
#include "import/xla/stablehlo/mlir_scanner.hpp"
#include "import/xla/stablehlo/mlir_types.hpp"
#include "import/xla/stablehlo/stablehlo_op.hpp"
#include "import/xla/stablehlo/stablehlo_region.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

class StablehloReader {
public:
    StablehloReader(std::shared_ptr<const std::string> text, const std::string& name);
    [[nodiscard]] Result<XlaModule> read();

private:
    using Dictionary = std::vector<XlaAttribute>;

    struct Function {
        std::uint32_t computation = 0;
        std::size_t offset = 0;
        bool has_body = false;
    };
    struct Call {
        std::uint32_t computation = 0;
        std::uint32_t instruction = 0;
        std::string_view callee;
        std::size_t offset = 0;
    };
    /// A value that a region gets: `%arg0: tensor<4xf32> {sdy.sharding = ...} loc("x")`.
    struct Argument {
        MlirName name;
        XlaShape shape;
        Dictionary attributes;
        XlaOrigin origin;
    };
    /// The signature of a function.
    struct Signature {
        std::string_view name;
        std::vector<Dictionary> arguments;
        std::vector<Dictionary> results;
        std::size_t offset = 0;
        bool is_public = true;
    };

    // The module.
    [[nodiscard]] Status refuse_other_forms() const;
    [[nodiscard]] Status read_top(bool inside);
    [[nodiscard]] Status read_top_operation(bool inside, bool& ends);
    [[nodiscard]] Status read_module();
    [[nodiscard]] Status read_generic_module();
    [[nodiscard]] Status read_mesh();
    void add_module_attributes(const Dictionary& attributes);
    [[nodiscard]] Status read_function();
    [[nodiscard]] Status read_signature(Signature& signature, std::vector<Argument>& arguments);
    [[nodiscard]] Status read_result_types(Signature& signature);
    [[nodiscard]] Status read_generic_top(std::string_view name);
    [[nodiscard]] Status read_generic_function();
    [[nodiscard]] Status add_function(const Signature& signature, StablehloRegion& region);
    [[nodiscard]] Status declare(const Signature& signature, Function function);
    [[nodiscard]] Status resolve();
    [[nodiscard]] Status choose_entry();
    void add_aliases_of_buffers();

    // Operations as they are written.
    [[nodiscard]] Status read_body(StablehloRegion& region);
    [[nodiscard]] Status read_operation(StablehloRegion& region);
    [[nodiscard]] Status read_operation_into(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status read_results(StablehloOp& op);
    [[nodiscard]] Status read_generic(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status read_properties(StablehloOp& op);
    [[nodiscard]] Status read_pretty(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Result<bool> read_pretty_piece(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status read_braces(StablehloOp& op);
    [[nodiscard]] Status read_pretty_word(StablehloOp& op);
    [[nodiscard]] Status read_operand(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status read_types(StablehloOp& op);
    [[nodiscard]] Status read_type_list(std::vector<XlaShape>& types);
    [[nodiscard]] Status check_types(StablehloOp& op) const;
    [[nodiscard]] Result<Argument> read_argument();
    [[nodiscard]] Status read_block_label(StablehloRegion& region);
    [[nodiscard]] Status add_arguments(StablehloRegion& region, const std::vector<Argument>& arguments);
    [[nodiscard]] Status read_region(StablehloRegion& region, const std::vector<Argument>& arguments);
    [[nodiscard]] Status read_regions(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status read_while(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status read_reducer(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status read_manual(StablehloOp& op, StablehloRegion& region);

    // Instructions that operations become.
    [[nodiscard]] Status finish(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status emit(StablehloOp& op, StablehloRegion& region);
    void drop_ones(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status emit_while(StablehloOp& op, StablehloRegion& region, StablehloRegion& condition,
                                    StablehloRegion& body);
    [[nodiscard]] Status emit_branches(StablehloOp& op, StablehloRegion& region,
                                       std::vector<std::unique_ptr<StablehloRegion>>& branches);
    [[nodiscard]] Status emit_manual(StablehloOp& op, StablehloRegion& region, StablehloRegion& body);
    [[nodiscard]] Status emit_barrier(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Result<std::uint32_t> close_region(StablehloOp& op, StablehloRegion& region);
    [[nodiscard]] Status return_values(StablehloOp& op, StablehloRegion& region) const;
    [[nodiscard]] Status add_instruction(StablehloOp& op, StablehloRegion& region, XlaInstruction instruction);
    [[nodiscard]] Status define_results(const StablehloOp& op, StablehloRegion& region, std::uint32_t instruction,
                                        bool parts);
    [[nodiscard]] std::uint32_t add_tuple(const StablehloOp& op, StablehloRegion& region,
                                          const std::vector<std::uint32_t>& parts, std::string_view suffix);
    [[nodiscard]] std::string_view name_of(const StablehloOp& op, bool tuple);
    [[nodiscard]] std::string_view other_name(const StablehloOp& op, std::string_view suffix);
    void add_call(StablehloRegion& region, std::uint32_t instruction, std::string_view callee, std::size_t offset);
    void add_calls(const StablehloOp& op, StablehloRegion& region, std::uint32_t instruction);
    std::uint32_t add_computation(StablehloRegion& region, std::string_view name);
    std::uint32_t applied(std::string_view opcode, const XlaElement& element);
    static XlaShape shape_of(std::vector<XlaShape> types, bool tuple);

    XlaModule module_;
    MlirScanner scanner_;
    MlirTypes types_;
    MlirLocations locations_;
    HloNotation notation_;
    RegionsShared shared_{notation_};
    std::unordered_map<std::string_view, const StablehloOpcode*> opcodes_;  ///< of names that have been looked up
    std::unordered_map<std::string_view, Function> functions_;
    std::vector<std::string_view> order_;  ///< of functions
    std::string_view first_public_;
    std::unordered_map<const StablehloRegion*, std::vector<Call>> open_calls_;
    std::vector<Call> calls_;
    std::vector<std::size_t> starts_;  ///< of computations
    std::unordered_map<std::string, std::uint32_t> applied_;
    std::string meshes_;
    std::string_view applies_;  ///< of the reduce that is being read
    std::vector<std::uint32_t> inits_;
    bool init_next_ = false;
    bool has_module_ = false;
    std::deque<StablehloOp> ops_;  ///< the operation that is read, after those around it
    std::size_t open_ops_ = 0;
    std::uint32_t regions_ = 0;
    std::uint32_t unnamed_ = 0;
    int depth_ = 0;
};

}  // namespace roofline::core

#include <algorithm>
#include <array>
#include <span>

#include "import/xla/stablehlo/stablehlo_op.hpp"

namespace roofline::core {

namespace {

using enum StablehloKind;

// Operations of StableHLO and MHLO, by their name without the dialect.
constexpr std::array stablehlo_opcodes{
    StablehloOpcode{"abs", "abs"},
    StablehloOpcode{"acos", "acos"},
    StablehloOpcode{"acosh", "acosh"},
    StablehloOpcode{"add", "add"},
    StablehloOpcode{"add_dependency", "add-dependency"},
    StablehloOpcode{"after_all", "after-all"},
    StablehloOpcode{"all_gather", "all-gather"},
    StablehloOpcode{"all_reduce", "all-reduce"},
    StablehloOpcode{"all_to_all", "all-to-all"},
    StablehloOpcode{"and", "and"},
    StablehloOpcode{"asin", "asin"},
    StablehloOpcode{"asinh", "asinh"},
    StablehloOpcode{"async_done", "async-done"},
    StablehloOpcode{"async_start", "async-start"},
    StablehloOpcode{"async_update", "async-update"},
    StablehloOpcode{"atan2", "atan2"},
    StablehloOpcode{"atanh", "atanh"},
    StablehloOpcode{"batch_norm_grad", "batch-norm-grad"},
    StablehloOpcode{"batch_norm_inference", "batch-norm-inference"},
    StablehloOpcode{"batch_norm_training", "batch-norm-training"},
    StablehloOpcode{"bitcast", "bitcast"},
    StablehloOpcode{"bitcast_convert", "bitcast-convert"},
    StablehloOpcode{"broadcast", "broadcast", broadcast},
    StablehloOpcode{"broadcast_in_dim", "broadcast", broadcast_in_dim},
    StablehloOpcode{"case", "conditional", branches},
    StablehloOpcode{"cbrt", "cbrt"},
    StablehloOpcode{"ceil", "ceil"},
    StablehloOpcode{"cholesky", "cholesky"},
    StablehloOpcode{"clamp", "clamp"},
    StablehloOpcode{"collective_broadcast", "collective-broadcast"},
    StablehloOpcode{"collective_permute", "collective-permute"},
    StablehloOpcode{"compare", "compare", compare},
    StablehloOpcode{"complex", "complex"},
    StablehloOpcode{"composite", "call", composite},
    StablehloOpcode{"concatenate", "concatenate"},
    StablehloOpcode{"constant", "constant", constant},
    StablehloOpcode{"convert", "convert"},
    StablehloOpcode{"convolution", "convolution", convolution},
    StablehloOpcode{"copy", "copy"},
    StablehloOpcode{"cosh", "cosh"},
    StablehloOpcode{"cosine", "cosine"},
    StablehloOpcode{"count_leading_zeros", "count-leading-zeros"},
    StablehloOpcode{"create_token", "after-all"},
    StablehloOpcode{"custom_call", "custom-call", custom_call},
    StablehloOpcode{"divide", "divide"},
    StablehloOpcode{"domain", "domain"},
    StablehloOpcode{"dot", "dot", dot},
    StablehloOpcode{"dot_general", "dot", dot_general},
    StablehloOpcode{"dynamic_slice", "dynamic-slice"},
    StablehloOpcode{"dynamic_update_slice", "dynamic-update-slice"},
    StablehloOpcode{"erf", "erf"},
    StablehloOpcode{"exponential", "exponential"},
    StablehloOpcode{"exponential_minus_one", "exponential-minus-one"},
    StablehloOpcode{"fft", "fft"},
    StablehloOpcode{"floor", "floor"},
    StablehloOpcode{"gather", "gather", gather},
    StablehloOpcode{"get_dimension_size", "get-dimension-size"},
    StablehloOpcode{"get_tuple_element", "get-tuple-element", tuple_element},
    StablehloOpcode{"if", "conditional", branches},
    StablehloOpcode{"imag", "imag"},
    StablehloOpcode{"infeed", "infeed"},
    StablehloOpcode{"iota", "iota"},
    StablehloOpcode{"is_finite", "is-finite"},
    StablehloOpcode{"log", "log"},
    StablehloOpcode{"log_plus_one", "log-plus-one"},
    StablehloOpcode{"logistic", "logistic"},
    StablehloOpcode{"map", "map"},
    StablehloOpcode{"maximum", "maximum"},
    StablehloOpcode{"minimum", "minimum"},
    StablehloOpcode{"multiply", "multiply"},
    StablehloOpcode{"negate", "negate"},
    StablehloOpcode{"not", "not"},
    StablehloOpcode{"optimization_barrier", "opt-barrier", barrier},
    StablehloOpcode{"or", "or"},
    StablehloOpcode{"outfeed", "outfeed"},
    StablehloOpcode{"pad", "pad", pad},
    StablehloOpcode{"partition_id", "partition-id"},
    StablehloOpcode{"popcnt", "popcnt"},
    StablehloOpcode{"power", "power"},
    StablehloOpcode{"ragged_all_to_all", "ragged-all-to-all"},
    StablehloOpcode{"ragged_dot", "ragged-dot"},
    StablehloOpcode{"real", "real"},
    StablehloOpcode{"recv", "recv"},
    StablehloOpcode{"reduce", "reduce", reduce},
    StablehloOpcode{"reduce_precision", "reduce-precision"},
    StablehloOpcode{"reduce_scatter", "reduce-scatter"},
    StablehloOpcode{"reduce_window", "reduce-window", window},
    StablehloOpcode{"remainder", "remainder"},
    StablehloOpcode{"replica_id", "replica-id"},
    StablehloOpcode{"reshape", "reshape"},
    StablehloOpcode{"return", "", returns},
    StablehloOpcode{"reverse", "reverse"},
    StablehloOpcode{"rng", "rng"},
    StablehloOpcode{"rng_bit_generator", "rng-bit-generator"},
    StablehloOpcode{"round_nearest_afz", "round-nearest-afz"},
    StablehloOpcode{"round_nearest_even", "round-nearest-even"},
    StablehloOpcode{"rsqrt", "rsqrt"},
    StablehloOpcode{"scatter", "scatter", scatter},
    StablehloOpcode{"select", "select"},
    StablehloOpcode{"select_and_scatter", "select-and-scatter", window},
    StablehloOpcode{"send", "send"},
    StablehloOpcode{"set_dimension_size", "set-dimension-size"},
    StablehloOpcode{"shift_left", "shift-left"},
    StablehloOpcode{"shift_right_arithmetic", "shift-right-arithmetic"},
    StablehloOpcode{"shift_right_logical", "shift-right-logical"},
    StablehloOpcode{"sign", "sign"},
    StablehloOpcode{"sine", "sine"},
    StablehloOpcode{"sinh", "sinh"},
    StablehloOpcode{"slice", "slice", slice},
    StablehloOpcode{"sort", "sort"},
    StablehloOpcode{"sqrt", "sqrt"},
    StablehloOpcode{"stochastic_convert", "stochastic-convert"},
    StablehloOpcode{"subtract", "subtract"},
    StablehloOpcode{"tan", "tan"},
    StablehloOpcode{"tanh", "tanh"},
    StablehloOpcode{"topk", "topk"},
    StablehloOpcode{"transpose", "transpose"},
    StablehloOpcode{"triangular_solve", "triangular-solve"},
    StablehloOpcode{"tuple", "tuple"},
    StablehloOpcode{"while", "while", loop},
    StablehloOpcode{"xor", "xor"},
};
static_assert(std::ranges::is_sorted(stablehlo_opcodes, {}, &StablehloOpcode::name));

// Operations of CHLO that HLO has, too.
constexpr std::array chlo_opcodes{
    StablehloOpcode{"acos", "acos"},
    StablehloOpcode{"acosh", "acosh"},
    StablehloOpcode{"asin", "asin"},
    StablehloOpcode{"asinh", "asinh"},
    StablehloOpcode{"atanh", "atanh"},
    StablehloOpcode{"constant", "constant", constant},
    StablehloOpcode{"cosh", "cosh"},
    StablehloOpcode{"erf", "erf"},
    StablehloOpcode{"ragged_dot", "ragged-dot"},
    StablehloOpcode{"sinh", "sinh"},
    StablehloOpcode{"tan", "tan"},
    StablehloOpcode{"top_k", "topk"},
};
static_assert(std::ranges::is_sorted(chlo_opcodes, {}, &StablehloOpcode::name));

constexpr std::array sdy_opcodes{
    StablehloOpcode{"constant", "constant", constant},
    StablehloOpcode{"manual_computation", "call", manual},
    StablehloOpcode{"named_computation", "call", named},
    StablehloOpcode{"return", "", returns},
    StablehloOpcode{"sharding_constraint", "custom-call", constraint},
};
static_assert(std::ranges::is_sorted(sdy_opcodes, {}, &StablehloOpcode::name));

constexpr std::array func_opcodes{
    StablehloOpcode{"call", "call", call},
    StablehloOpcode{"return", "", returns},
};

const StablehloOpcode* find_opcode_in(std::span<const StablehloOpcode> opcodes, std::string_view name) {
    const auto found = std::ranges::lower_bound(opcodes, name, {}, &StablehloOpcode::name);
    return found != opcodes.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

const StablehloOpcode* find_stablehlo_opcode(std::string_view name) {
    const std::size_t dot_at = name.find('.');
    if (dot_at == std::string_view::npos) return find_opcode_in(func_opcodes, name);
    const std::string_view dialect = name.substr(0, dot_at);
    const std::string_view word = name.substr(dot_at + 1);
    if (dialect == "stablehlo" || dialect == "mhlo") return find_opcode_in(stablehlo_opcodes, word);
    if (dialect == "chlo") return find_opcode_in(chlo_opcodes, word);
    if (dialect == "sdy") return find_opcode_in(sdy_opcodes, word);
    if (dialect == "func") return find_opcode_in(func_opcodes, word);
    return nullptr;
}

}  // namespace roofline::core

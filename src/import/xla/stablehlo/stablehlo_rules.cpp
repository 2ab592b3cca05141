#include "import/xla/stablehlo/stablehlo_rules.hpp"

#include <array>

namespace roofline::core {

namespace {

constexpr std::array attribute_rules{
    AttributeRule{"all_gather_dim", "dimensions", AttributeForm::one},
    AttributeRule{"broadcast_dimensions", "dimensions", AttributeForm::braces},
    AttributeRule{"dims", "dimensions", AttributeForm::braces},
    AttributeRule{"permutation", "dimensions", AttributeForm::braces},
    AttributeRule{"dimensions", "dimensions", AttributeForm::braces},
    AttributeRule{"dimension", "dimensions", AttributeForm::one},
    AttributeRule{"dim", "iota_dimension", AttributeForm::word, "iota"},
    AttributeRule{"iota_dimension", "iota_dimension", AttributeForm::word},
    AttributeRule{"dim", "dimensions", AttributeForm::one},
    AttributeRule{"scatter_dimension", "dimensions", AttributeForm::one},
    AttributeRule{"split_dimension", "dimensions", AttributeForm::one},
    AttributeRule{"concat_dimension", "concat_dimension"},
    AttributeRule{"split_count", "split_count"},
    AttributeRule{"replica_groups", "replica_groups", AttributeForm::braces},
    AttributeRule{"source_target_pairs", "source_target_pairs", AttributeForm::braces},
    AttributeRule{"use_global_device_ids", "use_global_device_ids", AttributeForm::flag},
    AttributeRule{"sizes", "dynamic_slice_sizes", AttributeForm::braces, "dynamic-slice"},
    AttributeRule{"slice_sizes", "dynamic_slice_sizes", AttributeForm::braces, "dynamic-slice"},
    AttributeRule{"slice_sizes", "slice_sizes", AttributeForm::braces},
    AttributeRule{"indices_are_sorted", "indices_are_sorted", AttributeForm::flag},
    AttributeRule{"unique_indices", "unique_indices", AttributeForm::flag},
    AttributeRule{"is_stable", "is_stable", AttributeForm::flag},
    AttributeRule{"k", "k"},
    AttributeRule{"largest", "largest"},
    AttributeRule{"epsilon", "epsilon"},
    AttributeRule{"feature_index", "feature_index"},
    AttributeRule{"exponent_bits", "exponent_bits"},
    AttributeRule{"mantissa_bits", "mantissa_bits"},
    AttributeRule{"fft_type", "fft_type"},
    AttributeRule{"type", "fft_type", AttributeForm::word, "fft"},
    AttributeRule{"fft_length", "fft_length", AttributeForm::braces},
    AttributeRule{"length", "fft_length", AttributeForm::braces, "fft"},
    AttributeRule{"rng_algorithm", "algorithm", AttributeForm::lower, "rng-bit-generator"},
    AttributeRule{"algorithm", "algorithm", AttributeForm::lower, "rng-bit-generator"},
    AttributeRule{"rng_distribution", "distribution", AttributeForm::lower, "rng"},
    AttributeRule{"distribution", "distribution", AttributeForm::lower, "rng"},
    AttributeRule{"lower", "lower"},
    AttributeRule{"left_side", "left_side"},
    AttributeRule{"unit_diagonal", "unit_diagonal"},
    AttributeRule{"transpose_a", "transpose_a"},
    AttributeRule{"feature_group_count", "feature_group_count", AttributeForm::beyond_one},
    AttributeRule{"batch_group_count", "batch_group_count", AttributeForm::beyond_one},
    AttributeRule{"index", "index", AttributeForm::word, "get-tuple-element"},
    AttributeRule{"comparison_direction", "direction"},
    AttributeRule{"has_side_effect", "custom_call_has_side_effect", AttributeForm::flag, "custom-call"},
    AttributeRule{"infeed_config", "infeed_config", AttributeForm::string},
    AttributeRule{"outfeed_config", "outfeed_config", AttributeForm::string},
    AttributeRule{"is_host_transfer", "is_host_transfer", AttributeForm::flag},
    AttributeRule{"mhlo.sharding", "sharding", AttributeForm::bare},
    // What the code below reads.
    AttributeRule{"channel_handle", "", AttributeForm::nothing},
    AttributeRule{"compare_type", "", AttributeForm::nothing},
    AttributeRule{"dot_dimension_numbers", "", AttributeForm::nothing},
    AttributeRule{"contracting_dims", "", AttributeForm::nothing},
    AttributeRule{"batching_dims", "", AttributeForm::nothing},
    AttributeRule{"algorithm", "", AttributeForm::nothing, "dot"},
    AttributeRule{"precision", "", AttributeForm::nothing},
    AttributeRule{"precision_config", "", AttributeForm::nothing},
    AttributeRule{"dimension_numbers", "", AttributeForm::nothing},
    AttributeRule{"dim_numbers", "", AttributeForm::nothing},
    AttributeRule{"scatter_dimension_numbers", "", AttributeForm::nothing},
    AttributeRule{"window", "", AttributeForm::nothing},
    AttributeRule{"window_dimensions", "", AttributeForm::nothing},
    AttributeRule{"window_strides", "", AttributeForm::nothing},
    AttributeRule{"window_dilations", "", AttributeForm::nothing},
    AttributeRule{"base_dilations", "", AttributeForm::nothing},
    AttributeRule{"window_reversal", "", AttributeForm::nothing},
    AttributeRule{"lhs_dilation", "", AttributeForm::nothing},
    AttributeRule{"rhs_dilation", "", AttributeForm::nothing},
    AttributeRule{"padding", "", AttributeForm::nothing},
    AttributeRule{"start_indices", "", AttributeForm::nothing, "slice"},
    AttributeRule{"limit_indices", "", AttributeForm::nothing, "slice"},
    AttributeRule{"strides", "", AttributeForm::nothing, "slice"},
    AttributeRule{"low", "", AttributeForm::nothing, "pad"},
    AttributeRule{"high", "", AttributeForm::nothing, "pad"},
    AttributeRule{"interior", "", AttributeForm::nothing, "pad"},
    AttributeRule{"edge_padding_low", "", AttributeForm::nothing, "pad"},
    AttributeRule{"edge_padding_high", "", AttributeForm::nothing, "pad"},
    AttributeRule{"interior_padding", "", AttributeForm::nothing, "pad"},
    AttributeRule{"broadcast_sizes", "", AttributeForm::nothing, "broadcast"},
    AttributeRule{"sizes", "", AttributeForm::nothing, "broadcast"},
    AttributeRule{"format", "", AttributeForm::nothing, "reduce-precision"},
    AttributeRule{"call_target_name", "", AttributeForm::nothing, "custom-call"},
    AttributeRule{"backend_config", "", AttributeForm::nothing, "custom-call"},
    AttributeRule{"mhlo.backend_config", "", AttributeForm::nothing, "custom-call"},
    AttributeRule{"called_computations", "", AttributeForm::nothing, "custom-call"},
    AttributeRule{"value", "", AttributeForm::nothing, "constant"},
    AttributeRule{"callee", "", AttributeForm::nothing, "call"},
    AttributeRule{"name", "", AttributeForm::nothing, "call"},
    AttributeRule{"decomposition", "", AttributeForm::nothing, "call"},
    AttributeRule{"version", "", AttributeForm::nothing, "call"},
    AttributeRule{"composite_attributes", "", AttributeForm::nothing, "call"},
    AttributeRule{"in_shardings", "", AttributeForm::nothing, "call"},
    AttributeRule{"out_shardings", "", AttributeForm::nothing, "call"},
    AttributeRule{"manual_axes", "", AttributeForm::nothing, "call"},
    AttributeRule{"sharding", "", AttributeForm::nothing, "custom-call"},
};

}  // namespace

const AttributeRule* find_attribute_rule(std::string_view key, std::string_view opcode) {
    if (key.empty()) return nullptr;
    for (const AttributeRule& rule : attribute_rules) {
        if (rule.key.front() != key.front() || rule.key.size() != key.size()) continue;
        if (rule.key == key && (rule.opcode.empty() || rule.opcode == opcode)) return &rule;
    }
    return nullptr;
}

}  // namespace roofline::core

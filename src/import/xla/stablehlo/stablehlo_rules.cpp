#include "import/xla/stablehlo/stablehlo_rules.hpp"

#include <array>

namespace roofline::core {

namespace {

constexpr std::array attribute_rules{
    AttributeRule{"all_gather_dim", "dimensions", Form::one},
    AttributeRule{"broadcast_dimensions", "dimensions", Form::braces},
    AttributeRule{"dims", "dimensions", Form::braces},
    AttributeRule{"permutation", "dimensions", Form::braces},
    AttributeRule{"dimensions", "dimensions", Form::braces},
    AttributeRule{"dimension", "dimensions", Form::one},
    AttributeRule{"dim", "iota_dimension", Form::word, "iota"},
    AttributeRule{"iota_dimension", "iota_dimension", Form::word},
    AttributeRule{"dim", "dimensions", Form::one},
    AttributeRule{"scatter_dimension", "dimensions", Form::one},
    AttributeRule{"split_dimension", "dimensions", Form::one},
    AttributeRule{"concat_dimension", "concat_dimension"},
    AttributeRule{"split_count", "split_count"},
    AttributeRule{"replica_groups", "replica_groups", Form::braces},
    AttributeRule{"source_target_pairs", "source_target_pairs", Form::braces},
    AttributeRule{"use_global_device_ids", "use_global_device_ids", Form::flag},
    AttributeRule{"sizes", "dynamic_slice_sizes", Form::braces, "dynamic-slice"},
    AttributeRule{"slice_sizes", "dynamic_slice_sizes", Form::braces, "dynamic-slice"},
    AttributeRule{"slice_sizes", "slice_sizes", Form::braces},
    AttributeRule{"indices_are_sorted", "indices_are_sorted", Form::flag},
    AttributeRule{"unique_indices", "unique_indices", Form::flag},
    AttributeRule{"is_stable", "is_stable", Form::flag},
    AttributeRule{"k", "k"},
    AttributeRule{"largest", "largest"},
    AttributeRule{"epsilon", "epsilon"},
    AttributeRule{"feature_index", "feature_index"},
    AttributeRule{"exponent_bits", "exponent_bits"},
    AttributeRule{"mantissa_bits", "mantissa_bits"},
    AttributeRule{"fft_type", "fft_type"},
    AttributeRule{"type", "fft_type", Form::word, "fft"},
    AttributeRule{"fft_length", "fft_length", Form::braces},
    AttributeRule{"length", "fft_length", Form::braces, "fft"},
    AttributeRule{"rng_algorithm", "algorithm", Form::lower, "rng-bit-generator"},
    AttributeRule{"algorithm", "algorithm", Form::lower, "rng-bit-generator"},
    AttributeRule{"rng_distribution", "distribution", Form::lower, "rng"},
    AttributeRule{"distribution", "distribution", Form::lower, "rng"},
    AttributeRule{"lower", "lower"},
    AttributeRule{"left_side", "left_side"},
    AttributeRule{"unit_diagonal", "unit_diagonal"},
    AttributeRule{"transpose_a", "transpose_a"},
    AttributeRule{"feature_group_count", "feature_group_count", Form::beyond_one},
    AttributeRule{"batch_group_count", "batch_group_count", Form::beyond_one},
    AttributeRule{"index", "index", Form::word, "get-tuple-element"},
    AttributeRule{"comparison_direction", "direction"},
    AttributeRule{"has_side_effect", "custom_call_has_side_effect", Form::flag, "custom-call"},
    AttributeRule{"infeed_config", "infeed_config", Form::string},
    AttributeRule{"outfeed_config", "outfeed_config", Form::string},
    AttributeRule{"is_host_transfer", "is_host_transfer", Form::flag},
    AttributeRule{"mhlo.sharding", "sharding", Form::bare},
    // What the code below reads.
    AttributeRule{"channel_handle", "", Form::nothing},
    AttributeRule{"compare_type", "", Form::nothing},
    AttributeRule{"dot_dimension_numbers", "", Form::nothing},
    AttributeRule{"contracting_dims", "", Form::nothing},
    AttributeRule{"batching_dims", "", Form::nothing},
    AttributeRule{"algorithm", "", Form::nothing, "dot"},
    AttributeRule{"precision", "", Form::nothing},
    AttributeRule{"precision_config", "", Form::nothing},
    AttributeRule{"dimension_numbers", "", Form::nothing},
    AttributeRule{"dim_numbers", "", Form::nothing},
    AttributeRule{"scatter_dimension_numbers", "", Form::nothing},
    AttributeRule{"window", "", Form::nothing},
    AttributeRule{"window_dimensions", "", Form::nothing},
    AttributeRule{"window_strides", "", Form::nothing},
    AttributeRule{"window_dilations", "", Form::nothing},
    AttributeRule{"base_dilations", "", Form::nothing},
    AttributeRule{"window_reversal", "", Form::nothing},
    AttributeRule{"lhs_dilation", "", Form::nothing},
    AttributeRule{"rhs_dilation", "", Form::nothing},
    AttributeRule{"padding", "", Form::nothing},
    AttributeRule{"start_indices", "", Form::nothing, "slice"},
    AttributeRule{"limit_indices", "", Form::nothing, "slice"},
    AttributeRule{"strides", "", Form::nothing, "slice"},
    AttributeRule{"low", "", Form::nothing, "pad"},
    AttributeRule{"high", "", Form::nothing, "pad"},
    AttributeRule{"interior", "", Form::nothing, "pad"},
    AttributeRule{"edge_padding_low", "", Form::nothing, "pad"},
    AttributeRule{"edge_padding_high", "", Form::nothing, "pad"},
    AttributeRule{"interior_padding", "", Form::nothing, "pad"},
    AttributeRule{"broadcast_sizes", "", Form::nothing, "broadcast"},
    AttributeRule{"sizes", "", Form::nothing, "broadcast"},
    AttributeRule{"format", "", Form::nothing, "reduce-precision"},
    AttributeRule{"call_target_name", "", Form::nothing, "custom-call"},
    AttributeRule{"backend_config", "", Form::nothing, "custom-call"},
    AttributeRule{"mhlo.backend_config", "", Form::nothing, "custom-call"},
    AttributeRule{"called_computations", "", Form::nothing, "custom-call"},
    AttributeRule{"value", "", Form::nothing, "constant"},
    AttributeRule{"callee", "", Form::nothing, "call"},
    AttributeRule{"name", "", Form::nothing, "call"},
    AttributeRule{"decomposition", "", Form::nothing, "call"},
    AttributeRule{"version", "", Form::nothing, "call"},
    AttributeRule{"composite_attributes", "", Form::nothing, "call"},
    AttributeRule{"in_shardings", "", Form::nothing, "call"},
    AttributeRule{"out_shardings", "", Form::nothing, "call"},
    AttributeRule{"manual_axes", "", Form::nothing, "call"},
    AttributeRule{"sharding", "", Form::nothing, "custom-call"},
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

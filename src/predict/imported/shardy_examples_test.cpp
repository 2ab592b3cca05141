// Shardy's examples of reshards around a dot, where ../shared is there: the collectives that they list come out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "base/approx_test.hpp"
#include "import/xla/read_xla_module.hpp"
#include "machine/catalogue.hpp"
#include "predict/imported/module_answer.hpp"

using namespace roofline::core;

namespace {

/// A function of the file, the devices of its mesh, and the collectives of its CHECK lines. A reshard that takes axes
/// away is an all-gather, one that moves them an all-to-all, one that only changes their order a permute, and an
/// all-reduce whose axes a reshard then splits a reduce-scatter. Each of the 66 functions is in one of the two tables.
struct ShardyExample {
    const char* function;
    int devices;
    const char* collectives;
    /// Shardy's pass takes a result without a sharding as whole on every device. Here its layout is chosen, and whether
    /// the same collectives follow can be said only of a result that is written to be whole.
    bool whole_result = false;
};

constexpr ShardyExample examples_of_shardy[] = {
    {"dot_compatible_contracting_unsharded", 8, ""},
    {"dot_compatible_contracting_dim_sharded", 8, "all-reduce 1"},
    {"dot_contracting_dim_and_result_dim_sharded_same_axis", 8, "reduce-scatter 1"},
    {"dot_contracting_dim_and_result_dim_sharded_same_axis_2", 8, "reduce-scatter 1"},
    {"dot_incompatible_lhs_contracting_and_rhs_non_contracting_dims", 8, "all-gather 1"},
    {"dot_compatible_contracting_dim_empty", 8, ""},
    {"dot_incompatible_all_same_shardings", 8, "all-to-all 1 reduce-scatter 1"},
    {"dot_incompatible_same_non_contracting_dims_out_i", 8, "all-gather 1 all-reduce 1 all-to-all 1"},
    {"dot_incompatible_same_non_contracting_dims_out_j", 8, "all-gather 1 all-reduce 1"},
    {"dot_incompatible_i_empty", 8, "all-reduce 1"},
    {"dot_incompatible_same_factor_for_contracting_dim_and_output_i", 8, "reduce-scatter 1"},
    {"dot_incompatible_same_factor_for_contracting_dim_and_output_j", 8, "reduce-scatter 1"},
    {"dot_incompatible_in_out_mismatch_same_axis_on_different_factors_lhs_non_contracting_dim_is_sharded_large_lhs", 8,
     "all-reduce 1 all-to-all 1"},
    {"dot_incompatible_in_out_mismatch_same_axis_on_different_factors_rhs_non_contracting_dim_is_sharded", 8,
     "all-reduce 1 all-to-all 1"},
    {"dot_incompatible_in_out_mismatch_i_j_swapped_small_k", 8, "all-gather 2"},
    {"dot_reshard_is_local", 8, "all-reduce 1 all-to-all 1"},
    {"dot_with_sharding_rule", 8, "all-reduce 1 all-to-all 1"},
    {"dot_multiple_axes", 32, "all-reduce 1"},
    {"dot_result_size_is_equal_to_the_sum_of_operand_sizes", 32, "all-gather 1 all-to-all 1"},
    {"dot_general_contracting_dim_sharded_multiple_axes", 32, "all-reduce 1"},
    {"dot_general_multiple_contracting_dims_sharded", 32, "all-reduce 1"},
    {"dot_general_incompatible_with_batching_dims", 8, "all-gather 1 all-to-all 1"},
    {"dot_general_incompatible_batching_factor_mismatch_on_all_tensors", 32, "all-gather 2"},
    {"dot_general_one_is_strict_prefix_of_other", 32, "all-gather 1"},
    {"dot_general_one_suffix_has_larger_count_on_another_factor", 32, "all-gather 2"},
    {"dot_ij_jk_ik_i_is_largest", 8, "all-gather 1 all-to-all 1"},
    {"dot_ij_jk_ik_k_is_largest", 8, "all-gather 1 all-to-all 1"},
    {"dot_on_rectangular_inputs_square_output_small_contracting_dim_lhs_2nd_dim_output_2nd_dim_sharded_the_same_way", 8,
     "all-gather 1"},
    {"dot_compatible_jk", 8, "all-reduce 1"},
    {"dot_compatible_k", 8, "all-reduce 1"},
    {"dot_reshard_does_not_change_input_sharding", 8, "all-reduce 1"},
    // The module has no split array, so that it is for one device.
    {"dot_compatible_empty", 1, ""},
    {"dot_contracting_dim_and_result_dim_sharded_same_axis_incompatible_order", 8, "permute 1 reduce-scatter 1"},
    // The result's two axes change places: two all-to-alls, and a permute between them for their order.
    {"dot_incompatible_in_out_mismatch_i_j_swapped_j_is_larger", 8, "all-to-all 2 permute 1"},
    {"dot_incompatible_in_out_mismatch_i_j_swapped_i_is_larger", 8, "all-to-all 2 permute 1"},
    {"dot_incompatible_in_out_mismatch_i_j_swapped_large_k", 8, "all-to-all 2 permute 1"},
    {"dot_incompatible_sub_axis_overlaps", 8, "all-reduce 1 all-to-all 1"},
    {"dot_general_one_prefix_has_larger_count", 32, "all-gather 1"},
    {"dot_general_overlaps_and_trimmable", 512, "all-to-all 1"},
    {"dot_general_overlaps_from_most_major", 512, "all-to-all 1"},
    {"dot_general_overlaps_and_trimmable_on_subaxis", 512, "all-to-all 1"},
    {"dot_general_overlaps_and_trimmable_on_subaxis_multiple_axes", 512, "all-to-all 1"},
    {"dot_on_rectangular_inputs_square_output_large_contracting_dim_lhs_2nd_dim_output_2nd_dim_sharded_the_same_way", 8,
     "reduce-scatter 1"},
    {"dot_general_sharded_contracting_dim_with_axes_redistribution", 128, "all-to-all 1 permute 1 reduce-scatter 1"},
    {"dot_ij_jk_ik_same_ijk", 8, "all-gather 1 all-to-all 1"},
    {"dot_only_contracting_dims_sharded_and_has_same_shardings", 8, "all-reduce 1", true},
    {"dot_on_square_matrices_lhs_2nd_dim_rhs_2nd_dim_sharded_the_same_way", 8, "all-gather 2", true},
};

/// A function for which another strategy leads to the same shardings, and the bytes that the listed one sends through
/// the port of each chip on a switch. In f32, with V the bytes of an array that are in one group of n chips:
/// V (n-1)/n for an all-gather and a reduce-scatter, twice that for an all-reduce, and for a reshard that moves axes at
/// least those bytes of a chip's new part that its old one lacks.
struct OtherStrategy {
    const char* function;
    int devices;
    double listed_bytes;
    bool whole_result = false;
    double ours = 0;  ///< by the same count, where the strategy here sends more than the least of the listed one
};

constexpr OtherStrategy other_strategies[] = {
    // The all-reduce of 128 bytes over 2 and the all-gather of 256 over 2. Here a reduce-scatter and one all-gather.
    {"dot_incompatible_subaxis_no_overlap", 8, 128 + 128},
    // The same; before them an operand of 512 bytes is gathered over 4.
    {"dot_incompatible_same_non_contracting_dims_out_empty", 8, 384 + 128 + 384},
    // Both uses of the operand are gathered, 256 bytes over 2 and 512 over 4. Here one, and a reduce-scatter.
    {"dot_incompatible_a_times_a", 8, 128 + 384},
    {"dot_incompatible_out_empty", 8, 128 + 384},
    // After the all-reduce half of the rows are wanted by chips that had other ones, 256 bytes.
    {"dot_incompatible_i_mismatch", 8, 128 + 256},
    // The left operand of 64 bytes is gathered over 4. Here both operands are gathered, and nothing is reduced.
    {"dot_incompatible_in_out_mismatch_same_axis_on_different_factors_lhs_non_contracting_dim_is_sharded_small_lhs", 8,
     48 + 128},
    // The left operand of 256 bytes is gathered over 4. Here the result of 128 bytes moves instead.
    {"dot_incompatible_in_out_mismatch_same_axis_on_different_factors_lhs_non_contracting_dim_is_sharded_smaller_local_"
     "contracting_dim",
     8, 192 + 128},
    // The left operand of 256 bytes on a chip moves, 256 bytes are reduced over 4, and 64 are wanted by other chips.
    {"dot_incompatible_all_factors_mismatch", 8, 256 + 384 + 64},
    // Left: 16 bytes move over 2, change their order and are gathered over 4 to 64. Right: 64 are gathered over 2 and
    // moved over 4.
    {"dot_incompatible_all_factors_mismatch_small_k", 8, 8 + 16 + 48 + 32 + 48},
    // The left operand of 256 bytes is gathered over 2 and the 64 of the result reduced over 4; or 512 are gathered
    // over 4 and 32 reduced over 2. On several nodes shares of these go over all of a node's ports, here and not there.
    {"dot_multiple_axes_with_overlap", 32, 128 + 96},
    {"dot_multiple_axes_with_overlap_on_suffix", 32, 384 + 32},
    // The left operand, 256 bytes, is wanted by chips that had none of it; 512 are reduced and scattered over 4. Here
    // it moves in two steps through the same port, an all-to-all of 256 bytes over 2 and a permute.
    {"dot_lhs_sharding_has_subaxes_and_is_strict_prefix_of_rhs_sharding_and_rhs_is_large", 32, 256 + 384, false,
     128 + 256 + 384},
    // Half of 32 bytes move, and the right operand of 256 is gathered over 4.
    {"dot_lhs_sharding_has_subaxes_and_is_strict_prefix_of_rhs_sharding_and_rhs_is_small", 32, 16 + 192},
    // 4096 bytes are gathered over 4, 512 reduced over 32, 64 wanted by other chips.
    {"dot_general_multiple_contracting_dims_conflicts", 512, 3072 + 992 + 64},
    // 4096 bytes of the left operand and 7680 of the result are wanted by chips that had others.
    {"dot_general_batching_dimension_shardings_have_common_prefix", 512, 4096 + 7680},
    // The left operand of 512 bytes is gathered over 4, the result's 64 moved over 4. Here the operand moves, and its
    // summed dimension is split.
    {"dot_ij_jk_ik_j_is_largest", 8, 384 + 48},
    // The left operand of 64 or 512 bytes and the result of 256 are gathered over 2. Here the operands.
    {"dot_on_rectangular_inputs_square_output_small_contracting_dim_lhs_2nd_dim_rhs_2nd_dim_sharded_the_same_way", 8,
     32 + 128, true},
    {"dot_on_rectangular_inputs_square_output_large_contracting_dim_lhs_2nd_dim_rhs_2nd_dim_sharded_the_same_way", 8,
     256 + 128, true},
    // 1024 bytes of the left operand move, and the right one of 65536 is gathered over 2. Here a reduce-scatter.
    {"dot_result_is_smaller_than_rhs_due_to_other_axes", 32, 1024 + 32768},
};

/// Chips on one switch with ports of 1 GB/s, beside which memory and arithmetic take no time: the bound in nanoseconds
/// is the number of bytes.
constexpr const char* only_a_switch = R"(id = "switch"
name = "Only a switch"
vendor = "nobody"
kind = "gpu"
[[matmul]]
dtype = "f32"
accumulator = "f32"
value = "1000 TFLOP/s"
source = "invented"
[[memory]]
level = "hbm"
capacity = { value = "80 GB", source = "invented" }
bandwidth = { value = "1000 TB/s", source = "invented" }
[[network]]
tier = "nvlink"
topology = "switch"
domain = 512
links = 1
link_bandwidth = { value = "1 GB/s", source = "invented" }
chip_bandwidth = { value = "1 GB/s", source = "invented" }
)";

// The module that has only this function of a file, and the meshes that it uses.
std::string module_of_function(const std::string& file, const std::string& function, bool whole_result) {
    std::string text;
    std::size_t from = file.find("func.func @" + function + "(");
    REQUIRE(from != std::string::npos);
    const std::size_t end = file.find("\n}\n", from) + 3;
    std::string code = file.substr(from, end - from);
    code.replace(0, std::string("func.func @" + function).size(), "func.func @main");
    if (whole_result) {
        const std::regex result(R"(-> (tensor<[0-9xf]+>) \{)");
        REQUIRE(std::regex_search(code, result));
        code = std::regex_replace(code, result, "-> ($1 {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {",
                                  std::regex_constants::format_first_only);
    }
    const std::regex mesh(R"(sdy\.mesh @(\w+) = .*)");
    for (auto each = std::sregex_iterator(file.begin(), file.end(), mesh); each != std::sregex_iterator(); ++each) {
        if (code.find("<@" + (*each)[1].str() + ",") != std::string::npos) text += each->str() + "\n";
    }
    return text + code;
}

std::optional<std::string> examples_file() {
    const std::string name = "../shared/samples/stablehlo/sdy_reshards_dot_general.mlir";
    std::ifstream in(name, std::ios::binary);
    if (!in) {
        MESSAGE("skipped: ", name, " is not here");
        return std::nullopt;
    }
    return std::string{std::istreambuf_iterator<char>(in), {}};
}

ModuleAnswer answer_on(const std::string& text, const std::string& function, const Result<Machine>& machine,
                       const std::string& shape) {
    static const auto calibrations = std::make_shared<Calibrations>(Calibrations::built_in());
    const auto module = read_xla_module(text, function);
    REQUIRE_MESSAGE(module, module.error().message);
    REQUIRE_MESSAGE(machine, machine.error().message);
    const auto slice = make_slice(*machine, shape);
    REQUIRE_MESSAGE(slice, slice.error().message);
    auto answer = answer_module(*module, function, *slice, {}, calibrations);
    REQUIRE_MESSAGE(answer, answer.error().message);
    return std::move(*answer);
}

}  // namespace

TEST_CASE("Shardy's examples of reshards around a dot give the collectives that they list") {
    const auto file = examples_file();
    if (!file) return;
    for (const ShardyExample& example : examples_of_shardy) {
        CAPTURE(example.function);
        const std::string shape =
            example.devices > 8 ? fmt::format("8x{}", example.devices / 8) : fmt::format("{}", example.devices);
        const ModuleAnswer answer = answer_on(module_of_function(*file, example.function, example.whole_result),
                                              example.function, find_machine("h100-sxm"), shape);
        std::string collectives;
        for (const auto& [kind, counted] : answer.collectives) {
            collectives += fmt::format("{}{} {}", collectives.empty() ? "" : " ", kind, counted.executed);
        }
        CHECK(collectives == example.collectives);
    }
}

TEST_CASE("Shardy's other examples get strategies that send no more than those that they list, but for one") {
    const auto file = examples_file();
    if (!file) return;
    for (const OtherStrategy& other : other_strategies) {
        CAPTURE(other.function);
        const ModuleAnswer answer =
            answer_on(module_of_function(*file, other.function, other.whole_result), other.function,
                      parse_machine(std::string(only_a_switch), "switch.toml"), fmt::format("{}", other.devices));
        const double bytes = answer.prediction->analysis.total.bounds.lower * 1e9;
        CHECK(bytes > 1);
        if (other.ours > 0) {
            CHECK(bytes == approx(other.ours));
        } else {
            CHECK(bytes <= other.listed_bytes * (1 + 1e-9));
        }
    }
}

TEST_CASE("every one of Shardy's examples is in one of the two tables") {
    const auto file = examples_file();
    if (!file) return;
    std::set<std::string> known;
    for (const ShardyExample& example : examples_of_shardy) CHECK(known.insert(example.function).second);
    for (const OtherStrategy& other : other_strategies) CHECK(known.insert(other.function).second);
    std::set<std::string> functions;
    const std::regex name(R"(func\.func @(\w+)\()");
    for (auto each = std::sregex_iterator(file->begin(), file->end(), name); each != std::sregex_iterator(); ++each) {
        functions.insert((*each)[1]);
    }
    CHECK(functions.size() == 66);
    CHECK(functions == known);
}

#include "import/xla/cost/xla_convolution.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "import/xla/hlo_text.hpp"

using namespace roofline::core;

namespace {

/// Pair by pair.
std::int64_t counted(const XlaWindowDim& dim, std::int64_t window, std::int64_t input, std::int64_t output) {
    std::int64_t taps = 0;
    for (std::int64_t k = 0; k < window; ++k) {
        for (std::int64_t o = 0; o < output; ++o) {
            const std::int64_t place = o * dim.stride + k * dim.window_dilation - dim.pad_low;
            if (place >= 0 && place % dim.base_dilation == 0 && place / dim.base_dilation < input) ++taps;
        }
    }
    return taps;
}

std::string convolution_error(const std::string& attributes, const std::string& result = "f32[1,8,8,4]") {
    const auto module =
        read_hlo_text("e {\n x = f32[1,8,8,3] parameter(0)\n k = f32[3,3,3,4] parameter(1)\n ROOT c = " + result +
                          " convolution(x, k)" + attributes + "\n}",
                      "c.hlo");
    REQUIRE_MESSAGE(module.has_value(), (module ? "" : module.error().message));
    const auto& all = module->main().instructions;
    const auto flops = convolution_flops(all[2], all[0].shape, all[1].shape, all[2].shape);
    return flops ? "" : flops.error().message;
}

}  // namespace

TEST_CASE("convolutions: taps in the input are as many as counted one by one") {
    // All combinations of small numbers, with padding that is negative or wider than the window.
    for (std::int64_t stride = 1; stride <= 4; ++stride) {
        for (std::int64_t base = 1; base <= 6; ++base) {
            for (std::int64_t dilation = 1; dilation <= 4; ++dilation) {
                for (std::int64_t pad = -3; pad <= 7; ++pad) {
                    for (std::int64_t size = 0; size < 27; ++size) {
                        const XlaWindowDim dim{1, stride, pad, 0, base, dilation};
                        const std::int64_t window = 1 + size % 3 * 2;
                        const std::int64_t input = size / 3 % 3 * 4 + 1;
                        const std::int64_t output = size / 9 * 5 + 1;
                        if (valid_taps(dim, window, input, output) ==
                            static_cast<double>(counted(dim, window, input, output))) {
                            continue;
                        }
                        FAIL_CHECK("stride ", stride, " base ", base, " dilation ", dilation, " pad ", pad, " window ",
                                   window, " input ", input, " output ", output);
                    }
                }
            }
        }
    }
}

TEST_CASE("convolutions: sizes that nobody can count one by one") {
    constexpr std::int64_t large = std::int64_t{1} << 30;
    // without padding every pair meets the input
    CHECK(valid_taps({}, large, 2 * large - 1, large) == std::ldexp(1.0, 60));
    // with a base dilation as large as the input and stride one less, each output meets one element
    const XlaWindowDim sparse{1, large - 1, 0, 0, large, 1};
    CHECK(valid_taps(sparse, large, large, large) == static_cast<double>(large));
    // one element of input meets each output once if the padding covers the rest
    const XlaWindowDim padded{1, 1, large - 1, large - 1, 1, 1};
    CHECK(valid_taps(padded, large, 1, large) == static_cast<double>(large));
    CHECK(valid_taps({}, 3, 0, 8) == 0);
}

TEST_CASE("convolutions: attributes that do not fit are named") {
    const std::string labels = ", dim_labels=b01f_01io->b01f";
    CHECK(convolution_error(", window={size=3x3 pad=1_1x1_1}" + labels).empty());
    CHECK(convolution_error(", window={size=3x3 pad=1_1x1_1}").find("dim_labels") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3 stride=2}" + labels).find("dimensions") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3x3}" + labels).find("more dimensions") != std::string::npos);
    CHECK(convolution_error(", window={size=3x0}" + labels).find("`0`") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3 stride=99999999999x1}" + labels).find("2^31") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3 pad=1x1}" + labels).find("number") != std::string::npos);
    CHECK(convolution_error(", window=3x3" + labels).find("braces") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3}, dim_labels=b0f_01io->b01f").find("more dimensions") !=
          std::string::npos);
    CHECK(convolution_error(", window={size=3x3}, dim_labels=012345bf_01io->b01f").find("lacks") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3}, dim_labels=zzzz_01io->b01f").find("meaning") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3}, dim_labels=0123_01io->b01f").find("missing") != std::string::npos);
    CHECK(convolution_error(", window={size=3x3}, feature_group_count=0" + labels).find("at least 1") !=
          std::string::npos);
}

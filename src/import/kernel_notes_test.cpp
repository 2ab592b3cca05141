#include "import/kernel_notes.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

TEST_CASE("a note names the implementation of a kernel") {
    const auto named = [](std::string_view source, std::string_view note) {
        const auto found = implementation_in(source, note);
        return found ? found->software + "/" + found->variant : std::string("none");
    };
    CHECK(named("openxla/tokamax@1", "median of 5; impl=pallas_mosaic_tpu_v2_ragged_dot; configs=1") == "tokamax/v2");
    CHECK(named("openxla/tokamax@1", "impl=pallas_mosaic_tpu_flash_attention_vjp") == "tokamax/");
    // what has no library's name is XLA's own
    CHECK(named("openxla/tokamax@1", "impl=ragged_dot; configs=1") == "xla/");
    CHECK(named("openxla/tokamax@1", "impl=xla_chunked_dot_product_attention;") == "xla/chunked");
    CHECK(named("x", "impl=hipkittens_8warps; events") == "hipkittens/8 warps");
    CHECK(named("x", "impl=reference (aiter fwd; see test_python.py for bwd)") == "aiter/");
    CHECK(named("x", "impl=own_kernel") == "none");
    CHECK(named("x", "lib=ck; best config of the tuner") == "none");
}

TEST_CASE("a note has values by key") {
    CHECK(note_value("a; v_head_dim=128; b", "v_head_dim=") == "128");
    CHECK(note_value("m=1024,k=4096,n=151936", "k=") == "4096");
    CHECK(note_value("a; b", "c=").empty());
}

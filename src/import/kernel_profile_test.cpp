#include "import/kernel_profile.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/approx_test.hpp"
#include "import/ncu_metrics.hpp"

using namespace roofline::core;

namespace {

const std::string front = R"("ID","Process ID","Process Name","Kernel Name",)";
const std::string front_units = R"("","","","",)";

KernelProfile profile_of(const std::string& text) {
    auto profile = read_kernel_profile(text, "kernels.csv");
    REQUIRE_MESSAGE(profile, (profile ? "" : profile.error().message));
    return *profile;
}

Error refused_profile(const std::string& text) {
    const auto profile = read_kernel_profile(text, "kernels.csv");
    REQUIRE_FALSE(profile);
    return profile.error();
}

}  // namespace

TEST_CASE("units of ncu") {
    CHECK(ncu_unit("byte") == 1.0);
    CHECK(ncu_unit("Mbyte") == 1e6);
    CHECK(ncu_unit("usecond") == 1e-6);
    CHECK(ncu_unit("msecond") == 1e-3);
    CHECK(ncu_unit("ns") == 1e-9);
    CHECK(ncu_unit("s") == 1.0);
    CHECK(*ncu_unit("Gbyte/second") == approx(1e9));
    CHECK(*ncu_unit("cycle/nsecond") == approx(1e9));
    CHECK(ncu_unit("inst/cycle") == 1.0);
    CHECK(ncu_unit("") == 1.0);
    CHECK_FALSE(ncu_unit("parsec"));
    CHECK_FALSE(ncu_unit("qbyte"));
    CHECK(ncu_number("1,234,567.5") == 1234567.5);
    CHECK_FALSE(ncu_number("n/a"));
}

TEST_CASE("metrics that count FLOPs") {
    const auto fma = ncu_flops("smsp__sass_thread_inst_executed_op_dfma_pred_on");
    REQUIRE(fma);
    CHECK(fma->dtype == Dtype::f64);
    CHECK(fma->flops == 2);
    CHECK(ncu_flops("sm__sass_thread_inst_executed_op_hfma_pred_on")->flops == 4);
    const auto tensor = ncu_flops("sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off");
    REQUIRE(tensor);
    CHECK(tensor->unit == Unit::matmul);
    CHECK(tensor->dtype == Dtype::bf16);
    CHECK(ncu_flops("sm__ops_path_tensor_src_int8")->dtype == Dtype::int8);
    CHECK_FALSE(ncu_flops("sm__sass_thread_inst_executed_op_integer_pred_on"));
    CHECK_FALSE(ncu_flops("dram__bytes"));
}

TEST_CASE("a launch: FLOPs by kind and bytes of both levels, in any units") {
    const auto profile = profile_of(
        "==PROF== Connected to process 12\n" + front +
        R"("gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum","lts__t_bytes.sum",)"
        R"("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",)"
        R"("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",)"
        R"("sm__ops_path_tensor_src_bf16_dst_fp32.sum","sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum")"
        "\n" +
        front_units +
        R"("usecond","Mbyte","Kbyte","byte","inst","inst","","")"
        "\n"
        R"("0","12","p","gemm<float>","10","2","500","4,000,000","1,000","100","2,000,000","2,000,000")"
        "\n"
        R"("1","12","p","gemm<float>","20","2","500","4,000,000","0","0","0","0")"
        "\n");
    REQUIRE(profile.kernels.size() == 1);
    const ProfiledKernel& kernel = profile.kernels[0];
    CHECK(kernel.launches == 2);
    CHECK(kernel.line == 4);
    CHECK(kernel.time_s == approx(30e-6));
    CHECK(kernel.bytes.at("hbm") == approx(5e6));
    CHECK(kernel.bytes.at("l2") == approx(8e6));
    REQUIRE(kernel.flops.size() == 3);
    CHECK(kernel.flops[0].flops == 2000);
    CHECK(kernel.flops[1].flops == 100);
    CHECK(kernel.flops[2].flops == 2e6);  // the total, not its parts in addition
    CHECK(kernel.flops[2].unit == Unit::matmul);
}

TEST_CASE("rates become counts") {
    // 2 us at 1.5 GHz are 3000 cycles
    const auto profile =
        profile_of(front +
                   R"("gpu__time_duration.sum","dram__bytes.sum.per_second","smsp__cycles_elapsed.avg.per_second",)"
                   R"("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed")"
                   "\n" +
                   front_units +
                   R"("ns","Gbyte/s","cycle/nsecond","inst/cycle")"
                   "\n"
                   R"("0","1","p","k","2000","500","1.5","64")"
                   "\n");
    CHECK(profile.kernels[0].bytes.at("hbm") == approx(1e6));
    CHECK(profile.kernels[0].flops.at(0).flops == approx(3000 * 64));
}

TEST_CASE("uncounted operations of tensor cores are reported") {
    const auto profile = profile_of(front +
                                    R"("gpu__time_duration.sum","dram__bytes.sum","sm__inst_executed_pipe_tensor.sum")"
                                    "\n" +
                                    front_units +
                                    R"("ns","byte","inst")"
                                    "\n"
                                    R"("0","1","p","k","2000","500","64")"
                                    "\n");
    CHECK(profile.kernels[0].flops.empty());
    CHECK_FALSE(profile.kernels[0].doubt.empty());
    CHECK(profile.notes.size() == 1);
}

TEST_CASE("a user's own table") {
    const auto profile =
        profile_of("name,dtype,flops,bytes,measured_s\nmlp,bf16,2e9,1e6,0.001\nadd,,1e6,1e6,\nnorm,,1e6,2e6,0.002\n");
    REQUIRE(profile.kernels.size() == 2);  // one row has no time
    CHECK(profile.kernels[0].flops[0].unit == Unit::matmul);
    CHECK(profile.kernels[0].flops[0].dtype == Dtype::bf16);
    CHECK(profile.kernels[1].flops[0].unit == Unit::vector);
    CHECK(profile.kernels[1].bytes.at("hbm") == 2e6);
}

TEST_CASE("line breaks in the name of a kernel are removed") {
    const auto profile = profile_of("name,flops,bytes,measured_s\n\"a\rb\nc\",2e9,1e6,0.001\n");
    REQUIRE(profile.kernels.size() == 1);
    CHECK(profile.kernels[0].name == "a b c");
}

TEST_CASE("a file that is not a profile is rejected with a hint about what is supported") {
    CHECK(refused_profile("a,b\n1,2\n").code == "unknown_table");
    const Error details = refused_profile(R"("ID","Kernel Name","Metric Name","Metric Value")"
                                          "\n");
    CHECK(details.hint.find("--page raw") != std::string::npos);
    CHECK(refused_profile(front + R"("dram__bytes.sum")"
                                  "\n")
              .code == "no_time");
    CHECK(refused_profile(front + R"("gpu__time_duration.sum")"
                                  "\n")
              .code == "no_bytes");
    const std::string columns = front + R"("gpu__time_duration.sum","dram__bytes.sum")"
                                        "\n";
    CHECK(refused_profile(columns + front_units +
                          R"("ns","byte")"
                          "\n")
              .code == "no_kernels");
    const Error unit = refused_profile("==PROF== a\n==PROF== b\n" + columns + front_units +
                                       R"("ns","parsec")"
                                       "\n");
    CHECK(unit.code == "bad_unit");
    REQUIRE(unit.place);
    CHECK(unit.place->line == 4);
    CHECK(refused_profile(columns + front_units +
                          R"("ns","byte")"
                          "\n"
                          R"("0","1","p","k","soon","5")"
                          "\n")
              .code == "bad_number");
    CHECK(refused_profile("name,flops,bytes,measured_s\nk,-1,2,3\n").code == "bad_number");
}

TEST_CASE("without a column the dtype is taken from the name of the kernel, or is unknown") {
    const auto kernel = [](const std::string& name) {
        return profile_of("kernel,time_s,flops,bytes\n" + name + ",1e-4,7e10,1e6\n").kernels.front();
    };
    const auto kind = [&](const std::string& name) { return kernel(name).flops.front(); };
    CHECK(kind("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64").dtype == Dtype::bf16);
    CHECK(kind("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64").unit == Unit::matmul);
    CHECK(kind("sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n").dtype == Dtype::fp8);
    CHECK(kind("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_tn").dtype == Dtype::f16);
    CHECK(kind("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT").dtype == Dtype::bf16);
    CHECK(kind("volta_sgemm_128x64_nn").unit == Unit::vector);
    CHECK(kernel("volta_sgemm_128x64_nn").doubt.empty());
    CHECK(kernel("my_kernel").doubt.find("the dtype of its FLOPs is unknown") == 0);
    const auto typed = profile_of("kernel,time_s,flops,bytes,dtype\nmy_kernel,1e-4,7e10,1e6,b16\n");
    CHECK(typed.kernels.front().doubt == "its dtype `b16` is unknown");
}

TEST_CASE("less than a byte is not a valid count") {
    const auto profile = profile_of("kernel,time_s,flops,bytes\nsgemm,1e-4,7e10,5e-324\n");
    CHECK(profile.kernels.front().bytes.empty());
}

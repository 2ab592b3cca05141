#include "import/time_sums.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

std::string sums_error(std::string_view text) {
    const auto profile = read_kernel_profile(text, "sums.csv");
    return profile ? "" : profile.error().code;
}

}  // namespace

TEST_CASE("sums of times: of Nsight Systems, below the lines that nsys prints, in any unit") {
    const auto profile = read_kernel_profile(
        "\nNOTICE: Existing SQLite export found: x.sqlite\n\nProcessing [x.sqlite] with [cuda_gpu_kern_sum.py]... \n"
        "Time (%),Total Time (us),Instances,Avg (us),Med (us),Min (us),Max (us),StdDev (us),Name\n"
        "60.0,3000,3,1000,1000,900,1100,1,\"void f<float, int>(float*, int)\"\n40.0,2000.5,2,1,1,1,1,1,gemm\n"
        "\nProcessing [x.sqlite] with [cuda_api_sum.py]... \n"
        "Time (%),Total Time (us),Num Calls,Avg (us),Name\n1,1,1,1,cudaMalloc\n",
        "sums.csv");
    REQUIRE(profile);
    CHECK(profile->tool == "nsight systems");
    REQUIRE(profile->kernels.size() == 2);
    CHECK(profile->kernels[0].name == "void f<float, int>(float*, int)");
    CHECK(profile->kernels[0].launches == 3);
    CHECK(profile->kernels[0].time_s == approx(3e-3));
    CHECK(profile->kernels[1].time_s == approx(2.0005e-3));
    CHECK(profile->kernels[0].flops.empty());
    CHECK(profile->kernels[0].bytes.empty());
    CHECK(profile->notes.size() == 1);
}

TEST_CASE("sums of times: rows of copies and of calls of the host are left out") {
    const auto nsys = read_kernel_profile(
        "Time (%),Total Time (ns),Instances,Avg (ns),Category,Operation\n50,500,5,100,CUDA_KERNEL,gemm\n"
        "40,400,4,100,CUDA_API,cudaLaunchKernel\n10,100,1,100,MEMORY_OPER,[CUDA memset]\n",
        "sums.csv");
    REQUIRE(nsys);
    REQUIRE(nsys->kernels.size() == 1);
    CHECK(nsys->notes.back().starts_with("2 rows"));
    const auto rocprof = read_kernel_profile(
        "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\"hipMemcpy\",1,9,9,50\n"
        "\"MEMORY_COPY_HOST_TO_DEVICE\",1,9,9,50\n\"hipblas_gemm<float, 2>\",2,900,450,50\n",
        "stats.csv");
    REQUIRE(rocprof);
    REQUIRE(rocprof->kernels.size() == 1);
    CHECK(rocprof->kernels[0].name == "hipblas_gemm<float, 2>");
    CHECK(rocprof->kernels[0].time_s == approx(9e-7));
}

TEST_CASE("sums of times: tables without kernels and bad numbers are refused") {
    CHECK(sums_error("\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\"\n\"hipMemcpy\",1,9,9\n") == "unknown_table");
    CHECK(sums_error("Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n1,1,1,1,cudaMalloc\n") == "unknown_table");
    CHECK(sums_error("Total (MB),Count,Avg (MB),Operation\n1,1,1,x\n") == "unknown_table");
    CHECK(sums_error("Time (%),Total Time (ns),Count,Avg (ns),Operation\n1,1,1,1,x\n") == "unknown_table");
    CHECK(sums_error("Time (%),Total Time (ns),Instances,Style,Range\n1,1,1,x,y\n") == "unknown_table");
    CHECK(sums_error(" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n Time  Total\n") == "unknown_table");
    CHECK(sums_error("Total Time (ns),Instances,Name\nx,1,f\n") == "bad_number");
    CHECK(sums_error("Total Time (ns),Instances,Name\n-5,1,f\n") == "bad_number");
    CHECK(sums_error("Total Time (weeks),Instances,Name\n5,1,f\n") == "bad_unit");
    CHECK(sums_error("Total Time (ns),Instances,Name\n5,1,f(int, int)\n") != "");
    CHECK(sums_error("Total Time (ns),Instances,Name\n") == "no_kernels");
}

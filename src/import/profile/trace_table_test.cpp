#include "import/profile/trace_table.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

std::string table_error(std::string_view text) {
    const auto profile = read_trace_table(text, "t.csv");
    return profile ? "" : profile.error().code;
}

const std::string& name_of(const RecordedProfile& profile, std::size_t event) {
    return profile.text(profile.events[event].name);
}

constexpr std::string_view gpu_trace =
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
    "1000,500,11,2,1,1,64,1,1,24,0.000,0.000,,,,,NVIDIA H100 80GB HBM3 (1),1,,7,\"void k<float, int>(float*)\"\n"
    "500,50,12,3,1,1,32,1,1,18,0,16,,,,,NVIDIA H100 80GB HBM3 (1),1,,8,attention_kernel\n"
    "1600,2000,13,,,,,,,,,,4.096,2048.0,Pinned,Device,NVIDIA H100 80GB HBM3 (1),1,,7,[CUDA memcpy HtoD]\n"
    "3700,400,14,,,,,,,,,,1.024,100,,,NVIDIA H100 80GB HBM3 (1),1,,7,[CUDA memset]\n"
    "9000,100,15,3,1,1,32,1,1,18,0,16,,,,,NVIDIA H100 80GB HBM3 (3),1,,7,ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)\n";

}  // namespace

TEST_CASE("trace table: cuda_gpu_trace of Nsight Systems") {
    CHECK(is_trace_table(gpu_trace));
    const auto profile = read_trace_table(gpu_trace, "t.csv");
    REQUIRE(profile);
    CHECK(profile->tool == "Nsight Systems");
    REQUIRE(profile->events.size() == 5);
    CHECK(name_of(*profile, 0) == "attention_kernel");  // in the order of their starts
    CHECK(profile->events[1].start_ns == 1000);
    CHECK(profile->events[1].duration_ns == 500);
    CHECK(name_of(*profile, 1) == "void k<float, int>(float*)");
    CHECK(profile->events[1].stream != profile->events[0].stream);
    CHECK(profile->events[2].work == DeviceWork::copy);
    CHECK(profile->events[2].bytes == 4'096'000);
    CHECK(name_of(*profile, 2) == "Memcpy HtoD");
    CHECK(profile->events[3].work == DeviceWork::set);
    CHECK(profile->events[4].work == DeviceWork::collective);
    CHECK(profile->details[profile->events[4].detail].collective == CollectiveKind::all_reduce);
    CHECK(profile->events[3].device == 0);
    CHECK(profile->events[4].device == 1);
    REQUIRE(profile->devices.size() == 2);
    CHECK(profile->devices[0] == "NVIDIA H100 80GB HBM3");
    CHECK(profile->notes.empty());
}

TEST_CASE("trace table: cuda_kern_exec_trace has launches; units and lines before the columns") {
    const auto profile = read_trace_table(
        "Processing [/home/alice/x.sqlite] with [cuda_kern_exec_trace.py]... \n"
        "API Start (us),API Dur (us),Queue Start (us),Queue Dur (us),Kernel Start (us),Kernel Dur (us),Total Dur "
        "(us),PID,"
        "TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n"
        "1.5,2,3.5,1,4.5,10.25,13,9,10,0,cudaLaunchKernel,\"1 1 1\",\"1 1 1\",\"f(int, int)\"\n\n"
        "Processing [x.sqlite] with [other.py]... \nA,B\n1,2\n",
        "t.csv");
    REQUIRE(profile);
    REQUIRE(profile->events.size() == 1);
    CHECK(profile->events[0].start_ns == 4500);
    CHECK(profile->events[0].duration_ns == 10250);
    REQUIRE(profile->events[0].launch == 0);
    CHECK(profile->launches[0].start_ns == 1500);
    CHECK(profile->launches[0].end_ns() == 3500);
}

TEST_CASE("trace table: rocprof, rocprofv2 and rocprofv3") {
    const auto v1 = read_trace_table(
        "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,"
        "obj,"
        "DispatchNs,BeginNs,EndNs,CompleteNs,DurationNs\n"
        "0,\"void add<float, int>(float*) [clone "
        ".kd]\",4,0,0,1,2,256,64,0,0,8,0,16,64,0x0,0x7f,1000,2000,5000,6000,3000\n",
        "results.csv");
    REQUIRE(v1);
    CHECK(v1->tool == "rocprof");
    REQUIRE(v1->events.size() == 1);
    CHECK(name_of(*v1, 0) == "void add<float, int>(float*)");
    CHECK(v1->events[0].duration_ns == 3000);
    CHECK(v1->events[0].device == 0);  // the first of the file, whatever its number
    CHECK(v1->launches[v1->events[0].launch].start_ns == 1000);

    const auto v2 = read_trace_table(
        "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,"
        "Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\n\n"
        "1,4,1,9,9,10,10,0,0,8,0,16,64,\"helloworld.kd\",140136998244448,140136998298688,0\n",
        "v2.csv");
    REQUIRE(v2);
    CHECK(v2->tool == "rocprofv2");
    CHECK(name_of(*v2, 0) == "helloworld");
    CHECK(v2->events[0].start_ns == 140136998244448);
    CHECK(v2->events[0].duration_ns == 54240);

    const auto v3 = read_trace_table(
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\","
        "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\r\n"
        "\"KERNEL_DISPATCH\",\"Agent 5\",1,1,8,1,10,\"f(int, int)\",1,1550151853029637,1550151853042437\r\n"
        "\"KERNEL_DISPATCH\",\"Agent 4\",1,1,8,4,11,\"g\",4,1550151853064037,1550151853075237\r\n",
        "v3.csv");
    REQUIRE(v3);
    CHECK(v3->tool == "rocprofv3");
    REQUIRE(v3->events.size() == 2);
    CHECK(v3->events[0].duration_ns == 12800);
    CHECK(v3->events[0].device == 1);
    CHECK(v3->events[1].device == 0);

    const auto copies = read_trace_table(
        "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\","
        "\"Start_Timestamp\",\"End_Timestamp\"\n"
        "\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_HOST\",0,\"Agent 4\",\"Agent 0\",1,1000,2000\n",
        "copies.csv");
    REQUIRE(copies);
    CHECK(copies->events[0].work == DeviceWork::copy);
    CHECK(name_of(*copies, 0) == "Memcpy DtoH");
}

TEST_CASE("trace table: what is wrong with rows is named") {
    const std::string head = "Start (ns),Duration (ns),CorrId,Device,Strm,Name\n";
    const auto profile = read_trace_table(head +
                                              "100,10,1,0,7,f\n50,-20,2,0,7,g\n100,10,1,0,7,f\n-5,3,3,0,7,h\n"
                                              "9223372036854775807,5,4,0,7,i\n300,10,5,0,7,\"f(int, i",
                                          "t.csv");
    REQUIRE(profile);
    CHECK(profile->events.size() == 1);
    REQUIRE(profile->notes.size() == 3);
    CHECK(profile->notes[0].find("ends within a row") != std::string::npos);
    CHECK(profile->notes[1].find("3 events") != std::string::npos);
    CHECK(profile->notes[2].find("twice") != std::string::npos);
    CHECK(table_error(head + "x,10,1,0,7,f\n") == "bad_number");
    CHECK(table_error(head + "1e300,10,1,0,7,f\n") == "bad_number");
    CHECK(table_error(head + "100,10,1,0,7,f(int, int)\n") != "");  // more fields than columns
    CHECK(table_error(head + "50,-20,2,0,7,g\n") == "no_kernels");
    CHECK(table_error(head) == "no_kernels");
    CHECK(table_error("Start (weeks),Duration (ns),CorrId,Name\n1,1,1,f\n") == "bad_unit");
}

// DispatchNs is of the host's clock, which is 5 us ahead.
TEST_CASE("trace table: kernels that begin before they are launched are noted") {
    const auto profile = read_trace_table(
        "Index,KernelName,gpu-id,queue-id,tid,DispatchNs,BeginNs,EndNs\n"
        "0,f,4,0,2,10000,5000,6000\n1,g,4,0,2,20000,21000,22000\n",
        "results.csv");
    REQUIRE(profile);
    REQUIRE(profile->notes.size() == 1);
    CHECK(profile->notes[0].starts_with("1 of 2 events begin before they are launched, by up to 5 us"));
}

TEST_CASE("trace table: tables of the host are refused by their names") {
    for (const std::string_view header : {"Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name",
                                          "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\","
                                          "\"Start_Timestamp\",\"End_Timestamp\"",
                                          "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr",
                                          "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns)"}) {
        CAPTURE(header);
        CHECK(is_trace_table(header));
        const auto profile = read_trace_table(header, "t.csv");
        REQUIRE_FALSE(profile);
        CHECK(profile.error().code == "unknown_table");
        CHECK_FALSE(profile.error().hint.empty());
    }
    CHECK_FALSE(is_trace_table("name,flops,bytes,measured_s\n"));
    CHECK_FALSE(is_trace_table("Time (%),Total Time (ns),Instances,Avg (ns),Name\n"));
}

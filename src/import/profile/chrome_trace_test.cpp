#include "import/profile/chrome_trace.hpp"
#include "import/profile/instruction_dtype.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

Result<RecordedProfile> read_text(std::string_view text) {
    TextSource source(text);
    return read_chrome_trace(source, "t.json");
}

std::string trace_error(std::string_view text) {
    const auto profile = read_text(text);
    return profile ? "" : profile.error().code;
}

}  // namespace

TEST_CASE("chrome trace: a kernel is joined with the call that was running when it was launched") {
    const auto profile = read_text(R"({"schemaVersion": 1, "traceEvents": [
      {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":7,"tid":7,"ts":10.5,"dur":20,"args":{"External id":1}},
      {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":7,"tid":7,"ts":11,"dur":15,"args":{"External id":2,
        "Input Dims":[[4],[2,3],[3,4]],"Input type":["float","float","float"]}},
      {"ph":"X","cat":"cpu_op","name":"aten::t","pid":7,"tid":7,"ts":12,"dur":1,"args":{"External id":3}},
      {"ph":"X","cat":"cpu_op","name":"aten::other","pid":7,"tid":8,"ts":11,"dur":15,"args":{"External id":50}},
      {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":14,"dur":3,
        "args":{"correlation":50,"External id":50}},
      {"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":20.25,"dur":5.5,
        "args":{"External id":50,"correlation":50,"device":0,"stream":7}}]})");
    REQUIRE(profile);
    REQUIRE(profile->events.size() == 1);
    const DeviceEvent& kernel = profile->events[0];
    CHECK(kernel.start_ns == 20250);
    CHECK(kernel.duration_ns == 5500);
    CHECK(kernel.stream == 7);
    REQUIRE(kernel.call != no_index);
    const HostCall& call = profile->calls[kernel.call];
    CHECK(profile->text(call.name) == "aten::addmm");
    CHECK(profile->text(call.shapes) == "[[4],[2,3],[3,4]]");
    CHECK(profile->text(call.types) == R"(["float","float","float"])");
    CHECK(profile->launches[kernel.launch].end_ns() == 17000);
    CHECK(profile->tool == "PyTorch");
    CHECK(profile->notes.empty());
}

// The gradient of an embedding begins with zeros, which are written by a nested call. What is computed on the zeros of
// slice_backward, an operation without a rule, is apart from them.
TEST_CASE("chrome trace: zeros belong to the operation that writes its result into them") {
    for (const auto& [outer, owner] :
         {std::pair{"aten::embedding_dense_backward", "aten::embedding_dense_backward"},
          std::pair{"aten::slice_backward", "aten::fill_"}, std::pair{"aten::zeros", "aten::fill_"}}) {
        const auto profile = read_text(fmt::format(R"([
          {{"ph":"X","cat":"cpu_op","name":"{}","pid":7,"tid":7,"ts":10,"dur":30,"args":{{"External id":1}}}},
          {{"ph":"X","cat":"cpu_op","name":"aten::zero_","pid":7,"tid":7,"ts":11,"dur":9,"args":{{"External id":2}}}},
          {{"ph":"X","cat":"cpu_op","name":"aten::fill_","pid":7,"tid":7,"ts":12,"dur":7,"args":{{"External id":3}}}},
          {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":14,"dur":3,
            "args":{{"correlation":50}}}},
          {{"ph":"X","cat":"kernel","name":"fill","pid":0,"tid":7,"ts":20,"dur":5,"args":{{"correlation":50}}}}])",
                                                   outer));
        REQUIRE(profile);
        CHECK(profile->text(profile->calls.at(profile->events.at(0).call).name) == owner);
    }
}

TEST_CASE("chrome trace: collectives have their message") {
    const auto profile = read_text(R"json([{"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce_RING_LL_Sum_float(x)",
      "pid":0,"tid":1,"ts":1,"dur":2,"args":{"Collective name":"allreduce","In msg nelems":100,"Out msg nelems":100,
      "Group size":2,"dtype":"BFloat16","Process Group Ranks":"[0, 1]"}},
      {"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv(x)","pid":0,"tid":1,"ts":4,"dur":2}])json");
    REQUIRE(profile);
    REQUIRE(profile->events.size() == 2);
    CHECK(profile->events[0].work == DeviceWork::collective);
    CHECK(profile->events[0].bytes == 200);
    const EventDetail& detail = profile->details[profile->events[0].detail];
    CHECK(detail.collective == CollectiveKind::all_reduce);
    CHECK(detail.group == 2);
    CHECK(profile->text(detail.ranks) == "[0, 1]");
    CHECK_FALSE(profile->details[profile->events[1].detail].collective);
}

TEST_CASE("chrome trace: of JAX the instructions, modules and steps of devices") {
    const auto profile = read_text(R"json({"displayTimeUnit":"ns","traceEvents":[
      {"ph":"X","name":"fusion.3","pid":3,"tid":2,"ts":5,"dur":2,"args":{"hlo_category":"loop fusion",
        "model_flops":"1000","bytes_accessed":"400","source":"/u/train.py:42","tf_op":"jit(f)/add:",
        "long_name":"%fusion.3 = f32[8,64]{1,0:T(8,128)} fusion(bf16[8,128]{1,0} %x, bf16[128,64]{1,0} %w, f32[64]{0} %b), kind=kOutput"}},
      {"ph":"X","name":"all-reduce.1","pid":3,"tid":2,"ts":7,"dur":2},
      {"ph":"X","name":"jit_f(12)","pid":3,"tid":1,"ts":5,"dur":4},
      {"ph":"X","name":"4","pid":3,"tid":9,"ts":5,"dur":4},
      {"ph":"X","name":"PjitFunction(f)","pid":701,"tid":1,"ts":5,"dur":4},
      {"ph":"M","name":"process_name","pid":3,"args":{"name":"/device:TPU:1"}},
      {"ph":"M","name":"process_name","pid":701,"args":{"name":"/host:CPU"}},
      {"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"XLA Modules"}},
      {"ph":"M","name":"thread_name","pid":3,"tid":2,"args":{"name":"XLA Ops"}},
      {"ph":"M","name":"thread_name","pid":3,"tid":9,"args":{"name":"Steps"}}]})json");
    REQUIRE(profile);
    CHECK(profile->tool == "JAX");
    REQUIRE(profile->events.size() == 2);
    const DeviceEvent& fusion = profile->events[0];
    CHECK(fusion.device == 1);
    const EventDetail& detail = profile->details[fusion.detail];
    CHECK(profile->text(detail.instruction) == "fusion.3");
    CHECK(profile->text(detail.category) == "loop fusion");
    CHECK(profile->text(detail.source) == "train.py:42");
    CHECK(detail.flops == 1000);
    CHECK(detail.bytes == 400);
    CHECK(detail.dtype == Dtype::bf16);
    CHECK(profile->events[1].work == DeviceWork::collective);
    REQUIRE(profile->annotations.size() == 2);
    CHECK(profile->text(profile->annotations[0].name) != profile->text(profile->annotations[1].name));
}

TEST_CASE("the dtype of a matmul in a profile of XLA is that of its matrices, or of the kernel's name") {
    const auto of = [](const char* text) { return dtype_of_operands(text); };
    CHECK(of("%dot.1 = (bf16[8,8]{1,0:T(8,128)(2,1)}, f32[8]{0}) fusion(f8e4m3fn[8,64]{1,0:T(8,128)} %x, "
             "f8e4m3fn[64,8]{1,0} %y, s32[8,2]{1,0} %ids, pred[8,8]{1,0} %mask)") == Dtype::fp8_e4m3);
    CHECK(of("%c = f32[2,3,4] convolution(f32[2,5,4] %x, f32[3,4,4] %k), window={size=3}") == Dtype::f32);
    CHECK(of("%c = bf16[8,8] fusion(f32[8,8] %x, bf16[8,8] %y)") == std::nullopt);  // either may be multiplied
    CHECK(of("%c = bf16[8,8] fusion(%x, %y)") == std::nullopt);
    CHECK(of("fusion.3") == std::nullopt);
    CHECK(of("%c = (") == std::nullopt);
    CHECK(of("%c = f32[8,8] dot(bf16[8") == std::nullopt);
    CHECK(dtype_of_kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n") == Dtype::bf16);
    CHECK(dtype_of_kernel("cutlass_80_tensorop_s1688gemm_128x128") == Dtype::tf32);
    CHECK(dtype_of_kernel("gemm_fusion_dot_3") == std::nullopt);
}

TEST_CASE("chrome trace: begins and ends make events, and what is incomplete is said") {
    const auto profile = read_text(R"([
      {"ph":"B","cat":"kernel","name":"k","pid":0,"tid":1,"ts":1},
      {"ph":"E","pid":0,"tid":1,"ts":4},
      {"ph":"E","pid":0,"tid":1,"ts":5},
      {"ph":"X","cat":"kernel","name":"n","pid":0,"tid":1,"ts":6,"dur":-1},
      {"ph":"X","cat":"kernel","name":"w","pid":0,"tid":1,"dur":1},
      {"ph":"X","cat":"kern)");
    REQUIRE(profile);
    REQUIRE(profile->events.size() == 1);
    CHECK(profile->events[0].duration_ns == 3000);
    CHECK(profile->notes == std::vector<std::string>{"the file ends early; what comes before counts",
                                                     "1 event with a negative duration is left out",
                                                     "1 event without a valid time is left out",
                                                     "1 event that does not begin or does not end is left out"});
}

TEST_CASE("chrome trace: other files are refused") {
    CHECK(trace_error(R"({"nodes":[]})") == "no_events");
    const auto timeless = read_text(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":NaN,"dur":1}]})");
    REQUIRE(!timeless);
    CHECK(timeless.error().message.find("no event of a device has a valid time: 1 left out") != std::string::npos);
    CHECK(trace_error("") == "bad_trace");
    CHECK(trace_error("name,time\n") == "bad_trace");
    CHECK(trace_error("{}") == "no_events");
    CHECK(trace_error("[1]") == "bad_trace");
    CHECK(trace_error(R"([{"ph":}])") == "bad_trace");
    CHECK(trace_error(R"([{"ph":"X","args":)" + std::string(100, '[')) == "too_deep");
    CHECK(trace_error(R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1}]})") == "no_kernels");
}

TEST_CASE("chrome trace: events longer than the buffer are whole") {
    const std::string long_name(3'000'000, 'x');
    std::string text = "[";
    for (int i = 0; i < 3; ++i) {
        text += (i == 0 ? "" : ", ") + std::string(R"({"ph":"X","cat":"kernel","name":"\\\")") + std::to_string(i) +
                long_name + R"(","pid":0,"tid":1,"ts":1,"dur":2})";
    }
    const auto profile = read_text(text + "]");
    REQUIRE(profile);
    CHECK(profile->events.size() == 3);
    CHECK(profile->text(profile->events[1].name).substr(0, 3) == "\\\"1");
}

// The counts are those of a plain loop over the files' events in Python.
TEST_CASE("chrome trace: the recorded samples") {
    struct Sample {
        const char* name;
        std::size_t kernels;  // collectives included
        std::size_t copies;
        std::size_t calls;
    };
    for (const Sample& sample :
         {Sample{"hta_alexnet_a100.json.gz", 79, 16, 359}, Sample{"hta_cupti_profiler_a100.json.gz", 77, 0, 375},
          Sample{"hta_mi250_rocm62.json.gz", 14, 2, 70}, Sample{"hta_nccl_collectives_a100.json.gz", 2700, 960, 14346},
          Sample{"hta_sampled_rank0.json.gz", 1154, 40, 2329}, Sample{"hta_trace_compare_base.json.gz", 6, 6, 6},
          Sample{"hta_triton_example.json.gz", 1, 0, 3}}) {
        CAPTURE(sample.name);
        const auto text = shared_text(std::string("samples/traces/") + sample.name);
        if (!text) return;
        TextSource source(*text);
        const auto profile = read_chrome_trace(source, sample.name);
        REQUIRE(profile);
        std::size_t kernels = 0;
        std::size_t copies = 0;
        for (const DeviceEvent& event : profile->events) {
            kernels += event.work == DeviceWork::kernel || event.work == DeviceWork::collective ? 1U : 0U;
            copies += event.work == DeviceWork::copy ? 1U : 0U;
        }
        CHECK(kernels == sample.kernels);
        CHECK(copies == sample.copies);
        const auto calls = std::count_if(profile->calls.begin(), profile->calls.end(), [&](const HostCall& call) {
            return !profile->text(call.name).starts_with("nccl:");  // annotations, which describe collectives
        });
        CHECK(static_cast<std::size_t>(calls) == sample.calls);
    }
}

// rocprofv2 has a category for what devices did, and a thread for each; rocprof a process, and texts as numbers.
TEST_CASE("chrome trace: of rocprof and rocprofv2") {
    const auto second = read_text(R"json({"traceEvents":[
      {"args":{"name":"GPU"},"ph":"M","pid":2,"name":"process_name","sort_index":1},
      {"name":"CopyHostToDevice","ph":"X","ts":"50","tid":0,"pid":3,"dur":"7","cat":"COPY","args":{"cid":1}},
      {"name":"hipLaunchKernel","ph":"X","ts":"90","tid":1,"pid":1,"dur":"5","cat":"HIP_API","args":{"cid":2}},
      {"name":"f(float*)","ph":"X","ts":"100","tid":2,"pid":2,"dur":"12","cat":"GPU","args":{"cid":2}},
      {"name":"g","ph":"X","ts":"112","tid":2,"pid":2,"dur":"3","cat":"GPU","args":{"cid":3}}]})json");
    REQUIRE(second);
    CHECK(second->tool == "rocprof");
    REQUIRE(second->events.size() == 3);
    CHECK(second->events[0].work == DeviceWork::copy);
    CHECK(second->events[1].start_ns == 100000);
    CHECK(second->events[1].duration_ns == 12000);
    CHECK(second->events[1].device == 1);
    CHECK(second->notes.size() == 1);  // that times are whole microseconds
    const auto first = read_text(R"json({ "traceEvents":[{}
      ,{"args":{"name":"GPU0"},"ph":"M","pid":6,"name":"process_name","sort_index":1}
      ,{"args":{"name":"CPU HIP API"},"ph":"M","pid":2,"name":"process_name","sort_index":0}
      ,{"ph":"X","name":"f(float*)","pid":"6","tid":"1","ts":"100","dur":"12","args":{"BeginNs":"100000"}}
      ,{"ph":"X","name":"hipMalloc","pid":"2","tid":"1","ts":"10","dur":"12","args":{"BeginNs":"10000"}}
      ], "otherData": {}})json");
    REQUIRE(first);
    CHECK(first->tool == "rocprof");
    REQUIRE(first->events.size() == 1);
    CHECK(first->text(first->events[0].name) == "f(float*)");
    CHECK(first->events[0].duration_ns == 12000);
}

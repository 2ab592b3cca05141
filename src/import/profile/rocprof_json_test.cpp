#include "import/profile/rocprof_json.hpp"

#include <doctest/doctest.h>

#include "import/profile/read_profile.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view rocprof_text = R"json({"rocprofiler-sdk-tool":[{
 "metadata":{"node":{"hostname":"alices-host","system_name":"Linux"},"pid":7,"command":["/home/alice/train"]},
 "agents":[{"size":8,"id":{"handle":18446744073709551615},"type":1,"name":"cpu","node_id":0},
           {"size":8,"id":{"handle":22},"type":2,"name":"gfx942","product_name":"AMD Instinct MI300X","node_id":4}],
 "strings":{"buffer_records":[{"kind":"KERNEL_DISPATCH","operations":["A"]}],
            "marker_api":[{"key":31,"value":"step 3"}]},
 "buffer_records":{
  "kernel_dispatch":[
   {"size":1,"kind":11,"operation":1,"thread_id":9,"correlation_id":{"internal":41,"external":0},
    "start_timestamp":1700000000000001000,"end_timestamp":1700000000000004000,
    "dispatch_info":{"agent_id":{"handle":22},"queue_id":{"handle":1},"kernel_id":2,"workgroup_size":{"x":4}}},
   {"start_timestamp":9,"end_timestamp":3,"dispatch_info":{"agent_id":{"handle":22}}}],
  "hip_api":[{"operation":5,"correlation_id":{"internal":41,"external":0},"start_timestamp":1700000000000000100,
              "end_timestamp":1700000000000000200,"thread_id":9}],
  "marker_api":[{"correlation_id":{"internal":31},"start_timestamp":1700000000000000000,
                 "end_timestamp":1700000000000009000,"thread_id":9}],
  "memory_copy":[{"correlation_id":{"internal":42},"start_timestamp":1700000000000005000,
    "end_timestamp":1700000000000006000,"dst_agent_id":{"handle":18446744073709551615},"src_agent_id":{"handle":22},
    "bytes":4096}]},
 "kernel_symbols":[{"kernel_id":2,"kernel_name":"_Zf.kd","formatted_kernel_name":"f(float*, int)"}]}]})json";

}  // namespace

TEST_CASE("rocprofv3 JSON: kernels, copies, launches and ranges, whose names come before or after them") {
    REQUIRE(is_rocprof_json(rocprof_text));
    const auto profile = read_rocprof_json(std::string(rocprof_text), "results.json");
    REQUIRE(profile);
    CHECK(profile->tool == "rocprofv3");
    REQUIRE(profile->events.size() == 2);
    const DeviceEvent& kernel = profile->events[0];
    CHECK(profile->text(kernel.name) == "f(float*, int)");
    CHECK(kernel.start_ns == 1700000000000001000);
    CHECK(kernel.duration_ns == 3000);
    REQUIRE(kernel.launch != no_index);
    CHECK(profile->launches[kernel.launch].duration_ns == 100);
    const DeviceEvent& copy = profile->events[1];
    CHECK(profile->text(copy.name) == "Memcpy DtoH");
    CHECK(copy.bytes == 4096);
    CHECK(copy.device == kernel.device);
    REQUIRE(profile->annotations.size() == 1);
    CHECK(profile->text(profile->annotations[0].name) == "step 3");
    CHECK(profile->devices == std::vector<std::string>{"AMD Instinct MI300X"});
    CHECK(profile->notes.size() == 1);
}

TEST_CASE("rocprofv3 JSON: text that is cut off or of another kind is refused") {
    const auto code = [](std::string_view text) {
        const auto profile = read_rocprof_json(std::string(text), "results.json");
        return profile ? "" : profile.error().code;
    };
    for (std::size_t size = 0; size < rocprof_text.size(); size += 97) {
        CHECK(code(rocprof_text.substr(0, size)) != "");
    }
    CHECK(code(R"({"rocprofiler-sdk-tool":[]})") == "no_kernels");
    CHECK(code(R"({"rocprofiler-sdk-tool":{"buffer_records":{"kernel_dispatch":[]}}})") == "no_kernels");
    CHECK(code(R"({"rocprofiler-sdk-tool":{"buffer_records":{"kernel_dispatch":[{"start_timestamp":"x"}]}}})") ==
          "bad_trace");
    CHECK(code(R"({"rocprofiler-sdk-tool":{"buffer_records":3}})") == "bad_trace");
}

// A packet with a timestamp (field 8), which no plane of an XSpace proto has.
TEST_CASE("a trace of Perfetto is refused by its name") {
    const std::string_view text("\x0a\x04\x40\x05\x50\x01", 6);
    CHECK(is_recorded_profile(text));
    TextSource source(text);
    const auto profile = read_profile(text, source, "out.pftrace");
    REQUIRE_FALSE(profile);
    CHECK(profile.error().message.find("Perfetto") != std::string::npos);
    CHECK(profile.error().hint.find("json") != std::string::npos);
}

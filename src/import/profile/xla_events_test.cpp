#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "import/profile/chrome_trace.hpp"
#include "import/profile/xplane.hpp"

using namespace roofline::core;

namespace {

Result<RecordedProfile> read_xla_trace(std::string_view text) {
    TextSource source(text);
    return read_chrome_trace(source, "t.json");
}

/// The fields of a protocol buffer.
std::string varint(std::uint64_t number) {
    std::string made;
    for (; number > 127; number >>= 7) made.push_back(static_cast<char>((number & 127) | 128));
    made.push_back(static_cast<char>(number));
    return made;
}
std::string number_field(int field, std::uint64_t number) {
    return varint(static_cast<std::uint64_t>(field) << 3) + varint(number);
}
std::string bytes_field(int field, const std::string& bytes) {
    return varint((static_cast<std::uint64_t>(field) << 3) | 2) + varint(bytes.size()) + bytes;
}
/// An entry of a map of names, in field 4 (of events) or 5 (of statistics).
std::string name_entry(int field, std::uint64_t number, const std::string& name) {
    return bytes_field(field, number_field(1, number) + bytes_field(2, number_field(1, number) + bytes_field(2, name)));
}
std::string text_stat(std::uint64_t stat, const std::string& text) {
    return bytes_field(4, number_field(1, stat) + bytes_field(5, text));
}
std::string xplane_event(std::uint64_t name, std::uint64_t offset_ps, std::uint64_t duration_ps,
                         const std::string& stats = "") {
    return bytes_field(4, number_field(1, name) + number_field(2, offset_ps) + number_field(3, duration_ps) + stats);
}

std::vector<std::string> names_of(const RecordedProfile& profile) {
    std::vector<std::string> names;
    for (const DeviceEvent& event : profile.events) names.push_back(profile.text(event.name));
    return names;
}

}  // namespace

// A loop of 100 us has two executions of its body of 30 us each; conditionals are alike.
TEST_CASE("XLA on TPUs: what encloses the instructions of its body does not count, what is on another line does") {
    const auto profile = read_xla_trace(R"json({"traceEvents":[
      {"ph":"M","name":"process_name","pid":3,"args":{"name":"/device:TPU:0"}},
      {"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"XLA Modules"}},
      {"ph":"M","name":"thread_name","pid":3,"tid":2,"args":{"name":"XLA Ops"}},
      {"ph":"M","name":"thread_name","pid":3,"tid":3,"args":{"name":"Async XLA Ops"}},
      {"ph":"M","name":"thread_name","pid":3,"tid":4,"args":{"name":"Framework Name Scope"}},
      {"ph":"X","name":"jit_step(77)","pid":3,"tid":1,"ts":0,"dur":100},
      {"ph":"X","name":"while.2","pid":3,"tid":2,"ts":0,"dur":100,"args":{"hlo_category":"while"}},
      {"ph":"X","name":"fusion.1","pid":3,"tid":2,"ts":5,"dur":30,"args":{"model_flops":"8","flops":"9",
        "bytes_accessed":"4","raw_bytes_accessed":"5"}},
      {"ph":"X","name":"conditional.1","pid":3,"tid":2,"ts":40,"dur":30},
      {"ph":"X","name":"fusion.1","pid":3,"tid":2,"ts":40,"dur":30,"args":{"flops":"9","model_flops":"8",
        "raw_bytes_accessed":"5","bytes_accessed":"4"}},
      {"ph":"X","name":"all-gather.1","pid":3,"tid":3,"ts":10,"dur":80},
      {"ph":"X","name":"while.9","pid":3,"tid":2,"ts":120,"dur":5},
      {"ph":"X","name":"layer","pid":3,"tid":4,"ts":0,"dur":100}]})json");
    REQUIRE(profile);
    CHECK(names_of(*profile) == std::vector<std::string>{"fusion.1", "all-gather.1", "fusion.1", "while.9"});
    for (const DeviceEvent& event : profile->events) {
        const EventDetail& detail = profile->details[event.detail];
        if (profile->text(event.name) != "fusion.1") continue;
        CHECK(event.duration_ns == 30000);
        CHECK(detail.flops == 8);  // of the model, in whatever order they stand
        CHECK(detail.bytes == 4);
    }
    CHECK(profile->annotations.size() == 1);
}

TEST_CASE("XLA on GPUs: kernels of streams have their instructions; the line that is derived of them does not count") {
    const auto profile = read_xla_trace(R"json({"traceEvents":[
      {"ph":"M","name":"process_name","pid":1,"args":{"name":"/device:GPU:1 NVIDIA H100"}},
      {"ph":"M","name":"process_name","pid":701,"args":{"name":"/host:CPU"}},
      {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"Stream #20(Compute)"}},
      {"ph":"M","name":"thread_name","pid":1,"tid":3,"args":{"name":"Stream #21(MemcpyH2D)"}},
      {"ph":"M","name":"thread_name","pid":1,"tid":4,"args":{"name":"XLA Ops"}},
      {"ph":"M","name":"thread_name","pid":1,"tid":5,"args":{"name":"XLA Modules"}},
      {"ph":"X","name":"loop_add_fusion","pid":1,"tid":2,"ts":10,"dur":4,"args":{"hlo_module":"jit_step",
        "hlo_op":"loop_add_fusion.2","correlation_id":"5","tf_op":"jit(step)/add"}},
      {"ph":"X","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":1,"tid":2,"ts":20,"dur":9,
        "args":{"hlo_op":"all-reduce-start.1","hlo_module":"jit_step"}},
      {"ph":"X","name":"MemcpyH2D","pid":1,"tid":3,"ts":1,"dur":2,
        "args":{"memcpy_details":"kind_src:pinned kind_dst:device size:4096 dest:0 async:1"}},
      {"ph":"X","name":"loop_add_fusion.2","pid":1,"tid":4,"ts":10,"dur":4},
      {"ph":"X","name":"jit_step(3)","pid":1,"tid":5,"ts":10,"dur":19},
      {"ph":"X","name":"PjitFunction(step)","pid":701,"tid":1,"ts":0,"dur":4}]})json");
    REQUIRE(profile);
    REQUIRE(names_of(*profile) ==
            std::vector<std::string>{"Memcpy HtoD", "loop_add_fusion", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"});
    CHECK(profile->events[0].work == DeviceWork::copy);
    CHECK(profile->events[0].bytes == 4096);
    CHECK(profile->events[1].device == 1);
    const EventDetail& detail = profile->details[profile->events[1].detail];
    CHECK(profile->text(detail.instruction) == "loop_add_fusion.2");
    CHECK(profile->text(detail.module) == "jit_step");
    CHECK(profile->events[2].work == DeviceWork::collective);
    CHECK(profile->details[profile->events[2].detail].collective == CollectiveKind::all_reduce);
    CHECK(profile->annotations.size() == 1);
}

TEST_CASE("XSpace protos: kernels of streams of GPUs, and loops of TPUs") {
    const std::string stats =
        name_entry(5, 1, "hlo_op") + name_entry(5, 2, "memcpy_details") + name_entry(5, 3, "source");
    const std::string compute = bytes_field(
        3, number_field(1, 20) + bytes_field(2, "Stream #20(Compute)") + number_field(3, 1000) +
               xplane_event(1, 0, 5'000'000, text_stat(1, "fusion.7") + text_stat(3, "/home/alice/a/b.py:3")));
    const std::string copy =
        bytes_field(3, number_field(1, 21) + bytes_field(2, "Stream #21(MemcpyD2H)") + number_field(3, 1000) +
                           xplane_event(2, 6'000'000, 1'000'000, text_stat(2, "size:64 dest:1 async:0")));
    const std::string derived = bytes_field(
        3, number_field(1, 99) + bytes_field(2, "XLA Ops") + number_field(3, 1000) + xplane_event(1, 0, 5'000'000));
    const std::string gpu =
        bytes_field(1, bytes_field(2, "/device:GPU:0") + compute + copy + derived +
                           name_entry(4, 1, "input_add_fusion") + name_entry(4, 2, "MemcpyD2H") + stats);
    const std::string ops = bytes_field(3, number_field(1, 2) + bytes_field(2, "XLA Ops") + number_field(3, 50'000) +
                                               xplane_event(1, 0, 9'000'000) + xplane_event(2, 1'000'000, 7'000'000));
    const std::string tpu = bytes_field(
        1, bytes_field(2, "/device:TPU:1") + ops + name_entry(4, 1, "while.1") + name_entry(4, 2, "fusion.2"));
    REQUIRE(is_xplane(gpu));
    const auto profile = read_xplane(gpu + tpu, "x.xplane.pb");
    REQUIRE(profile);
    REQUIRE(names_of(*profile) == std::vector<std::string>{"input_add_fusion", "Memcpy DtoH", "fusion.2"});
    const EventDetail& detail = profile->details[profile->events[0].detail];
    CHECK(profile->text(detail.instruction) == "fusion.7");
    CHECK(profile->text(detail.source) == "a/b.py:3");
    CHECK(profile->events[1].bytes == 64);
    CHECK(profile->events[2].start_ns == 51'000);
    CHECK(profile->events[2].duration_ns == 7000);
}

// What is written of a profile does not tell who recorded it, where, or on which host.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/ascii.hpp"
#include "import/profile/read_profile.hpp"
#include "machine/catalogue.hpp"
#include "predict/profile/profile_answer.hpp"
#include "report/trace/profile_timeline.hpp"
#include "report/trace/profile_view.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view torch_trace = R"json({"schemaVersion":1,"hostname":"secret-host","user":"alice",
 "trace_name":"/home/alice/run/trace.json","distributedInfo":{"rank":0,"world_size":2,"hostname":"secret-host"},
 "deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","host":"secret-host"}],"traceEvents":[
 {"ph":"M","name":"process_name","pid":7,"args":{"name":"python /home/alice/run/train.py"}},
 {"ph":"M","name":"thread_name","pid":7,"tid":7,"args":{"name":"alice-worker"}},
 {"ph":"M","name":"process_labels","pid":7,"args":{"labels":"secret-host"}},
 {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":7,"tid":7,"ts":0,"dur":90},
 {"ph":"X","cat":"user_annotation","name":"load /home/alice/data/x.bin","pid":7,"tid":7,"ts":1,"dur":5},
 {"ph":"X","cat":"python_function","name":"/home/alice/run/train.py(12): step","pid":7,"tid":7,"ts":1,"dur":80},
 {"ph":"X","cat":"cpu_op","name":"my_op /home/alice/run/op.py","pid":7,"tid":7,"ts":2,"dur":20,
  "args":{"External id":1,"Input Dims":[[4,4]],"Input type":["float"],"Concrete Inputs":["/home/alice/w.bin"],
          "Call stack":"/home/alice/run/train.py(12): step"}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":4,"dur":3,"args":{"correlation":5}},
 {"ph":"X","cat":"kernel","name":"k /tmp/torchinductor_alice/ab/cab.py","pid":0,"tid":7,"ts":20,"dur":5,
  "args":{"correlation":5,"device":0,"stream":7,"kernel_file":"/tmp/torchinductor_alice/ab/cab.py"}}]})json";

constexpr std::string_view jax_trace = R"json({"hostname":"secret-host","traceEvents":[
 {"ph":"M","name":"process_name","pid":3,"args":{"name":"/device:TPU:0 (pid 12) secret-host"}},
 {"ph":"M","name":"process_name","pid":9,"args":{"name":"/host:secret-host"}},
 {"ph":"M","name":"thread_name","pid":3,"tid":2,"args":{"name":"XLA Ops"}},
 {"ph":"X","name":"fusion.3","pid":3,"tid":2,"ts":5,"dur":2,"args":{"hlo_category":"loop fusion","model_flops":"1000",
  "bytes_accessed":"400","source":"/home/alice/run/train.py:42","source_stack":"/home/alice/run/train.py:42:1",
  "tf_op":"jit(f)/add:","long_name":"%fusion.3 = f32[] fusion(), metadata={source_file=\"/home/alice/run/train.py\"}"}}
 ]})json";

constexpr std::string_view rocprof_trace = R"json({"rocprofiler-sdk-tool":[{
 "metadata":{"node":{"hostname":"secret-host","machine_id":"alice"},"command":["/home/alice/run/train"]},
 "agents":[{"id":{"handle":22},"type":2,"name":"gfx942","node_id":4}],
 "strings":{"marker_api":[{"key":31,"value":"step 3"}]},
 "buffer_records":{"kernel_dispatch":[{"correlation_id":{"internal":41},"start_timestamp":1000,"end_timestamp":4000,
  "dispatch_info":{"agent_id":{"handle":22},"kernel_id":2}}]},
 "code_objects":[{"uri":"file:///home/alice/run/train#offset=4096"}],
 "kernel_symbols":[{"kernel_id":2,"formatted_kernel_name":"f(float*)"}]}]})json";

constexpr std::string_view nsys_table =
    "Processing [/home/alice/secret-host.sqlite] with [/opt/nsys/cuda_kern_exec_trace.py]... \n"
    "API Start (ns),API Dur (ns),Kernel Start (ns),Kernel Dur (ns),PID,TID,DevId,API Function,Kernel Name\n"
    "100,20,150,40,9,10,0,cudaLaunchKernel,k /home/alice/run/k.cu\n";

}  // namespace

TEST_CASE("hosts, users, processes and their folders are left out of everything that is written") {
    for (const std::string_view text : {torch_trace, jax_trace, rocprof_trace, nsys_table}) {
        CAPTURE(text.substr(0, 60));
        TextSource source(text);
        auto profile = read_profile(text.substr(0, 4096), source, "profile.json");
        REQUIRE(profile);
        const std::vector<RecordedProfile> profiles{std::move(*profile)};
        const auto machine = find_machine("h100-sxm", {});
        REQUIRE(machine);
        const auto answer = answer_profiles(profiles, {{*machine, ""}, ""}, Calibrations(std::vector<Calibration>{}));
        REQUIRE(answer);
        std::vector<std::string> written{profile_timeline(*answer), profile_trace(*answer), profile_plot(*answer)};
        for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown}) {
            written.push_back(profile_view(*answer, format, false));
        }
        for (const std::string& each : written) {
            const std::string low = lowered(each);
            CHECK(low.find("alice") == std::string::npos);
            CHECK(low.find("secret-host") == std::string::npos);
            CHECK(low.find("/home/") == std::string::npos);
        }
    }
}

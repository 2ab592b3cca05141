#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "app/request.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;
using nlohmann::json;

namespace {

/// A file whose text outlives its source.
class OwnedText final : public ByteSource {
public:
    explicit OwnedText(std::string text) : text_(std::move(text)), source_(text_) {}
    Result<std::size_t> read(std::span<char> into) override { return source_.read(into); }

private:
    std::string text_;
    TextSource source_;
};

NamedFile file_of(const std::string& text) {
    return {"step.json", [text]() -> Result<std::unique_ptr<ByteSource>> { return std::make_unique<OwnedText>(text); }};
}

// Two layers of D=512, F=1536, 8 heads of 64 that share 2 keys, 1000 words.
constexpr const char* two_layer_llama = R"({"model_type":"llama","hidden_size":512,"intermediate_size":1536,
    "num_attention_heads":8,"num_key_value_heads":2,"num_hidden_layers":2,"vocab_size":1000,"hidden_act":"silu",
    "max_position_embeddings":2048,"rms_norm_eps":1e-5,"tie_word_embeddings":false,"torch_dtype":"bfloat16"})";

/// A trace of PyTorch in which calls run one after another on one stream.
class TraceWriter {
public:
    /// A call with one kernel, whose inputs have these shapes: "[[4096,512],[512,512]]".
    void call(const std::string& name, const std::string& shapes, double us, int times = 1) {
        for (int i = 0; i < times; ++i) {
            const double at = time_;
            events_ += fmt::format(
                R"({{"ph":"X","pid":1,"tid":1,"cat":"cpu_op","name":"{}","ts":{},"dur":2,)"
                R"("args":{{"Input Dims":{},"Input type":["c10::BFloat16","c10::BFloat16","Scalar"]}}}},)"
                R"({{"ph":"X","pid":1,"tid":1,"cat":"cuda_runtime","name":"cudaLaunchKernel","ts":{},"dur":1,)"
                R"("args":{{"correlation":{}}}}},)"
                R"({{"ph":"X","pid":0,"tid":7,"cat":"kernel","name":"{}","ts":{},"dur":{},)"
                R"("args":{{"correlation":{},"device":0,"stream":7}}}},)",
                name, at, shapes, at + 0.5, number_, name.find("mm") != std::string::npos ? "nvjet" : "elementwise",
                at + 5, us, number_);
            ++number_;
            time_ += us + 10;
        }
    }
    void matmul(int m, int k, int n, int times) {
        call("aten::mm", fmt::format("[[{},{}],[{},{}]]", m, k, k, n), 20, times);
    }
    /// A matmul of [4096, in] by [in, out] with both gradients.
    void weight(int in, int out, int times) {
        matmul(4096, in, out, times);
        matmul(4096, out, in, times);
        matmul(in, 4096, out, times);
    }
    /// The scaled dot-product attention of 4 sequences of 1024 tokens, forwards and backwards, in two layers.
    void attention() {
        const std::string q = "[4,8,1024,64]";
        call("aten::_scaled_dot_product_flash_attention", fmt::format("[{0},{0},{0}]", q), 60, 2);
        call("aten::_scaled_dot_product_flash_attention_backward", fmt::format("[{0},{0},{0},{0},{0}]", q), 150, 2);
    }
    /// A collective of NCCL over 8 ranks with a message of bf16 numbers.
    void collective(const std::string& kind, int elements) {
        events_ += fmt::format(
            R"({{"ph":"X","pid":0,"tid":20,"cat":"kernel","name":"ncclDevKernel_{0}","ts":{1},"dur":50,)"
            R"("args":{{"device":0,"stream":20,"Collective name":"{0}","In msg nelems":{2},"Out msg nelems":{2},)"
            R"("Group size":8,"dtype":"BFloat16"}}}},)",
            kind, time_, elements);
        time_ += 60;
    }
    [[nodiscard]] std::string text() const {
        return R"({"traceEvents":[)" + events_.substr(0, events_.size() - 1) + "]}";
    }

private:
    std::string events_;
    double time_ = 0;
    int number_ = 1;
};

/// All weights of the two layers, as a Llama of PyTorch has them, and the head.
void add_llama_weights(TraceWriter& trace) {
    trace.weight(512, 512, 4);   // queries and outputs
    trace.weight(512, 128, 4);   // keys and values
    trace.weight(512, 1536, 4);  // gate and up
    trace.weight(1536, 512, 2);  // down
    trace.weight(512, 1000, 1);  // head
}

TraceRequest beside_training(const TraceWriter& trace) {
    TraceRequest request;
    request.profiles = {file_of(trace.text())};
    request.machines = {{"h100-sxm", std::nullopt}};
    request.calibration.none = true;
    request.model = NamedText{"llama.json", two_layer_llama};
    request.train.batch_tokens = "4096";
    request.train.sequence = "1024";
    return request;
}

json beside_of(const TraceRequest& request) {
    const Response response = handle({request, Format::json, false});
    REQUIRE_MESSAGE(!response.error, response.out);
    return json::parse(response.out, nullptr, false)["beside"];
}

json kind_of(const json& answer, const std::string& kind) {
    for (const json& each : answer["by_kind"]) {
        if (each["kind"] == kind) return each;
    }
    return {};
}

json unmatched(const json& list, const std::string& what) {
    for (const json& each : list) {
        if (each["what"] == what) return each;
    }
    return {};
}

}  // namespace

// A weight takes three matmuls in a step: 7 of two layers and the head are 15 weights with 45 matmuls.
TEST_CASE("trace beside a plan: all matmuls of a training step of a Llama are found") {
    TraceWriter trace;
    add_llama_weights(trace);
    trace.attention();
    const json answer = beside_of(beside_training(trace));
    const json matmuls = kind_of(answer, "matmul");
    CHECK(matmuls["count"] == 45);
    CHECK(matmuls["planned_count"] == 45);
    CHECK(matmuls["extra_s"] == 0);
    CHECK(matmuls["missing_s"] == 0);
    CHECK(matmuls["measured_s"].get<double>() == approx(45 * 20e-6));
    // 6 FLOPs for each of 4096 tokens and each parameter of the weights, at 989.4 TFLOP/s, or more for small ones
    const double parameters = 2 * (2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1536) + 512 * 1000;
    CHECK(matmuls["planned_s"].get<double>() >= 6 * 4096 * parameters / 989.4e12 * 0.999);
    const json attention = kind_of(answer, "attention");
    CHECK(attention["count"] == 4);
    CHECK(attention["planned_count"] == 4);
    // sums over classes
    double difference = 0;
    for (const json& each : answer["by_kind"]) {
        difference += each["extra_s"].get<double>() - each["missing_s"].get<double>() + each["slower_s"].get<double>();
    }
    CHECK(difference == approx(answer["measured_s"].get<double>() - answer["planned_s"].get<double>()));
}

TEST_CASE("trace names the roofs of its machine with their sources") {
    TraceWriter trace;
    trace.weight(512, 512, 1);
    TraceRequest request;
    request.profiles = {file_of(trace.text())};
    request.machines = {{"h100-sxm", std::nullopt}};
    const Response response = handle({request, Format::json, false});
    REQUIRE_MESSAGE(!response.error, response.out);
    const json answer = json::parse(response.out, nullptr, false);
    std::map<std::string, json> sources;
    for (const json& each : answer["sources"]) {
        sources[each["figure"].get<std::string>()] = each;
    }
    // NVIDIA's data sheet: 1,979 TFLOP/s with sparsity, which is twice as much as without.
    CHECK(sources["matmul.bf16"]["value"].get<double>() == doctest::Approx(989.4e12).epsilon(0.001));
    CHECK(sources["matmul.bf16"]["unit"] == "FLOP/s");
    CHECK(sources["hbm.bandwidth"]["unit"] == "B/s");
    CHECK_FALSE(sources["hbm.bandwidth"]["source"].get<std::string>().empty());
}

// Two layers with nine parameters each, and three others: an update for each, in the plan.
TEST_CASE("trace compared with a plan: updates of parameters belong to the optimizer") {
    TraceWriter trace;
    add_llama_weights(trace);
    trace.attention();
    trace.call("aten::_fused_adamw_", "[[512,512]]", 30, 2);
    const json optimizer = kind_of(beside_of(beside_training(trace)), "optimizer");
    REQUIRE(!optimizer.is_null());
    CHECK(optimizer["count"] == 2);
    CHECK(optimizer["planned_count"] == 2 * 9 + 3);
}

TEST_CASE("trace beside a plan: queries, keys and values in one matmul, and gates in another") {
    TraceWriter trace;
    trace.weight(512, 768, 2);   // 512 + 128 + 128
    trace.weight(512, 512, 2);   // outputs
    trace.weight(512, 3072, 2);  // gate and up
    trace.weight(1536, 512, 2);
    trace.weight(512, 1000, 1);
    trace.attention();
    const json answer = beside_of(beside_training(trace));
    const json matmuls = kind_of(answer, "matmul");
    CHECK(matmuls["count"] == 27);
    CHECK(matmuls["extra_s"] == 0);
    CHECK(matmuls["missing_s"] == 0);
}

TEST_CASE("trace beside a plan: the forward pass that runs twice, and a gradient that is missing") {
    TraceWriter trace;
    add_llama_weights(trace);
    trace.matmul(4096, 512, 512, 4);  // once more forwards
    trace.matmul(4096, 512, 128, 4);
    trace.attention();
    const json answer = beside_of(beside_training(trace));
    const json squares = unmatched(answer["extra"], "matmul 512 x 512 x 4096");
    CHECK(squares["runs"] == 4);
    CHECK(squares["seconds"].get<double>() == approx(80e-6));
    CHECK(squares["cause"].get<std::string>().find("recomputation") != std::string::npos);
    CHECK(kind_of(answer, "matmul")["extra_s"].get<double>() == approx(160e-6));

    TraceWriter frozen;
    add_llama_weights(frozen);
    frozen.attention();
    TraceRequest asked = beside_training(frozen);
    asked.train.remat = "full";  // the plan recomputes each layer, and the run did not
    const json lacks = beside_of(asked);
    // all but the output of a layer's last matmul, which no gradient needs
    CHECK(unmatched(lacks["missing"], "matmul 128 x 512 x 4096")["runs"] == 4);
    CHECK(kind_of(lacks, "matmul")["extra_s"] == 0);
}

TEST_CASE("trace beside a plan: attention as batched matmuls, casts and kernels that nobody knows") {
    TraceWriter trace;
    add_llama_weights(trace);
    trace.call("aten::bmm", "[[32,1024,64],[32,64,1024]]", 100, 6);
    trace.call("aten::bmm", "[[32,1024,1024],[32,1024,64]]", 100, 6);
    trace.call("aten::copy_", "[[4096,512],[4096,512]]", 7, 10);
    trace.call("my::thing", "[[4096,512]]", 30, 1);
    const json answer = beside_of(beside_training(trace));
    const json attention = unmatched(answer["extra"], "attention as 12 batched matmuls");
    CHECK(attention["runs"] == 12);
    CHECK(kind_of(answer, "attention")["measured_s"].get<double>() == approx(1200e-6));
    CHECK(unmatched(answer["extra"], "aten::copy_")["seconds"].get<double>() == approx(70e-6));
    CHECK(unmatched(answer["unknown"], "my::thing").is_null());  // an elementwise kernel by its name
}

// Two tables of 1000 words, two layers of 2 512 512 + 2 512 128 + 3 512 1536 weights and two norms, and the last norm:
// 7,055,872 parameters, whose gradients are reduced in bf16, in two buckets.
TEST_CASE("trace beside a plan: gradients in buckets, and a collective that is not in the plan") {
    TraceWriter trace;
    add_llama_weights(trace);
    trace.attention();
    trace.collective("AllReduce", 7'000'000);
    trace.collective("AllReduce", 55'872);
    TraceRequest request = beside_training(trace);
    request.machines = {{"h100-sxm:8", std::nullopt}};
    request.mesh = {"data=8"};
    request.train.batch_tokens = "32Ki";
    const json answer = beside_of(request);
    CHECK(kind_of(answer, "collective")["extra_s"] == 0);
    CHECK(kind_of(answer, "collective")["missing_s"] == 0);
    CHECK(kind_of(answer, "collective")["measured_s"].get<double>() == approx(100e-6));
    trace.collective("AllGather", 4096);
    request.profiles = {file_of(trace.text())};
    const json more = beside_of(request);
    CHECK(unmatched(more["extra"], "all_gather")["seconds"].get<double>() == approx(50e-6));
    request.mesh = {};
    const Response without = handle({request, Format::text, false});
    REQUIRE(without.error);
    CHECK(without.error->code == "no_plan");
}

TEST_CASE("trace beside a plan: a profile of another model, and a batch that is missing") {
    TraceWriter trace;
    trace.weight(777, 333, 3);
    const Response other = handle({beside_training(trace), Format::text, false});
    REQUIRE(other.error);
    CHECK(other.error->code == "other_model");
    TraceWriter right;
    add_llama_weights(right);
    TraceRequest request = beside_training(right);
    request.train = {};
    const Response without = handle({request, Format::text, false});
    REQUIRE(without.error);
    CHECK(without.error->code == "no_batch");
    request.train.batch_tokens = "4096";
    request.serve.kv_dtype = "fp8";
    const Response both = handle({request, Format::text, false});
    REQUIRE(both.error);
    CHECK(both.error->code == "bad_request");
    request.serve = {};
    request.model.reset();
    const Response nameless = handle({request, Format::text, false});
    REQUIRE(nameless.error);
    CHECK(nameless.error->message.find("--mesh, the batch") != std::string::npos);
}

// A decode step of 8 sequences: m is 8 in each matmul, and the profile has 5 of them.
TEST_CASE("trace beside a plan: how often a decode step ran is told by its matmuls") {
    for (const bool merged : {false, true}) {
        TraceWriter trace;
        if (merged) {
            trace.matmul(8, 512, 512 + 128 + 128, 2 * 5);
            trace.matmul(8, 512, 512, 2 * 5);
            trace.matmul(8, 512, 2 * 1536, 2 * 5);
        } else {
            trace.matmul(8, 512, 512, 2 * 2 * 5);
            trace.matmul(8, 512, 128, 2 * 2 * 5);
            trace.matmul(8, 512, 1536, 2 * 2 * 5);
        }
        trace.matmul(8, 1536, 512, 2 * 5);
        trace.matmul(8, 512, 1000, 5);
        TraceRequest request = beside_training(trace);
        request.train = {};
        request.serve.batch = "8";
        request.serve.prompt = "256";
        request.serve.output = "16";
        const json answer = beside_of(request);
        REQUIRE(answer["passes"].size() == 2);
        CHECK(answer["passes"][0]["runs"] == 0);
        CHECK(answer["passes"][1]["runs"] == 5);
        CHECK(kind_of(answer, "matmul")["extra_s"] == 0);
        CHECK(kind_of(answer, "matmul")["missing_s"] == 0);
    }
}

TEST_CASE("validate and fit take a recorded profile as a file, and say what they need") {
    TraceWriter trace;
    add_llama_weights(trace);
    ValidateRequest validate;
    validate.file = file_of(trace.text());
    const Response nowhere = handle({validate, Format::json, false});
    REQUIRE(nowhere.error);
    CHECK(nowhere.error->code == "no_machine");
    validate.machines = {{"h100-sxm", std::nullopt}};
    validate.strict = true;
    const Response strict = handle({validate, Format::json, false});
    REQUIRE(strict.error);
    CHECK(strict.error->code == "bad_request");
    validate.strict = false;
    validate.calibration.none = true;
    const Response response = handle({validate, Format::json, false});
    REQUIRE_MESSAGE(!response.error, response.out);
    // 15 pairs of shapes, of which those of a square weight, and of gate and down, coincide: 12 are different
    const json answer = json::parse(response.out, nullptr, false);
    CHECK(answer["table"] == "recorded operation");
    CHECK(answer["rows"] == 12);
    CHECK(answer["worst"][0]["line"].is_null());

    FitRequest fit;
    fit.files = {file_of(trace.text())};
    fit.machines = validate.machines;
    fit.output = "h100.toml";
    const Response fitted = handle({fit, Format::json, false});
    REQUIRE_MESSAGE(!fitted.error, fitted.out);
    REQUIRE(fitted.files.size() == 1);
    CHECK(fitted.files[0].text.find("contraction") != std::string::npos);
    CHECK(fitted.files[0].text.find("step.json") != std::string::npos);
}

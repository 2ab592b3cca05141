#include "app/request.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/serve_request_test.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("slices side by side say what each says alone") {
    const auto both = json_of(llama({"h100-sxm:2", "h200-sxm:4"}));
    REQUIRE(both["machines"].size() == 2);
    for (const auto& [slice, at] : {std::pair{"h100-sxm:2", 0}, std::pair{"h200-sxm:4", 1}}) {
        CHECK(both["machines"][static_cast<std::size_t>(at)] == json_of(llama({slice})));
    }
}

TEST_CASE("slices side by side are a column each in text, a line each in tables") {
    const ServeRequest request = llama({"h100-sxm:2", "h200-sxm:4"});
    const std::string text = answered(request, Format::text).out;
    const std::size_t head = text.find("h100-sxm5:2");
    REQUIRE(head != std::string::npos);
    CHECK(text.find("h200-sxm:4", head) < text.find('\n', head));
    CHECK(text.find("tensor=2") != std::string::npos);
    CHECK(text.find("tensor=4") != std::string::npos);
    CHECK(lines(answered(request, Format::csv).out) == 3);
    CHECK(lines(answered(request, Format::markdown).out) == 4);
}

TEST_CASE("the exit status of several slices is 1 when none holds what is asked for") {
    ServeRequest request = llama({"h100-sxm:1", "h100-sxm:8"});
    request.config = {"llama-3.1-70b", ""};
    CHECK(answered(request, Format::text).exit_code == 0);
    request.machines.pop_back();
    CHECK(answered(request, Format::text).exit_code == 1);
    request.machines.push_back({"h100-nvl:1", {}});
    CHECK(answered(request, Format::text).exit_code == 1);  // 94 GB of memory, but 141 GB of weights in bf16
}

TEST_CASE("a mistake in one of several slices is said of that slice") {
    const auto wrong = handle(llama({"h100-sxm:2", "h100-sxm:0"}), Format::text);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message.starts_with("h100-sxm:0: "));
    ServeRequest explained = llama({"h100-sxm:2", "h200-sxm:2"});
    explained.explain = true;
    CHECK_FALSE(handle(explained, Format::text));
    CHECK_FALSE(handle(llama({}), Format::text));
}

TEST_CASE("what a server does under load stands where it is calibrated, and nowhere else") {
    ServeRequest request = llama({"h100-sxm:2"});
    const auto load = json_of(request)["under_load"];
    REQUIRE(load.is_object());
    const auto alone = json_of(request);
    CHECK(load["tpot_s"] > alone["decode"]["lower_s"]);
    CHECK(load["ttft_s"] > alone["prefill"]["lower_s"]);
    CHECK(load["sequences"] < 16);
    CHECK(load["tokens_per_s"].get<double>() < 16 / load["tpot_s"].get<double>());
    request.software = "sglang";
    CHECK(json_of(request)["under_load"]["software"] == "sglang 0.5");
    request.software.clear();
    CHECK(answered(request, Format::text).out.find("as served") != std::string::npos);
    request.calibration.none = true;
    CHECK(json_of(request)["under_load"].is_null());
    request.machines.push_back({"h200-sxm:2", {}});
    CHECK(answered(request, Format::text).out.find("as served") == std::string::npos);
    request.calibration.none = false;
    CHECK(answered(request, Format::text).out.find("as served") != std::string::npos);
}

TEST_CASE("by the book a batch is that of one copy of the weights, and a slice has several") {
    ServeRequest request = llama({"h100-sxm:4"});
    request.mesh = {"data=4"};
    // 989.4 TFLOP/s over 3.35 TB/s; a weight has 2 bytes and 2 FLOPs; each replica has a quarter of the batch.
    const double batch = json_of(request)["compute_bound_batch"]["textbook"].get<double>();
    CHECK(batch == approx(4 * 989.4e12 / 3.35e12));
    request.mesh = {"tensor=4"};
    CHECK(json_of(request)["compute_bound_batch"]["textbook"].get<double>() == approx(batch / 4));
}

TEST_CASE("a load that is asked for has its percentiles, goodput and the largest load") {
    ServeRequest request = llama({"h100-sxm:1"});
    CHECK(json_of(request)["load"].is_null());
    request.concurrency = "16";
    const auto closed = json_of(request);
    CHECK(closed["under_load"] == json_of(llama({"h100-sxm:1"}))["under_load"]);
    const auto& load = closed["load"];
    CHECK(load["loop"] == "closed");
    CHECK(load["concurrency"] == 16);
    CHECK(load["rate_per_s"].is_null());
    CHECK(load["requests"] == 160);
    CHECK(load["ttft_s"]["mean"] == closed["under_load"]["ttft_s"]);
    CHECK(load["tpot_s"]["mean"] == closed["under_load"]["tpot_s"]);
    for (const char* time : {"ttft_s", "tpot_s", "itl_s", "latency_s"}) {
        CHECK(load[time]["p50"] <= load[time]["p90"]);
        CHECK(load[time]["p90"] <= load[time]["p99"]);
    }
    CHECK(load["largest"].is_null());
    CHECK(load["target_percentile"].is_null());

    request.concurrency.clear();
    request.rate = "5";
    request.ttft = "200ms";  // there the percentile rises by 0.5 % per 1 % of the rate, and fluctuates by 0.1 %
    request.tpot = "20ms";
    const auto open = json_of(request)["load"];
    CHECK(open["loop"] == "open");
    CHECK(open["requests_per_s"].get<double>() == approx(5).epsilon(0.02));
    CHECK(open["target_percentile"] == 99);
    CHECK(open["goodput_requests_per_s"].get<double>() ==
          approx(open["requests_per_s"].get<double>() * open["goodput_fraction"].get<double>()));
    CHECK(open["largest"].get<double>() < open["saturation_requests_per_s"].get<double>());
    // the largest rate meets the targets, and one that is 2 % larger does not
    for (const auto& [factor, met] : {std::pair(1.0, true), std::pair(1.02, false)}) {
        request.rate = fmt::format("{}", open["largest"].get<double>() * factor);
        const auto at = json_of(request)["load"];
        CHECK((at["ttft_s"]["p99"].get<double>() <= 0.2 && at["tpot_s"]["p99"].get<double>() <= 0.02) == met);
    }
    CHECK(answered(request, Format::text).out.find("largest load") != std::string::npos);
    request.machines.push_back({"h200-sxm:1", {}});
    CHECK(answered(request, Format::text).out.find("largest load") != std::string::npos);
}

TEST_CASE("a prefix cache saves prefill, and a smaller chunk delays decoding less") {
    ServeRequest request = llama({"h100-sxm:1"});
    request.prompt = "8k";
    request.rate = "2";
    const auto plain = json_of(request)["load"];
    request.cached = "0.9";
    const auto cached = json_of(request)["load"];
    CHECK(cached["ttft_s"]["p50"].get<double>() < 0.5 * plain["ttft_s"]["p50"].get<double>());
    CHECK(cached["saturation_requests_per_s"] > plain["saturation_requests_per_s"]);
    request.cached.clear();
    request.chunk = "1k";
    const auto chunked = json_of(request)["load"];
    CHECK(chunked["itl_s"]["p99"] < plain["itl_s"]["p99"]);
    request.schedule = "prefill-first";
    CHECK(json_of(request)["load"]["itl_s"]["p99"] > chunked["itl_s"]["p99"]);
}

TEST_CASE("a load without expected times, or beyond what the server takes, is refused") {
    ServeRequest request = llama({"h100-sxm:1"});
    request.rate = "1000";
    CHECK(handle(request, Format::text).error().code == "overload");
    request.rate = "1";
    request.calibration.none = true;
    CHECK(handle(request, Format::text).error().code == "not_calibrated");
    // not even one request fits, which the answer says
    request.calibration.none = false;
    request.config = {"llama-3.1-70b", ""};
    CHECK(answered(request, Format::text).exit_code == 1);
    CHECK(json_of(request)["load"].is_null());
}

TEST_CASE("an answer without an expected time says why, and what has one") {
    const auto noted = [](const ServeRequest& request, const std::string& part) {
        int times = 0;
        const auto json = json_of(request);
        for (const auto& note : json["notes"]) times += note.get<std::string>().find(part) == std::string::npos ? 0 : 1;
        return times;
    };
    // Gaudi 2 has times of served tokens, and none of collectives
    ServeRequest request = llama({"gaudi2:8"});
    request.mesh = {"tensor=8"};
    request.rate = "1";
    const auto refused = handle(request, Format::text).error();
    CHECK(refused.message.find("no calibration for all-reduce of") != std::string::npos);
    CHECK(refused.hint.ends_with("--mesh data=8"));
    request.mesh = {"data=8"};
    CHECK(json_of(request)["load"].is_object());
    // llama.cpp ran on no TPU; servers with weights in a dtype did
    request = llama({"tpu-v5e:1x1"});
    request.weights = "Q4_K_M";
    request.batch = "1";
    CHECK(noted(request, "llama.cpp was not measured on chips like it") == 1);
    request.weights = "int4";
    CHECK(json_of(request)["decode"]["expected_s"].is_number());
    // a machine that kernels of both phases are transferred from is named once, and none beside whole passes
    CHECK(noted(llama({"mi308x:1"}), "normalisation") == 1);
    request = llama({"rtx-4090:1"});
    request.weights = "Q4_K_M";
    CHECK(noted(request, "has no calibration for") == 0);
}

TEST_CASE("prefill and decode on slices of their own: caches are sent, and neither pool waits for the other's work") {
    ServeRequest request = llama({"h100-sxm:2"});
    request.disaggregated = true;
    auto answer = json_of(request);
    const auto pool = answer["disaggregated"];
    CHECK(pool["machine"] == "h100-sxm5");
    CHECK(pool["plan"]["tensor"] == 2);
    CHECK(pool["plan"]["chosen"] == false);
    // keys and values of 8 heads of 128 in 32 layers, 2 bytes each, over the NICs of two chips, 50 GB/s each
    const double prompt = answer["prompt"];
    const double bytes = prompt * 2 * 32 * 8 * 128 * 2;
    CHECK(pool["transfer_bytes"].get<double>() == approx(bytes));
    CHECK(pool["transfer_s"].get<double>() == approx(bytes / (2 * 50e9)));
    CHECK(pool["transfer_exposed_s"] == pool["transfer_s"]);
    CHECK(answer["ttft_s"].get<double>() == approx(answer["prefill"]["expected_s"].get<double>() + bytes / (2 * 50e9)));
    // the slice that decodes has no activations of prompts
    ServeRequest together = llama({"h100-sxm:2"});
    CHECK(answer["memory_bytes_per_chip"]["activations"] < json_of(together)["memory_bytes_per_chip"]["activations"]);
    // the error is that of measured pools, which no model was fitted to
    CHECK(answer["under_load"]["error"] >= 0.27);
    CHECK(answered(request, Format::text).out.find("% on pools") != std::string::npos);
    // decoding is not interrupted by prompts
    CHECK(answer["under_load"]["tpot_s"] < json_of(together)["under_load"]["tpot_s"]);
    request.overlap_transfer = true;
    const double last_layer = bytes / (2 * 50e9) / 32;
    CHECK(json_of(request)["disaggregated"]["transfer_exposed_s"].get<double>() == approx(last_layer));
    // half the chips send at half the rate
    request.prefill = MachineRef{"h100-sxm:1", {}};
    answer = json_of(request);
    CHECK(answer["disaggregated"]["transfer_s"].get<double>() == approx(bytes / 50e9));
    CHECK(answer["disaggregated"]["chips"] == 1);
}

TEST_CASE("a load on two pools: more workers take more, and the pools say what they take") {
    ServeRequest request = llama({"h100-sxm:1"});
    request.prefill = MachineRef{"h200-sxm:2", {}};
    request.prefill_mesh = {"data=2"};
    request.concurrency = "64";
    auto one = json_of(request);
    CHECK(one["disaggregated"]["plan"]["data"] == 2);
    CHECK(one["load"]["requests_per_s"].get<double>() <= one["disaggregated"]["decode_requests_per_s"].get<double>());
    const double chips = 1.0 + 2 * one["disaggregated"]["prefill_workers"].get<double>();
    CHECK(one["load"]["tokens_per_s_per_chip"].get<double>() ==
          approx(one["load"]["tokens_per_s"].get<double>() / chips));
    request.decode_workers = "2";
    request.prefill_workers = "3";
    const auto two = json_of(request);
    CHECK(two["disaggregated"]["decode_requests_per_s"].get<double>() ==
          approx(2 * one["disaggregated"]["decode_requests_per_s"].get<double>()));
    CHECK(two["load"]["tpot_s"]["mean"] < one["load"]["tpot_s"]["mean"]);
    CHECK(answered(request, Format::text).out.find("3 : 2") != std::string::npos);
}

TEST_CASE("a pool that cannot hold the model, and options without a pool") {
    ServeRequest request = llama({"h100-sxm:8"});
    request.config = {"llama-3.1-70b", ""};
    request.prefill = MachineRef{"h100-sxm:1", {}};
    const Response response = answered(request, Format::text);
    CHECK(response.exit_code == 1);
    CHECK(response.out.find("142 GB of 85.9 GB, too much") != std::string::npos);
    // a slice that decodes one token per long prompt keeps more slices busy than are simulated
    ServeRequest many = llama({"h100-sxm:8"});
    many.disaggregated = true;
    many.prompt = "100k";
    many.output = "1";
    many.batch = "8000";
    const auto wanted = json_of(many)["disaggregated"];
    CHECK(wanted["prefill_per_decode"] > 1000);
    CHECK(wanted["prefill_workers"] == 1000);
    request.prefill = {};
    for (std::string ServeRequest::* count : {&ServeRequest::prefill_workers, &ServeRequest::decode_workers}) {
        ServeRequest wrong = request;
        wrong.*count = "2";
        CHECK(handle(wrong, Format::text).error().code == "bad_request");
        wrong.disaggregated = true;
        CHECK(handle(wrong, Format::text));
        for (const char* bad : {"0", "-1", "1001", "many"}) {
            wrong.*count = bad;
            CHECK_FALSE(handle(wrong, Format::text));
        }
    }
    request.disaggregated = true;
    request.prefill_mesh = {"tensor=4"};
    CHECK(handle(request, Format::text).error().message.starts_with("--prefill-mesh: "));
}

TEST_CASE("popular experts and replicas of them: memory, reads and the busiest chip, but not the lower bound") {
    ServeRequest request = llama({"h200:8"});
    request.config = {"deepseek-v3", ""};
    request.mesh = {"tensor=8", "expert=8"};
    request.batch = "64";
    const auto uniform = json_of(request);
    CHECK(uniform["experts"]["routing"] == "uniform");
    CHECK(uniform["experts"]["redundant"].is_null());
    CHECK(uniform["experts"]["per_chip"] == 32);
    request.routing = "zipf:1";
    const auto popular = json_of(request);
    CHECK(popular["experts"]["read"] < uniform["experts"]["read"]);
    CHECK(popular["experts"]["imbalance"] > 1.5);
    CHECK(popular["decode"]["dims"]["Eread"] == 145);
    CHECK(popular["tpot_s"] < uniform["tpot_s"]);
    CHECK(popular["tpot_lower_s"] == uniform["tpot_lower_s"]);
    CHECK(popular["under_load"]["balancedness"] < uniform["under_load"]["balancedness"]);
    CHECK(popular["memory_bytes_per_chip"] == uniform["memory_bytes_per_chip"]);
    request.redundant_experts = "32";
    const auto replicated = json_of(request);
    CHECK(replicated["experts"]["per_chip"] == 36);
    CHECK(replicated["under_load"]["balancedness"] > popular["under_load"]["balancedness"]);
    CHECK(replicated["tpot_lower_s"] == uniform["tpot_lower_s"]);
    // 4 experts more in 58 layers: 3 matrices of 7168 x 2048 in a byte per value, and a scale of 4 bytes per 128 x 128
    const double more = 4.0 * 58 * 3 * 7168 * 2048 * (1 + 4.0 / (128 * 128));
    CHECK(replicated["memory_bytes_per_chip"]["weights"].get<double>() -
              uniform["memory_bytes_per_chip"]["weights"].get<double>() ==
          approx(more));
    CHECK(replicated["memory_bytes"]["weights"] == uniform["memory_bytes"]["weights"]);
    CHECK(replicated["max_batch"] < uniform["max_batch"]);
    request.balancedness = "0.5";
    CHECK(json_of(request)["under_load"]["balancedness"] == 0.5);
    request.redundant_experts = "30";
    CHECK(handle(request, Format::text).error().code == "bad_redundant_experts");
    request.config = {"llama-3.1-8b", ""};
    CHECK_FALSE(handle(request, Format::text));
}

TEST_CASE("the lower bound is that of any routing, and does not depend on the one that is given") {
    for (const char* const mesh : {"expert=8", "tensor=8,expert=8"}) {
        ServeRequest request = llama({"h200:8"});
        request.config = {"deepseek-v3", ""};
        request.mesh = {mesh};
        request.batch = "4096";
        const auto without = json_of(request);
        request.routing = "zipf:10";
        const auto popular = json_of(request);
        request.redundant_experts = "8";
        const auto replicated = json_of(request);
        for (const auto& with : {popular, replicated}) {
            for (const char* const pass : {"prefill", "decode"}) {
                for (const char* const key : {"lower_s", "bound_by", "time_s"}) {
                    CHECK_MESSAGE(with[pass][key] == without[pass][key], mesh, " ", pass, " ", key);
                }
                CHECK_MESSAGE(with[pass]["lower_s"] <= with[pass]["uniform_lower_s"], mesh, " ", pass);
            }
            CHECK(with["tpot_lower_s"] == without["tpot_lower_s"]);
            CHECK(with["tpot_s"] != without["tpot_s"]);
        }
    }
}

TEST_CASE("a note of routing begins with the option that was given") {
    ServeRequest request = llama({"h200:8"});
    request.config = {"mixtral-8x7b", ""};
    request.mesh = {"tensor=8", "expert=8"};
    CHECK(answered(request, Format::text).out.find("experts of each layer lie on each chip") == std::string::npos);
    request.redundant_experts = "8";
    const std::string replicas = answered(request, Format::text).out;
    CHECK(replicas.find("--redundant-experts 8: 2 experts of each layer lie on each chip") != std::string::npos);
    CHECK(replicas.find("--routing") == std::string::npos);
    request.routing = "zipf:1";
    CHECK(answered(request, Format::text).out.find("--routing zipf:1, --redundant-experts 8: ") != std::string::npos);
}

TEST_CASE("experts that are unevenly loaded slow a server down, and nothing else") {
    ServeRequest request = llama({"h100-sxm:8"});
    request.config = {"mixtral-8x7b", ""};
    request.mesh = {"tensor=8", "expert=8"};
    const auto chance = json_of(request);
    request.balancedness = "0.5";
    const auto uneven = json_of(request);
    CHECK(chance["under_load"]["balancedness"] < 1);
    CHECK(chance["under_load"]["balancedness"] > 0.5);
    CHECK(uneven["under_load"]["balancedness"] == 0.5);
    CHECK(uneven["under_load"]["tpot_s"] > chance["under_load"]["tpot_s"]);
    CHECK(uneven["decode"] == chance["decode"]);
    request.mesh = {"tensor=8"};
    CHECK(json_of(request)["under_load"]["balancedness"].is_null());
    request.config = {"llama-3.1-8b", ""};
    CHECK(handle(request, Format::text).error().message == "llama-3.1-8b has no experts that could be unbalanced");
}

TEST_CASE("kernels of expert exchanges are the server's, or those that are asked for") {
    ServeRequest request = llama({"h200-sxm:8"});
    request.config = {"qwen3-30b-a3b", ""};
    request.mesh = {"expert=8"};
    request.batch = "256";
    request.software = "sglang";
    const auto sglang = json_of(request);
    CHECK(sglang["prefill"]["exchange"]["kernels"] == "deepep normal");
    CHECK(sglang["decode"]["exchange"]["kernels"] == "deepep low latency");
    CHECK(sglang["decode"]["exchange"]["measured"]["machine"] == "h200-sxm");
    CHECK(sglang["decode"]["exchange"]["measured"]["chips"] == 8);
    request.exchange = "all-gather";
    const auto gathered = json_of(request);
    CHECK(gathered["decode"]["exchange"]["moves"] == "all-gather");
    CHECK(gathered["decode"]["exchange"]["measured"].is_null());
    CHECK(gathered["decode"]["lower_s"] == sglang["decode"]["lower_s"]);
    CHECK(gathered["decode"]["expected_s"] != sglang["decode"]["expected_s"]);
    CHECK(gathered["under_load"]["tpot_s"] != sglang["under_load"]["tpot_s"]);
    CHECK(answered(request, Format::text).out.find("by all-gather, as --exchange says") != std::string::npos);
    request.exchange = "";
    request.software = "vllm";
    CHECK(json_of(request)["decode"]["exchange"]["kernels"] == "all-gather");
    request.mesh = {"tensor=8", "expert=8"};
    CHECK(json_of(request)["decode"]["exchange"].is_null());
}

TEST_CASE("kernels of expert exchanges that change nothing are refused") {
    ServeRequest request = llama({"h200-sxm:8"});
    request.config = {"qwen3-30b-a3b", ""};
    request.mesh = {"expert=8"};
    request.exchange = "deep-ep normal";
    CHECK(handle(request, Format::text).error().hint == "did you mean `deepep normal`?");
    request.exchange = "deepep";
    CHECK(handle(request, Format::text));
    request.mesh = {"tensor=8", "expert=8"};
    CHECK(handle(request, Format::text).error().message.starts_with("no tokens are exchanged with experts: "));
    request.mesh = {"expert=16"};
    request.machines = {{"gaudi3:8x2", {}}};
    CHECK(handle(request, Format::text).error().code == "not_calibrated");
    request.machines = {{"h200-sxm:8", {}}};
    request.mesh = {"tensor=8"};
    request.config = {"llama-3.1-8b", ""};
    CHECK(handle(request, Format::text).error().message == "llama-3.1-8b has no experts to exchange tokens with");
}

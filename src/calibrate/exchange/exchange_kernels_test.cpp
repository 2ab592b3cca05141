#include "calibrate/exchange/exchange_kernels.hpp"

#include <doctest/doctest.h>

#include "machine/catalogue.hpp"
#include "machine/embedded.hpp"

using namespace roofline::core;

namespace {

Slice slice_of(const char* machine, const char* shape) {
    auto found = find_machine(machine);
    REQUIRE(found);
    auto slice = make_slice(*found, shape);
    REQUIRE(slice);
    return std::move(*slice);
}

/// The kernels of prefill and of decode: "all-gather, all-gather".
std::string defaults_of(const char* server, const char* machine, const char* shape) {
    const ExchangeChoice choice = built_in_exchanges().of_server(server, slice_of(machine, shape));
    CHECK_FALSE(choice.asked);
    if (choice.prefill == nullptr || choice.decode == nullptr) return "";
    return choice.prefill->name + ", " + choice.decode->name;
}

std::string error_of(std::string_view toml) {
    const auto read = parse_exchanges(toml, "exchanges.toml");
    return read ? "" : read.error().message;
}

constexpr std::string_view one = "[[kernel]]\nname = \"one\"\nmoves = \"all-to-all\"\nsource = \"s\"\n";

}  // namespace

TEST_CASE("the built-in table of exchanges can be read, and says where each entry comes from") {
    const auto read = parse_exchanges(embedded_exchanges(), "exchanges.toml");
    REQUIRE_MESSAGE(read, read.error().message);
    CHECK(read->kernels == built_in_exchanges().kernels);
    for (const ExchangeKernels& each : read->kernels) CHECK_FALSE(each.source.empty());
    for (const ServerExchange& each : read->servers) CHECK_FALSE(each.source.empty());
}

TEST_CASE("servers use their own kernels, in TensorRT-LLM those of NVLink only where all chips share it") {
    CHECK(defaults_of("sglang", "h200-sxm", "8") == "deepep normal, deepep low latency");
    CHECK(defaults_of("sglang 0.5", "gb200", "32") == "deepep normal, deepep low latency");
    CHECK(defaults_of("vllm", "h200-sxm", "8") == "all-gather, all-gather");
    CHECK(defaults_of("trtllm 1.2", "h200-sxm", "8") == "nvlink one-sided, nvlink one-sided");
    CHECK(defaults_of("trtllm", "gb200", "32") == "nvlink one-sided, nvlink one-sided");
    CHECK(defaults_of("trtllm", "h200-sxm", "8x2") == "all-gather, all-gather");
    CHECK(defaults_of("trtllm", "tpu-v5e", "4x4") == "all-gather, all-gather");
    CHECK(defaults_of("nccl 2.29", "h200-sxm", "8").empty());
    CHECK(defaults_of("", "h200-sxm", "8").empty());
}

TEST_CASE("kernels are asked for by name") {
    const KnownExchanges& all = built_in_exchanges();
    const auto deepep = all.named("DeepEP ");
    REQUIRE(deepep);
    CHECK(deepep->asked);
    CHECK(deepep->prefill->name == "deepep normal");
    CHECK(deepep->decode->name == "deepep low latency");
    const auto gather = all.named("all-gather");
    REQUIRE(gather);
    CHECK(gather->prefill == gather->decode);
    CHECK(gather->decode->form == ExchangeForm::all_gather);
    CHECK(name(gather->decode->form) == "all-gather");
    const auto slip = all.named("depep normal");
    REQUIRE_FALSE(slip);
    CHECK(slip.error().code == "unknown_exchange");
    CHECK(slip.error().hint == "did you mean `deepep normal`?");
    CHECK(all.named("smoke signals").error().hint.find("nvlink one-sided") != std::string::npos);
}

TEST_CASE("tables of exchanges are read strictly") {
    const std::string kernel(one);
    CHECK(error_of(kernel).empty());
    CHECK(error_of(kernel + kernel).find("`one` stands there twice") != std::string::npos);
    CHECK(error_of(kernel + "decode = \"two\"\n").find("`two` is no kernel") != std::string::npos);
    CHECK(error_of(kernel + "decode = \"one\"\n").find("`one` is no kernel") != std::string::npos);
    CHECK(error_of(kernel + "colour = \"red\"\n").find("colour") != std::string::npos);
    CHECK(error_of("[[kernel]]\nname = \"one\"\nmoves = \"all-to-all\"\n").find("source") != std::string::npos);
    CHECK(error_of("[[kernel]]\nname = \"one\"\nmoves = \"sideways\"\nsource = \"s\"\n").find("moves") !=
          std::string::npos);
    const std::string server = kernel + "[[server]]\nsoftware = \"s\"\nsource = \"s\"\n";
    CHECK(error_of(server).find("exchange") != std::string::npos);
    CHECK(error_of(server + "exchange = \"two\"\n").find("`two` is no kernel") != std::string::npos);
    CHECK(error_of(server + "exchange = \"one\"\n").empty());
}

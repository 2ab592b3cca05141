// Tests of the public interface: its answers equal those of the program, and its messages use its own terms.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "api/words.hpp"
#include "app/request.hpp"
#include "base/approx_test.hpp"
#include "roofline/roofline.hpp"

namespace {

using namespace roofline;

constexpr const char* chip_text = R"(
id = "my-chip"
name = "My chip"
[[matmul]]
dtype = "bf16"
value = "250 TFLOP/s"
source = "data sheet"
[[vector]]
dtype = "f32"
value = "4 TFLOP/s"
source = "data sheet"
[[memory]]
level = "hbm"
capacity = { value = "32 GiB", source = "data sheet" }
bandwidth = { value = "1.2 TB/s", source = "data sheet" }
)";

constexpr const char* matmul_text = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
constexpr const char* sharded_text = "bf16[B, D] * bf16[D, F_X] -> bf16[B, F]";

Machine chip() { return Machine::from_toml(chip_text, "my-chip.toml").value(); }

Program sized(const char* text, const Sizes& sizes) { return Program::parse(text).value().with_sizes(sizes).value(); }

Program matmul(std::int64_t batch) { return sized(matmul_text, {{"B", batch}, {"D", 4096}, {"F", 4096}}); }

std::string program_says(core::Request request) {
    request.format = core::Format::json;
    const core::Response response = core::handle(request);
    CHECK(response.out.find("\"error\":{") == std::string::npos);
    return response.out;
}

core::OpRequest op_request(const char* text, const char* machine, const char* dims) {
    core::OpRequest request;
    request.program = text;
    request.machines = {{machine, std::nullopt}};
    request.dims = {dims};
    return request;
}

// Checks that a text names neither an option nor a command.
void check_words(const std::string& text) {
    CAPTURE(text);
    CHECK(text.find("--") == std::string::npos);
    CHECK(text.find("`roofline ") == std::string::npos);
    CHECK(text.find("command line") == std::string::npos);
}

void check_words(const Error& error) {
    CHECK_FALSE(error.code.empty());
    check_words(error.message);
    check_words(error.hint);
}

}  // namespace

TEST_CASE("a product of matrices has the times that its FLOPs and bytes make") {
    const Prediction prediction = predict(matmul(64), chip()).value();
    const double flops = 2.0 * 64 * 4096 * 4096;
    const double bytes = 2.0 * (64 * 4096 + 4096 * 4096 + 64 * 4096);
    const double math_s = flops / 250e12;
    const double hbm_s = bytes / 1.2e12;
    CHECK(prediction.flops->value == flops);
    CHECK(prediction.bytes->value == bytes);
    CHECK(prediction.intensity->value == core::approx(flops / bytes));
    CHECK(prediction.lower->value == core::approx(hbm_s));
    CHECK(prediction.sequential->value == core::approx(hbm_s));
    CHECK(prediction.no_overlap->value == core::approx(math_s + hbm_s));
    CHECK(prediction.bound_by == "hbm");
    REQUIRE(prediction.resources.size() == 2);
    CHECK(prediction.resources[0].id == "math");
    CHECK(prediction.resources[0].time.value == core::approx(math_s));
    REQUIRE(prediction.statements.size() == 1);
    CHECK(prediction.statements[0].lower->value == core::approx(hbm_s));
    REQUIRE(prediction.traffic.size() == 1);
    CHECK(prediction.traffic[0].written.value == 2.0 * 64 * 4096);
    CHECK(prediction.collectives.empty());
}

TEST_CASE("without sizes there are formulas in the JSON, and no times") {
    const Prediction prediction = predict(Program::parse(matmul_text).value(), chip()).value();
    CHECK_FALSE(prediction.flops);
    CHECK_FALSE(prediction.bytes);
    CHECK_FALSE(prediction.lower);
    CHECK_FALSE(prediction.expected);
    CHECK(prediction.to_json().find("2*B*D*F") != std::string::npos);
}

TEST_CASE("two statements: each has its own times, and they follow each other") {
    const Program program = sized("H : bf16[B, F] = bf16[B, D] * bf16[D, F]\nO : bf16[B, D] = H * bf16[F, D]\n",
                                  {{"B", 64}, {"D", 4096}, {"F", 4096}});
    const Prediction prediction = predict(program, chip()).value();
    REQUIRE(prediction.statements.size() == 2);
    const Seconds both = *prediction.statements[0].lower + *prediction.statements[1].lower;
    CHECK(prediction.sequential->value == core::approx(both.value));
    CHECK(prediction.statements[0].flops->value == 2.0 * 64 * 4096 * 4096);
}

TEST_CASE("a changed figure changes a machine's copy, with its unit") {
    const Machine machine = chip();
    CHECK(machine.with("hbm.bandwidth", Bandwidth{2.4e12})->bandwidth()->value == 2.4e12);
    CHECK(machine.with("hbm.bandwidth", "*2")->bandwidth()->value == 2.4e12);
    CHECK(machine.with("matmul.bf16", FlopRate{1e15})->matmul_rate(Dtype::bf16)->value == 1e15);
    CHECK(machine.with("hbm.capacity", Bytes{1e9})->capacity()->value == 1e9);
    CHECK(machine.with("price", Price{2.0 / 3600})->price()->value == core::approx(2.0 / 3600));
    CHECK(machine.bandwidth()->value == 1.2e12);
    CHECK_FALSE(machine.bandwidth("vmem"));
    CHECK_FALSE(machine.matmul_rate(Dtype::fp8));
    const auto wrong = machine.with("hbm.bandwidth", FlopRate{1e12});
    REQUIRE_FALSE(wrong);
    check_words(wrong.error());
}

TEST_CASE("JSON of a prediction is what the program prints") {
    const Machine h100 = Machine::find("h100-sxm").value();
    SUBCASE("one chip") {
        const auto request = op_request(matmul_text, "h100-sxm", "B=64,D=4096,F=4096");
        CHECK((predict(matmul(64), h100)->to_json() == program_says({request})));
    }
    SUBCASE("without constants, exact FLOPs, a tile, a what-if") {
        auto request = op_request(matmul_text, "h100-sxm", "B=64,D=4096,F=4096");
        request.calibration.none = true;
        request.exact_flops = true;
        request.tiles = {"best"};
        request.sets = {"hbm.bandwidth=3TB/s"};
        PredictOptions options;
        options.calibrated = false;
        options.exact_flops = true;
        options.tiles = {Tile{}};
        const Machine changed = h100.with("hbm.bandwidth", "3TB/s").value();
        CHECK((predict(matmul(64), changed, options)->to_json() == program_says({request})));
    }
    SUBCASE("a machine file") {
        auto request = op_request(matmul_text, "my-chip.toml", "B=64,D=4096,F=4096");
        request.machines = {{"my-chip.toml", chip_text}};
        CHECK((predict(matmul(64), chip())->to_json() == program_says({request})));
    }
    SUBCASE("a slice with a mesh, by hand and in full") {
        const System system = System::slice(h100, "8").value().with_mesh({{"X", 8}}).value();
        const Program program = sized(sharded_text, {{"B", 4096}, {"D", 8192}, {"F", 8192}});
        for (const bool textbook : {false, true}) {
            auto request = op_request(sharded_text, "h100-sxm:8", "B=4096,D=8192,F=8192");
            request.mesh = {"X=8"};
            request.textbook = textbook;
            PredictOptions options;
            options.textbook = textbook;
            const Prediction prediction = predict(program, system, options).value();
            CHECK((prediction.to_json() == program_says({request})));
            CHECK(prediction.collectives.size() == 1);
        }
    }
    SUBCASE("training") {
        core::TrainRequest request;
        request.config = {"llama-3.1-8b", ""};
        request.machines = {{"h100-sxm:8x2", std::nullopt}};
        request.batch_tokens = "512Ki";
        request.sequence = "8Ki";
        request.mesh = {"data=2,fsdp=4,pipeline=2"};
        request.zero = "1";
        request.microbatches = "4";
        request.schedule = "interleaved:4";
        request.remat = "selective";
        request.optimizer = "adam,moments=bf16,master";
        request.products = "fp8";
        request.overlap = "fsdp";
        request.tokens = "15T";
        TrainingOptions options;
        options.batch_tokens = 1 << 19;
        options.microbatches = 4;
        options.plan = TrainingPlan{.data = 2, .fsdp = 4, .pipeline = 2, .zero = 1};
        options.schedule = PipelineSchedule{PipelineSchedule::Kind::interleaved, 4};
        options.recomputation = Recomputation::selective;
        options.optimizer.moments = Dtype::bf16;
        options.optimizer.master = true;
        options.matmul_dtype = Dtype::fp8;
        options.overlapped = {PlanAxis::fsdp};
        options.total_tokens = 15'000'000'000'000;
        const Model model = Model::find("llama-3.1-8b")->with_sequence(8192).value();
        const auto training = predict_training(model, System::slice(h100, "8x2").value(), options);
        REQUIRE(training);
        CHECK((training->to_json() == program_says({request})));
        CHECK(training->step->lower <= training->step->no_overlap);
        CHECK(training->cost->usd.has_value() == h100.price().has_value());
        CHECK_FALSE(training->goodput);
        request.storage = "1TB/s";
        request.failures = "8.64";
        request.restart = "5min";
        request.async_checkpoints = true;
        options.recovery = Recovery{Bandwidth{1e12}, Frequency{1e-7}, Seconds{300}, false};
        const auto interrupted = predict_training(model, System::slice(h100, "8x2").value(), options);
        REQUIRE(interrupted);
        CHECK((interrupted->to_json() == program_says({request})));
        CHECK(interrupted->goodput->time > interrupted->cost->time);
        request.lora = "16";
        request.lora_on = "q+k,o";
        request.frozen_dtype = "fp8";
        options.lora = Lora{16, {"q+k", "o"}, Dtype::fp8};
        const auto adapted = predict_training(model, System::slice(h100, "8x2").value(), options);
        REQUIRE(adapted);
        CHECK((adapted->to_json() == program_says({request})));
        CHECK(adapted->trained_parameters == 32 * 16 * ((4096 + 4096 + 1024) + (4096 + 4096)));
        CHECK(training->trained_parameters == model.parameters());
        CHECK(adapted->goodput->checkpoint < interrupted->goodput->checkpoint);
        options.lora->on = {"query"};
        CHECK_FALSE(predict_training(model, System::slice(h100, "8x2").value(), options));
        options.lora.reset();
        options.recovery->storage = Bandwidth{0};
        CHECK_FALSE(predict_training(model, System::slice(h100, "8x2").value(), options));
        options.recovery = Recovery{Bandwidth{1e12}};
        options.total_tokens.reset();
        CHECK_FALSE(predict_training(model, System::slice(h100, "8x2").value(), options));
    }
    SUBCASE("a search for plans") {
        core::PlanRequest request;
        request.train.config = {"llama-3.1-8b", ""};
        request.train.machines = {{"h100-sxm:4", std::nullopt}, {"h100-sxm:8", std::nullopt}};
        request.train.batch_tokens = "32Ki,64Ki";
        request.train.sequence = "4096";
        request.train.mesh = {"data=1"};
        request.train.microbatches = "1";
        request.train.remat = "full";
        request.train.tokens = "1G";
        request.without = {"sequence,context,pipeline"};
        request.front = "time,memory";
        request.objective = "cost";
        request.usd = "1M";
        PlanSearch search;
        search.job.total_tokens = 1'000'000'000;
        search.batch_tokens = {1 << 15, 1 << 16};
        search.fixed = {{PlanAxis::data, 1}};
        search.without = {PlanAxis::sequence, PlanAxis::context, PlanAxis::pipeline};
        search.microbatches = 1;
        search.recomputation = Recomputation::full;
        search.matmul_dtypes = {std::nullopt, Dtype::fp8};
        search.optimizers = {Optimizer{}, Optimizer{Optimizer::Kind::adam, Dtype::bf16}};
        request.train.products = "bf16,fp8";
        request.train.optimizer = "adam,adam,moments=bf16";
        search.objective = PlanObjective::cost;
        search.front = {PlanObjective::time, PlanObjective::memory};
        search.limits.cost = Usd{1e6};
        const Model model = Model::find("llama-3.1-8b")->with_sequence(4096).value();
        const std::vector<System> systems{System::slice(h100, "4").value(), System::slice(h100, "8").value()};
        const auto found = search_plans(model, systems, search);
        REQUIRE(found);
        auto said = nlohmann::json::parse(program_says({request}));
        CHECK(said["command"].is_string());
        said["command"] = nullptr;
        CHECK(nlohmann::json::parse(found->to_json()) == said);
        REQUIRE(found->best);
        const FoundPlan& best = found->plans[*found->best];
        for (const FoundPlan& each : found->plans) CHECK(*each.cost >= *best.cost);
        CHECK(best.prediction.cost->usd->value == best.cost->value);
        CHECK(found->front.front().system == 1);
        // the plan that was found takes as long when it is asked for alone
        TrainingOptions alone = search.job;
        alone.batch_tokens = best.batch_tokens;
        alone.plan = best.plan;
        alone.recomputation = best.recomputation;
        alone.matmul_dtype = best.matmul_dtype;
        alone.optimizer = best.optimizer;
        CHECK(best.matmul_dtype == Dtype::fp8);
        const auto one = predict_training(model, systems[best.system], alone);
        REQUIRE(one);
        CHECK(one->step_time->value == best.prediction.step_time->value);
        search.limits.cost = Usd{1};
        const auto beyond = search_plans(model, systems, search);
        REQUIRE(beyond);
        CHECK_FALSE(beyond->best);
        CHECK(beyond->nearest);
        CHECK(beyond->counts.beyond_limits > 0);
        search.job.batch_tokens = 1 << 15;
        CHECK(search_plans(model, systems, search).error().code == "bad_request");
        search.job.batch_tokens.reset();
        search.job.total_tokens.reset();
        const auto no_tokens = search_plans(model, systems, search);
        REQUIRE_FALSE(no_tokens);
        CHECK(no_tokens.error().message == "PlanLimits::cost limits a whole run, whose tokens are not given");
        CHECK(no_tokens.error().hint == "set TrainingOptions::total_tokens");
        CHECK_FALSE(search_plans(model, {}, search));
    }
    SUBCASE("serving") {
        core::ServeRequest request;
        request.config = {"llama-3.1-8b", ""};
        request.machines = {{"h100-sxm5:2", std::nullopt}};
        request.prompt = "2Ki";
        request.output = "256";
        request.batch = "32";
        request.mesh = {"tensor=2"};
        request.kv_dtype = "fp8";
        ServingSetup setup;
        setup.prompt = 2048;
        setup.output = 256;
        setup.batch = 32;
        setup.plan = ServingPlan{.tensor = 2};
        setup.kv_cache = Dtype::fp8;
        const Model model = Model::find("llama-3.1-8b").value();
        const auto served = predict_serving(model, System::slice(h100, "2").value(), setup);
        REQUIRE(served);
        CHECK((served->to_json() == program_says({request})));
        CHECK(served->decode.lower <= served->time_per_token);
        CHECK_FALSE(served->speculation);
        core::ServeRequest paged = request;
        paged.software = "sglang";
        paged.memory_fraction = "0.75";
        paged.block = "64";
        ServingSetup paging = setup;
        paging.software = "sglang";
        paging.memory_fraction = 0.75;
        paging.cache_block = 64;
        const auto roomed = predict_serving(model, System::slice(h100, "2").value(), paging);
        REQUIRE(roomed);
        CHECK((roomed->to_json() == program_says({paged})));
        REQUIRE(roomed->server_room);
        CHECK(roomed->server_room->memory_fraction == 0.75);
        CHECK(roomed->server_room->fraction_of == "static");
        CHECK(roomed->server_room->tokens % 64 == 0);
        for (const double fraction : {0.0, 1.5}) {
            paging.memory_fraction = fraction;
            CHECK(predict_serving(model, System::slice(h100, "2").value(), paging).error().code == "bad_request");
        }
        paging.memory_fraction.reset();
        paging.cache_block = -1;
        CHECK(predict_serving(model, System::slice(h100, "2").value(), paging).error().code == "size");
        request.draft = "2";
        request.acceptance = "0.5";
        request.draft_model = core::NamedText{"llama-3.2-1b", ""};
        setup.speculation = Speculation{2, 0.5, Model::find("llama-3.2-1b").value()};
        const auto drafted = predict_serving(model, System::slice(h100, "2").value(), setup);
        REQUIRE(drafted);
        CHECK((drafted->to_json() == program_says({request})));
        REQUIRE(drafted->speculation);
        const SpeculationGain& gain = *drafted->speculation;
        CHECK(gain.tokens_per_step == 1.75);
        CHECK(gain.time_per_token_without == served->time_per_token);
        CHECK((gain.verification.value + gain.drafts.value) / 1.75 == core::approx(drafted->time_per_token.value));
        CHECK(gain.gain * drafted->time_per_token.value == core::approx(served->time_per_token.value));
    }
    SUBCASE("a load on pools of prefill and decode") {
        core::ServeRequest request;
        request.config = {"mixtral-8x7b", ""};
        request.machines = {{"h100-sxm5:8", std::nullopt}};
        request.prompt = "2Ki";
        request.output = "256";
        request.batch = "32";
        request.mesh = {"tensor=8", "expert=8"};
        request.prefill = core::MachineRef{"h100-sxm5:4", std::nullopt};
        request.prefill_mesh = {"tensor=4"};
        request.prefill_workers = "2";
        request.decode_workers = "3";
        request.overlap_transfer = true;
        request.rate = "6";
        request.requests = "500";
        request.cached = "0.5";
        request.ttft = "1s";
        request.tpot = "50ms";
        request.balancedness = "0.8";
        request.routing = "zipf:0.5";
        request.two_batch_overlap = true;
        ServingSetup setup;
        setup.prompt = 2048;
        setup.output = 256;
        setup.batch = 32;
        setup.plan = ServingPlan{.tensor = 8, .experts_over_tensor = true};
        setup.prefill = PrefillPool{System::slice(h100, "4").value(), ServingPlan{.tensor = 4}, 2, 3, true};
        ServingLoadSetup load;
        load.rate = Frequency{6};
        load.requests = 500;
        load.cached = 0.5;
        load.ttft = Seconds{1};
        load.tpot = Seconds{0.05};
        setup.load = load;
        setup.balancedness = 0.8;
        setup.routing.zipf = 0.5;
        setup.two_batch_overlap = true;
        const Model model = Model::find("mixtral-8x7b").value();
        const System slice = System::slice(h100, "8").value();
        const auto served = predict_serving(model, slice, setup);
        REQUIRE_MESSAGE(served, served.error().message);
        CHECK((served->to_json() == program_says({request})));
        REQUIRE(served->simulated);
        const SimulatedServing& simulated = *served->simulated;
        CHECK(simulated.requests == 500);
        CHECK(simulated.time_per_token.p50 <= simulated.time_per_token.p99);
        CHECK(simulated.goodput.value().value <= simulated.requests_per_second.value);
        CHECK(simulated.largest.value() <= simulated.saturation.value);
        REQUIRE(served->prefill_pool);
        CHECK(served->prefill_pool->plan.tensor == 4);
        // keys and values of 8 heads of 128 in 32 layers, 2 bytes each
        CHECK(served->prefill_pool->transferred.value().value == 2048.0 * 2 * 32 * 8 * 128 * 2);
        for (const std::string& note : served->notes) CHECK(note.find("--") == std::string::npos);
        // mistakes
        const auto code = [&](auto change) {
            ServingSetup wrong = setup;
            change(wrong);
            const auto answer = predict_serving(model, slice, wrong);
            return answer ? std::string() : answer.error().code;
        };
        CHECK(code([](ServingSetup& s) { s.load->rate = Frequency{1e6}; }) == "overload");
        CHECK(code([](ServingSetup& s) { s.load->rate = Frequency{-1}; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.load->concurrency = 0; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.load->requests = 1'000'001; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.load->cached = 1.5; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.load->lengths = {{0, 1}}; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.load->ttft = Seconds{0}; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.prefill->workers = 1001; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.prefill->decode_workers = 0; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.balancedness = -1; }) == "bad_request");
        CHECK(code([](ServingSetup& s) { s.routing.zipf = -1; }) == "bad_routing");
        CHECK(code([](ServingSetup& s) { s.routing.measured = {1, 2}; }) == "bad_routing");
        CHECK(code([](ServingSetup& s) { s.redundant_experts = 3; }) == "bad_redundant_experts");
        CHECK(code([](ServingSetup& s) { s.calibrated = false; }) == "not_calibrated");
        CHECK_FALSE(code([](ServingSetup& s) { s.prefill->plan = ServingPlan{.tensor = 3}; }).empty());
    }
    SUBCASE("kernels of expert exchanges") {
        core::ServeRequest request;
        request.config = {"mixtral-8x7b", ""};
        request.machines = {{"h100-sxm5:8", std::nullopt}};
        request.prompt = "2Ki";
        request.output = "256";
        request.batch = "64";
        request.mesh = {"expert=8"};
        request.exchange = "deepep";
        ServingSetup setup;
        setup.prompt = 2048;
        setup.output = 256;
        setup.batch = 64;
        setup.plan = ServingPlan{.expert = 8};
        setup.exchange = "deepep";
        const auto served =
            predict_serving(Model::find("mixtral-8x7b").value(), System::slice(h100, "8").value(), setup);
        REQUIRE_MESSAGE(served, served.error().message);
        CHECK((served->to_json() == program_says({request})));
        for (const std::string& note : served->notes) CHECK(note.find("--") == std::string::npos);
        setup.plan = ServingPlan{.tensor = 8};
        const auto none = predict_serving(Model::find("mixtral-8x7b").value(), System::slice(h100, "8").value(), setup);
        REQUIRE_FALSE(none);
        CHECK(none.error().code == "bad_request");
        CHECK(none.error().hint.find("--") == std::string::npos);
    }
}

TEST_CASE("a model's figures are those of its configuration") {
    // Llama 3.1 8B: 128256 x 4096 twice, 32 layers of 4096 x (4096 + 2 x 1024 + 4096) and 3 x 4096 x 14336, and norms.
    const Model model = Model::find("llama-3.1-8b").value();
    const std::int64_t layer = 4096LL * (4096 + 2 * 1024 + 4096) + 3LL * 4096 * 14336 + 2 * 4096;
    const std::int64_t parameters = 2LL * 128256 * 4096 + 32 * layer + 4096;
    CHECK(model.parameters() == parameters);
    CHECK(model.active_parameters() == parameters);
    CHECK(model.weight_bytes()->value == 2.0 * static_cast<double>(parameters));
    CHECK(model.weight_bytes(Dtype::int8)->value == static_cast<double>(parameters));
    // Keys and values of 8 heads of size 128 in 32 layers.
    CHECK(model.kv_bytes_per_token().value == 2.0 * 2 * 32 * 8 * 128);
    CHECK(model.with_sequence(100)->kv_bytes(Dtype::fp8).value == 100.0 * 2 * 32 * 8 * 128);
    CHECK(model.layers() == 32);
    CHECK(model.program().dimensions().size() > 4);
}

TEST_CASE("what goes wrong is said in terms of the library") {
    const Machine h100 = Machine::find("h100-sxm").value();
    const Machine machine = chip();
    const Model model = Model::find("llama-3.1-8b").value();
    const Program sharded = sized(sharded_text, {{"B", 64}, {"D", 64}, {"F", 64}});
    std::vector<Error> errors;
    const auto add = [&](const auto& result) {
        REQUIRE_FALSE(result);
        errors.push_back(result.error());
    };
    add(Machine::find("h100-sxn"));
    add(Machine::find("zzz"));
    add(Machine::find(""));
    add(Machine::from_toml("id = 3", "x.toml"));
    add(machine.with("hbm.bandwith", "3TB/s"));
    add(machine.with_calibration("x = ", "c.toml"));
    add(System::slice(machine, "4x4"));
    add(System::slice(h100, "8x8x8x8"));
    add(System(machine).with_mesh({{"X", 4}}));
    add(System::slice(h100, "8")->with_mesh({{"X", 4}}));
    add(System::slice(h100, "4")->with_mesh({{"X", 2}, {"X", 2}}));
    add(Program::parse("bf16[B, D] * bf16[D"));
    add(Program::parse(matmul_text)->with_sizes({{"C", 4}}));
    add(Program::parse(matmul_text)->with_sizes({{"B", 0}}));
    add(Program::parse(matmul_text)->with_expert_groups(4, 8));
    add(predict(sharded, machine));
    add(predict(sized("f64[B, D] * f64[D, F] -> f64[B, F]", {}), machine));
    add(predict(sharded, System::slice(h100, "8")->with_mesh({{"Y", 8}}).value()));
    PredictOptions software;
    software.software = "nothing 1.0";
    add(predict(matmul(64), h100, software));
    PredictOptions tiles;
    tiles.tiles = {Tile{"smem", Sizes{{"B", 1 << 20}, {"F", 1 << 20}}}};
    add(predict(matmul(1 << 20), h100, tiles));
    add(Model::find("lama"));
    add(Model::find("zzz"));
    add(Model::from_config("{}"));
    add(Model::from_config(R"({"model_type": "nobody-knows"})"));
    add(model.with_sequence(0));
    add(model.with_sequence(1LL << 40));
    const System slice = System::slice(h100, "8").value();
    const auto train = [&](const auto& change) {
        TrainingOptions options;
        options.batch_tokens = 1 << 16;
        change(options);
        add(predict_training(model, slice, options));
    };
    train([](TrainingOptions& options) { options.batch_tokens.reset(); });
    train([](TrainingOptions& options) { options.batch_tokens = 5; });
    train([](TrainingOptions& options) { options.batch_tokens = 100'000; });
    train([](TrainingOptions& options) { options.microbatches = 3; });
    train([](TrainingOptions& options) { options.microbatches = 8; });
    train([](TrainingOptions& options) { options.plan = TrainingPlan{.data = 3}; });
    train([](TrainingOptions& options) { options.plan = TrainingPlan{.data = 0}; });
    train([](TrainingOptions& options) { options.plan = TrainingPlan{.fsdp = 8, .zero = 1}; });
    train([](TrainingOptions& options) { options.plan = TrainingPlan{.data = 8, .zero = 4}; });
    train([](TrainingOptions& options) { options.schedule = PipelineSchedule{}; });
    train([](TrainingOptions& options) { options.matmul_dtype = Dtype::f32; });
    train([](TrainingOptions& options) { options.dispatch_dtype = Dtype::fp8; });
    train([](TrainingOptions& options) { options.overlapped = {PlanAxis::tensor}; });
    train([](TrainingOptions& options) { options.recomputation = Recomputation::named; });
    train([](TrainingOptions& options) { options.kept_tensors = {"Q"}; });
    train([](TrainingOptions& options) {
        options.recomputation = Recomputation::named;
        options.kept_tensors = {"Nothing"};
    });
    train([](TrainingOptions& options) { options.assumed_mfu = 1.5; });
    train([](TrainingOptions& options) {
        options.optimizer.kind = Optimizer::Kind::sgd;
        options.optimizer.master = true;
    });
    add(predict_training(model, slice.with_mesh({{"X", 8}}).value(), TrainingOptions{.batch_tokens = 1 << 20}));
    add(predict_serving(model, slice, {.prompt = 0}));
    add(predict_serving(model, slice, {.speculation = Speculation{3, 1.5, {}}}));
    add(predict_serving(model, slice, {.prompt = 1 << 22}));
    add(predict_serving(model, slice, {.plan = ServingPlan{.tensor = 3}}));
    add(predict_serving(model, slice.with_mesh({{"X", 8}}).value(), {}));
    for (const Error& error : errors) check_words(error);
}

TEST_CASE("notes and errors use the terms of the library") {
    const Machine h100 = Machine::find("h100-sxm").value();
    const Program overruled = Program::parse("mesh X=4\nB = 8\nO : bf16[B, F] = bf16[B, D] * bf16[D, F_X]\n")
                                  .value()
                                  .with_sizes({{"B", 16}, {"D", 64}, {"F", 64}})
                                  .value();
    const System system = System::slice(h100, "8")->with_mesh({{"X", 8}}).value();
    PredictOptions options;
    options.textbook = true;
    const Prediction prediction = predict(overruled, system, options).value();
    CHECK(prediction.notes.size() >= 3);
    for (const std::string& note : prediction.notes) check_words(note);
    const Model model = Model::find("llama-3.1-8b").value();
    for (const std::string& note : model.notes()) check_words(note);
    const auto served = predict_serving(model, System::slice(h100, "8").value(), {}).value();
    for (const std::string& note : served.notes) check_words(note);
}

// Whoever adds a message that names an option must also add its translation for the library.
TEST_CASE("every option that a message of the core names has words in the library") {
    const std::filesystem::path source = std::filesystem::path(ROOFLINE_SOURCE_FOLDER) / "src";
    // Messages of these sources appear on the command line only: plots, measurements, files of other tools, designs,
    // searches for servers, plans as text.
    const std::vector<std::string> others{"app",
                                          "api",
                                          "measure",
                                          "report",
                                          "import",
                                          "predict/compare",
                                          "predict/design",
                                          "predict/serve_plan",
                                          "plan/plan.cpp",
                                          "notation/parse_plan"};
    const std::regex literal(R"re("((?:[^"\\\n]|\\.)*(?:\B--[a-z]|`roofline )(?:[^"\\\n]|\\.)*)")re");
    std::size_t found = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(source)) {
        const std::string path = std::filesystem::relative(file.path(), source).string();
        const bool other =
            std::any_of(others.begin(), others.end(), [&](const auto& each) { return path.starts_with(each); });
        if (other || !path.ends_with(".cpp") || path.ends_with("_test.cpp")) continue;
        std::ifstream stream(file.path());
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        for (auto match = std::sregex_iterator(text.begin(), text.end(), literal); match != std::sregex_iterator();
             ++match) {
            ++found;
            const std::string said = core::in_library_terms((*match)[1].str());
            CAPTURE(path);
            CAPTURE(said);
            // `hf download` has an option of its own, and calibrations are fitted by a command.
            const std::string own = std::regex_replace(said, std::regex("--local-dir|`roofline fit`"), "");
            CHECK(own.find("--") == std::string::npos);
            CHECK(own.find("`roofline ") == std::string::npos);
        }
    }
    CHECK(found > 20);
}

TEST_CASE("library words") {
    CHECK(core::in_library_terms(std::string("give it: --dims B=4096,D=8")) ==
          R"(give it: Program::with_sizes({{"B", 4096}, {"D", 8}}))");
    CHECK(core::in_library_terms(std::string("try --set hbm.bandwidth=10TB/s, or not")) ==
          R"(try Machine::with("hbm.bandwidth", "10TB/s"), or not)");
    CHECK(core::in_library_terms(std::string("name a slice: --on tpu-v5e:4x4 --mesh X=4,Y=4")) ==
          R"(name a slice: System::slice(machine, "4x4") and System::with_mesh({{"X", 4}, {"Y", 4}}))");
    CHECK(core::in_library_terms(std::string("--tile l2:M=1024,N=8.")) ==
          R"(Tile{"l2", Sizes{{"M", 1024}, {"N", 8}}}.)");
    CHECK(core::in_library_terms(std::string("nothing to say -- at all")) == "nothing to say -- at all");
}

// Speculative decoding: tokens of a step by hand, and steps beside passes that are asked for alone.
#include "predict/serve/speculation.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "import/model_config.hpp"
#include "machine/catalogue.hpp"
#include "model/draft_layer.hpp"
#include "model/presets.hpp"
#include "predict/serve/serve.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

Config named(const char* model) {
    auto config = preset_config(model);
    REQUIRE(config);
    return *config;
}

ServeQuestion question_of(const char* model, const char* chips, std::int64_t batch) {
    auto machine = find_machine("h100-sxm5");
    REQUIRE(machine);
    auto slice = make_slice(*machine, chips);
    REQUIRE(slice);
    ServeQuestion question;
    question.config = named(model);
    question.slice = *slice;
    question.batch = batch;
    Plan plan;
    plan.tensor = slice->chips();
    question.plan = plan;
    return question;
}

ServeQuestion drafting_question(const char* model, const char* chips, std::int64_t batch, std::int64_t tokens,
                                double acceptance, const char* drafter = nullptr) {
    ServeQuestion question = question_of(model, chips, batch);
    question.draft = DraftQuestion{tokens, acceptance};
    if (drafter != nullptr) question.draft->model = named(drafter);
    return question;
}

ServeAnswer uncalibrated(ServeQuestion question) {
    auto answer = predict_serving(std::move(question), std::make_shared<Calibrations>(std::vector<Calibration>{}));
    REQUIRE_MESSAGE(answer, answer.error().message);
    return std::move(*answer);
}

ServeAnswer calibrated_answer(ServeQuestion question) {
    auto answer = predict_serving(std::move(question), std::make_shared<Calibrations>(Calibrations::built_in()));
    REQUIRE_MESSAGE(answer, answer.error().message);
    return std::move(*answer);
}

std::string refusal(ServeQuestion question) {
    auto answer = predict_serving(std::move(question), std::make_shared<Calibrations>(std::vector<Calibration>{}));
    REQUIRE_FALSE(answer);
    return answer.error().message;
}

// Latent attention and experts, as in "latent attention keeps a latent and one rotary key" of the model's tests.
constexpr const char* tiny =
    R"({"model_type": "deepseek_v3", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 10, "max_position_embeddings": 64,
        "kv_lora_rank": 6, "q_lora_rank": 5, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2, "v_head_dim": 4,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 7, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16"})";

}  // namespace

TEST_CASE("tokens of a step are the sum of a geometric series") {
    CHECK(tokens_of_step(3, 0) == 1);
    CHECK(tokens_of_step(3, 1) == 4);
    CHECK(tokens_of_step(1, 0.85) == approx(1.85));
    CHECK(tokens_of_step(3, 0.8) == approx(1 + 0.8 + 0.64 + 0.512));
    CHECK(tokens_of_step(5, 0.6) == approx((1 - std::pow(0.6, 6)) / (1 - 0.6)));
}

TEST_CASE("a further layer is one layer, the projection of two states, a norm and the model's head") {
    const auto config = parse_config(tiny, "tiny.json");
    REQUIRE(config);
    const auto model = build_model(*config, 1, true);
    REQUIRE_MESSAGE(model, model.error().message);
    const auto layer = draft_layer(*model);
    REQUIRE_MESSAGE(layer, layer.error().message);
    // the layer as counted by hand in the model's tests, of which 2 of 4 experts multiply; 2 D x D; 8 of the last norm
    const double mla = 8 * 5 + 5 * 4 * 5 + 8 * (6 + 2) + 6 * 4 * (3 + 4) + 4 * 4 * 8;
    const double expert = 3 * 8 * 7;
    const double norms = 5 + 6 + 16;
    const double router = 8 * 4;
    const auto bytes = weight_bytes(*layer, {}, std::nullopt);
    REQUIRE(bytes);
    const double own = mla + norms + 5 * expert + router + 4 + 2 * 8 * 8 + 8;
    CHECK(bytes->total.to_double() == 2 * (own + 2 * 80));  // the embedding and the head are the model's
    const auto pass = serving_program(layer->program, *layer, decode_pass(1, 20), {bytes->by_value, Dtype::bf16});
    REQUIRE_MESSAGE(pass, pass.error().message);
    const auto work = derive_work(*pass);
    REQUIRE(work);
    // 2 FLOPs per weight; absorbed attention of 4 heads over 20 latents of 6 and keys of 2
    const double weights = mla + 3 * expert + router + 2 * 8 * 8 + 80;
    CHECK(work->total.flops(Unit::matmul).evaluate(pass->sizes)->to_double() ==
          approx(2 * weights + 2 * 20 * 4 * (6 + 2) + 2 * 20 * 4 * 6));
    const auto plain = build_model(named("llama-3.1-8b"), 1, true);
    REQUIRE(plain);
    CHECK_FALSE(draft_layer(*plain));
}

TEST_CASE("a step that drafts by lookup is a verification, shared among the tokens that it yields") {
    const ServeAnswer answer = uncalibrated(drafting_question("llama-3.1-8b", "1", 4, 2, 0.5));
    REQUIRE(answer.speculation);
    CHECK(answer.speculation->source == DraftSource::lookup);
    CHECK(answer.speculation->tokens_per_step == 1.75);
    // weights and caches are read once: 8.03 G parameters without the embedding, and 1152 tokens of 4 sequences with
    // keys and values of 8 heads of 128 in 32 layers; the activations of 12 tokens are 2 % more at most
    const double least = ((8030261248.0 - 128256.0 * 4096) * 2 + 4 * 1152 * 32 * 2.0 * 8 * 128 * 2) / 3.35e12;
    CHECK(answer.least_decode.lower_s > least);
    CHECK(answer.least_decode.lower_s < 1.02 * least);
    CHECK(step_seconds(answer) == pass_seconds(answer.decode));
    CHECK(token_seconds(answer) == approx(step_seconds(answer) / 1.75));
    CHECK(least_token_seconds(answer) == approx(answer.least_decode.lower_s / 1.75));
    CHECK(decode_tokens_per_s(answer) == approx(4 / token_seconds(answer)));
    // nothing else changes: the prompt, the memory, and what the same set-up takes without drafts
    const ServeAnswer alone = uncalibrated(question_of("llama-3.1-8b", "1", 4));
    CHECK(answer.chip_memory.weights == alone.chip_memory.weights);
    CHECK(first_token_seconds(answer) == first_token_seconds(alone));
    CHECK(answer.speculation->tpot_without_s == token_seconds(alone));
    for (std::size_t i = 0; i < answer.frontier.size(); ++i) {
        if (answer.frontier[i].batch != alone.frontier[i].batch) continue;
        CHECK(*answer.frontier[i].tpot_without_s == alone.frontier[i].tpot_s);
    }
    const auto ridge = answer.compute_bound.weights.value();
    CHECK(ridge == approx(alone.compute_bound.weights.value() / 3).epsilon(0.01));
}

TEST_CASE("batches that compute for longer than they read gain nothing from wrong drafts") {
    ServeQuestion question = drafting_question("llama-3.1-70b", "8", 16, 2, 0.5);
    question.prompt = question.output = 8;
    const ServeAnswer answer = uncalibrated(question);
    // With hardly any cache a step of b tokens takes the larger of 1 and b / 295, where 295 = 989.4e12 / 3.35e12 FLOP
    // per byte is the batch at which it becomes compute-bound in bf16. A verification takes three times as many tokens
    // and yields 1.75: it is slower from 295 * 1.75 / 3 = 172 on, of powers of two from 256 on.
    CHECK(answer.speculation->no_gain_from == 256);
}

TEST_CASE("where all drafts are accepted a step yields all of them, where none is, one token") {
    const ServeAnswer all = uncalibrated(drafting_question("llama-3.1-8b", "1", 4, 3, 1));
    const ServeAnswer none = uncalibrated(drafting_question("llama-3.1-8b", "1", 4, 3, 0));
    CHECK(step_seconds(all) == step_seconds(none));
    CHECK(token_seconds(none) == step_seconds(none));
    CHECK(token_seconds(all) == approx(step_seconds(all) / 4));
    CHECK(none.speculation->no_gain_from == none.frontier.front().batch);
    CHECK(none.frontier.front().tpot_s > *none.frontier.front().tpot_without_s);
}

TEST_CASE("a draft model takes its own decode passes, prompt and memory") {
    const ServeAnswer answer = uncalibrated(drafting_question("llama-3.1-70b", "8", 16, 4, 0.7, "llama-3.1-8b"));
    const ServeAnswer large = uncalibrated(question_of("llama-3.1-70b", "8", 16));
    const ServeAnswer small = uncalibrated(question_of("llama-3.1-8b", "8", 16));
    const SpeculatedServing& drafts = *answer.speculation;
    CHECK(drafts.source == DraftSource::model);
    CHECK(drafts.draft_s() == approx(4 * token_seconds(small)));
    CHECK(drafts.least_draft.lower_s == approx(least_token_seconds(small)));
    CHECK(token_seconds(answer) ==
          approx((pass_seconds(answer.decode) + 4 * token_seconds(small)) / (1 + 0.7 + 0.49 + 0.343 + 0.2401)));
    CHECK(least_token_seconds(answer) < token_seconds(answer));
    CHECK(first_token_seconds(answer) == approx(first_token_seconds(large) + first_token_seconds(small)));
    CHECK(answer.chip_memory.weights == approx(large.chip_memory.weights + small.chip_memory.weights));
    CHECK(answer.chip_memory.kv == approx(large.chip_memory.kv + small.chip_memory.kv));
    CHECK(answer.slice_memory.weights == approx(large.slice_memory.weights + small.slice_memory.weights));
    CHECK(answer.max_batch < large.max_batch);
    CHECK(drafts.memory.weights == approx(small.chip_memory.weights));
}

// The tensor cores of a V100 have no bf16. The vector units, 8 times slower, would take longer to process a prompt.
TEST_CASE("a drafter is computed in f16 where matrix units have no bf16") {
    const auto v100 = make_slice(*find_machine("v100-sxm2"), "1");
    REQUIRE(v100);
    ServeQuestion drafted = drafting_question("llama-3.1-8b", "1", 1, 4, 0.7, "llama-3.2-1b");
    ServeQuestion small = question_of("llama-3.2-1b", "1", 1);
    drafted.slice = small.slice = *v100;
    CHECK(uncalibrated(drafted).speculation->prefill_s == approx(pass_seconds(uncalibrated(small).prefill)));
}

TEST_CASE("a model with a further layer drafts with it, and verifies with latent attention") {
    const ServeAnswer answer = uncalibrated(drafting_question("deepseek-v3", "8", 16, 1, 0.85));
    const ServeAnswer alone = uncalibrated(question_of("deepseek-v3", "8", 16));
    const SpeculatedServing& drafts = *answer.speculation;
    CHECK(drafts.source == DraftSource::layer);
    // one layer of 61, one of which is 11.3 GB of experts, with a projection; no more than a twentieth of the caches
    CHECK(answer.chip_memory.weights - alone.chip_memory.weights == approx(drafts.memory.weights));
    CHECK(answer.slice_memory.kv == approx(alone.slice_memory.kv * 62 / 61));
    CHECK(answer.slice_memory.weights - alone.slice_memory.weights == approx(11.5e9).epsilon(0.02));
    CHECK(drafts.draft_s() < pass_seconds(answer.decode) / 10);
    // 16 sequences attend to the same latents, so two tokens of each take hardly more than one
    CHECK(pass_seconds(answer.decode) < 1.6 * pass_seconds(alone.decode));
    for (const Value& value : answer.decode.program.values) CHECK(value.name != "Ks");
}

TEST_CASE("a server's step is shared among its tokens, too") {
    // one request at a time: nothing interrupts its steps, which are the same whatever is accepted
    const ServeAnswer none = calibrated_answer(drafting_question("llama-3.1-8b", "1", 1, 3, 0));
    const ServeAnswer all = calibrated_answer(drafting_question("llama-3.1-8b", "1", 1, 3, 1));
    REQUIRE(none.under_load);
    REQUIRE(all.under_load);
    CHECK(none.under_load->tpot_s == approx(4 * all.under_load->tpot_s));
    const ServeAnswer alone = calibrated_answer(question_of("llama-3.1-8b", "1", 1));
    const double more = pass_seconds(none.decode) / pass_seconds(alone.decode);
    CHECK(none.under_load->tpot_s > alone.under_load->tpot_s);
    CHECK(none.under_load->tpot_s < (more + 0.01) * alone.under_load->tpot_s);
    CHECK(all.under_load->ttft_s == approx(alone.under_load->ttft_s));
}

TEST_CASE("the drafter's passes are part of a server's steps and prompts") {
    const ServeAnswer lookup = calibrated_answer(drafting_question("llama-3.1-70b", "8", 1, 2, 0.5));
    const ServeAnswer model = calibrated_answer(drafting_question("llama-3.1-70b", "8", 1, 2, 0.5, "llama-3.1-8b"));
    const ServeAnswer small = calibrated_answer(question_of("llama-3.1-8b", "8", 1));
    REQUIRE(lookup.under_load);
    REQUIRE(model.under_load);
    CHECK(token_seconds(model) - token_seconds(lookup) == approx(2 * token_seconds(small) / 1.75).epsilon(0.01));
    const double added = model.under_load->tpot_s - lookup.under_load->tpot_s;
    CHECK(added > 0);
    CHECK(added <= 2 * token_seconds(small) / 1.75 * 1.01);  // a server's factor of kernels is at most 1
    CHECK(model.under_load->ttft_s > lookup.under_load->ttft_s);
}

TEST_CASE("in a pipeline the last stage drafts") {
    ServeQuestion question = drafting_question("llama-3.1-8b", "2", 8, 2, 0.5, "llama-3.2-1b");
    question.plan->tensor = 1;
    question.plan->pipeline = 2;
    const ServeAnswer answer = uncalibrated(question);
    question.draft.reset();
    const ServeAnswer alone = uncalibrated(question);
    // a group of 4 sequences goes through one chip
    const ServeAnswer small = uncalibrated(question_of("llama-3.2-1b", "1", 4));
    CHECK(answer.speculation->draft_s() == approx(2 * token_seconds(small)));
    // the last stage, with the head, is the fuller one
    CHECK(answer.chip_memory.weights == approx(alone.chip_memory.weights + small.chip_memory.weights));
}

TEST_CASE("speculation that is not possible is refused") {
    CHECK(refusal(drafting_question("llama-3.1-8b", "1", 1, 0, 0.5)) == "0 tokens cannot be drafted for a step");
    CHECK(refusal(drafting_question("llama-3.1-8b", "1", 1, 17, 0.5)) == "17 tokens cannot be drafted for a step");
    for (const double acceptance : {-0.1, 1.1}) {
        CHECK(refusal(drafting_question("llama-3.1-8b", "1", 1, 1, acceptance)).find("accepted with probability") !=
              std::string::npos);
    }
    ServeQuestion longer = drafting_question("llama-3.1-70b", "8", 1, 1, 0.5, "llama-2-7b");
    longer.prompt = 4000;
    CHECK(refusal(longer) ==
          "requests of 4256 tokens are longer than the context of 4096 of the draft model llama-2-7b");
    ServeQuestion indivisible = drafting_question("llama-3.1-70b", "8", 1, 1, 0.5, "gpt2");
    indivisible.prompt = 100;
    CHECK(refusal(indivisible).find("gpt2 as the drafter: ") == 0);
}

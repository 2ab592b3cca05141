#include "app/job_keys.hpp"

#include <string>
#include <vector>

namespace roofline::core {

namespace {

// An option that may be given several times has its texts at commas anyway.
std::vector<std::string> list(Reader& table, std::string_view key) {
    std::string text = table.word(key);
    return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(text)};
}

}  // namespace

void read_training_keys(Reader& table, TrainRequest& request) {
    request.batch_tokens = table.word("batch-tokens");
    request.sequence = table.word("seq");
    request.mesh = list(table, "mesh");
    request.zero = table.word("zero");
    request.microbatches = table.word("microbatches");
    request.schedule = table.word("schedule");
    request.remat = table.word("remat");
    request.optimizer = table.word("optimizer");
    request.lora = table.word("lora");
    request.lora_on = table.word("lora-on");
    request.frozen_dtype = table.word("frozen-dtype");
    request.products = table.word("products");
    request.dispatch = table.word("dispatch");
    request.overlap = table.word("overlap");
    request.framework = {table.word("framework"), ""};
}

void read_run_keys(Reader& table, TrainRequest& request) {
    request.tokens = table.word("tokens");
    request.failures = table.word("failures");
    request.storage = table.word("storage");
    request.restart = table.word("restart");
    request.async_checkpoints = table.flag("async-checkpoints");
}

void read_serving_keys(Reader& table, ServeRequest& request) {
    request.prompt = table.word("prompt");
    request.output = table.word("output");
    request.batch = table.word("batch");
    request.mesh = list(table, "mesh");
    request.chunk = table.word("chunk");
    request.memory_fraction = table.word("memory-fraction");
    request.block = table.word("block");
    request.draft = table.word("draft");
    request.acceptance = table.word("acceptance");
    request.exchange = table.word("exchange");
    request.balancedness = table.word("balancedness");
    request.routing = table.word("routing");
    request.redundant_experts = table.word("redundant-experts");
    request.two_batch_overlap = table.flag("two-batch-overlap");
    request.weights = table.word("weights");
    request.kv_dtype = table.word("kv-dtype");
}

void read_load_keys(Reader& table, ServeRequest& request) {
    request.rate = table.word("rate");
    request.requests = table.word("requests");
    request.schedule = table.word("schedule");
    request.cached = table.word("cached");
    request.ttft = table.word("ttft");
    request.tpot = table.word("tpot");
}

}  // namespace roofline::core

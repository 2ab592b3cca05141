#include "import/launch/serving_launch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "text/csv.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

LaunchTable server_table(const std::string& name) {
    auto table = launch_table(name, false);
    REQUIRE_MESSAGE(table, table.error().message);
    return std::move(*table);
}

Result<ServingLaunch> server_read(const std::string& name, const std::string& text, std::int64_t chips, bool experts) {
    ROOFLINE_TRY(const auto values, LaunchValues::read(text, "serve.sh", server_table(name)));
    return serving_launch(values, chips, experts);
}

ServingLaunch server_launch(const std::string& name, const std::string& text, std::int64_t chips, bool experts) {
    auto launch = server_read(name, text, chips, experts);
    REQUIRE_MESSAGE(launch, launch.error().message);
    return std::move(*launch);
}

Error server_error(const std::string& name, const std::string& text, std::int64_t chips, bool experts) {
    const auto launch = server_read(name, text, chips, experts);
    REQUIRE_FALSE(launch);
    return launch.error();
}

bool has_remark(const std::vector<std::string>& texts, const std::string& part) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

// The value behind a flag of a text with one flag a line; "" if it has none, "-" if it is not there.
std::string behind(const std::string& text, const std::string& flag) {
    const std::size_t at = text.find("    --" + flag);
    if (at == std::string::npos) return "-";
    std::istringstream words(text.substr(at + 6 + flag.size()));
    std::string value;
    words >> value;
    return value == "\\" || value.starts_with("--") ? "" : value;
}

}  // namespace

TEST_CASE("launch lines of vLLM give the plan that they say") {
    const auto dense =
        server_launch("vllm",
                      "docker run --gpus all vllm/vllm-openai:latest --model meta-llama/Llama-3.1-70B \\\n"
                      "  -tp 4 --data-parallel-size=2 --max-num-seqs 128 --kv-cache-dtype fp8_e4m3 \\\n"
                      "  --gpu-memory-utilization 0.95 --max-num-batched-tokens 16384 --quantization fp8\n",
                      8, false);
    CHECK(dense.plan.tensor == 4);
    CHECK(dense.plan.data == 2);
    CHECK(dense.batch == 256);  // 128 of each of 2 replicas
    CHECK(dense.chunk == 16384);
    CHECK(dense.memory_fraction == 0.95);
    CHECK(dense.kv_dtype == "fp8");
    CHECK(dense.weights == "fp8");
    const auto spread =
        server_launch("vllm", "vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel --port 8000", 8, true);
    CHECK(spread.plan.expert == 8);
    CHECK(spread.plan.data == 1);
    CHECK(spread.plan.tensor == 1);
    CHECK(has_remark(spread.notes, "--port"));
    const auto within = server_launch("vllm", "vllm serve x -tp 8 --enable-expert-parallel", 8, true);
    CHECK(within.plan.tensor == 8);
    CHECK(within.plan.experts_over_tensor);
    const auto both = server_launch("vllm", "vllm serve x -tp 4 -dp 2 --enable-expert-parallel", 8, true);
    CHECK(both.plan.tensor == 4);
    CHECK(both.plan.expert == 2);
    CHECK(both.plan.experts_over_tensor);
}

TEST_CASE("launch lines of SGLang give the plan that they say") {
    const auto dense =
        server_launch("sglang", "python3 -m sglang.launch_server --model-path x --tp 4 --dp 2", 8, false);
    CHECK(dense.plan.tensor == 4);
    CHECK(dense.plan.data == 2);
    const auto attention =
        server_launch("sglang",
                      "python3 -m sglang.launch_server --model x --tp 8 --dp 8 --enable-dp-attention "
                      "--moe-a2a-backend deepep --chunked-prefill-size 65536 "
                      "--max-running-requests 512 --mem-fraction-static 0.85",
                      8, true);
    CHECK(attention.plan.expert == 8);
    CHECK(attention.plan.tensor == 1);
    CHECK(attention.exchange == "deepep");
    CHECK(attention.chunk == 8192);  // 65536 of 8 replicas together
    CHECK(attention.batch == 512);
    const auto half = server_launch("sglang", "sglang serve --tp 8 --ep 8 --dp 2 --enable-dp-attention", 8, true);
    CHECK(half.plan.tensor == 4);
    CHECK(half.plan.expert == 2);
    CHECK(half.plan.experts_over_tensor);
}

TEST_CASE("files and flags of TensorRT-LLM give the plan that they say") {
    const auto attention = server_launch("trtllm",
                                         "tensor_parallel_size: 8\nmoe_expert_parallel_size: 8\n"
                                         "enable_attention_dp: true\nmax_batch_size: 64\nmax_num_tokens: 4096\n"
                                         "enable_chunked_prefill: true\n"
                                         "kv_cache_config:\n  dtype: fp8\n  free_gpu_memory_fraction: 0.85\n"
                                         "cuda_graph_config:\n  enable_padding: true\n  batch_sizes: [1, 2, 4]\n",
                                         8, true);
    CHECK(attention.plan.expert == 8);
    CHECK(attention.plan.tensor == 1);
    CHECK(attention.batch == 512);   // 64 of each of 8 replicas of attention
    CHECK(attention.chunk == 4096);  // likewise
    CHECK(attention.kv_dtype == "fp8");
    CHECK_FALSE(attention.memory_fraction);
    CHECK(has_remark(attention.notes, "--memory-fraction"));
    const auto flags = server_launch(
        "trtllm",
        "mpirun -n 8 trtllm-llmapi-launch trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --ep_size 8 \\\n"
        "  --max_batch_size 161 --trust_remote_code --port 8000\n",
        8, true);
    CHECK(flags.plan.tensor == 8);
    CHECK(flags.plan.experts_over_tensor);
    CHECK(flags.batch == 161);
    const auto columns = server_launch("trtllm", "tensor_parallel_size: 8\nmoe_tensor_parallel_size: 8\n", 8, true);
    CHECK_FALSE(columns.plan.experts_over_tensor);
    const auto rest = server_launch("trtllm", "tensor_parallel_size: 8\nmoe_tensor_parallel_size: 1\n", 8, true);
    CHECK(rest.plan.experts_over_tensor);
    // experts whole over 2 of 8 chips and by columns over 4
    CHECK(server_error("trtllm", "tensor_parallel_size: 8\nmoe_expert_parallel_size: 2\n", 8, true).code == "bad_plan");
    CHECK(server_error("trtllm", "tensor_parallel_size: 8\nmoe_tensor_parallel_size: 2\nmoe_expert_parallel_size: 8\n",
                       8, true)
              .code == "contradiction");
    CHECK(server_error("trtllm", "tensor_parallel_size: 8\nenable_attention_dp: true\n", 8, true).code == "bad_plan");
    CHECK(server_error("trtllm", "tensor_parallel_size: 4\ncontext_parallel_size: 2\n", 8, false).code == "bad_value");
    CHECK(server_error("trtllm", "tensor_paralel_size: 8\n", 8, false).code == "unknown_setting");
    CHECK(server_error("trtllm", "tensor_parallel_size: 8\n  x: [\n", 8, false).code == "bad_yaml");
    CHECK(server_error("trtllm", "a: &a [1]\nb: [*a, *a]\n", 8, false).code == "no_alias");
    const auto found = recognised_launch("trtllm-serve x --tp_size 8", "a.sh", false);
    REQUIRE(found);
    CHECK(found->name == "trtllm");
}

TEST_CASE("a pool of servers gets what its kind needs") {
    ServingLaunch launch;
    launch.plan.tensor = 4;
    launch.pool = LaunchedPool::prefill;
    launch.workers = 3;
    const auto text_of = [&](const char* name) { return emit_serving(server_table(name), launch, false).text; };
    CHECK(behind(text_of("sglang"), "disaggregation-mode") == "prefill");
    CHECK(text_of("vllm").find("kv_producer") != std::string::npos);
    CHECK(text_of("trtllm").find("cache_transceiver_config:\n  backend: \"DEFAULT\"\n") != std::string::npos);
    CHECK(text_of("trtllm").find("disable_overlap_scheduler: true") != std::string::npos);
    CHECK(text_of("sglang").find("# start 3 such servers of 4 chips each") != std::string::npos);
    launch.pool = LaunchedPool::decode;
    CHECK(behind(text_of("sglang"), "disaggregation-mode") == "decode");
    CHECK(text_of("vllm").find("kv_consumer") != std::string::npos);
    CHECK(text_of("trtllm").find("disable_overlap_scheduler") == std::string::npos);
    // a worker's own file is read as a server
    for (const char* name : {"vllm", "sglang", "trtllm"}) {
        CHECK(server_launch(name, text_of(name), 4, false).plan.tensor == 4);
    }
}

TEST_CASE("servers that no plan expresses, and wrong flags, are refused") {
    CHECK(server_error("vllm", "vllm serve x -tp 4", 8, false).message.find("--on has 8 chips") != std::string::npos);
    CHECK(server_error("vllm", "vllm serve x -dp 8", 8, true).code == "bad_plan");
    CHECK(server_error("vllm", "vllm serve x -tp 8 --enable-expert-parallel", 8, false).message ==
          "the model has no experts");
    CHECK(server_error("vllm", "vllm serve x -tp 8 --kv-cache-dtype fp7", 8, false).code == "bad_value");
    CHECK(server_error("vllm", "vllm serve x -tp 8 --gpu-memory-utilization 1.5", 8, false).code == "bad_value");
    CHECK(server_error("vllm", "vllm serve x -tp 8 --tensor-paralel-size 8", 8, false).code == "unknown_setting");
    CHECK(server_error("sglang", "x --tp 8 --dp 3 --enable-dp-attention --ep 8", 8, true).code == "bad_plan");
    CHECK(server_error("sglang", "x --tp 8 --dp 8 --enable-dp-attention", 8, true).code == "bad_plan");
    CHECK(server_error("sglang", "x --tp 8 --ep 4", 8, true).code == "bad_plan");
    CHECK(server_error("sglang", "x --tp 9999999999 --pp 9999999999", 8, true).code == "bad_plan");
    CHECK(server_error("sglang", "", 8, true).code == "empty");
    const auto wrong = recognised_launch("vllm serve x", "a.sh", true);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == "wrong_framework");
}

TEST_CASE("launches of servers read back are the plans that they were written from") {
    for (const std::string name : {"vllm", "sglang", "trtllm"}) {
        const LaunchTable table = server_table(name);
        std::int64_t same = 0;
        for (const std::int64_t tensor : {1, 2, 8}) {
            for (const std::int64_t pipeline : {1, 3}) {
                for (const std::int64_t data : {1, 4}) {
                    for (const std::int64_t expert : {1, 2, 8}) {
                        for (const bool over : {false, true}) {
                            for (const bool experts : {false, true}) {
                                ServingLaunch launch;
                                launch.plan.tensor = tensor;
                                launch.plan.pipeline = pipeline;
                                launch.plan.data = data;
                                launch.plan.expert = expert;
                                launch.plan.experts_over_tensor = over && tensor > 1;
                                if (!experts && (expert > 1 || launch.plan.experts_over_tensor)) continue;
                                if (!check_plan(launch.plan, launch.plan.chips())) continue;
                                launch.batch = 64 * data * expert;
                                launch.chunk = 4096;
                                if (name != "trtllm") launch.memory_fraction = 0.875;
                                launch.kv_dtype = "fp8";
                                const EmittedLaunch text = emit_serving(table, launch, experts);
                                if (has_remark(text.remarks, "not expressed") || has_remark(text.remarks, "start ")) {
                                    continue;
                                }
                                CAPTURE(text.text);
                                const auto back = server_launch(name, text.text, launch.plan.chips(), experts);
                                CHECK(plan_text(back.plan) == plan_text(launch.plan));
                                CHECK(back.plan.same_axes(launch.plan));
                                CHECK(back.batch == launch.batch);
                                CHECK(back.chunk == launch.chunk);
                                CHECK(back.memory_fraction == launch.memory_fraction);
                                CHECK(back.kv_dtype == launch.kv_dtype);
                                ++same;
                            }
                        }
                    }
                }
            }
        }
        MESSAGE(name, ": ", same, " plans read back");
        CHECK(same >= (name == "trtllm" ? 10 : 24));
    }
}

// A row has TP of attention, the number of replicas of attention, and the chips that experts are spread over.
TEST_CASE("emitted flags have the degrees of published recipes of servers") {
    const auto content = shared_text("measured/plans_serving.csv");
    if (!content) return;
    auto reader = CsvReader::open(*content, "plans_serving.csv");
    REQUIRE(reader);
    reader->leave_out_bad_rows();
    std::map<std::string, std::size_t> column;
    for (std::size_t i = 0; i < reader->header().size(); ++i) column[reader->header()[i]] = i;
    std::map<std::string, std::int64_t> compared;
    std::int64_t others = 0;
    std::istringstream lines(*content);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        // the columns up to `dp_attn` contain no quoted commas in rows of one server
        std::vector<std::string> fields;
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) fields.push_back(cell);
        if (line.substr(0, line.find("agg")).find('"') != std::string::npos) continue;
        if (fields.size() <= column["dp_attn"] || fields[column["mode"]] != "agg") continue;
        const std::string& name = fields[column["framework"]];
        const bool trt = name == "trtllm" || name == "trt";
        if (name != "vllm" && name != "sglang" && !trt) continue;
        const auto degree = [&](const char* key) -> std::int64_t {
            const std::string& cell = fields[column[key]];
            return cell.empty() || cell.find_first_not_of("0123456789") != std::string::npos ? 0 : std::stoll(cell);
        };
        std::int64_t tensor = degree("tp");
        std::int64_t replicas = std::max<std::int64_t>(degree("dp_attn"), 1);
        if (fields[column["dp_attn"]] == "True") {  // of all chips
            replicas = tensor;
            tensor = 1;
        }
        const std::int64_t spread = std::max<std::int64_t>(degree("ep"), 1);
        const std::int64_t chips = degree("n_accel");
        const bool whole = spread == tensor * replicas;
        if (tensor < 1 || degree("pp") > 1 || tensor * replicas != chips ||
            !(whole || (spread == 1 && replicas == 1))) {
            ++others;
            continue;
        }
        Plan plan;
        plan.tensor = tensor;
        plan.data = replicas;
        if (spread > 1) {
            const auto placed = with_experts_on_same_chips(plan, spread);
            REQUIRE(placed);
            plan = *placed;
        }
        ServingLaunch launch;
        launch.plan = plan;
        const std::string table = trt ? "trtllm" : name;
        const std::string text = emit_serving(server_table(table), launch, true).text;
        CAPTURE(line);
        CAPTURE(text);
        const auto number = [&](const char* flag) {
            const std::string value = behind(text, flag);
            return value == "-" ? 1 : std::stoll(value);
        };
        const auto key = [&](const std::string& wanted) {
            const std::size_t at = text.find("\n" + wanted + ": ");
            if (at == std::string::npos) return std::string("1");
            const std::size_t start = at + wanted.size() + 3;
            return text.substr(start, text.find('\n', start) - start);
        };
        if (trt) {
            CHECK(key("tensor_parallel_size") == std::to_string(chips));
            CHECK(key("enable_attention_dp") == (replicas > 1 ? "true" : "1"));
            CHECK(key("moe_expert_parallel_size") == std::to_string(spread));
        } else if (name == "vllm") {
            CHECK(number("tensor-parallel-size") == tensor);
            CHECK(number("data-parallel-size") == replicas);
            CHECK((behind(text, "enable-expert-parallel") != "-") == (spread > 1));
        } else {
            CHECK(number("tp-size") == chips);
            CHECK(number("dp-size") == replicas);
            CHECK(number("ep-size") == spread);
            CHECK((behind(text, "enable-dp-attention") != "-") == (replicas > 1));
        }
        const auto back = server_launch(table, text, chips, true);
        CHECK(back.plan.same_axes(plan));
        ++compared[table];
    }
    MESSAGE(compared["vllm"], " recipes of vLLM, ", compared["sglang"], " of SGLang and ", compared["trtllm"],
            " of TensorRT-LLM compared, ", others, " that no plan expresses or that do not multiply to their chips");
    CHECK(compared["vllm"] > 50);
    CHECK(compared["sglang"] > 50);
    CHECK(compared["trtllm"] > 50);
}

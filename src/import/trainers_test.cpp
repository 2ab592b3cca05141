#include "import/trainers.hpp"

#include <doctest/doctest.h>

#include "import/trained_models.hpp"

using namespace roofline::core;

namespace {

Trainers known_trainers() {
    auto models = TrainedModels::built_in();
    REQUIRE(models);
    return models->trainers();
}

Trainers parsed(std::string_view toml) {
    auto models = TrainedModels::parse(toml, "t.toml");
    REQUIRE(models);
    return models->trainers();
}

constexpr std::string_view two_versions = R"(
[[trainer]]
framework = ["ours", "theirs"]
since = "1.10"
overlapped = ["tensor"]
note = "later"

[[trainer]]
framework = ["ours"]
since = "1.9"
note = "first"

[[default_framework]]
vendors = ["Nobody"]
framework = "ours"
note = "usual"
)";

}  // namespace

TEST_CASE("the terms of a publisher are interpreted by its conventions") {
    const Trainers known = known_trainers();
    CHECK(known.habits("PyTorch/torchtitan").selective == "alternate");
    CHECK(known.habits("pytorch/torchtitan").memory == "reserved");
    CHECK(known.habits("somebody").selective.empty());
    CHECK(known.habits("pytorch/torchtitan", "a_202412_b.md").loss == "eager");
    CHECK(known.habits("pytorch/torchtitan", "a_202506_b.md").loss == "compiled");
    CHECK(known.habits("pytorch/torchtitan", "a_202506_b.md").selective == "alternate");
    CHECK(known.habits("somebody", "a_202506_b.md").loss.empty());
    // frameworks change: notes tell the version
    const std::vector<std::string> both{"tensor", "expert"};
    CHECK(known.habits("NVIDIA-NeMo/Megatron-Bridge", "", "NeMo container 26.06 NeMo").overlapped == both);
    CHECK(known.habits("NVIDIA-NeMo/Megatron-Bridge", "", "NeMo container 25.09 NeMo").overlapped ==
          std::vector<std::string>{"tensor"});
    const std::vector<Schedule> megatron{Schedule::one_f_one_b, Schedule::interleaved};
    CHECK(known.framework("nemo-25.09")->habits.schedules == megatron);
    CHECK(known.framework("torchtitan")->habits.schedules.empty());
    const auto own = TrainedModels::parse("[[trainer]]\nnames = [\"ours\"]\n", "t.toml");
    REQUIRE(own);
    CHECK(own->trainers().habits("ours").selective == "selective");
    CHECK(own->trainers().habits("ours").memory.empty());
    CHECK(own->trainers().habits("ours").loss == "stored");
    CHECK(own->trainers().habits("ours").loss_parts == 1);
    CHECK(!own->trainers().habits("ours").fsdp_units);
    const auto all = TrainedModels::parse(
        "[[trainer]]\nnames = [\"ours\"]\nmemory = \"used\"\ngib = true\ncontext_gib = 0.5\nfsdp_units = true\n"
        "flat_optimizer = true\nlate_layers = true\npipeline_buffers = true\nloss_parts = 4\nunsaid = [\"some\"]\n"
        "f32_gradients = true\ncopied_norm = true\nfused_gradients = true\nstored_attention = true\nattention_dropout "
        "= true\nwhole_tokens = "
        "true\npytorch_kernels = "
        "true\ngradients_in_turn = true\noverlapped = [\"expert\"]\ncapacity = 1.5\n",
        "t.toml");
    REQUIRE(all);
    const TrainerHabits habits = all->trainers().habits("ours");
    CHECK(habits.memory == "used");
    CHECK(habits.context_bytes == 536870912);
    CHECK((habits.gib && habits.fsdp_units && habits.flat_optimizer && habits.late_layers && habits.pipeline_buffers));
    CHECK((habits.copied_norm && habits.fused_gradients && habits.stored_attention && habits.attention_dropout &&
           habits.whole_tokens && habits.pytorch_kernels && habits.gradients_in_turn));
    CHECK(habits.f32_gradients);
    CHECK(habits.loss_parts == 4);
    CHECK(habits.capacity == 1.5);
    CHECK(own->trainers().habits("ours").capacity == 0);
    for (const char* const capacity : {"0", "-1", "1001", "[1, 2]"}) {
        CAPTURE(capacity);
        const std::string line = std::string("capacity = ") + capacity + "\n";
        CHECK(!TrainedModels::parse("[[trainer]]\nnames = [\"ours\"]\n" + line, "t.toml"));
        CHECK(!TrainedModels::parse("[[recipe]]\nnames = [\"ours\"]\n" + line, "t.toml"));
    }
    CHECK(habits.overlapped == std::vector<std::string>{"expert"});
    CHECK(!TrainedModels::parse("[[trainer]]\nnames = [\"ours\"]\noverlapped = [\"data\"]\n", "t.toml"));
    CHECK(habits.unsaid == std::vector<std::string>{"some"});
    CHECK(!TrainedModels::parse("[[trainer]]\nnames = [\"ours\"]\ncontext_gib = -1\n", "t.toml"));
    CHECK(!TrainedModels::parse("[[trainer]]\nnames = [\"ours\"]\nloss_parts = 0\n", "t.toml"));
}

TEST_CASE("a framework is found by a short name and a version, the newest without one") {
    const Trainers known = parsed(two_versions);
    CHECK(known.framework("ours")->note == "later");
    CHECK(known.framework("ours")->since == "1.10");
    CHECK(known.framework("ours")->version.empty());
    CHECK(known.framework("Ours-1.9.7")->note == "first");
    CHECK(known.framework("ours 1.10")->note == "later");
    CHECK(known.framework("ours@v2")->note == "later");
    CHECK(known.framework("ours-2")->version == "2");
    CHECK(known.framework("theirs-1.10")->name == "theirs");
    const auto old = known.framework("ours-1.8");
    REQUIRE(!old);
    CHECK(old.error().message == "nothing is known of ours 1.8, only of 1.9 and later");
    for (const char* name : {"our", "ours-", "ours-x", "ours1.9", "ours-1..9", "", "ours-1.9 "}) {
        CAPTURE(name);
        const auto unknown = known.framework(name);
        REQUIRE(!unknown);
        CHECK(unknown.error().code == "unknown_framework");
        CHECK(unknown.error().message.ends_with("known are ours, theirs"));
    }
}

TEST_CASE("a vendor's machines may have a framework whose times are meant where none is named") {
    const Trainers known = parsed(two_versions);
    const auto usual = known.default_framework("Nobody");
    REQUIRE(usual);
    CHECK(usual->by_default);
    CHECK(usual->name == "ours");
    CHECK(usual->note == "usual");
    CHECK(usual->habits.overlapped.empty());
    CHECK(!known.default_framework("Somebody"));
    CHECK(known_trainers().default_framework("NVIDIA")->name == "megatron-lm");
    CHECK(known_trainers().default_framework("Google")->name == "maxtext");
    CHECK(known_trainers().default_framework("AMD")->name == "primus");
}

TEST_CASE("frameworks are known by version: what changed, and when") {
    const Trainers known = known_trainers();
    CHECK(known.framework("torchtitan")->habits.loss == "compiled");
    CHECK(known.framework("torchtitan-2025.01")->habits.loss == "eager");
    CHECK(known.framework("nemo-26.08")->habits.overlapped == std::vector<std::string>{"tensor", "expert"});
    CHECK(known.framework("nemo-25.11")->habits.overlapped == std::vector<std::string>{"tensor"});
    CHECK(known.framework("megatron-lm-2021.09")->habits.whole_tokens);
    CHECK(!known.framework("megatron-lm-2022.08")->habits.whole_tokens);
    CHECK(known.framework("megatron-lm-2022.08")->habits.stored_attention);
    CHECK(!known.framework("megatron-lm")->habits.stored_attention);
    for (const std::string& name : known.frameworks()) CHECK(!known.framework(name)->note.empty());
}

TEST_CASE("an invalid entry of a trainer or a default is rejected") {
    const auto refused = [](std::string_view toml) { return !TrainedModels::parse(toml, "t.toml"); };
    CHECK(refused("[[trainer]]\nselective = \"alternate\"\n"));
    CHECK(refused("[[trainer]]\nnames = [\"a\"]\nselective = \"full\"\n"));
    CHECK(refused("[[trainer]]\nnames = [\"a\"]\nmemory = \"all\"\n"));
    CHECK(refused("[[trainer]]\nnames = [\"a\"]\nloss = \"none\"\n"));
    CHECK(refused("[[trainer]]\nnames = [\"a\"]\nschedules = [\"2f2b\"]\n"));
    CHECK(refused("[[trainer]]\nnames = [\"a\"]\nkept_products = \"fp9\"\n"));
    CHECK(refused("[[trainer]]\nnames = [\"a\"]\nsince = \"1\"\n"));
    CHECK(refused("[[trainer]]\nframework = [\"a\"]\nsince = \"new\"\n"));
    CHECK(refused("[[trainer]]\nframework = [\"A\"]\n"));
    CHECK(refused("[[default_framework]]\nvendors = [\"a\"]\nframework = \"b\"\n"));
}

TEST_CASE("policies of a framework have values of --remat, and recipes say what rows of results leave out") {
    const Trainers own = parsed(R"(
[[trainer]]
names = ["ours"]
policies = ["minimal=selective", "ours=Q,Kc"]
flops = "full"
chip_batch = true
compiled = true

[[recipe]]
names = ["ours"]
tables = ["a/b"]
models = ["llama"]
dtypes = ["bf16"]
remat = "Q,Kc"
sharding = "fsdp"
)");
    const TrainerHabits habits = own.habits("Ours");
    REQUIRE(habits.policies.size() == 2);
    CHECK(habits.policies[1].second == "Q,Kc");
    CHECK(habits.flops == "full");
    CHECK((habits.chip_batch && habits.compiled));
    CHECK(own.recipe({"Ours", "x a/b y", "Llama3-8B", "BF16"}).remat == "Q,Kc");
    CHECK(own.recipe({"Ours", "x a/b y", "Llama3-8B", "BF16"}).sharding == "fsdp");
    CHECK(own.recipe({"Ours", "x a/b y", "Llama3-8B", "fp8"}).remat.empty());
    CHECK(own.recipe({"Ours", "x a/b y", "mixtral", "bf16"}).remat.empty());
    CHECK(own.recipe({"Ours", "c", "llama", "bf16"}).remat.empty());
    CHECK(own.recipe({"Theirs", "a/b", "llama", "bf16"}).remat.empty());
    for (const char* bad : {"[[recipe]]\nremat = \"full\"\n", "[[recipe]]\nnames = [\"a\"]\nremat = \"Q,,K\"\n",
                            "[[trainer]]\nnames = [\"a\"]\npolicies = [\"minimal\"]\n",
                            "[[trainer]]\nnames = [\"a\"]\nflops = \"half\"\n"}) {
        CHECK(!TrainedModels::parse(bad, "t.toml"));
    }
}

#include "calibrate/expected_program.hpp"
#include "calibrate/compiled_expected.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/approx_test.hpp"
#include "calibrate/analysed_program_test.hpp"

using namespace roofline::core;
using Kind = KernelKind;

namespace {

CalibratedKernel model_of(KernelKind kind, const char* dtype, const char* software, KernelModel model,
                          std::int64_t rows = 1000) {  // enough for the held-out error to be the stated one
    CalibratedKernel kernel;
    kernel.key = {kind, dtype, software, ""};
    kernel.fit.model = model;
    kernel.fit.rows = rows;
    kernel.fit.error_held_out = 0.1;
    return kernel;
}

}  // namespace

TEST_CASE("the model that fits best speaks for a kernel") {
    Calibration calibration;
    calibration.kernels = {
        model_of(Kind::contraction, "bf16", "vllm 0.9", {}), model_of(Kind::contraction, "bf16", "vllm 0.14", {}),
        model_of(Kind::contraction, "bf16", "trtllm 1.3", {}, 2000), model_of(Kind::elementwise, "", "", {})};
    const KernelKey matmul{Kind::contraction, "bf16", "", ""};
    const auto software = [&](const std::string& asked) {
        return choose_kernel(calibration, matmul, asked)->key.software;
    };
    CHECK(software("vllm") == "vllm 0.14");  // versions are not ordered alphabetically
    CHECK(software("vllm-0.9") == "vllm 0.9");
    CHECK(software("") == "trtllm 1.3");  // among libraries with equal errors, the one with the most measurements
    for (CalibratedKernel& model : calibration.kernels)
        model.fit.error_held_out = model.key.software == "vllm 0.14" ? 0.1 : 0.2;
    CHECK(software("") == "vllm 0.14");  // otherwise the one with the lowest error
    CHECK(choose_kernel(calibration, {Kind::elementwise, "", "", ""}, "")->key.kind == Kind::elementwise);
    CHECK(choose_kernel(calibration, {Kind::contraction, "fp8", "", ""}, "") == nullptr);
    CHECK(choose_kernel(calibration, {Kind::attention, "bf16", "", ""}, "") == nullptr);
}

TEST_CASE("a product that quantises an operand on its way has the model of its arithmetic") {
    Calibration calibration;
    calibration.kernels = {model_of(Kind::contraction, "bf16", "", {}), model_of(Kind::contraction, "fp8", "", {}),
                           model_of(Kind::contraction, "bf16 x int8", "", {})};
    const auto dtype = [&](const std::string& asked) {
        const CalibratedKernel* const model = choose_kernel(calibration, {Kind::contraction, asked, "", ""}, "");
        return model == nullptr ? "none" : model->key.dtype;
    };
    CHECK(dtype("fp8 x bf16") == "fp8");
    CHECK(dtype("mxfp8 x bf16") == "fp8");  // no fp8 model accounts for its scales
    CHECK(dtype("mxfp8") == "none");        // no operand is quantized
    CHECK(dtype("fp8 x nvfp4") == "none");  // nor here, because fp8 is the wider operand
    CHECK(dtype("nvfp4 x bf16") == "none");
    CHECK(dtype("bf16 x int8") == "bf16 x int8");
    CHECK(dtype("bf16 x int4") == "none");  // an integer is only a storage format
    // kernels that leave activations in 16 or 8 bits read the same weights
    calibration.kernels.push_back(model_of(Kind::contraction, "bf16 x mxfp4", "", {}));
    CHECK(dtype("mxfp4 x bf16") == "bf16 x mxfp4");
    calibration.kernels.push_back(model_of(Kind::contraction, "mxfp4", "", {}));
    CHECK(dtype("mxfp4 x bf16") == "mxfp4");
}

TEST_CASE("a mask that leaves nothing out makes no causal kernel, and products side by side are one") {
    const auto attention = [](bool masked) {
        AnalysedProgram one = analysed(
            "Q: bf16[T=8, H=8]\nK: bf16[S=8, H]\nV: bf16[S, H]\nfuse {\n"
            " P : bf16[T, S] = softmax[S](causal[T, S](Q * K))\n O : bf16[T, H] = P * V\n}");
        if (!masked) {
            for (Value& value : one.program.values) value.masks.clear();
        }
        return kernel_key(one.program, one.analysis.work.kernels.front()).kind;
    };
    CHECK(attention(true) == Kind::causal_attention);
    CHECK(attention(false) == Kind::attention);
    const auto rows = [](std::int64_t tokens, std::int64_t positions) {
        const AnalysedProgram one =
            analysed(fmt::format("Q: bf16[T={}, H=8]\nK: bf16[S={}, H]\nV: bf16[S, H]\nfuse {{\n"
                                 " P : bf16[T, S] = softmax[S](causal[T, S](Q * K))\n O : bf16[T, H] = P * V\n}}",
                                 tokens, positions));
        return kernel_key(one.program, one.analysis.work.kernels.front()).kind;
    };
    CHECK(rows(1, 8) == Kind::attention);         // a decode step
    CHECK(rows(2, 8) == Kind::causal_attention);  // a prefill chunk
    CHECK(rows(1, 1) == Kind::causal_attention);  // a prompt of one token
    const AnalysedProgram gated = analysed(
        "X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nU: bf16[D, E=300]\n"
        "fuse {\n G : bf16[B, F] = X *_D W\n H : bf16[B, E] = X *_D U\n}");
    ChipTraits chip;
    chip.cores = 100;
    const auto runs = kernel_runs(gated.program, gated.analysis, chip);
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().point.m == 100);
    CHECK(runs.front().point.n == 500);
    const AnalysedProgram chained = analysed(
        "X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nU: bf16[F, E=300]\n"
        "fuse {\n G : bf16[B, F] = X *_D W\n H : bf16[B, E] = G *_F U\n}");
    CHECK(kernel_runs(chained.program, chained.analysis, chip).front().point.m == 0);
}

TEST_CASE("a kind without a model of its own takes the broader one's") {
    Calibration calibration;
    calibration.kernels = {model_of(Kind::attention, "bf16", "", {}), model_of(Kind::elementwise, "", "", {})};
    CHECK(choose_kernel(calibration, {Kind::causal_attention, "bf16", "", ""}, "") == calibration.kernels.data());
    CHECK(choose_kernel(calibration, {Kind::reduction, "", "", ""}, "")->key.kind == Kind::elementwise);
    calibration.kernels.push_back(model_of(Kind::reduction, "", "", {}));
    CHECK(choose_kernel(calibration, {Kind::reduction, "", "", ""}, "")->key.kind == Kind::reduction);
    CHECK(choose_kernel(calibration, {Kind::elementwise, "", "", ""}, "")->key.kind == Kind::elementwise);
    CHECK(choose_kernel(calibration, {Kind::softmax, "", "", ""}, "")->key.kind == Kind::elementwise);
    calibration.kernels.push_back(model_of(Kind::normalisation, "", "", {}));
    CHECK(choose_kernel(calibration, {Kind::softmax, "", "", ""}, "")->key.kind == Kind::normalisation);
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", ""}, "")->key.kind == Kind::elementwise);
    // kernels launched by a host come last, unless they are requested
    calibration.kernels.push_back(model_of(Kind::activation, "", "torch 2.0", {}));
    calibration.kernels.back().key.variant = "eager";
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", ""}, "")->key.kind == Kind::elementwise);
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", ""}, "torch")->key.kind == Kind::activation);
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", "eager"}, "")->key.kind == Kind::activation);
    CHECK(choose_kernel(calibration, {Kind::contraction, "bf16", "", ""}, "") == nullptr);
}

TEST_CASE("a model of a broader kind is off by what such models were") {
    ProgramModels models;
    const CalibratedKernel model = model_of(Kind::elementwise, "", "", {});
    models.kernels = {&model, &model};
    models.transferred_from = {"", ""};
    models.instead = {std::nullopt, Kind::softmax};
    CHECK(models.error_of(0) == approx(0.1));
    CHECK(models.error_of(1) == approx(0.49));
    // of the same kind, it is a model of other dtypes
    const CalibratedKernel product = model_of(Kind::contraction, "bf16", "", {});
    models.kernels = {&product, &product};
    models.instead = {std::nullopt, Kind::contraction};
    CHECK(models.error_of(1) == approx(0.41));
}

TEST_CASE("experts take the model of products, and kernels that of their variant first") {
    Calibration calibration;
    calibration.kernels = {model_of(Kind::contraction, "fp8", "", {}), model_of(Kind::contraction, "fp8", "", {}, 500)};
    calibration.kernels.back().key.variant = "block scales";
    const auto chosen = [&](const KernelKey& key) {
        return choose_kernel(calibration, key, "") - calibration.kernels.data();
    };
    CHECK(chosen({Kind::grouped_contraction, "fp8", "", ""}) == 0);
    CHECK(chosen({Kind::contraction, "fp8", "", ""}) == 0);
    CHECK(chosen({Kind::contraction, "fp8", "", "block scales"}) == 1);
    CHECK(chosen({Kind::contraction, "fp8", "", "eager"}) == 0);
    calibration.kernels.push_back(model_of(Kind::grouped_contraction, "fp8", "", {}));
    CHECK(chosen({Kind::grouped_contraction, "fp8", "", ""}) == 2);
    CHECK(chosen({Kind::contraction, "fp8", "", ""}) == 0);
}

TEST_CASE("experts that chips share out are groups as those that one chip has") {
    // rows dispatched to all four experts are used by those that a chip has
    AnalysedProgram layer = analysed(
        "X : bf16[T=4, D=8]\nIds : int32[T, A=2]\nW : bf16[E=4, D, F=8]\n"
        "Xe : bf16[E, C=2, D] = dispatch[E,C](X, Ids)\nH : bf16[E, C, F] = Xe *_D W");
    KernelWork product = layer.analysis.work.kernels.back();
    REQUIRE(product.matmuls.size() == 1);
    REQUIRE(product.matmuls.front().batch == std::vector<std::string>{"E"});
    CHECK(kernel_key(layer.program, product).kind == Kind::grouped_contraction);
    product.matmuls.front().batch = {layer.program.local_dims.add({"E", 2})};
    CHECK(kernel_key(layer.program, product).kind == Kind::grouped_contraction);
    product.matmuls.front().batch = {layer.program.local_dims.add({"F", 2})};
    CHECK(kernel_key(layer.program, product).kind == Kind::contraction);
}

TEST_CASE("of layers of experts that library speaks whose GEMMs the program has") {
    Calibration calibration;
    calibration.machine = "toy";
    calibration.kernels = {model_of(Kind::contraction, "bf16", "one 1.0", {}),
                           model_of(Kind::contraction, "bf16", "two 2.0", {}),
                           model_of(Kind::grouped_contraction, "bf16", "one 1.0", {}),
                           model_of(Kind::grouped_contraction, "bf16", "two 2.0", {})};
    calibration.kernels[0].fit.error_held_out = 0.04;
    calibration.kernels[1].fit.error_held_out = 0.05;
    calibration.kernels[2].fit.error_held_out = 0.19;
    // This library has the lower error on its own expert layers, but its GEMMs are not the selected ones.
    calibration.kernels[3].fit.error_held_out = 0.10;
    const auto software = [&](KernelKind kind, const std::string& asked) {
        Calibrations calibrations({calibration});
        const CalibratedKernel* model = choose_kernel(calibrations, "toy", {kind, "bf16", "", ""}, asked);
        REQUIRE(model != nullptr);
        CHECK(model->key.kind == kind);
        return model->key.software;
    };
    CHECK(software(Kind::contraction, "") == "one 1.0");
    CHECK(software(Kind::grouped_contraction, "") == "one 1.0");
    CHECK(software(Kind::grouped_contraction, "two") == "two 2.0");
    // if the library has no such model, another one is selected
    calibration.kernels.erase(calibration.kernels.begin() + 2);
    CHECK(software(Kind::grouped_contraction, "") == "two 2.0");
}

TEST_CASE("what a kernel's model sees") {
    // 2 * 100 * 1000 * 200 FLOPs at 100 TFLOP/s; 2 * (100*1000 + 1000*200 + 100*200) bytes at 1 TB/s; three runs
    const AnalysedProgram one =
        analysed("X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nrepeat 3 {\n Y : bf16[B, F] = X * W\n}");
    const auto runs = kernel_runs(one.program, one.analysis, {});
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().count == 3);
    CHECK(runs.front().point.math_s == approx(4e7 / 1e14));
    CHECK(runs.front().point.memory_s == approx(6.4e5 / 1e12));
    CHECK(runs.front().point.vector_s == 0);
    CHECK(runs.front().point.depth == 1000);
    CHECK(runs.front().point.write_s == approx(4e4 / 1e12));
    CHECK(runs.front().point.m == 100);
    CHECK(runs.front().point.n == 200);
    CHECK(runs.front().point.batch == 1);
    CHECK(runs.front().point.partial_sums_s == approx(8 * 2e4 / 1e12));
    CHECK(runs.front().point.cores == 0);
    CHECK(runs.front().point.fill == 0);
    // the cache is filled by all tensors that the program reads and writes
    const auto cached = kernel_runs(one.program, one.analysis, {132, 1e6});
    CHECK(cached.front().point.fill == approx(3 * 6.4e5 / 1e6));
    CHECK(cached.front().point.cores == 132);
}

TEST_CASE("a kernel's model sees what a square array pads, and what stays between matmuls") {
    // attention of 2 x 4 x 100 queries of 64 elements over 300 keys; an array has sides of 128
    const AnalysedProgram one = analysed(
        "Q: bf16[B=2, N=4, T=100, H=64]\nA: bf16[B, N, S=300, H]\nV: bf16[B, N, S, H]\nfuse {\n"
        " P: bf16[B, N, T, S] = softmax[S](Q *_H A)\n O: bf16[B, N, T, H] = P *_S V\n}");
    ChipTraits chip;
    const auto runs = kernel_runs(one.program, one.analysis, chip);
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().point.padding_s == 0);
    CHECK(!runs.front().point.on_array);
    // the scores, in 4 bytes: 2 * 4 * 100 * 300 elements at 1 TB/s
    CHECK(runs.front().point.inner_s == approx(4 * 2.4e5 / 1e12));
    chip.array_side = 128;
    const auto padded = kernel_runs(one.program, one.analysis, chip);
    // in both matmuls 64 becomes 128 and 300 becomes 384: 2.56 times as much
    CHECK(padded.front().point.padding_s == approx(padded.front().point.math_s * 1.56));
    CHECK(padded.front().point.on_array);
    CHECK(kernel_key(one.program, one.analysis.work.kernels.front()).variant.empty());
    // the result of a plain matmul is written
    const AnalysedProgram plain = analysed("X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nY : bf16[B, F] = X * W");
    CHECK(kernel_runs(plain.program, plain.analysis, chip).front().point.inner_s == 0);
    const AnalysedProgram gated = analysed(
        "X: bf16[B=100, D=1000]\nU: bf16[D, F=200]\nW: bf16[D, F]\nY : bf16[B, F] = silu(X *_D U) * (X *_D W)");
    CHECK(kernel_runs(gated.program, gated.analysis, chip).front().point.inner_s == approx(4 * 4e4 / 1e12));
}

TEST_CASE("a kernel's model sees the rows of a group") {
    const AnalysedProgram one = analysed(
        "X: bf16[R=800, K=100]\nIds: int32[R, A=1]\nW: bf16[G=8, K, N=50]\nfuse {\n"
        " Xe: bf16[G, C=100, K] = dispatch[G,C](X, Ids)\n Y: bf16[G, C, N] = Xe *_K W\n}\nV: bf16[G, N, K=100]\n"
        "Z: bf16[G, C, K] = Y *_N V\nP: bf16[K, N] = sum[G](W)");
    const auto runs = kernel_runs(one.program, one.analysis, {});
    REQUIRE(runs.size() == 3);
    CHECK(runs[0].point.group == 100);
    CHECK(runs[1].point.group == 100);
    CHECK(runs[2].point.group == 0);
}

TEST_CASE("a model of gated units is not used for plain matmuls") {
    Calibration calibration;
    calibration.kernels.push_back(model_of(KernelKind::contraction, "bf16", "xla", {}));
    calibration.kernels.back().key.variant = "gated";
    CHECK(choose_kernel(calibration, {KernelKind::contraction, "bf16", "", ""}, "") == nullptr);
    CHECK(choose_kernel(calibration, {KernelKind::contraction, "bf16", "", "gated"}, "") != nullptr);
}

TEST_CASE("the derivative of attention is a variant") {
    const AnalysedProgram one = analysed(
        "Q: bf16[B=2, T=100, H=64]\nA: bf16[B, S=300, H]\nV: bf16[B, S, H]\ndO: bf16[B, T, H]\nfuse {\n"
        " P: bf16[B, T, S] = softmax[S](Q *_H A)\n dP: bf16[B, T, S] = dO *_H V\n"
        " dS: bf16[B, T, S] = dsoftmax[S](P, dP)\n dQ: bf16[B, T, H] = dS *_S A\n}");
    const KernelKey key = kernel_key(one.program, one.analysis.work.kernels.front());
    CHECK(key.kind == KernelKind::attention);
    CHECK(key.variant == "backward");
}

TEST_CASE("a program takes its kernels one after another, in a sweep as at one size") {
    const char* text = "X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nY : bf16[B, F] = X * W\nZ : bf16[B, F] = gelu(Y)";
    const AnalysedProgram one = analysed(text);
    const CalibratedKernel matmul = model_of(Kind::contraction, "bf16", "", {2e-6, 1e-9, 0.8, 1, 0.64, 1});
    const CalibratedKernel gelu = model_of(Kind::elementwise, "", "", {1e-6, 0, 1, 1, 0.5, 2});
    ProgramModels models;
    models.kernels = {&matmul, &gelu};
    const CompiledExpected at_once(one.program, one.analysis, one.system, models, {});
    std::vector<double> scratch(at_once.places());
    // matmul: 2 us + 1000 ns + 0.4 us / 0.8 + 0.64 us / 0.64 = 4.5 us.
    // gelu: 8 FLOPs for each of 20,000 elements at 10 TFLOP/s are 16 ns, 80,000 bytes at half of 1 TB/s are 160 ns: 1
    // us + 160.798 ns
    const ExpectedProgramTime expected = at_once.evaluate({}, scratch);
    CHECK(expected.seconds == approx(4.5e-6 + 1.160798e-6).epsilon(1e-6));
    CHECK(expected.error == approx(0.1));
    const CompiledExpected swept(one.program, one.analysis, one.system, models, {"B"});
    scratch.resize(swept.places());
    const double size = 100;
    CHECK(swept.evaluate({&size, 1}, scratch).seconds == approx(expected.seconds).epsilon(1e-12));
    const double large = 10000;
    const AnalysedProgram other = analysed(
        "X: bf16[B=10000, D=1000]\nW: bf16[D, F=200]\nY : bf16[B, F] = X * W\n"
        "Z : bf16[B, F] = gelu(Y)");
    const CompiledExpected there(other.program, other.analysis, other.system, models, {});
    CHECK(swept.evaluate({&large, 1}, scratch).seconds == approx(there.evaluate({}, scratch).seconds));
    CHECK(there.evaluate({}, scratch).seconds >= other.analysis.total.bounds.lower);
}

TEST_CASE("attention without a mask goes from the model of decode to that of prefill as its rows grow") {
    CalibratedKernel decode = model_of(Kind::attention, "bf16", "", {10e-6});
    CalibratedKernel prefill = model_of(Kind::causal_attention, "bf16", "", {1e-6, 0, 0.5});
    // One head of size 128 and 1024 keys: 4 * T * 1024 * 128 FLOPs at 100 TFLOP/s, none of which a mask saves.
    const auto at = [&](std::int64_t rows) {
        const AnalysedProgram one =
            analysed(fmt::format("Q: bf16[T={}, H=128]\nA: bf16[S=1024, H]\nV: bf16[S, H]\nfuse {{\n"
                                 " P : bf16[T, S] = softmax[S](Q * A)\n O : bf16[T, H] = P * V\n}}",
                                 rows));
        ProgramModels models;
        models.kernels = {&decode};
        models.others = {&prefill};
        models.instead = {std::nullopt};
        const CompiledExpected compiled(one.program, one.analysis, one.system, models, {});
        std::vector<double> scratch(compiled.places());
        const ExpectedProgramTime expected = compiled.evaluate({}, scratch);
        const KernelPoint point = kernel_runs(one.program, one.analysis, {}).front().point;
        CHECK(models.seconds_at(0, point) == approx(expected.seconds));
        CHECK(models.error_of(0, point) == approx(expected.error));
        CHECK((models.model_at(0, point) == &prefill) == (rows > 256));
        return expected;
    };
    // 128 rows: 10 us + 0.671 us. 512 rows: 1 us + 2.684 us / 0.5. 256 rows: sqrt(11.342 us * 3.684 us).
    CHECK(at(128).seconds == approx(10.67109e-6).epsilon(1e-6));
    CHECK(at(512).seconds == approx(6.36871e-6).epsilon(1e-6));
    CHECK(at(4096).seconds == approx(43.94967e-6).epsilon(1e-6));
    CHECK(at(256).seconds == approx(6.46441e-6).epsilon(1e-6));
    CHECK(at(128).error == approx(0.1));
    CHECK(at(512).error == approx(0.36));
    // halfway between the two
    CHECK(at(256).error == approx(0.23));
}

TEST_CASE("libraries are ranked by the machines that were measured with them, those compared first") {
    const auto calibration = [](const std::string& machine, const std::vector<std::pair<std::string, double>>& models) {
        Calibration all;
        all.machine = machine;
        for (const auto& [software, error] : models) {
            CalibratedKernel kernel;
            kernel.key = {Kind::contraction, "fp8", software, ""};
            kernel.fit.rows = 100;
            kernel.fit.error_held_out = error;
            all.kernels.push_back(kernel);
        }
        return all;
    };
    Calibrations all(std::vector<Calibration>{
        calibration("a", {{"vllm 2", 0.01}, {"trtllm 1", 0.09}}), calibration("b", {{"vllm 1", 0.01}}),
        calibration("c", {{"trtllm 1", 0.05}, {"sglang 1", 0.01}}), calibration("d", {{"trtllm 2", 0.05}})});
    const KernelKey key{Kind::contraction, "fp8", "", ""};
    CHECK(all.libraries(key) == std::vector<std::string>{"trtllm", "vllm", "sglang"});
    CHECK(choose_kernel(all, "a", key, "")->key.software == "trtllm 1");
    CHECK(choose_kernel(all, "c", key, "")->key.software == "trtllm 1");
    CHECK(choose_kernel(all, "a", key, "vllm")->key.software == "vllm 2");
    all.compare({"a", "b"});
    CHECK(all.libraries(key).front() == "vllm");
    CHECK(choose_kernel(all, "a", key, "")->key.software == "vllm 2");
    CHECK(choose_kernel(all, "b", key, "")->key.software == "vllm 1");
}

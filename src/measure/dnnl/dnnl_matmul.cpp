// Matmuls by oneDNN. Its exceptions do not leave this file.
#include <dlfcn.h>
#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "measure/module.hpp"
#include "measure/run/matmul_library.hpp"

namespace roofline::core {

namespace {

using dnnl::memory;

std::optional<memory::data_type> type_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::f32:
            return memory::data_type::f32;
        case Dtype::bf16:
            return memory::data_type::bf16;
        case Dtype::int8:
            return memory::data_type::s8;
        case Dtype::int32:
            return memory::data_type::s32;
        default:
            return std::nullopt;
    }
}

struct Eltwise {
    MapFunction function;
    dnnl::algorithm algorithm;
    float alpha;
};

constexpr Eltwise eltwise[] = {
    {MapFunction::relu, dnnl::algorithm::eltwise_relu, 0},
    {MapFunction::tanh, dnnl::algorithm::eltwise_tanh, 0},
    {MapFunction::gelu, dnnl::algorithm::eltwise_gelu_tanh, 0},
    {MapFunction::silu, dnnl::algorithm::eltwise_swish, 1},
    {MapFunction::sigmoid, dnnl::algorithm::eltwise_logistic, 0},
    {MapFunction::exp, dnnl::algorithm::eltwise_exp, 0},
    {MapFunction::sqrt, dnnl::algorithm::eltwise_sqrt, 0},
    {MapFunction::square, dnnl::algorithm::eltwise_square, 0},
    {MapFunction::abs, dnnl::algorithm::eltwise_abs, 0},
};

bool has(dnnl::cpu_isa wanted) {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

bool has_bf16() { return has(dnnl::cpu_isa::avx512_core_bf16); }
bool has_vnni() { return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni); }

std::string isa_name() {
    switch (dnnl::get_effective_cpu_isa()) {
        case dnnl::cpu_isa::avx512_core_amx:
            return "AMX";
        case dnnl::cpu_isa::avx512_core_bf16:
            return "AVX-512 with bf16";
        case dnnl::cpu_isa::avx512_core_vnni:
            return "AVX-512 with VNNI";
        case dnnl::cpu_isa::avx512_core:
            return "AVX-512";
        case dnnl::cpu_isa::avx2_vnni:
            return "AVX2 with VNNI";
        case dnnl::cpu_isa::avx2:
            return "AVX2";
        case dnnl::cpu_isa::avx:
            return "AVX";
        case dnnl::cpu_isa::sse41:
            return "SSE4.1";
        default:
            return "this processor";
    }
}

class DnnlMatmul : public StepKernel {
public:
    DnnlMatmul(const dnnl::engine& engine, const dnnl::stream& stream, const dnnl::matmul::primitive_desc& description,
               const memory::desc& plain_weights)
        : stream_(stream),
          product_(description),
          weights_(description.weights_desc()),
          plain_(plain_weights),
          engine_(engine),
          implementation_(description.impl_info_str()) {
        packs_ = weights_ != plain_;
        arguments_ = {{DNNL_ARG_SRC, memory(description.src_desc(), engine, nullptr)},
                      {DNNL_ARG_WEIGHTS, memory(weights_, engine, nullptr)},
                      {DNNL_ARG_DST, memory(description.dst_desc(), engine, nullptr)}};
    }

    [[nodiscard]] std::size_t packed_bytes() const override { return packs_ ? weights_.get_size() : 0; }

    Status pack(const void* from, void* to) override {
        try {
            memory source(plain_, engine_, const_cast<void*>(from));
            memory target(weights_, engine_, to);
            dnnl::reorder(source, target).execute(stream_, source, target);
            stream_.wait();
        } catch (const dnnl::error& problem) {
            return fail("library", fmt::format("oneDNN cannot pack a weight: {}", problem.what()));
        }
        return {};
    }

    Status run(std::span<void* const> arrays) override {
        try {
            arguments_[DNNL_ARG_SRC].set_data_handle(arrays[0]);
            arguments_[DNNL_ARG_WEIGHTS].set_data_handle(arrays[1]);
            arguments_[DNNL_ARG_DST].set_data_handle(arrays[2]);
            product_.execute(stream_, arguments_);
        } catch (const dnnl::error& problem) {
            return fail("library", fmt::format("oneDNN cannot multiply: {}", problem.what()));
        }
        return {};
    }

    [[nodiscard]] std::string note() const override { return fmt::format("matmuls: oneDNN's {}", implementation_); }

private:
    dnnl::stream stream_;
    dnnl::matmul product_;
    memory::desc weights_;
    memory::desc plain_;
    dnnl::engine engine_;
    std::string implementation_;
    bool packs_ = false;
    std::unordered_map<int, memory> arguments_;
};

/// The threads of GNU OpenMP, which oneDNN uses. Its functions are looked up by name so that any compiler can build
/// this file.
struct OpenMp {
    using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
    Parallel parallel = nullptr;
    int (*thread)() = nullptr;
    void (*set_threads)(int) = nullptr;

    OpenMp() {
        parallel = reinterpret_cast<Parallel>(::dlsym(RTLD_DEFAULT, "GOMP_parallel"));
        thread = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_thread_num"));
        set_threads = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    }
    [[nodiscard]] bool known() const { return parallel != nullptr && thread != nullptr && set_threads != nullptr; }
};

class OpenMpTeam : public Team {
public:
    OpenMpTeam(const OpenMp& openmp, const std::vector<int>& processors)
        : openmp_(openmp), threads_(static_cast<int>(processors.size())) {
        openmp_.set_threads(threads_);
        run([&](int thread) {
            if (thread < threads_) bind_to(processors[static_cast<std::size_t>(thread)]);
        });
    }

    [[nodiscard]] int threads() const override { return threads_; }

    void run(const std::function<void(int thread)>& work) override {
        struct Call {
            const OpenMp* openmp;
            const std::function<void(int thread)>* work;
        } call{&openmp_, &work};
        openmp_.parallel(
            [](void* data) {
                const auto& each = *static_cast<Call*>(data);
                (*each.work)(each.openmp->thread());
            },
            &call, static_cast<unsigned>(threads_), 0);
    }

private:
    AffinityGuard affinity_;  ///< of the thread that made the team
    OpenMp openmp_;
    int threads_;
};

class Dnnl : public MatmulLibrary {
public:
    [[nodiscard]] std::string name() const override {
        const auto* version = dnnl::version();
        return fmt::format("oneDNN {}.{}.{} ({})", version->major, version->minor, version->patch, isa_name());
    }

    [[nodiscard]] std::unique_ptr<Team> make_team(const std::vector<int>& processors) override {
        const OpenMp openmp;
        if (!openmp.known()) return roofline::core::make_team(processors);
        return std::make_unique<OpenMpTeam>(openmp, processors);
    }

    [[nodiscard]] std::vector<MapFunction> after_matmul() const override {
        std::vector<MapFunction> functions;
        for (const Eltwise& each : eltwise) functions.push_back(each.function);
        return functions;
    }

    [[nodiscard]] std::unique_ptr<StepKernel> make(const MatmulStep& step, std::string& why_not) override {
        const std::string dtype(roofline::core::name(step.arithmetic));
        const auto a = type_of(step.a);
        const auto b = type_of(step.b);
        const auto c = type_of(step.c);
        const bool alike = step.a == step.b && step.a == step.arithmetic;
        if (!a || !b || !c || !alike || step.arithmetic == Dtype::int32) {
            why_not = fmt::format("oneDNN has no {} x {} matmul in {} for processors: the program's own kernel runs it",
                                  roofline::core::name(step.a), roofline::core::name(step.b), dtype);
            return nullptr;
        }
        if (step.arithmetic == Dtype::bf16 && !has_bf16()) {
            why_not = "bf16 matmuls run in f32 on the program's own kernel: the processor has no bf16 instructions";
            return nullptr;
        }
        if (step.arithmetic == Dtype::int8 && !has_vnni()) {
            why_not =
                "int8 matmuls run on the program's own kernel with 16-bit pairs: the processor has no VNNI, and "
                "without it oneDNN packs the weights at every call";
            return nullptr;
        }
        try {
            return made(step, *a, *b, *c);
        } catch (const dnnl::error& problem) {
            why_not = fmt::format(
                "oneDNN does not support {} matmuls with these operands ({}): the program's own kernel "
                "does them",
                dtype, problem.what());
            return nullptr;
        }
    }

private:
    std::unique_ptr<StepKernel> made(const MatmulStep& step, memory::data_type a, memory::data_type b,
                                     memory::data_type c) {
        memory::dims a_dims;
        memory::dims b_dims;
        memory::dims c_dims;
        memory::dims a_strides;
        memory::dims b_strides;
        memory::dims c_strides;
        const auto add = [](memory::dims& dims, memory::dims& strides, std::int64_t size, std::int64_t stride) {
            dims.push_back(size);
            strides.push_back(stride);
        };
        for (const MatmulStep::Batch& loop : step.batch) {
            // an operand with stride 0 is broadcast
            add(a_dims, a_strides, loop.a == 0 ? 1 : loop.size, loop.a == 0 ? step.m * step.k : loop.a);
            add(b_dims, b_strides, loop.b == 0 ? 1 : loop.size, loop.b == 0 ? step.k * step.n : loop.b);
            add(c_dims, c_strides, loop.size, loop.c);
        }
        add(a_dims, a_strides, step.m, step.a_m);
        add(a_dims, a_strides, step.k, step.a_k);
        add(b_dims, b_strides, step.k, step.b_k);
        add(b_dims, b_strides, step.n, step.b_n);
        add(c_dims, c_strides, step.m, step.c_m);
        add(c_dims, c_strides, step.n, step.c_n);
        const memory::desc source(a_dims, a, a_strides);
        const memory::desc plain(b_dims, b, b_strides);
        const memory::desc weights =
            step.weight ? memory::desc(b_dims, b, memory::format_tag::any) : memory::desc(b_dims, b, b_strides);
        const memory::desc result(c_dims, c, c_strides);
        dnnl::post_ops after;
        for (const MapFunction function : step.then) {
            for (const Eltwise& each : eltwise) {
                if (each.function == function) after.append_eltwise(1, each.algorithm, each.alpha, 0);
            }
        }
        dnnl::primitive_attr attributes;
        attributes.set_post_ops(after);
        const dnnl::matmul::primitive_desc description({source, weights, result}, attributes, engine_);
        if (std::string_view(description.impl_info_str()).starts_with("ref")) {
            throw dnnl::error(dnnl_unimplemented, "only its plain loops would do");
        }
        return std::make_unique<DnnlMatmul>(engine_, stream_, description, plain);
    }

    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
};

MatmulLibrary& library() {
    static Dnnl dnnl;
    return dnnl;
}

}  // namespace

}  // namespace roofline::core

ROOFLINE_MODULE(dnnl, roofline::core::MatmulLibrary, roofline::core::library());

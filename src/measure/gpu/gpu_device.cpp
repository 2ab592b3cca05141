#include "measure/gpu/gpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "measure/gpu/gpu.hpp"
#include "measure/gpu/gpu_matmul.hpp"
#include "measure/gpu/gpu_steps.hpp"

namespace roofline::core {

namespace {

/// Alignment in bytes: copies of an array follow one another at multiples of a cache line (Execution).
constexpr std::int64_t array_alignment = 64;

using StepArguments = std::array<void*, max_gpu_arrays>;

cuda::DevicePointer device_pointer(const void* memory) { return std::bit_cast<std::uintptr_t>(memory); }
void* as_memory(cuda::DevicePointer at) { return std::bit_cast<void*>(static_cast<std::uintptr_t>(at)); }

Result<GpuKernel> compiled(Gpu& gpu, const std::string& source) {
    ROOFLINE_CHECK(gpu.load(source));
    return gpu.kernel("roofline_step");
}

Status started(Gpu& gpu, const GpuKernel& kernel, std::int64_t blocks, unsigned threads,
               std::span<void* const> arrays) {
    StepArguments arguments{};
    std::copy(arrays.begin(), arrays.end(), arguments.begin());
    return gpu.launch(kernel, static_cast<unsigned>(blocks), threads, arguments);
}

/// A step that runs as a kernel of our own; a second kernel combines the results if long rows were divided into pieces.
class GpuStepKernel : public StepKernel {
public:
    static Result<std::unique_ptr<StepKernel>> make(Gpu& gpu, const RunStep& step, const StepProgram& program) {
        ROOFLINE_TRY(auto source, gpu_step_source(step, program, gpu.properties().multiprocessors));
        ROOFLINE_TRY(auto kernel, compiled(gpu, source.text));
        std::unique_ptr<GpuStepKernel> made(new GpuStepKernel(gpu, kernel));
        made->blocks_ = source.blocks;
        made->threads_ = source.threads;
        if (source.pieces > 1) {
            ROOFLINE_TRY(made->join_, compiled(gpu, source.join));
            made->join_blocks_ = source.join_blocks;
            ROOFLINE_TRY(made->partial_, gpu.allocate(source.partial_bytes));
        }
        return std::unique_ptr<StepKernel>(std::move(made));
    }

    Status run(std::span<void* const> arrays) override {
        if (partial_.bytes() == 0) return started(gpu_, kernel_, blocks_, threads_, arrays);
        std::vector<void*> first(arrays.begin(), arrays.end());
        first.back() = as_memory(partial_.device());
        ROOFLINE_CHECK(started(gpu_, kernel_, blocks_, threads_, first));
        return started(gpu_, join_, join_blocks_, threads_, std::array<void*, 2>{first.back(), arrays.back()});
    }

private:
    GpuStepKernel(Gpu& gpu, GpuKernel kernel) : gpu_(gpu), kernel_(std::move(kernel)) {}

    Gpu& gpu_;
    GpuKernel kernel_;
    std::int64_t blocks_ = 1;
    unsigned threads_ = 1;
    GpuKernel join_;
    std::int64_t join_blocks_ = 1;
    GpuMemory partial_;
};

/// A matmul by cuBLASLt, with one launch per iteration of all batch loops but the longest.
class GpuMatmulKernel : public StepKernel {
public:
    static Result<std::unique_ptr<StepKernel>> make(Gpu& gpu, const RunStep& run_step) {
        const auto& step = std::get<MatmulStep>(run_step.what);
        std::unique_ptr<GpuMatmulKernel> made(new GpuMatmulKernel(gpu, step));
        ROOFLINE_TRY(auto type, made->type_of(run_step.text));
        ROOFLINE_TRY(auto shape, made->shape_of(run_step.text, type));
        // timing several algorithms would need memory; frameworks use the heuristic's first one too
        ROOFLINE_TRY(auto matmul, GpuMatmul::make(gpu, type, shape, 1));
        made->matmul_ = std::make_unique<GpuMatmul>(std::move(matmul));
        if (made->packs_) {
            ROOFLINE_TRY(made->transpose_, compiled(gpu, gpu_transpose_source(step.k, step.n)));
        }
        return std::unique_ptr<StepKernel>(std::move(made));
    }

    [[nodiscard]] std::size_t packed_bytes() const override {
        return packs_ ? static_cast<std::size_t>(step_.k) * static_cast<std::size_t>(step_.n) : 0;
    }
    Status pack(const void* from, void* to) override {
        const std::int64_t blocks = std::clamp<std::int64_t>(step_.k * step_.n / 256, 1, 65536);
        return started(gpu_, transpose_, blocks, 256, std::array<void*, 2>{const_cast<void*>(from), to});
    }

    Status run(std::span<void* const> arrays) override {
        const std::array<cuda::DevicePointer, 3> base{device_pointer(arrays[0]), device_pointer(arrays[1]),
                                                      device_pointer(arrays[2])};
        const std::array<std::int64_t, 3> width{info(step_.a).bits / 8, info(step_.b).bits / 8, info(step_.c).bits / 8};
        for (std::int64_t i = 0; i < products_; ++i) {
            std::array<std::int64_t, 3> offset{};
            std::int64_t rest = i;
            for (const MatmulStep::Batch& loop : outer_) {
                const std::int64_t place = rest % loop.size;
                rest /= loop.size;
                offset[0] += place * loop.a;
                offset[1] += place * loop.b;
                offset[2] += place * loop.c;
            }
            const auto at = [&](std::size_t which) {
                return base[which] + static_cast<std::uint64_t>(offset[which] * width[which]);
            };
            ROOFLINE_CHECK(matmul_->run(at(0), at(1), at(2)));
        }
        return {};
    }

private:
    GpuMatmulKernel(Gpu& gpu, MatmulStep step) : gpu_(gpu), step_(std::move(step)) {
        outer_ = step_.batch;
        const auto longest = std::max_element(outer_.begin(), outer_.end(),
                                              [](const auto& a, const auto& b) { return a.size < b.size; });
        if (longest == outer_.end()) return;
        inner_ = *longest;
        outer_.erase(longest);
        for (const MatmulStep::Batch& loop : outer_) products_ *= loop.size;
    }

    /// How cuBLASLt multiplies these dtypes.
    [[nodiscard]] Result<GpuMatmulType> type_of(const std::string& what) const {
        const auto refused = [&](const std::string& why, const std::string& hint) {
            return fail("unsupported", fmt::format("{} does not run on the GPU: {}", what, why), hint);
        };
        if (step_.a != step_.b) {
            return refused(fmt::format("cuBLASLt does not multiply {} by {}", name(step_.a), name(step_.b)),
                           "convert one of them in a separate statement");
        }
        if (!step_.then.empty())
            return refused("matmuls on the GPU do not apply elementwise functions to their results", "");
        const GpuMatmulType* found = find_gpu_matmul_type(info(step_.a).arithmetic);
        if (step_.arithmetic == Dtype::tf32 && step_.a == Dtype::f32) found = find_gpu_matmul_type(Dtype::tf32);
        if (found == nullptr) return refused(fmt::format("cuBLASLt does not multiply {}", name(step_.a)), "");
        GpuMatmulType type = *found;
        if (step_.c == type.result) return type;
        const bool small = type.dtype == Dtype::bf16 || type.dtype == Dtype::f16 || type.dtype == Dtype::fp8;
        if (!small || step_.c != Dtype::f32) {
            return refused(
                fmt::format("cuBLASLt does not store matmuls of {} as {}", name(step_.a), name(step_.c)),
                fmt::format("write the result as {} and convert it in a separate statement", name(type.result)));
        }
        type.result = Dtype::f32;
        type.result_type = cuda::real_f32;
        return type;
    }

    Result<GpuMatmulShape> shape_of(const std::string& what, const GpuMatmulType& type) {
        GpuMatmulShape shape;
        shape.m = step_.m;
        shape.n = step_.n;
        shape.k = step_.k;
        shape.a_along_k = step_.a_k == 1 || step_.k == 1;
        shape.b_along_k = step_.b_k == 1 && (step_.b_n != 1 || step_.n == 1);
        // the leading dimension of an operand with one row or column is never used, but cuBLASLt still needs a valid
        // one
        shape.lda = shape.a_along_k ? (step_.m == 1 ? step_.k : step_.a_m) : (step_.k == 1 ? step_.m : step_.a_k);
        shape.ldb = shape.b_along_k ? (step_.n == 1 ? step_.k : step_.b_n) : (step_.k == 1 ? step_.n : step_.b_k);
        shape.ldc = step_.m == 1 ? step_.n : step_.c_m;
        packs_ = type.both_along_k && !shape.b_along_k && step_.weight && step_.batch.empty() && step_.b_k == step_.n;
        if (packs_) {
            shape.b_along_k = true;
            shape.ldb = step_.k;
        }
        if (type.both_along_k && (!shape.a_along_k || !shape.b_along_k)) {
            return fail("unsupported",
                        fmt::format("{} does not run on the GPU: for {} cuBLASLt needs operands that are contiguous "
                                    "along the summed dimension",
                                    what, name(type.dtype)),
                        "declare both with the summed dimension last");
        }
        const bool fits = shape.lda >= (shape.a_along_k ? shape.k : shape.m) &&
                          shape.ldb >= (shape.b_along_k ? shape.k : shape.n) && shape.ldc >= shape.n &&
                          step_.c_n == 1 && inner_.size <= std::numeric_limits<std::int32_t>::max();
        if (!fits)
            return fail("unsupported",
                        fmt::format("{} does not run on the GPU: cuBLASLt does not support these strides", what));
        shape.batch = inner_.size;
        shape.batch_a = inner_.a;
        shape.batch_b = inner_.b;
        shape.batch_c = inner_.c;
        // alignment of allocations and copies of arrays, reduced by the strides of the other batch loops
        std::array<std::int64_t, 3> align{array_alignment, array_alignment, array_alignment};
        for (const MatmulStep::Batch& loop : outer_) {
            align[0] = std::gcd(align[0], loop.a * info(step_.a).bits / 8);
            align[1] = std::gcd(align[1], loop.b * info(step_.b).bits / 8);
            align[2] = std::gcd(align[2], loop.c * info(step_.c).bits / 8);
        }
        shape.align_a = static_cast<std::uint32_t>(align[0]);
        shape.align_b = static_cast<std::uint32_t>(align[1]);
        shape.align_c = static_cast<std::uint32_t>(align[2]);
        return shape;
    }

    Gpu& gpu_;
    MatmulStep step_;
    MatmulStep::Batch inner_;
    std::vector<MatmulStep::Batch> outer_;
    std::int64_t products_ = 1;
    bool packs_ = false;
    GpuKernel transpose_;
    std::unique_ptr<GpuMatmul> matmul_;
};

class GpuDevice : public Device {
public:
    explicit GpuDevice(std::unique_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

    [[nodiscard]] std::string name() const override { return gpu_->properties().name; }
    [[nodiscard]] std::int64_t memory_free() const override {
        const auto free = gpu_->free_memory();
        // for the workspace of cuBLASLt and for partial sums
        const auto kept = static_cast<std::int64_t>(2 * Gpu::workspace_bytes);
        return free && *free > kept ? *free - kept : 0;
    }
    [[nodiscard]] std::int64_t largest_cache() const override { return gpu_->properties().l2_bytes; }
    [[nodiscard]] bool shares_memory() const override { return false; }

    Result<void*> allocate(std::size_t bytes) override {
        ROOFLINE_TRY(auto memory, gpu_->allocate(bytes));
        void* at = as_memory(memory.device());
        memory_[at] = std::move(memory);
        return at;
    }
    void release(void* memory) override { memory_.erase(memory); }
    Status upload(const void* from, void* to, std::size_t bytes) override {
        return gpu_->upload(device_pointer(to), from, bytes);
    }
    Status download(const void* from, void* to, std::size_t bytes) override {
        return gpu_->download(to, device_pointer(from), bytes);
    }

    Result<std::unique_ptr<StepKernel>> make(const RunStep& step, const StepProgram& program) override {
        return std::holds_alternative<MatmulStep>(step.what) ? GpuMatmulKernel::make(*gpu_, step)
                                                             : GpuStepKernel::make(*gpu_, step, program);
    }
    Status synchronise() override { return gpu_->synchronize(); }

private:
    std::unique_ptr<Gpu> gpu_;
    std::map<void*, GpuMemory> memory_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_gpu_device(const std::string& libraries) {
    ROOFLINE_TRY(auto gpu, Gpu::open(libraries));
    return std::make_unique<GpuDevice>(std::move(gpu));
}

}  // namespace roofline::core

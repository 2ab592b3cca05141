#include "import/profile/kernel_class.hpp"

#include <string>
#include <utility>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

struct Word {
    std::string_view part;
    std::string_view kind;
};

// Parts of names in lower case; the first that is found counts, so the narrower ones come first.
constexpr Word words[] = {
    {"flash", "attention"},
    {"fmha", "attention"},
    {"attention", "attention"},
    {"sdpa", "attention"},
    {"adam", "optimizer"},
    {"sgd", "optimizer"},
    {"optimizer", "optimizer"},
    {"multi_tensor_apply", "optimizer"},
    {"_foreach_", "optimizer"},
    {"batch_norm", "norm"},
    {"layer_norm", "norm"},
    {"layernorm", "norm"},
    {"rms_norm", "norm"},
    {"rmsnorm", "norm"},
    {"group_norm", "norm"},
    {"native_norm", "norm"},
    {"cross_entropy", "loss"},
    {"nll_loss", "loss"},
    {"mse_loss", "loss"},
    {"softmax", "softmax"},
    {"conv", "convolution"},
    {"fprop", "convolution"},
    {"dgrad", "convolution"},
    {"wgrad", "convolution"},
    {"winograd", "convolution"},
    {"addmm", "matmul"},
    {"matmul", "matmul"},
    {"linear", "matmul"},
    {"einsum", "matmul"},
    {"bmm", "matmul"},
    {"::mm", "matmul"},
    {"_scaled_mm", "matmul"},
    {"gemm", "matmul"},
    {"gemv", "matmul"},
    {"cutlass", "matmul"},
    {"cublas", "matmul"},
    {"xmma", "matmul"},
    {"nvjet", "matmul"},
    {"cijk_", "matmul"},
    {"splitk", "matmul"},
    {"dot", "matmul"},
    {"moe", "experts"},
    {"embedding", "embedding"},
    {"index", "gather and scatter"},
    {"gather", "gather and scatter"},
    {"scatter", "gather and scatter"},
    {"dynamic-slice", "gather and scatter"},
    {"dynamic-update-slice", "gather and scatter"},
    {"topk", "sort"},
    {"sort", "sort"},
    {"scan", "sort"},
    {"random", "random numbers"},
    {"uniform", "random numbers"},
    {"normal_", "random numbers"},
    {"dropout", "random numbers"},
    {"bernoulli", "random numbers"},
    {"pool", "reduction"},
    {"::sum", "reduction"},
    {"::mean", "reduction"},
    {"reduce", "reduction"},
    {"elementwise", "elementwise"},
    {"loop fusion", "elementwise"},
    {"aten::", "elementwise"},
    {"triton_poi", "elementwise"},
    {"triton_per", "reduction"},
    {"triton_red", "reduction"},
    {"copy", "copy"},
};

std::string_view kind_in(std::string_view name) {
    const std::string text = lowered(name);
    for (const Word& word : words) {
        if (text.find(word.part) != std::string::npos) return word.kind;
    }
    return {};
}

}  // namespace

std::string_view kernel_class(DeviceWork work, std::string_view operation, std::string_view kernel) {
    if (work == DeviceWork::collective) return "collective";
    if (work == DeviceWork::copy || work == DeviceWork::set) return "copy";
    if (const std::string_view kind = kind_in(operation); !kind.empty()) return kind;
    const std::string_view kind = kind_in(kernel);
    return kind.empty() ? "other" : kind;
}

std::string_view listed_type(std::string_view kernel) {
    static constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"OpaqueType<1", "unsigned char"}, {"OpaqueType<2", "c10::BFloat16"}, {"OpaqueType<4", "float"},
        {"OpaqueType<8", "double"},        {"BFloat16", "c10::BFloat16"},     {"Half", "c10::Half"},
        {"BatchedCopy<long", "long"},      {"BatchedCopy<double", "double"},  {"BatchedCopy<bool", "bool"},
    };
    for (const auto& [part, type] : known) {
        if (kernel.find(part) != std::string_view::npos) return type;
    }
    return {};
}

bool multiplies_tf32(std::string_view kernel) {
    // m16n8k8 with sums in f32: of floats that are the instructions of TF32
    return kernel.find("tf32") != std::string_view::npos || kernel.find("s1688") != std::string_view::npos;
}

}  // namespace roofline::core

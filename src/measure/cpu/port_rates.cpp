#include "measure/cpu/port_rates.hpp"

#include <algorithm>

namespace roofline::core {

namespace {

constexpr double least_share = 0.95;
constexpr double max_share = 1.03;
constexpr int any_model = 0xffff;

/// Instructions per cycle; 0: none, or unknown.
struct Ports {
    std::string_view vendor;
    int family;
    int first_model;
    int last_model;
    std::string_view name;
    double fma_256;
    double fma_512;
    double madd_256;  ///< vpmaddubsw, vpmaddwd and vpaddd together
    double dot_256;
    double dot_512;
    double bf16_512;
    bool halved_512 = false;  ///< some of these processors have the second 512-bit port fused off
};

constexpr std::string_view amd = "AuthenticAMD";
constexpr std::string_view intel = "GenuineIntel";

// The first matching row applies.
constexpr Ports table[] = {
    {amd, 0x17, 0x00, 0x2f, "Zen", 1, 0, 0.5, 0, 0, 0},
    {amd, 0x17, 0x30, any_model, "Zen 2", 2, 0, 1, 0, 0, 0},
    {amd, 0x19, 0x10, 0x1f, "Zen 4", 2, 1, 1, 2, 1, 1},
    {amd, 0x19, 0x60, 0xaf, "Zen 4", 2, 1, 1, 2, 1, 1},
    {amd, 0x19, 0x00, 0x5f, "Zen 3", 2, 0, 1, 0, 0, 0},
    {amd, 0x1a, 0x00, any_model, "Zen 5", 2, 0, 0, 0, 0, 0},
    {intel, 6, 0x3c, 0x3c, "Haswell", 2, 0, 0, 0, 0, 0},
    {intel, 6, 0x3f, 0x3f, "Haswell server", 2, 0, 0, 0, 0, 0},
    {intel, 6, 0x4f, 0x4f, "Broadwell server", 2, 0, 0, 0, 0, 0},
    {intel, 6, 0x4e, 0x4e, "Skylake", 2, 0, 1, 0, 0, 0},
    {intel, 6, 0x5e, 0x5e, "Skylake", 2, 0, 1, 0, 0, 0},
    {intel, 6, 0x55, 0x55, "Skylake or Cascade Lake server", 2, 2, 1, 0, 2, 0, true},
    {intel, 6, 0x6a, 0x6c, "Ice Lake server", 2, 2, 1, 0, 2, 0},
    {intel, 6, 0x8f, 0x8f, "Sapphire Rapids", 2, 2, 1, 0, 2, 1},
    {intel, 6, 0xcf, 0xcf, "Emerald Rapids", 2, 2, 1, 0, 2, 1},
    {intel, 6, 0xad, 0xae, "Granite Rapids", 2, 2, 1, 0, 2, 1},
};

const Ports* ports_of(const CpuFeatures& features) {
    for (const Ports& row : table) {
        if (row.vendor == features.vendor && row.family == features.family && features.model >= row.first_model &&
            features.model <= row.last_model) {
            return &row;
        }
    }
    return nullptr;
}

double known_rate(const Ports& ports, const PeakKernel& kernel) {
    const bool wide = kernel.register_bytes == 64;
    if (kernel.title == "FMA") return kernel.dtype == Dtype::f16 ? 0 : wide ? ports.fma_512 : ports.fma_256;
    if (kernel.dtype == Dtype::bf16) return ports.bf16_512;
    if (kernel.needs == CpuFeature::avx2_fma) return ports.madd_256;
    if (kernel.needs == CpuFeature::avx_vnni) return ports.dot_256;
    return kernel.needs == CpuFeature::avx512_vnni ? ports.dot_512 : 0;
}

}  // namespace

std::string_view microarchitecture(const CpuFeatures& features) {
    const Ports* ports = ports_of(features);
    return ports == nullptr ? "" : ports->name;
}

std::vector<double> port_rates(const CpuFeatures& features, const PeakKernel& kernel) {
    if (kernel.unit == Unit::vector || kernel.needs == CpuFeature::none) return {};
    if (kernel.needs == CpuFeature::amx_bf16 || kernel.needs == CpuFeature::amx_int8) return {1.0 / 16};
    if (const Ports* ports = ports_of(features)) {
        const double rate = known_rate(*ports, kernel);
        if (rate > 0 && ports->halved_512 && kernel.register_bytes == 64) return {rate / 2, rate};
        if (rate > 0) return {rate};
    }
    return {0.5, 1, 2, 4};
}

PortVerdict judge_port_rate(const PeakKernel& kernel, const std::vector<double>& rates, double ops_per_cycle) {
    PortVerdict verdict;
    verdict.known = rates.empty();
    const double ops_per_instruction = kernel.ops_per_pass / std::max(kernel.instructions_per_pass, 1.0);
    for (const double rate : rates) {
        const double share = ops_per_cycle / (rate * ops_per_instruction);
        const bool possible = share <= max_share;
        // a smaller rate already matches
        if (possible && verdict.instructions > 0 && verdict.share <= max_share) continue;
        verdict.instructions = rate;
        verdict.rate = rate * ops_per_instruction;
        verdict.share = share;
        verdict.known = possible && share >= least_share;
        verdict.sure = possible && rate == rates.back();
    }
    return verdict;
}

}  // namespace roofline::core

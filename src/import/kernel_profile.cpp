#include "import/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"
#include "import/ncu_csv.hpp"
#include "import/profiler_table.hpp"
#include "import/time_sums.hpp"
#include "import/xprof_table.hpp"
#include "text/csv.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

namespace {

constexpr const char* known =
    "supported are ncu --page raw --csv, xprof's roofline_model, hlo_stats and op_profile, sums of Nsight Systems and "
    "rocprof, and tables with the columns name, flops, bytes and measured_s (docs/reference/tables.md)";

/// The columns of a user's own table.
struct UserColumns {
    std::optional<std::size_t> name, flops, bytes, time, dtype, count;
};

UserColumns columns_of(const std::vector<std::string>& header) {
    const auto at = [&](std::initializer_list<std::string_view> names) -> std::optional<std::size_t> {
        for (const std::string_view wanted : names) {
            const auto found = std::find(header.begin(), header.end(), wanted);
            if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
        }
        return std::nullopt;
    };
    return {at({"name", "kernel", "program", "statement"}),
            at({"flops"}),
            at({"bytes", "hbm_bytes"}),
            at({"measured_s", "time_s"}),
            at({"dtype"}),
            at({"count"})};
}

bool is_own_table(const std::vector<std::string>& header) {
    const UserColumns columns = columns_of(header);
    return columns.name && columns.flops && columns.bytes && columns.time;
}

/// Patterns in the kernel names of libraries, in which the operands' dtype precedes the accumulator's: cuBLAS
/// ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "ampere_h16816gemm", "nvjet_tst", "volta_sgemm"), CUTLASS
/// ("tensorop_s16816gemm_f16"), Triton and DeepGEMM ("fp8_gemm_kernel"). The first match counts.
struct NamedKind {
    std::string_view part;
    KernelFlops kind;
};
constexpr std::array<NamedKind, 25> named_kinds{
    {{"e4m3", {Unit::matmul, Dtype::fp8}},        {"e5m2", {Unit::matmul, Dtype::fp8}},
     {"fp8", {Unit::matmul, Dtype::fp8}},         {"nvjet_qq", {Unit::matmul, Dtype::fp8}},
     {"bf16", {Unit::matmul, Dtype::bf16}},       {"bfloat16", {Unit::matmul, Dtype::bf16}},
     {"nvjet_t", {Unit::matmul, Dtype::bf16}},    {"tf32", {Unit::matmul, Dtype::tf32}},
     {"s1688gemm", {Unit::matmul, Dtype::tf32}},  {"i8i8", {Unit::matmul, Dtype::int8}},
     {"s8s8", {Unit::matmul, Dtype::int8}},       {"int8", {Unit::matmul, Dtype::int8}},
     {"i16832gemm", {Unit::matmul, Dtype::int8}}, {"imma", {Unit::matmul, Dtype::int8}},
     {"fp16", {Unit::matmul, Dtype::f16}},        {"f16f16", {Unit::matmul, Dtype::f16}},
     {"_f16", {Unit::matmul, Dtype::f16}},        {"hgemm", {Unit::matmul, Dtype::f16}},
     {"half", {Unit::matmul, Dtype::f16}},        {"h16816", {Unit::matmul, Dtype::f16}},
     {"h1688", {Unit::matmul, Dtype::f16}},       {"h884", {Unit::matmul, Dtype::f16}},
     {"nvjet_h", {Unit::matmul, Dtype::f16}},     {"dgemm", {Unit::vector, Dtype::f64}},
     {"sgemm", {Unit::vector, Dtype::f32}}}};

std::optional<KernelFlops> kind_in_name(const std::string& name) {
    const std::string low = lowered(name);
    for (const NamedKind& each : named_kinds) {
        if (low.find(each.part) != std::string::npos) return each.kind;
    }
    return std::nullopt;
}

class OwnTableReader {
public:
    explicit OwnTableReader(CsvReader& reader) : reader_(reader), columns_(columns_of(reader.header())) {}

    Result<KernelProfile> read() {
        KernelProfile profile;
        KernelCollector kernels;
        profile.tool = "table";
        while (true) {
            ROOFLINE_TRY(const auto more, reader_.next());
            if (!more) break;
            ROOFLINE_TRY(auto kernel, row());
            if (kernel.time_s > 0) kernels.add(std::move(kernel));
        }
        profile.kernels = kernels.take();
        return profile;
    }

private:
    // Returns 0 if the field is empty.
    Result<double> number(std::optional<std::size_t> at) const {
        const CsvField& field = reader_.record()[*at];
        if (trimmed(field.text).empty()) return 0.0;
        const auto value = number_in(trimmed(field.text));
        if (value && *value >= 0) return *value;
        return reader_.fail_at(field.offset, "bad_number",
                               fmt::format("{} is not a number of at least zero", in_ticks(trimmed(field.text))));
    }

    Result<ProfiledKernel> row() const {
        ProfiledKernel kernel;
        kernel.line = reader_.line();
        kernel.launches = 1;
        kernel.name = trimmed(reader_.record()[*columns_.name].text);
        // a quoted field may contain line breaks, which would break a table
        std::replace_if(
            kernel.name.begin(), kernel.name.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
        const auto time = number(columns_.time);
        const auto flops = number(columns_.flops);
        const auto bytes = number(columns_.bytes);
        for (const auto* each : {&time, &flops, &bytes}) {
            if (!*each) return fail(each->error());
        }
        kernel.time_s = *time;
        // less than a byte is not a valid count, and FLOPs divided by it not a valid intensity
        constexpr double least = 1;
        if (*bytes >= least) kernel.bytes["hbm"] = *bytes;
        if (*flops <= 0) return kernel;
        const std::string_view word =
            columns_.dtype ? trimmed(reader_.record()[*columns_.dtype].text) : std::string_view();
        std::optional<KernelFlops> kind;
        if (const auto dtype = find_dtype(word)) kind = KernelFlops{Unit::matmul, *dtype};
        if (word.empty()) kind = kind_in_name(kernel.name);
        if (!kind) {
            kernel.flops.push_back({Unit::vector, Dtype::f32, *flops});
            kernel.doubt = word.empty() ? "the dtype of its FLOPs is unknown, so no peak applies: add a column `dtype`"
                                        : fmt::format("its dtype {} is unknown", in_ticks(word));
            return kernel;
        }
        kind->flops = *flops;
        kernel.flops.push_back(*kind);
        return kernel;
    }

    CsvReader& reader_;
    UserColumns columns_;
};

/// Skips the lines that ncu prints while it profiles, such as "==PROF== Connected to process 12", and the program's
/// output.
std::string_view without_banner(std::string_view text) {
    const std::size_t header = text.find("\"ID\",\"Process ID\"");
    if (header == 0 || header == std::string_view::npos || text[header - 1] != '\n') return text;
    return text.substr(header);
}

Result<KernelProfile> read_table(std::string_view text, const std::string& source) {
    if (is_xprof_json(text)) return read_xprof_json(text, source);
    constexpr std::size_t beginning = 4096;
    const ProfilerTable table = find_profiler_table(text.substr(0, beginning));
    if (table.kind == ProfilerTableKind::sums) return read_time_sums(text, table, source);
    if (table.kind == ProfilerTableKind::other) return refuse_table(table, source);
    ROOFLINE_TRY(auto reader, CsvReader::open(text, source));
    if (is_ncu_raw(reader.header())) return read_ncu_raw(reader);
    if (is_xprof_table(reader.header())) return read_xprof_table(reader);
    if (is_own_table(reader.header())) return OwnTableReader(reader).read();
    if (is_ncu_details(reader.header())) {
        return reader.fail_at(0, "unknown_table", "this is ncu's details page, which has rates but no counts",
                              "ncu --page raw --csv writes the counters");
    }
    return reader.fail_at(0, "unknown_table", "the columns are not those of a kernel profile", known);
}

}  // namespace

void KernelCollector::add(ProfiledKernel launch) {
    const auto [place, fresh] = places_.try_emplace(launch.name, kernels_.size());
    if (fresh) {
        kernels_.push_back(std::move(launch));
        return;
    }
    ProfiledKernel& same = kernels_[place->second];
    same.launches += launch.launches;
    same.time_s += launch.time_s;
    for (const auto& [level, bytes] : launch.bytes) same.bytes[level] += bytes;
    for (const KernelFlops& flops : launch.flops) {
        const auto alike = std::find_if(same.flops.begin(), same.flops.end(), [&](const KernelFlops& each) {
            return each.unit == flops.unit && each.dtype == flops.dtype;
        });
        if (alike == same.flops.end()) {
            same.flops.push_back(flops);
        } else {
            alike->flops += flops.flops;
        }
    }
    if (same.doubt.empty()) same.doubt = std::move(launch.doubt);
}

Result<KernelProfile> read_kernel_profile(std::string_view text, const std::string& source) {
    const std::string_view table = without_banner(text);
    auto profile = read_table(table, source);
    // lines count from the top of the file, not from below the banner
    const auto above =
        static_cast<int>(std::count(text.begin(), text.end() - static_cast<std::ptrdiff_t>(table.size()), '\n'));
    if (!profile) {
        Error error = profile.error();
        if (error.place) error.place->line += above;
        return fail(std::move(error));
    }
    if (profile->kernels.empty()) {
        return fail("no_kernels", fmt::format("{} contains no kernel", source),
                    "was the run interrupted before its first launch?");
    }
    for (ProfiledKernel& kernel : profile->kernels) kernel.line += above;
    return profile;
}

}  // namespace roofline::core

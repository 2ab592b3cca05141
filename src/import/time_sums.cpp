#include "import/time_sums.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "import/ncu_csv.hpp"
#include "text/csv.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

namespace {

enum class SumRow : std::uint8_t { kernel, copy, call };

// Categories of cuda_gpu_sum, else names: those of copies, and of the calls of HIP and HSA.
SumRow sum_row(std::string_view name, std::string_view category) {
    if (category.ends_with("API")) return SumRow::call;
    if (category.starts_with("MEM")) return SumRow::copy;
    if (!category.empty()) return SumRow::kernel;
    constexpr std::string_view copies[] = {"[CUDA mem", "MEMORY_COPY", "MEMORY_ALLOC",
                                           "CopyHost",  "CopyDevice",  "SCRATCH"};
    for (const std::string_view copy : copies) {
        if (name.starts_with(copy)) return SumRow::copy;
    }
    const auto call_of = [&](std::string_view library) {
        return name.size() > library.size() && name.starts_with(library) && name[library.size()] >= 'A' &&
               name[library.size()] <= 'Z' && name.find_first_of("<( ") == std::string_view::npos;
    };
    if (call_of("hip") || name.starts_with("hsa_") || call_of("nccl") || name.starts_with("roctx")) return SumRow::call;
    if (name.starts_with("HIP_") || name.starts_with("HSA_") || name.starts_with("MARKER_")) return SumRow::call;
    return SumRow::kernel;
}

class TimeSums {
public:
    TimeSums(CsvReader& reader, const ProfilerTable& table) : reader_(reader), table_(table) {}

    Result<KernelProfile> run(const std::string& source) {
        const auto name = find({"name", "operation"});
        const auto time = find({"totaltime", "totaldurationns"});
        const auto count = find({"instances", "calls"});
        const auto category = find({"category"});
        const double per = nanoseconds_in(column_name(reader_.header()[*time]).unit);
        if (!(per > 0)) return reader_.fail_at(0, "bad_unit", "the unit of the total time is unknown");
        std::size_t copies = 0;
        std::size_t calls = 0;
        while (true) {
            ROOFLINE_TRY(const auto more, reader_.next());
            if (!more) break;
            ProfiledKernel kernel;
            kernel.name = trimmed(reader_.record()[*name].text);
            const SumRow row =
                sum_row(kernel.name, category ? trimmed(reader_.record()[*category].text) : std::string_view());
            copies += row == SumRow::copy ? 1U : 0U;
            calls += row == SumRow::call ? 1U : 0U;
            if (row != SumRow::kernel) continue;
            ROOFLINE_TRY(const double nanoseconds, number(*time));
            ROOFLINE_TRY(const double launches, number(*count));
            constexpr double second = 1e-9;
            kernel.time_s = nanoseconds * per * second;
            kernel.launches = std::llround(launches);
            kernel.line = reader_.line();
            if (kernel.time_s > 0) kernels_.add(std::move(kernel));
        }
        KernelProfile profile;
        profile.tool = lowered(table_.tool);
        profile.kernels = kernels_.take();
        if (profile.kernels.empty() && copies + calls > 0) {
            ProfilerTable none = table_;
            none.report = calls > 0 ? "a sum over calls of the host" : "a sum over copies";
            none.remedy = table_.tool == "rocprof"
                              ? "give kernel_stats.csv or kernel_trace.csv, or rocprof's results.csv"
                              : "export cuda_gpu_kern_sum or cuda_gpu_trace";
            return refuse_table(none, source);
        }
        profile.notes.emplace_back(
            "these are times without FLOPs and bytes, so no kernel has a bound: ncu counts them, and a trace of "
            "torch.profiler with shapes or of JAX says what was computed");
        if (copies + calls > 0) {
            profile.notes.push_back(fmt::format("{} row{} of copies and of calls of the host {} left out",
                                                copies + calls, copies + calls == 1 ? "" : "s",
                                                copies + calls == 1 ? "is" : "are"));
        }
        return profile;
    }

private:
    [[nodiscard]] std::optional<std::size_t> find(std::initializer_list<std::string_view> names) const {
        for (const std::string_view wanted : names) {
            for (std::size_t i = 0; i < reader_.header().size(); ++i) {
                if (column_name(reader_.header()[i]).name == wanted) return i;
            }
        }
        return std::nullopt;
    }

    Result<double> number(std::size_t column) const {
        const CsvField& field = reader_.record()[column];
        const auto value = number_in(trimmed(field.text));
        constexpr double most = 9e18;
        if (value && *value >= 0 && *value < most) return *value;
        return reader_.fail_at(field.offset, "bad_number",
                               fmt::format("{} is not a number of at least zero", in_ticks(trimmed(field.text))));
    }

    CsvReader& reader_;
    const ProfilerTable& table_;
    KernelCollector kernels_;
};

}  // namespace

Result<KernelProfile> read_time_sums(std::string_view text, const ProfilerTable& table, const std::string& source) {
    ROOFLINE_TRY(auto reader, CsvReader::open(table_part(text, table), source));
    return TimeSums(reader, table).run(source);
}

}  // namespace roofline::core

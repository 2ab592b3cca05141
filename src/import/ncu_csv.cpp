#include "import/ncu_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/ascii.hpp"
#include "import/ncu_metrics.hpp"

namespace roofline::core {

namespace {

constexpr const char* what_to_collect =
    "ncu --set roofline --metrics gpu__time_duration.sum,dram__bytes.sum,sm__ops_path_tensor_src_bf16_dst_fp32.sum "
    "--page raw --csv";
constexpr std::string_view name_column = "Kernel Name";

/// How a metric was aggregated; it determines the factor that converts a number to the sum over a launch.
enum class RollUp { sum, per_second, per_cycle };

/// A column of counts per launch.
struct NcuColumn {
    std::size_t index = 0;
    RollUp roll_up = RollUp::sum;
    double unit = 1;
};

class NcuReader {
public:
    explicit NcuReader(CsvReader& reader) : reader_(reader) {}

    Result<KernelProfile> read();

private:
    /// The column of a metric, as its sum or as a rate.
    [[nodiscard]] std::optional<NcuColumn> counter(const std::string& metric) const;
    [[nodiscard]] std::optional<std::size_t> index_of(std::string_view name) const;
    Status find_columns();
    Status read_units();
    Status apply_unit(std::optional<NcuColumn>& column);
    [[nodiscard]] std::optional<double> value(const NcuColumn& column, double time_s) const;
    Status read_launch();
    void read_bytes(ProfiledKernel& kernel) const;

    struct FlopsColumn {
        NcuFlops flops;
        std::optional<NcuColumn> column;
    };

    CsvReader& reader_;
    KernelProfile profile_;
    KernelCollector kernels_;
    std::optional<NcuColumn> duration_;
    std::optional<NcuColumn> bytes_, reads_, writes_, l2_;
    std::optional<NcuColumn> cycle_rate_;  ///< cycles per second, for counts per cycle
    std::vector<FlopsColumn> flops_;
    std::vector<std::size_t> tensor_instructions_;
};

std::optional<std::size_t> NcuReader::index_of(std::string_view name) const {
    const auto& header = reader_.header();
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
}

std::optional<NcuColumn> NcuReader::counter(const std::string& metric) const {
    if (const auto at = index_of(metric + ".sum")) return NcuColumn{*at, RollUp::sum, 1};
    if (const auto at = index_of(metric + ".sum.per_second")) return NcuColumn{*at, RollUp::per_second, 1};
    if (const auto at = index_of(metric + ".sum.per_cycle_elapsed")) return NcuColumn{*at, RollUp::per_cycle, 1};
    return std::nullopt;
}

Status NcuReader::find_columns() {
    if (const auto at = index_of("gpu__time_duration.sum")) duration_ = NcuColumn{*at, RollUp::sum, 1};
    if (const auto at = index_of("smsp__cycles_elapsed.avg.per_second")) cycle_rate_ = NcuColumn{*at, RollUp::sum, 1};
    bytes_ = counter("dram__bytes");
    reads_ = counter("dram__bytes_read");
    writes_ = counter("dram__bytes_write");
    l2_ = counter("lts__t_bytes");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < reader_.header().size(); ++i) {
        const std::string& name = reader_.header()[i];
        if (name.starts_with("sm__inst_executed_pipe_tensor")) tensor_instructions_.push_back(i);
        const std::string metric = name.substr(0, name.find('.'));
        const auto flops = ncu_flops(metric);
        // parts of a metric that is already counted as a whole
        const std::size_t part = metric.find("_sparsity_");
        if (!flops || !seen.insert(metric).second) continue;
        if (part != std::string::npos && counter(metric.substr(0, part))) continue;
        if (auto column = counter(metric)) flops_.push_back({*flops, column});
    }
    if (!duration_) {
        return reader_.fail_at(0, "no_time", "the durations of the kernels, gpu__time_duration.sum, are missing",
                               what_to_collect);
    }
    if (!bytes_ && !(reads_ && writes_)) {
        return reader_.fail_at(0, "no_bytes", "the bytes to and from the main memory were not counted",
                               what_to_collect);
    }
    return {};
}

Status NcuReader::apply_unit(std::optional<NcuColumn>& column) {
    if (!column) return {};
    const CsvField& field = reader_.record()[column->index];
    const auto unit = ncu_unit(field.text);
    if (!unit) {
        return reader_.fail_at(field.offset, "bad_unit", fmt::format("{} is an unknown unit", in_ticks(field.text)),
                               "ncu --print-units base writes base units");
    }
    column->unit = *unit;
    return {};
}

// The second line has units instead of the numbers of a launch.
Status NcuReader::read_units() {
    for (auto* column : {&duration_, &bytes_, &reads_, &writes_, &l2_, &cycle_rate_}) {
        ROOFLINE_CHECK(apply_unit(*column));
    }
    for (FlopsColumn& each : flops_) {
        ROOFLINE_CHECK(apply_unit(each.column));
    }
    return {};
}

std::optional<double> NcuReader::value(const NcuColumn& column, double time_s) const {
    const auto number = ncu_number(reader_.record()[column.index].text);
    if (!number || *number < 0) return std::nullopt;
    const double scaled = *number * column.unit;
    if (column.roll_up == RollUp::sum) return scaled;
    if (column.roll_up == RollUp::per_second) return scaled * time_s;
    if (!cycle_rate_) return std::nullopt;
    const auto rate = ncu_number(reader_.record()[cycle_rate_->index].text);
    if (!rate) return std::nullopt;
    return scaled * *rate * cycle_rate_->unit * time_s;
}

void NcuReader::read_bytes(ProfiledKernel& kernel) const {
    auto bytes = bytes_ ? value(*bytes_, kernel.time_s) : std::nullopt;
    if (!bytes && reads_ && writes_) {
        const auto read = value(*reads_, kernel.time_s);
        const auto written = value(*writes_, kernel.time_s);
        if (read && written) bytes = *read + *written;
    }
    if (bytes) kernel.bytes["hbm"] = *bytes;
    if (!l2_) return;
    if (const auto crossed = value(*l2_, kernel.time_s)) kernel.bytes["l2"] = *crossed;
}

Status NcuReader::read_launch() {
    ProfiledKernel kernel;
    kernel.line = reader_.line();
    kernel.launches = 1;
    const CsvField& name = reader_.record()[index_of(name_column).value_or(0)];
    kernel.name = trimmed(name.text);
    const CsvField& duration = reader_.record()[duration_->index];
    const auto time = value(*duration_, 0);
    if (!time || *time <= 0 || *time > 1e6) {
        return reader_.fail_at(duration.offset, "bad_number",
                               fmt::format("{} is not a duration", in_ticks(duration.text)));
    }
    kernel.time_s = *time;
    read_bytes(kernel);
    bool matmul = false;
    for (const FlopsColumn& each : flops_) {
        const auto count = value(*each.column, kernel.time_s);
        if (!count || *count <= 0) continue;
        matmul = matmul || each.flops.unit == Unit::matmul;
        kernel.flops.push_back({each.flops.unit, each.flops.dtype, *count * each.flops.flops});
    }
    const bool tensor = std::any_of(tensor_instructions_.begin(), tensor_instructions_.end(), [&](std::size_t at) {
        return ncu_number(reader_.record()[at].text).value_or(0) > 0;
    });
    if (tensor && !matmul) kernel.doubt = "tensor cores were used, but their operations were not counted";
    kernels_.add(std::move(kernel));
    return {};
}

Result<KernelProfile> NcuReader::read() {
    profile_.tool = "ncu";
    ROOFLINE_CHECK(find_columns());
    bool first = true;
    while (true) {
        ROOFLINE_TRY(const auto more, reader_.next());
        if (!more) break;
        const bool units = first && trimmed(reader_.record().front().text).empty();
        first = false;
        ROOFLINE_CHECK(units ? read_units() : read_launch());
    }
    profile_.kernels = kernels_.take();
    if (flops_.empty()) {
        profile_.notes.push_back(
            fmt::format("no operations were counted, so the kernels have no FLOPs: {}", what_to_collect));
    }
    return std::move(profile_);
}

}  // namespace

bool is_ncu_raw(const std::vector<std::string>& columns) {
    const bool named = std::find(columns.begin(), columns.end(), name_column) != columns.end();
    return named && std::any_of(columns.begin(), columns.end(),
                                [](const auto& name) { return name.find("__") != std::string::npos; });
}

bool is_ncu_details(const std::vector<std::string>& columns) {
    return std::find(columns.begin(), columns.end(), name_column) != columns.end() &&
           std::find(columns.begin(), columns.end(), "Metric Name") != columns.end();
}

Result<KernelProfile> read_ncu_raw(CsvReader& reader) { return NcuReader(reader).read(); }

}  // namespace roofline::core

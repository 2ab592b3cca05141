#include "import/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"
#include "import/csv.hpp"
#include "import/ncu_csv.hpp"
#include "import/text_reader.hpp"

namespace roofline {

namespace {

constexpr const char* known =
    "ncu --page raw --csv is read, and tables with the columns name, flops, bytes and measured_s (docs/measure.md)";

/// The columns of a table of one's own.
struct OwnColumns {
    std::optional<std::size_t> name, flops, bytes, time, dtype, count;
};

OwnColumns columns_of(const std::vector<std::string>& header) {
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
    const OwnColumns columns = columns_of(header);
    return columns.name && columns.flops && columns.bytes && columns.time;
}

class OwnTableReader {
public:
    explicit OwnTableReader(CsvReader& reader) : reader_(reader), columns_(columns_of(reader.header())) {}

    Result<KernelProfile> read() {
        KernelProfile profile;
        KernelCollector kernels;
        profile.tool = "table";
        while (true) {
            const auto more = reader_.next();
            if (!more) return fail(more.error());
            if (!*more) break;
            auto kernel = row();
            if (!kernel) return fail(kernel.error());
            if (kernel->time_s > 0) kernels.add(std::move(*kernel));
        }
        profile.kernels = kernels.take();
        return profile;
    }

private:
    // 0 where the field is empty
    Result<double> number(std::optional<std::size_t> at) const {
        const CsvField& field = reader_.record()[*at];
        if (trimmed(field.text).empty()) return 0.0;
        const auto value = number_in(trimmed(field.text));
        if (value && *value >= 0) return *value;
        return reader_.fail_at(field.offset, "bad_number",
                               fmt::format("{} is no number from zero up", in_ticks(trimmed(field.text))));
    }

    Result<ProfiledKernel> row() const {
        ProfiledKernel kernel;
        kernel.line = reader_.line();
        kernel.launches = 1;
        kernel.name = trimmed(reader_.record()[*columns_.name].text);
        const auto time = number(columns_.time);
        const auto flops = number(columns_.flops);
        const auto bytes = number(columns_.bytes);
        for (const auto* each : {&time, &flops, &bytes}) {
            if (!*each) return fail(each->error());
        }
        kernel.time_s = *time;
        if (*bytes > 0) kernel.bytes["hbm"] = *bytes;
        if (*flops <= 0) return kernel;
        std::optional<Dtype> dtype;
        if (columns_.dtype) dtype = find_dtype(trimmed(reader_.record()[*columns_.dtype].text));
        kernel.flops.push_back({dtype ? Unit::matmul : Unit::vector, dtype.value_or(Dtype::f32), *flops});
        return kernel;
    }

    CsvReader& reader_;
    OwnColumns columns_;
};

/// Behind what ncu says while it profiles: "==PROF== Connected to process 12", and what the program prints.
std::string_view without_banner(std::string_view text) {
    const std::size_t header = text.find("\"ID\",\"Process ID\"");
    if (header == 0 || header == std::string_view::npos || text[header - 1] != '\n') return text;
    return text.substr(header);
}

Result<KernelProfile> read_table(std::string_view text, const std::string& source) {
    auto reader = CsvReader::open(text, source);
    if (!reader) return fail(reader.error());
    if (is_ncu_raw(reader->header())) return read_ncu_raw(*reader);
    if (is_own_table(reader->header())) return OwnTableReader(*reader).read();
    if (is_ncu_details(reader->header())) {
        return reader->fail_at(0, "unknown_table", "this is ncu's page of details, which has rates and no counts",
                               "ncu --page raw --csv writes the counters");
    }
    return reader->fail_at(0, "unknown_table", "the columns are those of no profile of kernels", known);
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
        return fail("no_kernels", fmt::format("{} has no kernel", source),
                    "was the run stopped before its first launch?");
    }
    for (ProfiledKernel& kernel : profile->kernels) kernel.line += above;
    return profile;
}

}  // namespace roofline

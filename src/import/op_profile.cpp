#include "import/op_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "import/ncu_csv.hpp"
#include "import/xprof_table.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

// Those with most detail first; each has all instructions.
constexpr std::string_view trees[] = {"byProgram",    "byProgramExcludeIdle",   "byCategory", "byCategoryExcludeIdle",
                                      "byProvenance", "byProvenanceExcludeIdle"};

/// The sums of a node.
struct OpMetrics {
    double time_ps = 0;
    double flops = 0;
    double hbm_bytes = 0;
    double chip_bytes = 0;
    double occurrences = 0;

    void subtract(const OpMetrics& other) {
        time_ps -= other.time_ps;
        flops -= other.flops;
        hbm_bytes -= other.hbm_bytes;
        chip_bytes -= other.chip_bytes;
        occurrences -= other.occurrences;
    }
};

std::string_view text_in(const FileValue* table, std::string_view key) {
    const FileValue* const value = table == nullptr ? nullptr : table->find(key);
    return value == nullptr ? std::string_view() : std::string_view(value->text);
}

const std::vector<FileValue>& children_of(const FileValue& node) {
    static const std::vector<FileValue> none;
    const FileValue* const children = node.find("children");
    return children == nullptr ? none : children->items;
}

class OpProfileReader {
public:
    OpProfileReader(std::string_view text, const std::string& name) : source_(text, name) {}

    Result<KernelProfile> run(const FileValue& root) {
        const FileValue* tree = nullptr;
        for (const std::string_view key : trees) {
            const FileValue* const found = root.find(key);
            if (found == nullptr || children_of(*found).empty()) continue;
            tree = found;
            programs_ = key.starts_with("byProgram") ? children_of(*found).size() : 0;
            break;
        }
        if (tree == nullptr) {
            return source_.fail_at(source_.span(root.offset), "no_kernels", "this op_profile has no operations",
                                   "was a program running while it was recorded?");
        }
        ROOFLINE_TRY(const OpMetrics all, metrics_of(*tree));
        ROOFLINE_CHECK(walk(*tree, "", "", 0));
        if (!timed_ && !(all.time_ps > 0)) {
            return source_.fail_at(
                source_.span(tree->offset), "no_time",
                "this op_profile states shares of the time and of the peak, but neither times nor "
                "FLOPs: rawTime and rawFlops are missing",
                "xprof has written them since 2020: export op_profile or hlo_stats with a newer one");
        }
        KernelProfile profile;
        profile.tool = "xprof";
        profile.kernels = kernels_.take();
        if (matrix_) profile.notes.emplace_back(xprof_dtype_note);
        if (idle_ps_ > 0) {
            profile.notes.push_back(fmt::format("in addition the device was idle for {:.4g} ms", idle_ps_ * 1e-9));
        }
        if (left_out_ > 0) {
            profile.notes.push_back(
                fmt::format("xprof omitted {} instruction{}; their sums are listed as \"others\" of their category",
                            left_out_, left_out_ == 1 ? "" : "s"));
        }
        return profile;
    }

private:
    Result<double> number_at(const FileValue& value) const {
        if (!value.is_number() || !(value.real >= 0) || std::isinf(value.real)) {
            return source_.fail_at(source_.span(value.offset), "bad_number", "this is not a number of at least zero");
        }
        return value.real;
    }

    Result<OpMetrics> metrics_of(const FileValue& node) const {
        OpMetrics made;
        const FileValue* const metrics = node.find("metrics");
        if (metrics == nullptr) return made;
        const std::pair<std::string_view, double*> numbers[] = {
            {"rawTime", &made.time_ps}, {"rawFlops", &made.flops}, {"occurrences", &made.occurrences}};
        for (const auto& [key, into] : numbers) {
            const FileValue* const value = metrics->find(key);
            if (value == nullptr || value->is_null()) continue;
            ROOFLINE_TRY(*into, number_at(*value));
        }
        const FileValue* const bytes = metrics->find("rawBytesAccessedArray");
        if (bytes == nullptr) return made;
        for (std::size_t i = 0; i < bytes->items.size(); ++i) {
            ROOFLINE_TRY(const double count, number_at(bytes->items[i]));
            (i == 0 ? made.hbm_bytes : made.chip_bytes) += count;
        }
        return made;
    }

    // An instruction is a kernel; the nodes above are programs, categories and groups of equal instructions. The
    // depth is bounded by that of JSON.
    Status walk(const FileValue& node, const std::string& program, std::string_view category, int depth) {
        const FileValue* const xla = node.find("xla");
        ROOFLINE_TRY(OpMetrics metrics, metrics_of(node));
        if (xla != nullptr) {
            const std::string_view own = text_in(xla, "category");
            add(program + std::string(text_in(&node, "name")), own.empty() ? category : own, metrics);
            return {};
        }
        constexpr int at_programs = 1;
        const std::string_view name = text_in(&node, "name");
        const bool names_program = depth == at_programs && programs_ > 1;
        const std::string below = names_program ? fmt::format("{}: ", name) : program;
        for (const FileValue& child : children_of(node)) {
            ROOFLINE_TRY(const OpMetrics part, metrics_of(child));
            metrics.subtract(part);
            ROOFLINE_CHECK(walk(child, below, name, depth + 1));
        }
        const FileValue* const count = node.find("numChildren");
        const auto shown = static_cast<double>(children_of(node).size());
        if (count == nullptr || !count->is_number() || !(count->real > shown) || count->real > 1e9) return {};
        left_out_ += static_cast<std::int64_t>(count->real - shown);
        constexpr double picosecond = 1;  // less is rounding
        if (metrics.time_ps < picosecond) return {};
        const auto& children = children_of(node);
        const std::string_view listed =
            children.empty() ? std::string_view() : text_in(children.front().find("xla"), "category");
        add(fmt::format("{}{}: others", program, name), listed.empty() ? name : listed, metrics);
        return {};
    }

    void add(std::string name, std::string_view category, const OpMetrics& metrics) {
        timed_ = timed_ || metrics.time_ps > 0;
        if (category == "IDLE" || name == "IDLE") {
            idle_ps_ += metrics.time_ps;
            return;
        }
        if (!(metrics.time_ps > 0)) return;
        constexpr double picosecond = 1e-12;
        constexpr double least = 1;  // less than a byte is no count
        ProfiledKernel kernel;
        kernel.name = std::move(name);
        kernel.line = 1;
        kernel.launches = std::max<std::int64_t>(1, std::llround(std::min(metrics.occurrences, 1e15)));
        kernel.time_s = metrics.time_ps * picosecond;
        if (metrics.hbm_bytes >= least) kernel.bytes["hbm"] = metrics.hbm_bytes;
        if (metrics.flops > 0) {
            kernel.flops.push_back(xprof_flops(category, metrics.flops));
            matrix_ = matrix_ || kernel.flops.back().unit == Unit::matmul;
        }
        kernels_.add(std::move(kernel));
    }

    Source source_;
    KernelCollector kernels_;
    std::size_t programs_ = 0;
    std::int64_t left_out_ = 0;
    double idle_ps_ = 0;
    bool timed_ = false;
    bool matrix_ = false;
};

}  // namespace

bool is_op_profile(const FileValue& root) {
    return std::any_of(std::begin(trees), std::end(trees),
                       [&](std::string_view key) { return root.find(key) != nullptr; });
}

Result<KernelProfile> read_op_profile(const FileValue& root, std::string_view text, const std::string& source) {
    return OpProfileReader(text, source).run(root);
}

}  // namespace roofline::core

#include "predict/profile/step_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "predict/profile/matmul_pools.hpp"
#include "program/collective_info.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr double volume_tolerance = 0.001;

/// Whether a kernel only moves numbers or converts them, which a plan has in no kernel of its own.
bool only_copies(const ProfileRow& row) {
    static constexpr std::string_view known[] = {"aten::copy_", "aten::_to_copy", "aten::contiguous", "aten::clone"};
    return row.work == DeviceWork::copy || row.work == DeviceWork::set || row.kind == "copy" ||
           std::find(std::begin(known), std::end(known), row.operation) != std::end(known);
}

double measured_or_due(const ProfileRow& row) { return row.should_s().value_or(row.measured_s); }

class StepComparer {
public:
    StepComparer(const std::vector<ProfileRow>& rows, const PlannedStep& planned, const std::string& profile)
        : rows_(rows), planned_(planned), profile_(profile) {}

    Result<StepComparison> run() {
        result_.job = planned_.job;
        ROOFLINE_CHECK(count_passes());
        for (std::size_t i = 0; i < planned_.passes.size(); ++i) {
            if (times_[i] > 0) add_planned(planned_.passes[i], times_[i], pools_);
        }
        add_plan();
        find_shared_classes();
        for (const ProfileRow& row : rows_) add(row);
        merge_side_by_side(pools_);
        finish_matmuls();
        finish_attention();
        finish_collectives();
        finish_others();
        finish();
        return std::move(result_);
    }

private:
    ComparedClass& of(std::string_view kind) {
        ComparedClass& one = classes_[std::string(kind)];
        one.kind = kind;
        return one;
    }

    [[nodiscard]] bool again(const ProfileRow& row) const { return row.recomputed && !planned_.recomputes; }

    [[nodiscard]] static bool is_matmul(const ProfileRow& row) {
        return row.work == DeviceWork::kernel && row.kind == "matmul";
    }

    Status count_passes() {
        std::vector<MatmulPools> pools(planned_.passes.size());
        std::map<MatmulSize, double> recorded;
        for (std::size_t i = 0; i < pools.size(); ++i) add_planned(planned_.passes[i], 1, pools[i]);
        MatmulPools all;
        for (const PlannedPass& pass : planned_.passes) add_planned(pass, 1, all);
        double sized = 0;
        for (const ProfileRow& row : rows_) {
            if (!is_matmul(row)) continue;
            const auto size = recorded_size(row, all);
            if (!size) continue;
            sized += 1;
            if (!again(row)) recorded[*size] += row.count;
        }
        if (sized == 0) {
            return fail("no_shapes", fmt::format("no matmul in {} has shapes or FLOPs to match it by", profile_),
                        "record with torch.profiler.profile(record_shapes=True)");
        }
        for (std::size_t i = 0; i < pools.size(); ++i)
            times_.push_back(planned_.counted ? 1 : runs_of(i, pools, recorded));
        if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return recorded.contains(each.first); }) ||
            std::all_of(times_.begin(), times_.end(), [](double times) { return times == 0; })) {
            return fail("other_model",
                        fmt::format("no matmul in {} has the size of a matmul in the {}", profile_, planned_.job),
                        "the profile may be of another model, batch size, sequence length or plan");
        }
        return {};
    }

    /// How often a pass ran: the number with which its matmuls and the recorded ones, of sizes that no other pass has,
    /// differ in the fewest FLOPs. Several of the plan may be one recorded matmul, so that a multiple of what one size
    /// says is tried, too. 0 if nothing of it was recorded.
    double runs_of(std::size_t pass, const std::vector<MatmulPools>& pools,
                   const std::map<MatmulSize, double>& recorded) const {
        std::map<MatmulSize, double> own;
        for (const auto& [size, runs] : recorded) {
            bool shared = false;
            for (std::size_t other = 0; other < pools.size(); ++other) {
                shared = shared || (other != pass && pools[other].contains(size));
            }
            if (!shared) own[size] = runs;
        }
        std::set<double> candidates;
        constexpr int most_side_by_side = 4;
        for (const auto& [size, pool] : pools[pass]) {
            const auto found = own.find(size);
            if (found == own.end()) continue;
            for (int i = 1; i <= most_side_by_side; ++i) candidates.insert(i * found->second / pool.planned_runs);
        }
        double best = 0;
        double least = difference(pass, 0, pools, own);
        for (const double times : candidates) {
            const double flops = difference(pass, times, pools, own);
            if (!(flops < least)) continue;
            least = flops;
            best = times;
        }
        return best;
    }

    [[nodiscard]] double difference(std::size_t pass, double times, const std::vector<MatmulPools>& pools,
                                    const std::map<MatmulSize, double>& own) const {
        MatmulPools both;
        if (times > 0) add_planned(planned_.passes[pass], times, both);
        for (const auto& [size, runs] : own) both[size].runs = runs;
        merge_side_by_side(both);
        double sum = 0;
        for (const auto& [size, pool] : both) {
            bool shared = false;
            for (std::size_t other = 0; other < pools.size(); ++other) {
                shared = shared || (other != pass && pools[other].contains(size));
            }
            if (!shared) sum += std::abs(pool.runs - pool.planned_runs) * size.volume();
        }
        return sum;
    }

    void add_plan() {
        for (std::size_t i = 0; i < planned_.passes.size(); ++i) {
            result_.passes.emplace_back(planned_.passes[i].name, times_[i]);
            for (const PlannedKernel& kernel : planned_.passes[i].kernels) {
                if (kernel.kind == "matmul" || times_[i] == 0) continue;
                planned_kinds_.insert(std::string(kernel.kind));
                if (kernel.kind != "attention") continue;
                attention_runs_ += times_[i] * kernel.count;
                attention_s_ += times_[i] * kernel.seconds;
                for (const MatmulSize& size : kernel.matmuls) attention_volumes_.push_back(size.volume());
            }
        }
    }

    // A norm of one kernel is compared with a norm, and otherwise with the elementwise kernels that it consists of.
    void find_shared_classes() {
        std::set<std::string> recorded;
        for (const ProfileRow& row : rows_) recorded.insert(std::string(row.kind));
        for (const char* const kind : {"norm", "softmax", "loss", "embedding", "optimizer"}) {
            if (planned_kinds_.contains(kind) && recorded.contains(kind)) {
                own_classes_.insert(kind);
            } else if (planned_kinds_.contains(kind) || recorded.contains(kind)) {
                joined_.emplace_back(kind);
            }
        }
        for (std::size_t i = 0; i < planned_.passes.size(); ++i) {
            for (const PlannedKernel& kernel : planned_.passes[i].kernels) {
                if (kernel.kind == "matmul" || kernel.kind == "attention" || times_[i] == 0) continue;
                ComparedClass& one = of(class_of(kernel.kind));
                one.planned_runs += times_[i] * kernel.count;
                one.planned_s += times_[i] * kernel.seconds;
            }
        }
    }

    [[nodiscard]] std::string class_of(std::string_view kind) const {
        if (kind == "sort" || kind == "experts" || kind == "convolution") return std::string(kind);
        const std::string name(kind);
        return own_classes_.contains(name) ? name : "elementwise";
    }

    void add(const ProfileRow& row) {
        if (again(row)) {
            again_runs_ += row.count;
            again_s_ += row.measured_s;
            add_extra_class("recomputation", row);
        } else if (row.work == DeviceWork::collective) {
            add_collective(row);
        } else if (only_copies(row)) {
            add_extra_class("copies", row);
            UnmatchedKernels& copies = copies_[row.operation.empty() ? row.name : row.operation];
            copies.runs += row.count;
            copies.seconds += row.measured_s;
        } else if (row.kind == "matmul") {
            add_matmul(row);
        } else if (row.kind == "attention") {
            add_attention(row);
        } else if (row.kind == "other") {
            add_unknown(row);
        } else {
            ComparedClass& one = of(class_of(row.kind));
            one.runs += row.count;
            one.measured_s += row.measured_s;
            due_[one.kind] += measured_or_due(row);
        }
    }

    void add_extra_class(std::string_view kind, const ProfileRow& row) {
        ComparedClass& one = of(kind);
        one.runs += row.count;
        one.measured_s += row.measured_s;
        one.extra_s += row.measured_s;
    }

    void add_unknown(const ProfileRow& row) {
        add_extra_class("unknown", row);
        result_.unknown.push_back(
            {row.operation.empty() ? row.name : row.operation, row.unknown, row.count, row.measured_s});
    }

    void add_matmul(const ProfileRow& row) {
        const auto size = recorded_size(row, pools_);
        if (!size) return add_unknown(row);
        // Batched matmuls that no weight has are those of attention: of scores and of values.
        const auto pool = pools_.find(*size);
        const bool planned = pool != pools_.end() && pool->second.planned_runs > 0;
        if (!planned && size->batch > 1 && !attention_volumes_.empty()) {
            batched_runs_ += row.count;
            const bool same = std::any_of(attention_volumes_.begin(), attention_volumes_.end(), [&](double volume) {
                return std::abs(volume - size->volume()) < volume_tolerance * volume;
            });
            if (!same && planned_.counted) other_sizes_.insert(size_text(*size));
            return add_attention(row);
        }
        MatmulPool& one = pools_[*size];
        one.runs += row.count;
        one.measured_s += row.measured_s;
        matmuls_s_ += row.measured_s;
    }

    void add_attention(const ProfileRow& row) {
        ComparedClass& one = of("attention");
        one.runs += row.count;
        one.measured_s += row.measured_s;
        due_[one.kind] += measured_or_due(row);
    }

    struct Exchanged {
        double runs = 0;
        double bytes = 0;
        double seconds = 0;
    };

    void add_collective(const ProfileRow& row) {
        Exchanged& one = exchanged_[row.operation.empty() ? row.name : row.operation];
        one.runs += row.count;
        one.bytes += row.bytes.value_or(0);
        one.seconds += row.measured_s;
    }

    void finish_matmuls() {
        ComparedClass& one = of("matmul");
        double found_s = 0;
        for (const auto& [size, pool] : pools_) {
            one.runs += pool.runs;
            one.measured_s += pool.measured_s;
            one.planned_runs += pool.planned_runs;
            one.planned_s += pool.planned_s;
            const double extra = pool.extra_runs();
            const double missing = pool.missing_runs();
            if (pool.planned_runs > 0 && pool.runs > 0) found_s += pool.measured_s;
            if (extra > 0) {
                const double seconds = pool.measured_s * extra / pool.runs;
                one.extra_s += seconds;
                result_.extra.push_back({"matmul " + size_text(size), cause_of(pool), extra, seconds});
            }
            if (missing > 0) {
                const double seconds = pool.planned_s * missing / pool.planned_runs;
                one.missing_s += seconds;
                result_.missing.push_back({"matmul " + size_text(size), pool.results, missing, seconds});
            }
        }
        constexpr double few = 0.5;
        if (found_s < few * matmuls_s_) {
            result_.notes.push_back(fmt::format(
                "only {} % of the time of recorded matmuls is spent on sizes that the plan has: the profile may be of "
                "another model, batch size or plan",
                percent_text(found_s / matmuls_s_)));
        }
    }

    // Of the three matmuls of a weight in a training step one is the forward one.
    [[nodiscard]] std::string cause_of(const MatmulPool& pool) const {
        if (!(pool.planned_runs > 0)) return "the plan has none of this size";
        const bool training = planned_.counted && !planned_.recomputes;
        const double third = pool.planned_runs / 3;
        constexpr double near = 0.02;
        if (training && std::abs(pool.extra_runs() - third) < near * third) {
            return fmt::format(
                "{:.6g} where the plan has {:.6g} ({}): as many as if the forward pass ran twice (recomputation)",
                pool.runs, pool.planned_runs, pool.results);
        }
        return fmt::format("{:.6g} where the plan has {:.6g} ({})", pool.runs, pool.planned_runs, pool.results);
    }

    void finish_attention() {
        if (attention_runs_ == 0 && !classes_.contains("attention")) return;
        ComparedClass& one = of("attention");
        one.planned_runs = attention_runs_;
        one.planned_s = attention_s_;
        divide(one);
        if (batched_runs_ > 0 && one.extra_s > 0) {
            result_.extra.push_back({fmt::format("attention as {:.6g} batched matmuls", batched_runs_),
                                     fmt::format("the plan has {:.6g} fused kernels, which do not write the scores; "
                                                 "masks and softmax count separately",
                                                 attention_runs_),
                                     batched_runs_, one.extra_s});
        } else if (one.extra_s > 0) {
            result_.extra.push_back(
                {"attention",
                 fmt::format("{:.6g} runs where the plan has {:.6g}, or larger ones", one.runs, one.planned_runs),
                 std::max(0.0, one.runs - one.planned_runs), one.extra_s});
        }
        if (one.missing_s > 0) {
            result_.missing.push_back({"attention",
                                       one.runs > 0
                                           ? "runs of fewer FLOPs than the plan has"
                                           : "no kernel was recognised as attention; it may be among the unknown ones",
                                       std::max(0.0, one.planned_runs - one.runs), one.missing_s});
        }
        for (const std::string& size : other_sizes_) {
            result_.notes.push_back(fmt::format(
                "batched matmuls {} are counted as attention, although their size is not that of the plan", size));
        }
    }

    /// Divides the difference of a class whose kernels are not matched one by one: work that only one of the two has by
    /// what the recorded kernels should take.
    void divide(ComparedClass& one) {
        const double due = due_[one.kind];
        one.extra_s += std::max(0.0, due - one.planned_s);
        one.missing_s += std::max(0.0, one.planned_s - due);
    }

    void finish_collectives() {
        std::map<std::string, Exchanged> planned;
        for (std::size_t i = 0; i < planned_.passes.size(); ++i) {
            for (const StepCollective& each : planned_.passes[i].collectives) {
                Exchanged& one = planned[std::string(collective_name(each.kind))];
                one.runs += times_[i] * each.count;
                one.bytes += times_[i] * each.bytes;
                one.seconds += times_[i] * each.seconds;
                exchanged_[std::string(collective_name(each.kind))];
            }
        }
        for (const auto& [name, recorded] : exchanged_) {
            const Exchanged& plan = planned[name];
            ComparedClass& one = of("collective");
            one.runs += recorded.runs;
            one.measured_s += recorded.seconds;
            one.planned_runs += plan.runs;
            one.planned_s += plan.seconds;
            // Frameworks collect messages in buckets and pad them, so that only bytes can be compared.
            constexpr double padding = 1.05;
            const std::string sizes = fmt::format("{} where the plan has {}", to_text(Bytes{recorded.bytes}),
                                                  plan.bytes > 0 ? to_text(Bytes{plan.bytes}) : "none");
            if (recorded.bytes > padding * plan.bytes || (recorded.runs > 0 && plan.runs == 0)) {
                const double share = recorded.bytes > 0 ? 1 - plan.bytes / recorded.bytes : 1;
                one.extra_s += share * recorded.seconds;
                result_.extra.push_back({name, sizes, recorded.runs, share * recorded.seconds});
            } else if (plan.bytes > padding * recorded.bytes) {
                const double share = 1 - recorded.bytes / plan.bytes;
                one.missing_s += share * plan.seconds;
                result_.missing.push_back({name, sizes, plan.runs, share * plan.seconds});
            }
        }
    }

    void finish_others() {
        for (auto& [kind, one] : classes_) {
            if (kind == "matmul" || kind == "attention" || kind == "collective" || kind == "copies" ||
                kind == "unknown" || kind == "recomputation") {
                continue;
            }
            divide(one);
            const double runs = one.runs - one.planned_runs;
            if (one.extra_s > 0) {
                result_.extra.push_back({kind + " kernels",
                                         fmt::format("{:.6g} where the plan has {:.6g}{}", one.runs, one.planned_runs,
                                                     runs > 0 ? ": not fused" : ", with more work"),
                                         std::max(0.0, runs), one.extra_s});
            }
        }
        for (auto& [name, copies] : copies_) {
            result_.extra.push_back(
                {name, "a copy or a conversion, which the plan fuses", copies.runs, copies.seconds});
        }
        if (again_runs_ > 0) {
            result_.extra.push_back(
                {"forward pass run again", "recomputation, which the plan does not have", again_runs_, again_s_});
        }
    }

    void finish() {
        for (const auto& [kind, one] : classes_) {
            result_.measured_s += one.measured_s;
            result_.planned_s += one.planned_s;
            if (one.measured_s > 0 || one.planned_s > 0) result_.classes.push_back(one);
        }
        std::sort(result_.classes.begin(), result_.classes.end(), [](const ComparedClass& a, const ComparedClass& b) {
            return std::pair(b.measured_s - b.planned_s, a.kind) < std::pair(a.measured_s - a.planned_s, b.kind);
        });
        for (auto* const list : {&result_.extra, &result_.missing, &result_.unknown}) {
            std::sort(list->begin(), list->end(), [](const UnmatchedKernels& a, const UnmatchedKernels& b) {
                return std::pair(-a.seconds, a.what) < std::pair(-b.seconds, b.what);
            });
        }
        if (!joined_.empty()) {
            result_.notes.push_back(fmt::format(
                "{} {} counted as elementwise, because either the profile or the plan does not list {} separately",
                fmt::join(joined_, ", "), joined_.size() == 1 ? "is" : "are", joined_.size() == 1 ? "it" : "them"));
        }
    }

    const std::vector<ProfileRow>& rows_;
    const PlannedStep& planned_;
    const std::string& profile_;
    StepComparison result_;
    std::vector<double> times_;  ///< how often each pass ran
    MatmulPools pools_;
    std::map<std::string, ComparedClass> classes_;
    std::map<std::string, double> due_;  ///< by class: what the recorded kernels should take
    std::map<std::string, UnmatchedKernels> copies_;
    std::map<std::string, Exchanged> exchanged_;
    std::set<std::string> planned_kinds_;
    std::set<std::string> own_classes_;
    std::vector<std::string> joined_;
    std::set<std::string> other_sizes_;
    std::vector<double> attention_volumes_;
    double attention_runs_ = 0;
    double attention_s_ = 0;
    double batched_runs_ = 0;
    double matmuls_s_ = 0;
    double again_runs_ = 0;
    double again_s_ = 0;
};

}  // namespace

Result<StepComparison> compare_step(const std::vector<ProfileRow>& rows, const PlannedStep& planned,
                                    const std::string& profile) {
    return StepComparer(rows, planned, profile).run();
}

}  // namespace roofline::core

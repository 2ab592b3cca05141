#include "measure/network/time_exchanges.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <memory>
#include <new>

#include "measure/network/all_ranks.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Those between fewest chips first.
std::vector<CollectiveKind> timed_kinds() {
    std::vector<CollectiveKind> kinds;
    for (const Ends ends : {Ends::one_to_one, Ends::pairs, Ends::all_to_one, Ends::one_to_all, Ends::all}) {
        for (const CollectiveInfo& each : all_collectives) {
            if (each.ends == ends && !each.table.empty()) kinds.push_back(each.kind);
        }
    }
    return kinds;
}

// Ratio of the size as nccl-tests define it to the bytes of a part.
std::size_t parts_of_size(CollectiveKind kind, int members) {
    return info(kind).many_in() || info(kind).many_out() ? static_cast<std::size_t>(members) : 1;
}

// The sizes for which every rank holds whole elements.
std::vector<std::size_t> sizes_of(CollectiveKind kind, int members, const ExchangeTimingOptions& options) {
    std::vector<std::size_t> sizes;
    const std::size_t least = 4 * parts_of_size(kind, members);
    for (std::size_t size = options.least_bytes; size <= options.max_bytes; size *= options.step) {
        if (size % least == 0) sizes.push_back(size);
    }
    return sizes;
}

// One exchange between the ranks, ready to be repeated.
class Repeated {
public:
    Repeated(Communicator& group, CollectiveKind kind, std::size_t bytes, std::byte* in, std::byte* out)
        : group_(group) {
        const int n = group.size();
        const int rank = group.rank();
        once_.kind = kind;
        once_.part = bytes / parts_of_size(kind, n);
        once_.dtype = timed_dtype;
        once_.in = in;
        once_.out = out;
        aim(once_, rank, n);
        back_ = once_;
        std::swap(back_.to, back_.from);
    }

    Status run(std::int64_t calls) const {
        for (std::int64_t i = 0; i < calls; ++i) {
            ROOFLINE_CHECK(group_.run(once_));
            if (!there_and_back()) continue;
            ROOFLINE_CHECK(group_.run(back_));
        }
        return {};
    }

    [[nodiscard]] double per_call() const { return there_and_back() ? 2 : 1; }

private:
    [[nodiscard]] bool there_and_back() const { return info(once_.kind).ends == Ends::one_to_one; }

    Communicator& group_;
    Exchange once_;
    Exchange back_;  ///< second half of a ping-pong
};

void scale(Spread& spread, double by) {
    for (double* time : {&spread.median, &spread.p5, &spread.p95, &spread.best}) *time *= by;
}

// Input and output buffers, at most 512 MB together; f32 inputs are all ones.
struct Buffers {
    std::unique_ptr<std::byte[]> in;
    std::unique_ptr<std::byte[]> out;
};
Result<Buffers> buffers(std::size_t bytes) {
    Buffers both{std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes]),
                 std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes])};
    if (!both.in || !both.out) return fail("no_memory", fmt::format("no memory for two arrays of {} bytes", bytes));
    const float one = 1;
    for (std::size_t i = 0; i + sizeof one <= bytes; i += sizeof one) std::memcpy(both.in.get() + i, &one, sizeof one);
    std::memset(both.out.get(), 0, bytes);
    return both;
}

class ExchangeTiming {
public:
    ExchangeTiming(Communicator& world, const ExchangeTimingOptions& options, Progress& progress)
        : world_(world), options_(options), progress_(progress) {
        for (int members = 2; members <= world.size(); ++members) {
            if (world.size() % members != 0) continue;
            members_.push_back(members);
            for (const CollectiveKind kind : kinds_) steps_ += sizes_of(kind, members, options).size();
        }
    }

    Result<std::vector<TimedExchange>> run() {
        auto made = buffers(options_.max_bytes);
        ROOFLINE_CHECK(common_status(world_, made ? Status{} : fail(made.error())));
        for (const int members : members_) {
            ROOFLINE_TRY(auto group, world_.split(world_.rank() / members, world_.rank()));
            for (const CollectiveKind kind : kinds_) {
                ROOFLINE_CHECK(time_kind(*group, kind, *made));
            }
        }
        return std::move(timed_);
    }

private:
    Status time_kind(Communicator& group, CollectiveKind kind, const Buffers& made) {
        auto checked = check_exchange(group, kind, timed_dtype, 5);
        ROOFLINE_CHECK(common_status(world_, checked));
        for (const std::size_t bytes : sizes_of(kind, group.size(), options_)) {
            const Repeated repeated(group, kind, bytes, made.in.get(), made.out.get());
            progress_.at(fmt::format("{} of {} over {} ranks", collective_name(kind, true),
                                     to_text(Bytes{static_cast<double>(bytes)}), group.size()),
                         static_cast<double>(timed_.size()) / static_cast<double>(steps_));
            auto sampled =
                sample_on_all_ranks(world_, [&](std::int64_t calls) { return repeated.run(calls); }, options_.sampling);
            if (!sampled) return fail(sampled.error());
            TimedExchange timed{kind, group.size(), world_.size() / group.size(), bytes, sampled->spread};
            scale(timed.spread, 1 / repeated.per_call());
            timed_.push_back(timed);
        }
        return {};
    }

    Communicator& world_;
    const ExchangeTimingOptions& options_;
    Progress& progress_;
    const std::vector<CollectiveKind> kinds_ = timed_kinds();
    std::vector<int> members_;
    std::size_t steps_ = 0;
    std::vector<TimedExchange> timed_;
};

}  // namespace

Result<std::vector<TimedExchange>> time_exchanges(Communicator& world, const ExchangeTimingOptions& options,
                                                  Progress& progress) {
    return ExchangeTiming(world, options, progress).run();
}

MeasuredCollective row_of(const TimedExchange& timed, const std::string& system, const std::string& software) {
    MeasuredCollective row;
    row.source = "measured here";
    row.system = system;
    row.members = timed.members;
    row.kind = timed.kind;
    if (info(timed.kind).sums()) row.dtype = timed_dtype;
    row.size = static_cast<double>(timed.bytes);
    row.bytes = row.size * (info(timed.kind).size_of_member() ? timed.members : 1);
    row.time_s = timed.spread.median;
    row.software = software;
    row.groups = timed.groups;
    return row;
}

std::string exchange_table(const std::vector<TimedExchange>& timed, const std::string& system,
                           const std::string& software) {
    std::string text = "source,system,link,n_devices,n_nodes,op,bytes,time_s,dtype,lib,notes\n";
    for (const TimedExchange& each : timed) {
        const MeasuredCollective row = row_of(each, system, software);
        std::string note = fmt::format("p5 {:.4g} s; p95 {:.4g} s", each.spread.p5, each.spread.p95);
        if (each.groups > 1) note += fmt::format("; {} concurrent", each.groups);
        if (each.spread.disturbed) note += "; disturbed";
        text += fmt::format("measured here,{},,{},1,{},{},{},{},{},{}\n", system, each.members, info(each.kind).table,
                            each.bytes, each.spread.median, row.dtype ? name(*row.dtype) : "", software, note);
    }
    return text;
}

}  // namespace roofline::core

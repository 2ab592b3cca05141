// Expected times of collectives: which law speaks for a request, and what machines without laws of their own take over.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/calibration.hpp"
#include "calibrate/law_groups.hpp"
#include "calibrate/server/server_law.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// One collective on a slice.
struct CollectiveRequest {
    std::string machine;  ///< of the catalogue
    std::string system;   ///< of data/systems.toml; "" where it is not known
    std::string tiers;    ///< that the group spans: "nvlink+ib"
    LawLink link;         ///< of the innermost of them
    CollectiveKind kind = CollectiveKind::all_gather;
    CollectivePoint point;
    /// "nccl 2.29", "nccl-2.29", "nccl"; "" for what tables measured that do not say. Empty for the newest
    /// communication library.
    std::optional<std::string> software;
    std::string variant;         ///< "custom graph"; "" for what the library does by itself
    std::optional<Dtype> dtype;  ///< whole numbers add up by other algorithms
    /// Whether somebody asks how far off the time is: of a stand-in that takes other machines' laws to say. Else its
    /// error is that of the laws themselves.
    bool error = true;
    /// The same collective of that part of the group which lies inside its outermost tier, over as large an array; at
    /// most one. None of an all-to-all, of which every member has less the more there are.
    std::vector<CollectiveRequest> inside{};
};

/// A request for a load of an array of `bytes`. Empty for one member, and where a rate is not published.
[[nodiscard]] std::optional<CollectiveRequest> request_for(const CollectiveLoad& load, const System& system,
                                                           double bytes);

/// "integer" or "float" for a collective that adds up, else "". Without a dtype: "float".
[[nodiscard]] std::string dtypes_of(CollectiveKind kind, const std::optional<Dtype>& dtype);

/// An exchange with experts on a slice. The key's software and variant may be empty: for any, the newest and fastest.
struct ExchangeRequest {
    ExchangeKey key;
    LawLink link;  ///< of the innermost tier
    ExchangePoint point;
};

struct ExpectedExchange {
    const CalibratedExchange* law = nullptr;
    std::string machine;   ///< that it belongs to
    bool carried = false;  ///< a relative's
    bool counted = true;   ///< this number of members was measured
    ExchangePoint point;   ///< that it was asked for
    ExpertRows rows;       ///< of a program's message, for its other sizes
    double seconds = 0;
    double error = 0;  ///< what the law showed on rows it was not fitted to
};

struct ExpectedTime {
    double seconds = 0;
    double error = 0;                        ///< what the laws showed on rows they were not fitted to
    std::vector<const CalibratedLaw*> laws;  ///< whose times were averaged (geometric mean); one of the machine's own
    std::vector<std::string> machines;       ///< that they belong to
    bool carried = false;                    ///< the machine has no law for this: those are its relatives'
    bool same_rate = true;                   ///< and their links are as fast
    bool counted = true;                     ///< this number of members was measured
    bool software_found = true;              ///< the library asked for has laws there
    /// Where the operation itself was not measured: whose laws these are, and which part of theirs its time is, at as
    /// many times its bytes on the wire. An all-gather is half an all-reduce.
    std::optional<CollectiveKind> instead;
    double part = 1;
    /// Where the laws' groups span tiers inside the one asked for: the rate that the request's times of buffers are
    /// meant at.
    std::optional<double> buffer_rate;
    /// Of rows that go to experts and back, where such exchanges were measured; `laws` is empty then.
    std::optional<ExpectedExchange> exchange;
    /// The system of a provider on whose network between nodes the law was measured, where another is asked for or
    /// nobody says which; "" else.
    std::string fabric{};
    CollectivePoint point{};  ///< that it was asked for
    std::vector<ExpectedTime>
        inside{};  ///< of the request inside: more chips over more tiers are not faster; at most one
};

/// Whether the part of the group inside its outermost tier takes longer than the laws of all tiers say: then it
/// decides.
[[nodiscard]] bool inside_decides(const ExpectedTime& expected, const CollectivePoint& point);

/// The point at which one of the laws is asked for its part.
[[nodiscard]] CollectivePoint point_for(const ExpectedTime& expected, const CalibratedLaw& law, CollectivePoint point);

/// The time that its laws give for another point with as many members: their geometric mean, those with one link rate
/// together having one vote; and not less than what the group inside takes.
[[nodiscard]] double seconds_of(const ExpectedTime& expected, const CollectivePoint& point);

/// A law of another machine that can stand in.
struct Relative {
    const CalibratedLaw* law = nullptr;
    std::string machine;
    int distance = 0;  ///< 0 for the nearest: the same link rate and domain, and so many members were measured
};

/// The relatives' time together; there is at least one.
[[nodiscard]] ExpectedTime mean_of(const std::vector<Relative>& relatives, const CollectiveRequest& request);

/// Files of constants, those of the program and those given to it. Of the program's own the laws are read that are
/// asked for.
class Calibrations {
public:
    /// Those of data/calibration.
    [[nodiscard]] static Calibrations built_in();
    /// These alone.
    explicit Calibrations(std::vector<Calibration> calibrations);
    /// Takes it in the place of what is there for its machine: its laws of collectives for those there, its laws of
    /// kernels for those there; what it has none of stays.
    void replace(Calibration calibration);
    /// Takes each of them in the place of what is there for its software.
    void replace(const ServerLaws& laws);
    /// Takes what the text of a file holds, of a machine or of servers. Errors: a file that is neither, with line and
    /// column.
    [[nodiscard]] Status replace(std::string_view text, std::string_view name);
    /// What servers add to their kernels.
    [[nodiscard]] const ServerLaws& servers() const { return servers_; }

    /// By the machine's own laws, else by relatives': machines whose group spans tiers of the same kind. Those with the
    /// same link rate go first, of them those that were measured with as many members, of them those with the same
    /// domain; only the nearest count. Without any all others count, one vote for each rate. Constants of links
    /// are fractions of their rate and scale with it; times of steps are kept. Where there is neither, laws of
    /// collectives that move the same bytes the same way (kindred.hpp), or of groups that span tiers inside the one
    /// asked for; the machine's own first. Not less than what the part of the group inside its outermost tier takes,
    /// whose laws may be those of other software and other measurements. Empty where there is none of all these.
    [[nodiscard]] std::optional<ExpectedTime> expected(const CollectiveRequest& request);

    /// The machine's own law of the step over the same tiers, else its nearest relative's that has one. Of several
    /// those of the software asked for go first, then those of the nearest number of members, those measured with as
    /// many tokens, the newest, and of one library's kernels the faster. Empty where there is none.
    [[nodiscard]] std::optional<ExpectedExchange> expected_exchange(const Machine& machine,
                                                                    const ExchangeRequest& request);
    /// By relatives alone.
    [[nodiscard]] std::optional<ExpectedExchange> carried_exchange(const Machine& machine,
                                                                   const ExchangeRequest& request);

    /// The nearest of the machines whose links are as fast, or of those whose are not, each with the law that fits the
    /// request best. May be empty.
    [[nodiscard]] std::vector<Relative> relatives(const CollectiveRequest& request, bool same_rate);

    /// The libraries with laws for the machine or, where it has none, for any.
    [[nodiscard]] std::vector<std::string> software(std::string_view machine);

    /// Null for a machine without one.
    [[nodiscard]] const Calibration* find(std::string_view machine);
    /// The machine's laws of this group; there may be others beside them. Null for a machine without any constants.
    [[nodiscard]] const Calibration* find(std::string_view machine, const LawGroup& group);
    [[nodiscard]] std::vector<std::string> machines() const;

    /// Machines whose answers stand beside each other: what most of them were measured with goes first in libraries().
    void compare(std::vector<std::string> machines);
    /// The libraries that were measured with kernels of this kind and dtype, launched by no host: those that most of
    /// the machines compared were measured with, then those that most of all machines were, then by their names. The
    /// order is one for all machines, so that those which have the first of them are compared by it.
    [[nodiscard]] const std::vector<std::string>& libraries(const KernelKey& key);

    /// Those of machines() that are in the catalogue and whose kernels may be like this machine's, the likest first; it
    /// is not among them. Found once for a machine's id.
    [[nodiscard]] const std::vector<std::string>& likest(const Machine& machine);

private:
    Calibrations() = default;

    /// Without the group inside.
    [[nodiscard]] std::optional<ExpectedTime> of_all_tiers(const CollectiveRequest& request);
    /// By laws of the operation asked for, over the same tiers.
    [[nodiscard]] std::optional<ExpectedTime> own(const CollectiveRequest& request, bool wider);
    [[nodiscard]] std::optional<ExpectedTime> carried(const CollectiveRequest& request);
    [[nodiscard]] std::optional<ExpectedTime> kindred(const CollectiveRequest& request);
    /// How far off laws of one operation are where those of another stand in for them: the mean over all that were
    /// measured with the same software in the same system. Found once.
    [[nodiscard]] double kindred_error(CollectiveKind asked, CollectiveKind instead, double part);

    /// Some laws of a file that is built in.
    struct Part {
        std::vector<TomlNode> laws;
        std::vector<std::string_view> fabrics;  ///< the innermost of their tiers
        std::optional<Calibration> read;        ///< once they were asked for
    };
    struct File {
        std::optional<Calibration> whole;  ///< one that was given, or read because all was asked for
        std::map<LawGroup, Part> parts;    ///< of one that is built in, once they were asked for
    };
    [[nodiscard]] static Part& part(File& file, std::string_view machine, const LawGroup& group);
    /// Whether a machine can have laws of the group for the innermost of these tiers. Others need not be read.
    [[nodiscard]] bool mentions(std::string_view machine, const LawGroup& group, std::string_view tiers);

    /// What a machine's laws of kernels of a kind are for, and perhaps others; those of files that are built in need
    /// not be read.
    [[nodiscard]] std::vector<KernelKey> kernel_keys(std::string_view machine, KernelKind kind);

    /// Whether it can have laws of the group that kindred_deviation() compares.
    [[nodiscard]] bool switched(std::string_view machine, const LawGroup& group);

    std::map<std::string, File, std::less<>> by_machine_;
    std::map<std::string, std::vector<std::string>, std::less<>> likest_;
    std::map<std::pair<CollectiveKind, CollectiveKind>, double> kindred_errors_;
    std::vector<std::string> compared_;
    std::map<std::pair<KernelKind, std::string>, std::vector<std::string>> libraries_;  ///< by kind and dtype
    ServerLaws servers_;
};

/// Of "nccl 2.29.2" and "nccl-2.29": whether the libraries are the same, and whether the first is of the second's
/// version.
[[nodiscard]] bool same_library(std::string_view software, std::string_view wanted);
[[nodiscard]] bool is_version(std::string_view software, std::string_view wanted);

/// Ascending by the numbers in the names: "2.9.1" before "2.29", "2.29" before "2.29.2".
[[nodiscard]] bool older(std::string_view version, std::string_view other);

}  // namespace roofline::core

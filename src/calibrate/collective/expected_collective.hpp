// Expected times of collectives: selection of the model for a request, including models transferred from other
// machines.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/calibration.hpp"
#include "calibrate/model_groups.hpp"
#include "calibrate/pass/pass_model.hpp"
#include "calibrate/server/server_model.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// A request for the time of one collective on a slice.
struct CollectiveRequest {
    std::string machine;  ///< id of the catalogue
    std::string system;   ///< name of data/systems.toml; "" if unknown
    std::string tiers;    ///< tiers that the group spans: "nvlink+ib"
    /// The innermost of these tiers, at its published rate: a what-if changes how fast it is, not which links it is
    /// like.
    CollectiveLink link;
    std::optional<double> changed_rate{};  ///< of this link in bytes per second, where a what-if changes it
    /// Tiers of the machine inside these, innermost first: "nvlink" for chips of several nodes, one per node; "" if
    /// there are none.
    std::string inner_tiers{};
    CollectiveLink inner_link{};  ///< innermost of them
    CollectiveKind kind = CollectiveKind::all_gather;
    CollectivePoint point;
    /// "nccl 2.29", "nccl-2.29", "nccl"; "" for measurements of tables that do not specify the software. Empty for the
    /// newest communication library.
    std::optional<std::string> software;
    std::string variant;         ///< "custom graph"; "" for the default of the library
    std::optional<Dtype> dtype;  ///< integers are reduced with other algorithms
    /// Whether the error of a substitute model is computed, which requires models of other machines. Otherwise the
    /// error is that of the model itself.
    bool error = true;
    /// The same collective, with as much for each chip, within the part of the group that lies inside its outermost
    /// tier; at most one element. In an all-to-all these chips then exchange all that they have.
    std::vector<CollectiveRequest> inside{};
};

/// Returns the request for a load with an array of `bytes` bytes. Empty for one member, and if a rate is not published.
[[nodiscard]] std::optional<CollectiveRequest> request_for(const CollectiveLoad& load, const System& system,
                                                           double bytes);

/// Returns "integer" or "float" for a collective with a reduction, otherwise "". Without a dtype: "float".
[[nodiscard]] std::string dtypes_of(CollectiveKind kind, const std::optional<Dtype>& dtype);

/// A request for the time of an expert dispatch or combine on a slice. If the key's software or variant is empty, the
/// newest and fastest of any is used.
struct ExchangeRequest {
    ExchangeKey key;
    CollectiveLink link;  ///< innermost tier
    ExchangePoint point;
};

/// The expected time of an expert dispatch or combine, with the model that predicts it.
struct ExpectedExchange {
    const CalibratedExchange* model = nullptr;
    std::string machine;       ///< machine that the model was fitted on
    bool transferred = false;  ///< transferred from another machine
    bool counted = true;       ///< this number of members was measured
    ExchangePoint point;       ///< point of the request
    ExpertRows rows;           ///< rows of a program's message, to evaluate the message at other sizes
    double seconds = 0;
    double error = 0;  ///< held-out error of the model
};

/// The expected time of a collective, with the models that predict it and how they were found.
struct ExpectedTime {
    double seconds = 0;
    double error = 0;  ///< held-out error of the models
    /// Models whose times are averaged (geometric mean); a single one if it is the machine's own.
    std::vector<const CalibratedCollective*> models;
    std::vector<std::string> machines;  ///< machines that they were fitted on
    bool transferred = false;           ///< the machine has no such model; those of other machines are used
    bool same_rate = true;              ///< links of these machines have the same rate, or depend on the host
    bool counted = true;                ///< this number of members was measured
    bool software_found = true;         ///< the requested library has such models
    /// If the collective itself was not measured: the collective whose models are used. `part` of its time over the
    /// same array and its time over an array `part` as large are averaged geometrically; both send the same bytes.
    std::optional<CollectiveKind> instead;
    double part = 1;
    /// If the groups of the models span additional inner tiers: the rate that the request's buffer times refer to.
    std::optional<double> buffer_rate;
    /// Of an expert dispatch or combine, if such were measured; `models` is then empty.
    std::optional<ExpectedExchange> exchange;
    /// Part of the bytes that is sent, by kernels of an expert dispatch or combine without a model that send a token
    /// only once to each chip.
    double sent = 1;
    /// The provider's system on whose network between nodes the model was measured, if another system or none was
    /// requested; otherwise "".
    std::string fabric{};
    CollectivePoint point{};  ///< point of the request
    /// Of the inner request, at most one: a group that spans more tiers is not faster than its part.
    std::vector<ExpectedTime> inside{};
};

/// Returns whether the part of the group inside its outermost tier takes longer than the models of all tiers predict,
/// so that it determines the time.
[[nodiscard]] bool inside_decides(const ExpectedTime& expected, const CollectivePoint& point);

/// Returns the point at which one of the models is evaluated.
[[nodiscard]] CollectivePoint point_for(const ExpectedTime& expected, const CalibratedCollective& model,
                                        CollectivePoint point);

/// Returns the time for another point with the same number of members: the geometric mean over the models, where models
/// with the same link rate together have one vote unless links depend on the host, but at least the time of the inner
/// group.
[[nodiscard]] double seconds_of(const ExpectedTime& expected, const CollectivePoint& point);

/// Returns whether a group over these tiers, of which `link` is the innermost, has chips on several nodes.
[[nodiscard]] bool leaves_node(std::string_view tiers, const CollectiveLink& link);

/// Returns whether models of links of one topology can be used for links of another: all tori are alike.
[[nodiscard]] bool same_wiring(std::string_view topology, std::string_view other);

/// Returns whether the host decides how fast the links are, and not their rate: its switches and root complexes, and
/// whether one card may read another's memory. Groups over PCIe on two hosts differ by a factor of eight in the part of
/// the rate that they reach.
[[nodiscard]] bool depends_on_host(const CollectiveLink& link);

/// The groups whose models are transferred to a request: those over the same tiers, or if the request has one chip per
/// node those of whole nodes.
enum class TransferredGroups { same_tiers, whole_nodes };

/// A model of another machine that can be transferred.
struct TransferCandidate {
    const CalibratedCollective* model = nullptr;
    std::string machine;
    /// 0 for the nearest: same link rate or links that depend on the host, same domain, and the number of members lies
    /// in the measured range.
    int distance = 0;
};

/// Returns the mean time of the transferred models, of which there is at least one.
[[nodiscard]] ExpectedTime mean_of(const std::vector<TransferCandidate>& transfer_candidates,
                                   const CollectiveRequest& request,
                                   TransferredGroups groups = TransferredGroups::same_tiers);

/// The calibrations, built-in and given by the caller. Of the built-in ones only the requested models are read.
class Calibrations {
public:
    /// The calibrations of data/calibration.
    [[nodiscard]] static Calibrations built_in();
    /// Only the given calibrations.
    explicit Calibrations(std::vector<Calibration> calibrations);
    /// Replaces what exists for the machine of `calibration`: its collective models if it has any, and likewise its
    /// kernel models and exchange models.
    void replace(Calibration calibration);
    /// Adds server models. Each replaces those of the same library, in all versions.
    void replace(const ServerModels& models);
    /// Replaces the forward-pass models of the libraries that are named there.
    void replace(const PassModels& models);
    /// Replaces with the contents of a file, of a machine, of servers or of forward passes. Errors: the file is none of
    /// them, with line and column.
    [[nodiscard]] Status replace(std::string_view text, std::string_view name);
    /// Returns the models of servers.
    [[nodiscard]] const ServerModels& servers() const { return servers_; }
    /// Returns the forward-pass models.
    [[nodiscard]] const PassModels& passes() const { return passes_; }

    /// Returns the expected time by the machine's own model, or else by transfer from machines whose group spans tiers
    /// of the same kind. Of these, machines with the same link rate take precedence, among them those with measurements
    /// of a similar number of members, then those with the same domain; only the nearest ones count. If no machine has
    /// the same link rate, all others count, with one vote per rate. Links that depend on the host count as having the
    /// same rate, with one vote per machine, because each was measured on one host. Fractions of a link's rate
    /// scale with the rate, while times of steps do not change. If nothing can be transferred, or only models of
    /// software whose times include its own calls, models of collectives that send the same bytes are used
    /// (CollectiveInfo::stand_ins). The time is at least that of the part of the group inside its outermost tier, which
    /// may come from other software and other measurements. Empty if there is no such model.
    ///
    /// Chips of several nodes depend on a network that is not the machine's: unless this very system was measured, the
    /// candidates are, from the nearest to the farthest, the machine's own models over the same tiers, its own of whole
    /// nodes, and the same of machines with the same and then with other link rates. A farther one is used only if its
    /// error is at most 0.7 of a nearer one's, or not greater while its library is better. Neither depends on the
    /// number of nodes or on the size, so that times grow with both.
    [[nodiscard]] std::optional<ExpectedTime> expected(const CollectiveRequest& request);

    /// Returns the machine's own model of the step over the same tiers, or else that of the nearest machine that has
    /// one. Models of the requested software take precedence, then the nearest number of members, then those measured
    /// with a similar number of tokens, then the newest, and among kernels of one library the fastest. Empty if there
    /// is none.
    [[nodiscard]] std::optional<ExpectedExchange> expected_exchange(const Machine& machine,
                                                                    const ExchangeRequest& request);
    /// As expected_exchange(), with models of other machines only.
    [[nodiscard]] std::optional<ExpectedExchange> transferred_exchange(const Machine& machine,
                                                                       const ExchangeRequest& request);

    /// Returns the nearest machines with the same link rate, or with other rates, each with the model that fits the
    /// request best. May be empty.
    [[nodiscard]] std::vector<TransferCandidate> transfer_candidates(
        const CollectiveRequest& request, bool same_rate, TransferredGroups groups = TransferredGroups::same_tiers);

    /// Returns the libraries with collective or exchange models for the machine or, if it has no collective models, for
    /// any machine.
    [[nodiscard]] std::vector<std::string> software(std::string_view machine);

    /// Null for a machine without a calibration.
    [[nodiscard]] const Calibration* find(std::string_view machine);
    /// Returns a calibration with the machine's models of this group, and possibly others. Null for a machine without a
    /// calibration.
    [[nodiscard]] const Calibration* find(std::string_view machine, const ModelGroup& group);
    [[nodiscard]] std::vector<std::string> machines() const;

    /// Sets the machines of a comparison. libraries() then prefers libraries that most of them were measured with.
    void compare(std::vector<std::string> machines);
    /// Returns the libraries that were measured with kernels of this kind and dtype, except for kernels that a host
    /// launched one by one. They are sorted by the number of compared machines that were measured with them, then by
    /// that of all machines, then by name. The order is the same for all machines, so that machines with the first
    /// library are compared by it.
    [[nodiscard]] const std::vector<std::string>& libraries(const KernelKey& key);

    /// Returns the machines of machines() that are in the catalogue and may have similar kernels, the most similar
    /// first, without `machine` itself. The result is cached by the machine's id.
    [[nodiscard]] const std::vector<std::string>& most_similar_machines(const Machine& machine);

private:
    Calibrations() = default;

    /// Returns the expected time regardless of the part of the group inside its outermost tier.
    [[nodiscard]] std::optional<ExpectedTime> over_all_tiers(const CollectiveRequest& request);
    /// Returns the time by the machine's own models of the requested collective, over the same tiers or, if `wider`,
    /// over additional inner tiers.
    [[nodiscard]] std::optional<ExpectedTime> own(const CollectiveRequest& request, bool wider);
    /// Returns the time by models of the requested collective, of a group on several nodes.
    [[nodiscard]] std::optional<ExpectedTime> across_nodes(const CollectiveRequest& request);
    /// Returns the time by models that are transferred from other machines, with the same link rate or with others.
    [[nodiscard]] std::optional<ExpectedTime> transferred(const CollectiveRequest& request, bool same_rate,
                                                          TransferredGroups groups);
    [[nodiscard]] std::optional<ExpectedTime> transferred(const CollectiveRequest& request);
    /// Returns the time by models of another collective that sends the same bytes or, inside a node, by models of
    /// groups that span additional inner tiers; preferably by those of a communication library.
    [[nodiscard]] std::optional<ExpectedTime> stand_in(const CollectiveRequest& request);
    /// Returns the error of using models of one collective for another: the mean over all pairs that were measured with
    /// the same software on the same system. It is computed once.
    [[nodiscard]] double stand_in_error(CollectiveKind asked, CollectiveKind instead, double part);

    /// Some models of a built-in file.
    struct Part {
        std::vector<TomlNode> models;
        std::vector<std::string_view> fabrics;  ///< innermost of their tiers
        std::optional<Calibration> read;        ///< set on the first request
    };
    /// A machine's calibration, as far as it has been read.
    struct File {
        std::optional<Calibration> whole;  ///< a given calibration, or a built-in one if all of it was requested
        std::map<ModelGroup, Part> parts;  ///< requested parts of a built-in file
    };
    /// Returns the models of a group in a built-in file, without parsing them. The result is cached in `file`.
    [[nodiscard]] static Part& part(File& file, std::string_view machine, const ModelGroup& group);
    /// Returns whether a machine can have models of the group for the innermost of these tiers. Otherwise it need not
    /// be read.
    [[nodiscard]] bool may_have_fabric(std::string_view machine, const ModelGroup& group, std::string_view tiers);

    /// Returns the keys of a machine's kernel models of a kind, and possibly others. Built-in files need not be parsed
    /// for this.
    [[nodiscard]] std::vector<KernelKey> kernel_keys(std::string_view machine, KernelKind kind);

    /// Returns whether the machine can have models of the group that stand_in_deviation() compares.
    [[nodiscard]] bool may_have_switch_models(std::string_view machine, const ModelGroup& group);

    std::map<std::string, File, std::less<>> by_machine_;
    std::map<std::string, std::vector<std::string>, std::less<>> most_similar_machines_;
    std::map<std::pair<CollectiveKind, CollectiveKind>, double> stand_in_errors_;
    std::vector<std::string> compared_;
    std::map<std::pair<KernelKind, std::string>, std::vector<std::string>> libraries_;  ///< by kind and dtype
    ServerModels servers_;
    PassModels passes_;
};

/// Returns the place of the blank or '-' before the version in a software name; npos if it has none. A '-' belongs to
/// the name unless a digit follows it: "nccl-2.29", but "sglang-jax".
[[nodiscard]] std::size_t version_place(std::string_view software);
/// Returns whether two software names, such as "nccl 2.29.2" and "nccl-2.29", denote the same library.
[[nodiscard]] bool same_library(std::string_view software, std::string_view wanted);
/// Returns whether `software` is of the version that `wanted` specifies: "nccl 2.29.2" is for "nccl-2.29".
[[nodiscard]] bool is_version(std::string_view software, std::string_view wanted);

/// Compares the numbers in version names: "2.9.1" is older than "2.29", and "2.29" than "2.29.2".
[[nodiscard]] bool older(std::string_view version, std::string_view other);

}  // namespace roofline::core

#include "calibrate/collective/expected_collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "calibrate/collective/curve_limit.hpp"
#include "calibrate/collective/software_name.hpp"
#include "calibrate/collective/stand_in.hpp"
#include "calibrate/constants.hpp"
#include "machine/identity.hpp"

namespace roofline::core {

namespace {

/// Communication libraries precede frameworks that call them.
int library_rank(std::string_view library) {
    constexpr std::array<std::string_view, 4> first{"nccl", "rccl", "oneccl", "xla"};
    const auto found = std::find(first.begin(), first.end(), library);
    return static_cast<int>(found - first.begin());
}

bool is_communication_library(const CalibratedCollective& model) {
    return library_rank(split_software_name(model.key.software).library) < 3;
}

/// Returns the distance of a number of members from the measured range in doublings; 0 inside the range.
double beyond(const CalibratedCollective& model, std::int64_t members) {
    const auto n = static_cast<double>(members);
    const double least = static_cast<double>(model.members.front());
    const double most = static_cast<double>(model.members.back());
    return n < least ? std::log2(least / n) : n > most ? std::log2(n / most) : 0;
}

/// How well a model matches a request; smaller values match better.
struct Fitness {
    int other_library = 0;
    int other_version = 0;  ///< 0 as requested, 1 older, 2 newer
    int other_variant = 0;
    int other_network = 0;  ///< between nodes
    double above = 0;       ///< doublings to a larger group than any that was measured
    int library = 0;
    double below = 0;  ///< doublings to a smaller one
    int other_system = 0;
    int other_dtypes = 0;

    [[nodiscard]] auto order() const {
        return std::tie(other_library, other_variant, other_network, above, library, below, other_version, other_system,
                        other_dtypes);
    }
};

Fitness fitness(const CalibratedCollective& model, const CollectiveRequest& request, const Software& wanted) {
    const Software has = split_software_name(model.key.software);
    Fitness fit;
    fit.other_library = request.software && has.library != wanted.library;
    if (!fit.other_library && !wanted.version.empty() && !is_version_prefix(has.version, wanted.version)) {
        fit.other_version = older(has.version, wanted.version) ? 1 : 2;
    }
    // if a framework is requested, its own kernels are meant, however they are launched
    const bool any_variant = request.variant.empty() && !wanted.library.empty() && library_rank(wanted.library) == 4;
    fit.other_variant = !any_variant && model.key.variant != request.variant;
    // The network between nodes decides, whatever the number of chips on them.
    const bool several_nodes = leaves_node(request.tiers, request.link);
    if (!several_nodes) {
        const bool larger = request.point.members > model.members.back();
        (larger ? fit.above : fit.below) = beyond(model, request.point.members);
    }
    fit.other_network = several_nodes && !request.system.empty() && model.key.system != request.system;
    fit.library = has.version.empty() && has.library != "xla" ? 5 : library_rank(has.library);
    fit.other_system = !request.system.empty() && model.key.system != request.system;
    fit.other_dtypes = model.key.dtypes != dtypes_of(request.kind, request.dtype);
    return fit;
}

/// Chooses between two models with the same fitness: the version nearest to the requested one, or else the newest; then
/// the one with more measurements.
bool preferred(const CalibratedCollective& model, const CalibratedCollective& other, const Fitness& fit) {
    const Software a = split_software_name(model.key.software);
    const Software b = split_software_name(other.key.software);
    if (a.version != b.version)
        return fit.other_version == 2 ? older(a.version, b.version) : older(b.version, a.version);
    if (model.key.variant != other.key.variant) return model.key.variant > other.key.variant;  // graph before eager
    return model.rows > other.rows;
}

/// Returns the model that matches the request best, among those that `relevant` accepts.
template <class Relevant>
const CalibratedCollective* choose(const Calibration& calibration, const CollectiveRequest& request,
                                   Relevant relevant) {
    const Software wanted = split_software_name(request.software.value_or(""));
    const CalibratedCollective* best = nullptr;
    Fitness best_fit;
    for (const CalibratedCollective& model : calibration.models) {
        if (model.key.kind != request.kind || !relevant(model)) continue;
        const Fitness fit = fitness(model, request, wanted);
        const bool better = best == nullptr || fit.order() < best_fit.order() ||
                            (fit.order() == best_fit.order() && preferred(model, *best, fit));
        if (!better) continue;
        best = &model;
        best_fit = fit;
    }
    return best;
}

bool is_requested_library(const CalibratedCollective& model, const CollectiveRequest& request) {
    return !request.software || same_library(model.key.software, *request.software);
}

/// Returns the error at a size near a limit. The library switches somewhere between two measured sizes, which are two
/// or four times apart, so that within a factor of two of the limit either side may apply.
double error_at_limit(const TimeCurve& curve, const CollectivePoint& point) {
    if (!curve.limit) return 0;
    const double ratio = size_for_limit(*curve.limit, point) / curve.limit->bytes;
    if (ratio < 0.5 || ratio > 2) return 0;
    const CurveSegment& other_side = cheapest_of(ratio > 1 ? curve.segments : curve.beyond, curve.steps, point);
    const double other_s = seconds_of(other_side, curve.steps, point);
    return other_s > 0 ? 0.5 * std::abs(seconds_of(curve, point) / other_s - 1) : 0;
}

double error_of(const CalibratedCollective& model, const CollectivePoint& point) {
    const bool measured = std::binary_search(model.members.begin(), model.members.end(), point.members);
    const double sizes = std::max(model.errors.sizes, error_at_limit(curve_for(model.model, point.members), point));
    return measured ? sizes : std::max(sizes, model.errors.members.value_or(unvalidated_error));
}

bool about(double a, double b) { return std::abs(a - b) <= 0.01 * b; }

std::int64_t tier_count(std::string_view tiers) { return std::count(tiers.begin(), tiers.end(), '+'); }

/// Returns whether a group over these tiers spans additional tiers inside the requested ones: "nvlink+ib" for "ib".
bool spans_inside(std::string_view tiers, std::string_view asked) {
    return tiers.size() > asked.size() && tiers.ends_with(asked) && tiers[tiers.size() - asked.size() - 1] == '+';
}

constexpr int other_rate = 4;

/// Returns 0 for links with the same rate or that depend on the host, plus 1 if the domain differs, plus 2 if the
/// number of members is outside the measured range of a group in one node; other_rate for links with other rates; -1 if
/// the model cannot be transferred.
int distance_to(const CalibratedCollective& model, const CollectiveRequest& request, TransferredGroups groups) {
    const bool wider = groups == TransferredGroups::whole_nodes;
    if (wider && request.inner_tiers.empty()) return -1;
    const std::string tiers = wider ? request.inner_tiers + "+" + request.tiers : request.tiers;
    const CollectiveLink& link = wider ? request.inner_link : request.link;
    if (!same_wiring(model.link.topology, link.topology) || innermost(model.key.tiers) != innermost(tiers)) return -1;
    if (tier_count(model.key.tiers) != tier_count(tiers)) return -1;
    if (!depends_on_host(link) && !about(model.link.bytes_per_s, link.bytes_per_s)) return other_rate;
    const bool out_of_range = !leaves_node(tiers, link) && beyond(model, request.point.members) > 0;
    return (out_of_range ? 2 : 0) + (model.link.domain == link.domain ? 0 : 1);
}

/// Keeps only machines of the same vendor, if there are any, because only their libraries run on the machine: oneCCL on
/// an Arc says little about NCCL on a GeForce, although both use PCIe.
void keep_own_vendor(std::vector<TransferCandidate>& found, const std::string& machine) {
    const auto own = find_identity(machine);
    if (!own) return;
    const auto is_own = [&](const TransferCandidate& relative) {
        const auto other = find_identity(relative.machine);
        return other && other->vendor == own->vendor;
    };
    if (!std::any_of(found.begin(), found.end(), is_own)) return;
    std::erase_if(found, [&](const TransferCandidate& relative) { return !is_own(relative); });
}

/// Returns the weight of a model in the mean: links of the same rate together have one vote, but each host its own.
double vote_of(const CalibratedCollective& model, const ExpectedTime& expected) {
    if (depends_on_host(model.link)) return 1;
    const auto as_fast = std::count_if(expected.models.begin(), expected.models.end(), [&](const auto* other) {
        return about(other->link.bytes_per_s, model.link.bytes_per_s);
    });
    return 1 / static_cast<double>(as_fast);
}

/// Returns the error that other systems or leaving machines out showed; if no machine with the same rate could be left
/// out, twice the error of the models, but at least that of predicting from other rates, and on networks between nodes
/// at least that of an unmeasured one.
double transfer_error(const ExpectedTime& expected, const CollectiveRequest& request) {
    const bool several_nodes = leaves_node(request.tiers, request.link);
    double error = 0;
    double elsewhere = 0;
    double votes = 0;
    for (const CalibratedCollective* model : expected.models) {
        const double alone = error_of(*model, request.point);
        const auto& left_out = expected.same_rate ? model->errors.relative : model->errors.far;
        const double least = several_nodes ? unvalidated_error : model->errors.far.value_or(0);
        const double guess = std::max(2 * alone, least);
        if (model->errors.elsewhere) {  // the geometric mean of several is at most as far off as these in the mean
            const double vote = vote_of(*model, expected);
            elsewhere += vote * *model->errors.elsewhere;
            votes += vote;
            error = std::max(error, alone);
        } else {
            error = std::max({error, alone, left_out.value_or(guess)});
        }
    }
    return votes > 0 ? std::max(error, elsewhere / votes) : error;
}

/// Ranks the software of the models of an expected time as fitness() does; smaller is better.
std::pair<int, int> library_of(const ExpectedTime& expected, const CollectiveRequest& request) {
    std::pair<int, int> worst{0, 0};
    const Software wanted = split_software_name(request.software.value_or(""));
    for (const CalibratedCollective* model : expected.models) {
        const Fitness fit = fitness(*model, request, wanted);
        worst = std::max(worst, {fit.other_library, fit.library});
    }
    return worst;
}

bool by_communication_library(const ExpectedTime& expected) {
    return std::all_of(expected.models.begin(), expected.models.end(),
                       [](const auto* model) { return is_communication_library(*model); });
}

/// Returns whether models reach the size of the group; between nodes the network decides instead.
bool reach(const ExpectedTime& expected, const CollectiveRequest& request) {
    return leaves_node(request.tiers, request.link) ||
           std::all_of(expected.models.begin(), expected.models.end(),
                       [&](const auto* model) { return model->members.back() >= request.point.members; });
}

/// Returns whether models of this software can be used for all collectives: whether an expected time comes from a
/// communication library, the requested one if there is a request. Times of other software include its own calls.
bool stands_for_all(const ExpectedTime& expected, const CollectiveRequest& request) {
    return by_communication_library(expected) && expected.software_found && reach(expected, request);
}

/// Returns whether models of another collective are used although the collective itself was `measured`, so that the
/// expected times of all collectives of a machine come from one library.
bool replaces(const ExpectedTime& stand_in, const ExpectedTime& measured, const CollectiveRequest& request) {
    if (!stands_for_all(stand_in, request)) return false;
    return request.software ? !measured.software_found : measured.transferred || !stand_in.transferred;
}

/// Returns the error of a model of one network between nodes on another one.
double error_elsewhere(const CalibratedCollective& model) {
    const FitErrors& errors = model.errors;
    return errors.elsewhere.value_or(errors.relative.value_or(errors.far.value_or(unvalidated_error)));
}

/// The same bytes on the links, sent of an array `size` times as large.
CollectivePoint scaled(CollectivePoint point, double size) {
    point.buffer_bytes *= size;
    point.buffer_s *= size;
    return point;
}

/// The time by one of the models. A replacing collective sends the same bytes over `part` of the array in as many
/// rounds, or `part` of its own bytes in `part` of its rounds; measured times lie between these two.
double seconds_of_model(const ExpectedTime& expected, const CalibratedCollective& model, const CollectivePoint& point) {
    const double alike = seconds_of(model.model, point_for(expected, model, point));
    if (expected.part == 1) return alike;
    CollectivePoint whole = scaled(point_for(expected, model, point), 1 / expected.part);
    whole.wire_s /= expected.part;
    return std::sqrt(alike * expected.part * seconds_of(model.model, whole));
}

double seconds_of_models(const ExpectedTime& expected, const CollectivePoint& point) {
    double votes = 0;
    double sum = 0;
    for (const CalibratedCollective* model : expected.models) {
        const double vote = vote_of(*model, expected);
        const double seconds = seconds_of_model(expected, *model, point);
        if (expected.models.size() == 1) return seconds;
        sum += vote * std::log(seconds);
        votes += vote;
    }
    return votes > 0 ? std::exp(sum / votes) : 0;
}

double seconds_inside(const ExpectedTime& expected, const CollectivePoint& point) {
    if (expected.inside.empty()) return 0;
    const ExpectedTime& inside = expected.inside.front();
    CollectivePoint there = point;
    there.members = inside.point.members;
    if (expected.point.wire_s > 0) there.wire_s *= inside.point.wire_s / expected.point.wire_s;
    return seconds_of(inside, there);
}

/// Each provider has its own network between nodes; links inside a node belong to the machine.
std::string other_fabric(const CalibratedCollective& model, const CollectiveRequest& request) {
    return leaves_node(request.tiers, request.link) && model.key.system != request.system ? model.key.system : "";
}

}  // namespace

bool inside_decides(const ExpectedTime& expected, const CollectivePoint& point) {
    return seconds_inside(expected, point) > seconds_of_models(expected, point);
}

double seconds_of(const ExpectedTime& expected, const CollectivePoint& point) {
    return std::max(seconds_of_models(expected, point), seconds_inside(expected, point));
}

CollectivePoint point_for(const ExpectedTime& expected, const CalibratedCollective& model, CollectivePoint point) {
    point = scaled(point, expected.part);
    if (expected.buffer_rate) point.buffer_s *= *expected.buffer_rate / model.link.bytes_per_s;
    return point;
}

bool depends_on_host(const CollectiveLink& link) { return link.topology == "pcie_tree"; }

bool leaves_node(std::string_view tiers, const CollectiveLink& link) {
    return tier_count(tiers) > 0 || link.topology == "nic";
}

ExpectedTime mean_of(const std::vector<TransferCandidate>& transfer_candidates, const CollectiveRequest& request,
                     TransferredGroups groups) {
    ExpectedTime expected;
    expected.transferred = true;
    if (groups == TransferredGroups::whole_nodes)
        expected.buffer_rate = request.changed_rate.value_or(request.link.bytes_per_s);
    for (const TransferCandidate& relative : transfer_candidates) {
        expected.models.push_back(relative.model);
        expected.machines.push_back(relative.machine);
        expected.same_rate = expected.same_rate && relative.distance < other_rate;
        expected.counted = expected.counted && std::binary_search(relative.model->members.begin(),
                                                                  relative.model->members.end(), request.point.members);
        expected.software_found = expected.software_found && is_requested_library(*relative.model, request);
    }
    expected.seconds = seconds_of(expected, request.point);
    return expected;
}

std::optional<ExpectedTime> Calibrations::expected(const CollectiveRequest& request) {
    auto found = over_all_tiers(request);
    if (!found) return found;
    found->point = request.point;
    if (request.inside.empty()) return found;
    CollectiveRequest asked = request.inside.front();
    asked.system = request.system;
    asked.software = request.software;
    asked.variant = request.variant;
    asked.dtype = request.dtype;
    asked.error = request.error;
    auto inside = expected(asked);
    if (!inside) return found;
    found->inside = {std::move(*inside)};
    if (inside_decides(*found, request.point)) {
        found->seconds = found->inside.front().seconds;
        found->error = std::max(found->error, found->inside.front().error);
    }
    return found;
}

std::optional<ExpectedTime> Calibrations::over_all_tiers(const CollectiveRequest& request) {
    const bool several_nodes = leaves_node(request.tiers, request.link);
    auto found = several_nodes ? across_nodes(request) : own(request, false);
    if (!found && !several_nodes) found = transferred(request);
    if (found && by_communication_library(*found)) return found;
    auto other = stand_in(request);
    return other && (!found || replaces(*other, *found, request)) ? other : found;
}

std::optional<ExpectedTime> Calibrations::across_nodes(const CollectiveRequest& request) {
    constexpr double clearly_better = 0.7;
    std::optional<ExpectedTime> best = own(request, false);
    if (best && best->fabric.empty()) return best;
    const auto consider = [&](std::optional<ExpectedTime> farther) {
        if (!farther) return;
        const bool better_library = best && library_of(*farther, request) < library_of(*best, request);
        if (!best || farther->error <= (better_library ? 1 : clearly_better) * best->error) best = std::move(farther);
    };
    consider(own(request, true));
    for (const bool same_rate : {true, false}) {
        for (const TransferredGroups groups : {TransferredGroups::same_tiers, TransferredGroups::whole_nodes}) {
            // no farther candidate has an error so small that it would be clearly better than this one
            if (best && best->error < unvalidated_error) return best;
            consider(transferred(request, same_rate, groups));
        }
    }
    return best;
}

std::optional<ExpectedTime> Calibrations::own(const CollectiveRequest& request, bool wider) {
    const Calibration* calibration = find(request.machine, models_of(request.kind));
    if (calibration == nullptr) return std::nullopt;
    const CalibratedCollective* model = choose(*calibration, request, [&](const CalibratedCollective& each) {
        return wider ? spans_inside(each.key.tiers, request.tiers) : each.key.tiers == request.tiers;
    });
    if (model == nullptr) return std::nullopt;
    ExpectedTime expected;
    if (wider) expected.buffer_rate = request.changed_rate.value_or(request.link.bytes_per_s);
    expected.models = {model};
    expected.machines = {request.machine};
    expected.seconds = seconds_of(expected, request.point);
    expected.error = error_of(*model, request.point);
    expected.fabric = other_fabric(*model, request);
    if (!expected.fabric.empty()) expected.error = std::max(expected.error, error_elsewhere(*model));
    if (wider) expected.error = std::max(expected.error, unvalidated_error);
    expected.counted = std::binary_search(model->members.begin(), model->members.end(), request.point.members);
    expected.software_found = is_requested_library(*model, request);
    return expected;
}

std::optional<ExpectedTime> Calibrations::transferred(const CollectiveRequest& request, bool same_rate,
                                                      TransferredGroups groups) {
    const std::vector<TransferCandidate> found = transfer_candidates(request, same_rate, groups);
    if (found.empty()) return std::nullopt;
    ExpectedTime expected = mean_of(found, request, groups);
    expected.error = transfer_error(expected, request);
    if (groups == TransferredGroups::whole_nodes) expected.error = std::max(expected.error, unvalidated_error);
    return expected;
}

std::optional<ExpectedTime> Calibrations::transferred(const CollectiveRequest& request) {
    auto found = transferred(request, true, TransferredGroups::same_tiers);
    const bool torus = same_wiring(request.link.topology, "torus");
    if (found && !torus) return found;
    // generations of tori differ in more than their rates
    auto others = transferred(request, false, TransferredGroups::same_tiers);
    return found && (!others || found->error <= others->error) ? found : others;
}

std::optional<ExpectedTime> Calibrations::stand_in(const CollectiveRequest& request) {
    std::vector<StandIn> kinds{{request.kind, 1}};
    for (const StandIn& other : info(request.kind).stand_ins) kinds.push_back(other);
    const auto like = [&](const StandIn& kind) {
        CollectiveRequest asked = request;
        asked.kind = kind.kind;
        asked.point = scaled(asked.point, kind.part);
        return asked;
    };
    const bool several_nodes = leaves_node(request.tiers, request.link);
    const auto nearest = [&](bool only_libraries) -> std::optional<ExpectedTime> {
        const auto of = [&](const StandIn& kind, std::optional<ExpectedTime> found) {
            if (!found || (only_libraries && !stands_for_all(*found, request))) return std::optional<ExpectedTime>();
            if (kind.kind == request.kind) return found;
            found->part = kind.part;
            found->instead = kind.kind;
            found->seconds = seconds_of(*found, request.point);
            if (request.error) found->error += stand_in_error(request.kind, kind.kind, kind.part);
            return found;
        };
        for (const bool wider : {false, true}) {
            if (several_nodes) break;
            for (const StandIn& kind : kinds) {
                if (auto found = of(kind, own(like(kind), wider))) return found;
            }
        }
        for (const StandIn& kind : kinds) {
            if (auto found = of(kind, several_nodes ? across_nodes(like(kind)) : transferred(like(kind)))) return found;
        }
        return std::nullopt;
    };
    auto found = nearest(true);
    return found ? found : nearest(false);
}

std::vector<TransferCandidate> Calibrations::transfer_candidates(const CollectiveRequest& request, bool same_rate,
                                                                 TransferredGroups groups) {
    std::vector<TransferCandidate> found;
    const ModelGroup group = models_of(request.kind);
    const std::string& tiers = groups == TransferredGroups::whole_nodes ? request.inner_tiers : request.tiers;
    if (tiers.empty()) return found;
    for (const std::string& machine : machines()) {
        if (machine == request.machine || !may_have_fabric(machine, group, tiers)) continue;
        const CalibratedCollective* model =
            choose(*find(machine, group), request, [&](const CalibratedCollective& each) {
                const int distance = distance_to(each, request, groups);
                return distance >= 0 && (distance < other_rate) == same_rate;
            });
        if (model != nullptr) found.push_back({model, machine, distance_to(*model, request, groups)});
    }
    keep_own_vendor(found, request.machine);
    int least = other_rate;
    for (const TransferCandidate& relative : found) least = std::min(least, relative.distance);
    std::erase_if(found, [&](const TransferCandidate& relative) { return relative.distance > least; });
    return found;
}

}  // namespace roofline::core

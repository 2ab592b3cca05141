#include "calibrate/server/fit_servers.hpp"
#include "calibrate/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace roofline::core {

namespace {

constexpr double untested_error = untested_server_error;

std::string library_of(const std::string& software) { return software.substr(0, software.find(' ')); }

/// Returns the library with the first two numbers of its version, "vllm 0.12" of "vllm 0.12.0"; the library alone if
/// these are not given.
std::string minor_version_of(const std::string& software) {
    const std::size_t from = software.find(' ');
    if (from == std::string::npos) return software;
    std::size_t end = from + 1;
    int numbers = 0;
    for (; end < software.size(); ++end) {
        const bool digit = software[end] >= '0' && software[end] <= '9';
        if (!digit && (software[end] != '.' || ++numbers == 2)) break;
    }
    const bool both = numbers > 0 && end > from + 1 && software[end - 1] != '.';
    return both ? software.substr(0, end) : library_of(software);
}

using Rows = std::vector<const ServerSample*>;

double deviation(const ServerModel& costs, const ServerSample& row) {
    return std::abs(token_seconds(costs, row) / row.measured_s - 1);
}

double total_deviation(const ServerModel& costs, const Rows& rows) {
    double sum = 0;
    for (const ServerSample* row : rows) sum += deviation(costs, *row);
    return sum;
}

// Fewer measurements determine neither the parameters of a version nor more of the host's time than its part per step.
constexpr std::size_t many_rows = 30;

/// Fits the three host parameters for a given factor of the kernels' times, or of software with few measurements the
/// time per step alone, by coordinate descent with decreasing steps.
ServerModel host_of(double kernels, const Rows& rows, bool few) {
    ServerModel costs;
    costs.kernels = kernels;
    double least = total_deviation(costs, rows);
    const auto improve = [&](double ServerModel::* constant, double by) {
        ServerModel other = costs;
        other.*constant = std::max(0.0, costs.*constant + by);
        const double sum = total_deviation(other, rows);
        if (sum >= least) return false;
        least = sum;
        costs = other;
        return true;
    };
    // initial steps are a few milliseconds per step and tens of microseconds per sequence and launch; the last ones are
    // a thousandth of these
    for (double scale = 1; scale > 1e-3; scale /= 2) {
        bool better = true;
        for (int turn = 0; better && turn < 20; ++turn) {
            better = false;
            for (const auto& [constant, by] :
                 {std::pair{&ServerModel::step_s, 4e-3}, std::pair{&ServerModel::sequence_s, 64e-6},
                  std::pair{&ServerModel::launch_s, 64e-6}}) {
                if (few && constant != &ServerModel::step_s) continue;
                better = improve(constant, by * scale) || better;
                better = improve(constant, -by * scale) || better;
            }
        }
    }
    constexpr double negligible = 1e-9;
    for (double* const constant : {&costs.step_s, &costs.sequence_s, &costs.launch_s})
        *constant = *constant < negligible ? 0 : four_digits(*constant * 1e6) / 1e6;
    return costs;
}

using Models = std::map<std::string, ServerModel>;

/// Returns the models with the common factor that fits all libraries best, to a hundredth. `few` names those with few
/// measurements.
Models models_of(const std::map<std::string, Rows>& by_library, const std::set<std::string>& few) {
    Models best;
    double least = -1;
    constexpr int percent_from = 50;
    constexpr int percent_to = 120;
    constexpr int coarse = 5;
    int centre = 0;
    const auto attempt = [&](int percent) {
        Models server_models;
        double sum = 0;
        for (const auto& [library, rows] : by_library) {
            server_models[library] = host_of(percent / 100.0, rows, few.contains(library));
            sum += total_deviation(server_models[library], rows);
        }
        if (least >= 0 && sum >= least) return;
        least = sum;
        best = std::move(server_models);
        centre = percent;
    };
    for (int percent = percent_from; percent <= percent_to; percent += coarse) attempt(percent);
    const int around = centre;
    for (int percent = around - coarse + 1; percent < around + coarse; ++percent) attempt(percent);
    return best;
}

/// Returns the measurements by version, or by library of versions with few of them.
std::map<std::string, Rows> versions(const Rows& rows, const std::set<std::string>& known) {
    std::map<std::string, Rows> all;
    for (const ServerSample* row : rows) {
        const std::string version = minor_version_of(row->software);
        all[known.contains(version) ? version : library_of(row->software)].push_back(row);
    }
    return all;
}

Rows without(const std::vector<ServerSample>& samples, const std::string& model) {
    Rows rows;
    for (const ServerSample& sample : samples) {
        if (model.empty() || sample.model != model) rows.push_back(&sample);
    }
    return rows;
}

std::map<std::string, Rows> libraries(const Rows& rows) { return versions(rows, {}); }

/// Returns the versions with enough measurements, of at least two models, for parameters of their own.
std::set<std::string> versions_to_fit(const Rows& rows) {
    std::map<std::string, Rows> all;
    for (const ServerSample* row : rows) all[minor_version_of(row->software)].push_back(row);
    std::set<std::string> known;
    for (const auto& [version, of_version] : all) {
        const bool named = version.find(' ') != std::string::npos;
        const bool tested = distinct(of_version, &ServerSample::model).size() > 1;
        if (named && tested && of_version.size() >= many_rows) known.insert(version);
    }
    return known;
}

/// The models of versions, and those of whole libraries with the same factor of the kernels' times.
Models all_models_of(const Rows& rows, const std::set<std::string>& known, const std::set<std::string>& few) {
    Models models = models_of(versions(rows, known), few);
    if (models.empty()) return models;
    const double kernels = models.begin()->second.kernels;
    for (const auto& [library, of_library] : libraries(rows)) {
        models[library] = host_of(kernels, of_library, few.contains(library));
    }
    return models;
}

/// Sums of deviations on measurements whose served model was left out of the fit.
struct LeftOutErrors {
    std::map<std::string, double> by_software;  ///< by version, and by library on all of its measurements
    std::map<std::string, double>
        of_library;  ///< by version: of the library's model on the measurements of the version
};

LeftOutErrors held_out(const std::vector<ServerSample>& samples, const std::set<std::string>& known,
                       const std::set<std::string>& few) {
    std::set<std::string> models;
    for (const ServerSample& sample : samples) models.insert(sample.model);
    LeftOutErrors result;
    for (const std::string& model : models) {
        const Models others = all_models_of(without(samples, model), known, few);
        const auto deviation_by = [&](const std::string& software, const ServerSample& row) {
            const auto costs = others.find(software);
            return costs == others.end() ? untested_error : deviation(costs->second, row);
        };
        for (const ServerSample& row : samples) {
            if (row.model != model) continue;
            const std::string version = minor_version_of(row.software);
            const double by_library = deviation_by(library_of(row.software), row);
            result.by_software[library_of(row.software)] += by_library;
            if (!known.contains(version)) continue;
            result.by_software[version] += deviation_by(version, row);
            result.of_library[version] += by_library;
        }
    }
    return result;
}

/// Returns the wait in steps with the least sum of relative deviations: a weighted median, because the deviation of
/// each measurement is linear in the wait on both sides of the one that explains it.
double wait_of(const std::vector<const WaitSample*>& samples) {
    std::vector<std::pair<double, double>> waits;  // with their weights
    double weights = 0;
    for (const WaitSample* sample : samples) {
        const double weight = sample->step_s / sample->measured_s;
        waits.emplace_back((sample->measured_s - sample->expected_s) / sample->step_s, weight);
        weights += weight;
    }
    std::sort(waits.begin(), waits.end());
    double below = 0;
    for (const auto& [wait, weight] : waits) {
        below += weight;
        if (2 * below >= weights) return std::max(0.0, wait);
    }
    return 0;
}

double wait_deviation(const WaitSample& sample, double wait) {
    return std::abs((sample.expected_s + wait * sample.step_s) / sample.measured_s - 1);
}

}  // namespace

void fit_waits(ServerModels& models, const std::vector<WaitSample>& samples) {
    for (CalibratedServer& server : models.servers) {
        std::vector<const WaitSample*> own;
        std::set<std::string> served;
        for (const WaitSample& sample : samples) {
            if (sample.platform != server.platform) continue;
            const bool of_library = server.software == library_of(sample.software);
            if (!of_library && server.software != minor_version_of(sample.software)) continue;
            if (!(sample.step_s > 0) || !(sample.measured_s > 0)) continue;
            own.push_back(&sample);
            served.insert(sample.model);
        }
        if (own.size() < min_rows) continue;
        server.costs.wait_steps = four_digits(wait_of(own));
        double sum = 0;
        for (const std::string& model : served) {
            std::vector<const WaitSample*> others;
            for (const WaitSample* sample : own) {
                if (sample->model != model) others.push_back(sample);
            }
            const double wait = wait_of(others);
            for (const WaitSample* sample : own) {
                if (sample->model == model) sum += wait_deviation(*sample, wait);
            }
        }
        server.ttft_error_held_out = served.size() > 1 ? sum / static_cast<double>(own.size()) : untested_error;
    }
}

void measure_elsewhere(ServerModels& models, const std::vector<ServedSample>& samples) {
    for (ServerElsewhere& each : models.elsewhere) {
        std::array<double, 2> sums{};
        std::array<std::int64_t, 2> counts{};
        for (const ServedSample& sample : samples) {
            if (sample.platform != each.platform || library_of(sample.software) != each.software) continue;
            const std::size_t place = sample.first_token ? 1 : 0;
            sums[place] += std::abs(sample.expected_s / sample.measured_s - 1);
            ++counts[place];
        }
        if (counts[0] > 0) {
            each.rows = counts[0];
            each.errors.tpot = sums[0] / static_cast<double>(counts[0]);
        }
        if (counts[1] > 0) each.errors.ttft = sums[1] / static_cast<double>(counts[1]);
    }
}

double token_seconds(const ServerModel& costs, const ServerSample& sample) {
    const double sequences = sample.sequences / sample.members;
    return step_seconds(costs, sample.kernels, sequences) +
           sequences / sample.output * prompt_seconds(costs, sample.prompt_s, sample.launches);
}

namespace {

// The models of one platform.
ServerModels fit_platform(const std::vector<ServerSample>& samples) {
    const Rows rows = without(samples, "");
    std::set<std::string> known = versions_to_fit(rows);
    // A version has parameters of its own only if they predict other served models better than the library's do.
    std::set<std::string> few;
    for (const auto& [library, of_library] : libraries(rows)) {
        if (of_library.size() < many_rows) few.insert(library);
    }
    LeftOutErrors errors = held_out(samples, known, few);
    const std::size_t candidates = known.size();
    std::erase_if(
        known, [&](const std::string& version) { return errors.by_software[version] >= errors.of_library[version]; });
    if (known.size() < candidates) errors = held_out(samples, known, few);
    const Models server_models = all_models_of(rows, known, few);
    std::map<std::string, Rows> all = libraries(rows);
    for (const auto& [version, of_version] : versions(rows, known)) {
        if (known.contains(version)) all[version] = of_version;
    }
    ServerModels result;
    for (const auto& [software, of_software] : all) {
        const auto count = static_cast<double>(of_software.size());
        const ServerModel& costs = server_models.at(software);
        result.servers.push_back(
            {software, costs, static_cast<std::int64_t>(of_software.size()),
             distinct(of_software, &ServerSample::model), distinct(of_software, &ServerSample::machine),
             distinct(of_software, &ServerSample::source), total_deviation(costs, of_software) / count,
             errors.by_software[software] / count, 0, samples.front().platform});
    }
    return result;
}

// Splits samples that can be used by platform, in a fixed order.
std::map<std::string, std::vector<ServerSample>> by_platform(std::vector<ServerSample> samples) {
    std::erase_if(samples, [](const ServerSample& sample) {
        return library_of(sample.software).empty() || !(sample.measured_s > 0) || !(sample.output >= 1);
    });
    const auto key = [](const ServerSample& s) {
        return std::tie(s.software, s.model, s.machine, s.measured_s, s.kernels.seconds);
    };
    std::sort(samples.begin(), samples.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    std::map<std::string, std::vector<ServerSample>> all;
    for (ServerSample& sample : samples) all[sample.platform].push_back(std::move(sample));
    return all;
}

std::vector<ServerSample> of_large_libraries(const std::vector<ServerSample>& samples) {
    std::map<std::string, std::size_t> counts;
    for (const ServerSample& sample : samples) ++counts[library_of(sample.software)];
    std::vector<ServerSample> kept;
    for (const ServerSample& sample : samples) {
        if (counts[library_of(sample.software)] >= min_rows) kept.push_back(sample);
    }
    return kept;
}

// Whether a library has most of its measurements on the platform, or no parameters from another.
bool is_home(const ServerModels& fitted, const std::string& library, const std::string& platform) {
    const CalibratedServer* most = nullptr;
    for (const CalibratedServer& each : fitted.servers) {
        if (each.software == library && (most == nullptr || each.rows > most->rows)) most = &each;
    }
    return most == nullptr || most->platform == platform;
}

// The errors of parameters that another platform gave, on measurements of this one.
ServerElsewhere carried(const ServerModels& home, const std::string& library, const std::string& platform,
                        const Rows& rows) {
    double sum = 0;
    for (const ServerSample* row : rows) sum += deviation(home.find(row->software, "")->costs, *row);
    return {library,
            platform,
            static_cast<std::int64_t>(rows.size()),
            distinct(rows, &ServerSample::model),
            {sum / static_cast<double>(rows.size()), 0}};
}

}  // namespace

ServerModels fit_servers(std::vector<ServerSample> samples) {
    const auto platforms = by_platform(std::move(samples));
    ServerModels all;
    for (const auto& [platform, rows] : platforms) {
        const std::vector<ServerSample> large = of_large_libraries(rows);
        if (large.empty()) continue;
        for (CalibratedServer& server : fit_platform(large).servers) all.servers.push_back(std::move(server));
    }
    ServerModels result = all;
    for (const auto& [platform, rows] : platforms) {
        for (const auto& [library, of_library] : libraries(without(rows, ""))) {
            if (is_home(all, library, platform)) continue;
            ServerModels home = all;
            std::erase_if(home.servers, [&](const CalibratedServer& each) {
                return library_of(each.software) != library || each.platform == platform;
            });
            ServerElsewhere there = carried(home, library, platform, of_library);
            const auto own = std::find_if(all.servers.begin(), all.servers.end(), [&](const CalibratedServer& each) {
                return each.software == library && each.platform == platform;
            });
            if (own != all.servers.end() && own->error_held_out < there.errors.tpot) continue;
            std::erase_if(result.servers, [&](const CalibratedServer& each) {
                return library_of(each.software) == library && each.platform == platform;
            });
            result.elsewhere.push_back(std::move(there));
        }
    }
    return result;
}

}  // namespace roofline::core

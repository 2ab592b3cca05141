#include "calibrate/server/fit_servers.hpp"
#include "calibrate/constants.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace roofline::core {

namespace {

constexpr double untested_error = 0.4;  // error of a model that has not been tested on another served model

std::string library_of(const std::string& software) { return software.substr(0, software.find(' ')); }

using Rows = std::vector<const ServerSample*>;

double deviation(const ServerModel& costs, const ServerSample& row) {
    return std::abs(token_seconds(costs, row) / row.measured_s - 1);
}

double total_deviation(const ServerModel& costs, const Rows& rows) {
    double sum = 0;
    for (const ServerSample* row : rows) sum += deviation(costs, *row);
    return sum;
}

/// Fits the three host parameters for a given factor of the kernels' times, by coordinate descent with decreasing
/// steps.
ServerModel host_of(double kernels, const Rows& rows) {
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
                better = improve(constant, by * scale) || better;
                better = improve(constant, -by * scale) || better;
            }
        }
    }
    for (double* const constant : {&costs.step_s, &costs.sequence_s, &costs.launch_s})
        *constant = four_digits(*constant * 1e6) / 1e6;
    return costs;
}

using Models = std::map<std::string, ServerModel>;

/// Returns the models with the common factor that fits all libraries best, to a hundredth.
Models models_of(const std::map<std::string, Rows>& by_library) {
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
            server_models[library] = host_of(percent / 100.0, rows);
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

std::map<std::string, Rows> libraries(const std::vector<ServerSample>& samples, const std::string& without_model) {
    std::map<std::string, Rows> all;
    for (const ServerSample& sample : samples) {
        if (without_model.empty() || sample.model != without_model) all[library_of(sample.software)].push_back(&sample);
    }
    return all;
}

}  // namespace

double token_seconds(const ServerModel& costs, const ServerSample& sample) {
    return step_seconds(costs, sample.kernels_s, sample.sequences) +
           sample.sequences / sample.output * prompt_seconds(costs, sample.prompt_s, sample.launches);
}

ServerModels fit_servers(std::vector<ServerSample> samples) {
    std::map<std::string, std::size_t> counts;
    for (const ServerSample& sample : samples) ++counts[library_of(sample.software)];
    std::erase_if(samples, [&](const ServerSample& sample) {
        const std::string library = library_of(sample.software);
        return library.empty() || counts[library] < min_rows || !(sample.measured_s > 0) || !(sample.output >= 1);
    });
    const auto key = [](const ServerSample& s) {
        return std::tie(s.software, s.model, s.machine, s.measured_s, s.kernels_s);
    };
    std::sort(samples.begin(), samples.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    const auto all = libraries(samples, "");
    const Models server_models = models_of(all);
    std::map<std::string, double> held_out;
    std::set<std::string> models;
    for (const ServerSample& sample : samples) models.insert(sample.model);
    for (const std::string& model : models) {
        const Models others = models_of(libraries(samples, model));
        for (const auto& [library, rows] : all) {
            const auto costs = others.find(library);
            for (const ServerSample* row : rows) {
                if (row->model == model)
                    held_out[library] += costs == others.end() ? untested_error : deviation(costs->second, *row);
            }
        }
    }
    ServerModels result;
    for (const auto& [library, rows] : all) {
        const auto count = static_cast<double>(rows.size());
        result.servers.push_back({library, server_models.at(library), static_cast<std::int64_t>(rows.size()),
                                  distinct(rows, &ServerSample::model), distinct(rows, &ServerSample::machine),
                                  distinct(rows, &ServerSample::source),
                                  total_deviation(server_models.at(library), rows) / count, held_out[library] / count});
    }
    return result;
}

}  // namespace roofline::core

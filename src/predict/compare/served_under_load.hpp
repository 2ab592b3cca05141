// What is expected of the rows of tables of served models: each as a server under the load that the row says.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "calibrate/server/fit_servers.hpp"
#include "import/model_names.hpp"
#include "import/serving_table.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/serve/expected_serving.hpp"

namespace roofline::core {

/// A row as `roofline serve` would price it: weights in the dtype that it says, else as the checkpoint has them; caches
/// in the dtype that it says, else in 8 bits where weights have no more, which is what such checkpoints ask for.
class ServedUnderLoad {
public:
    explicit ServedUnderLoad(Calibrations calibrations)
        : calibrations_(std::make_shared<Calibrations>(std::move(calibrations))) {}

    /// What the server is expected to do. `room` is how many sequences its memory holds. The error's message is the
    /// reason for which nothing is expected: prompts that go in elsewhere, experts, a plan that is not the worker's
    /// chips, no constants.
    [[nodiscard]] Result<ServingTimes> times(const MeasuredServing& row, MeasuredSystems& systems,
                                             const ModelNames& names);

    /// The row as its server's constants are fitted to it. Errors: likewise; a row that does not say how many sequences
    /// were decoded.
    [[nodiscard]] Result<ServerSample> sample(const MeasuredServing& row, MeasuredSystems& systems,
                                              const ModelNames& names);

    /// The constants of a software; null for one that has none.
    [[nodiscard]] const CalibratedServer* server_of(std::string_view software) const {
        return calibrations_->servers().find(software);
    }

private:
    struct Served {
        ServedModel prefill;
        ServedModel decode;
        double capacity = 0;  ///< bytes of all chips of a worker; 0: not said
        std::unique_ptr<ExpectedServing> passes;
    };
    /// System, model, dtypes, worker, software.
    using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;

    [[nodiscard]] Result<const Served*> served(const MeasuredServing& row, MeasuredSystems& systems,
                                               const ModelNames& names);
    [[nodiscard]] Result<std::unique_ptr<Served>> make(const MeasuredServing& row, MeasuredSystems& systems,
                                                       const ModelNames& names) const;
    [[nodiscard]] static double room(const Served& served, const MeasuredServing& row);

    std::shared_ptr<Calibrations> calibrations_;
    std::map<Key, Result<std::unique_ptr<Served>>> served_;
};

}  // namespace roofline::core

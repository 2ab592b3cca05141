// Expected times of measured servers, each under the load of its row.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "calibrate/server/fit_servers.hpp"
#include "import/model_names.hpp"
#include "import/serving_table.hpp"
#include "plan/serving_metrics.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/serve/expected_serving.hpp"
#include "predict/serve/prefill_pool.hpp"

namespace roofline::core {

/// Predicts rows as `roofline serve` does. Weights have the dtype of the row, or else of the checkpoint. The KV cache
/// has the dtype of the row, or else 8 bits if the weights have at most 8 bits, which such checkpoints specify.
class ServedUnderLoad {
public:
    explicit ServedUnderLoad(Calibrations calibrations)
        : calibrations_(std::make_shared<Calibrations>(std::move(calibrations))) {}

    /// Returns the expected times of the servers: of one worker with its part of the load, or of disaggregated pools.
    /// The message of the error is the reason why there are none: unknown workers, a plan that does not match a
    /// worker's chips, weights that do not fit on them, no model of the server.
    [[nodiscard]] Result<ServingTimes> times(const MeasuredServing& row, MeasuredSystems& systems,
                                             const ModelNames& names);

    /// Returns the row as the fit of its server's model takes it. Errors: as above; the row does not give the number of
    /// sequences that were decoded.
    [[nodiscard]] Result<ServerSample> sample(const MeasuredServing& row, MeasuredSystems& systems,
                                              const ModelNames& names);

    /// Returns the model of a server on a platform; null if it has none.
    [[nodiscard]] const CalibratedServer* server_of(std::string_view software, std::string_view platform) const {
        return calibrations_->servers().find(software, platform);
    }
    /// Returns the errors of that model.
    [[nodiscard]] ServerErrors errors_of(const CalibratedServer& server, std::string_view platform) const {
        return calibrations_->servers().errors(server, platform);
    }

private:
    /// The chips of a worker.
    struct Worker {
        Slice slice;
        Plan plan;
        double capacity = 0;     ///< bytes of one chip; 0: unknown
        double activations = 0;  ///< bytes of one chip, of a chunk of prompts
    };
    struct Served {
        ServedModel prefill;
        ServedModel decode;
        Worker worker;                   ///< that decodes
        std::optional<Worker> prefills;  ///< of disaggregated serving
        std::unique_ptr<ExpectedServing> passes;
        std::optional<CacheTransfer> transfer{};
    };
    /// System, model, dtypes, workers, software.
    using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;

    [[nodiscard]] Result<const Served*> served(const MeasuredServing& row, MeasuredSystems& systems,
                                               const ModelNames& names);
    [[nodiscard]] Result<std::unique_ptr<Served>> make(const MeasuredServing& row, MeasuredSystems& systems,
                                                       const ModelNames& names) const;
    [[nodiscard]] Result<Worker> worker_of(const MeasuredServing& row, const ServingWorker& degrees, std::int64_t chips,
                                           const ServedModel& model, MeasuredSystems& systems) const;
    [[nodiscard]] ServingSetup setup_of(const Served& served, const Worker& worker, const std::string& software) const;
    [[nodiscard]] ServerLimits limits(const Served& served, const Worker& worker, const MeasuredServing& row,
                                      double tokens) const;

    std::shared_ptr<Calibrations> calibrations_;
    std::map<Key, Result<std::unique_ptr<Served>>> served_;
};

}  // namespace roofline::core

// The memory of a training stage, compiled: sizes and degrees in, bytes out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/live_memory.hpp"
#include "plan/training_memory.hpp"
#include "predict/plan/mesh_degrees.hpp"
#include "predict/train/planned_stage.hpp"

namespace roofline::core {

/// A step that is laid out with marks as degrees.
struct MarkedStage {
    const PlannedStage& planned;
    const Program& local;
    const std::vector<TensorType>& types;
    bool first = true;  ///< no stage of a pipeline comes before it
};

/// training_memory() and pipeline_buffer_bytes() of steps of one structure, without what an allocator reserves.
class CompiledMemory {
public:
    /// `dims` are the names of dimensions whose sizes will be passed. Errors: those of live_tensors().
    static Result<CompiledMemory> compile(const MarkedStage& stage, const FrameworkHabits& habits,
                                          const std::vector<std::string>& dims);

    /// Returns the bytes on one chip, without the capacity. `sizes` are in the order of `dims`.
    [[nodiscard]] TrainingMemory evaluate(std::span<const double> sizes, const MeshDegrees& degrees,
                                          const InFlight& in_flight, std::int64_t microbatches) const;

private:
    /// A product of sizes.
    using Product = std::vector<std::uint32_t>;
    /// Tensors of parameters: so many times a product of whole sizes, over the chips that share them.
    struct Shared {
        double scale = 0;
        Product sizes;
        std::int64_t mark = 1;
    };
    enum Kind : std::size_t { params, gradients, optimizer, unfused_results, units, kinds };
    /// So many bytes times a product of sizes on one chip.
    struct Scaled {
        double scale = 0;
        std::uint32_t product = 0;
    };

    [[nodiscard]] std::uint32_t product_of(std::vector<std::string> dims, const std::vector<std::string>& names);
    void add_shared(Kind kind, double scale, const MarkedStage& stage, const StepTensor& tensor,
                    const std::vector<std::string>& names);
    void add(Kind kind, Shared shared);
    void add_units(const MarkedStage& stage, const std::vector<std::string>& names);
    void add_buffers(const MarkedStage& stage, const std::vector<std::string>& names);
    void keep_largest(const LiveTensors& held, const std::vector<std::string>& names);
    [[nodiscard]] double largest_stand_ins(std::span<const double> products) const;
    [[nodiscard]] double buffers(std::span<const double> products, double layers_in_flight, double microbatches) const;
    [[nodiscard]] static double value_of(const Product& product, std::span<const double> sizes);
    [[nodiscard]] double sum_of(Kind kind, std::span<const double> sizes, const MeshDegrees& degrees) const;

    std::array<std::vector<Shared>, kinds> shared_;
    std::vector<Product> products_;
    /// Per place that may be the fullest, and last for the kept activations: bytes per product, held once, by layers
    /// and others in flight.
    std::vector<std::vector<double>> places_;
    /// As LiveTensors::largest_of.
    std::vector<std::vector<std::vector<Scaled>>> largest_of_;
    /// What pipeline_buffer_bytes() counts for each micro-batch, and for each that is not in flight.
    std::vector<Scaled> buffers_;
    std::optional<Scaled> received_;
    double reserved_ = 1;  ///< see FrameworkHabits
    double context_bytes_ = 0;
};

}  // namespace roofline::core

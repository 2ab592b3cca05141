// The memory of a training stage, compiled: sizes and degrees in, bytes out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/live_memory.hpp"
#include "plan/training_memory.hpp"
#include "predict/plan/mesh_degrees.hpp"
#include "predict/train/planned_stage.hpp"

namespace roofline::core {

/// training_memory() of steps of one structure, with the habits that `roofline train` assumes.
class CompiledMemory {
public:
    /// `local` and `types` are those of the layout; `dims` are the names of dimensions whose sizes will be passed.
    /// Errors: those of live_tensors().
    static Result<CompiledMemory> compile(const TrainingProgram& step, const Program& local,
                                          const std::vector<TensorType>& types, bool unfused,
                                          const std::vector<std::string>& dims);

    /// Returns the bytes on one chip, without the capacity. `sizes` are in the order of `dims`.
    [[nodiscard]] TrainingMemory evaluate(std::span<const double> sizes, const MeshDegrees& degrees,
                                          const InFlight& in_flight) const;

private:
    /// A product of sizes.
    using Product = std::vector<std::uint32_t>;
    /// Tensors of parameters: so many times a product of whole sizes, over the chips that share them.
    struct Shared {
        double scale = 0;
        Product sizes;
        std::int64_t mark = 1;
    };
    enum Kind : std::size_t { params, gradients, optimizer, unfused_results, kinds };

    [[nodiscard]] std::uint32_t product_of(std::vector<std::string> dims, const std::vector<std::string>& names);
    void add_shared(Kind kind, double scale, const Program& program, const StepTensor& tensor,
                    const std::vector<TensorType>& types, const std::vector<std::string>& names);
    void keep_largest(const LiveTensors& held, const std::vector<std::string>& names);
    [[nodiscard]] static double value_of(const Product& product, std::span<const double> sizes);
    [[nodiscard]] double sum_of(Kind kind, std::span<const double> sizes, const MeshDegrees& degrees) const;

    std::array<std::vector<Shared>, kinds> shared_;
    std::vector<Product> products_;
    /// Per place that may be the fullest, and last for the kept activations: bytes per product, held once, by layers
    /// and others in flight.
    std::vector<std::vector<double>> places_;
};

}  // namespace roofline::core

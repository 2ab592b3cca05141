#include "report/plan_json.hpp"

#include <string>

namespace roofline::core {

FigureValue plan_json(const Plan& plan) {
    FigureValue json = FigureValue::object();
    for (const auto& [axis, size] : plan_axes(plan)) json[std::string(axis)] = size;
    json["experts_over_tensor"] = plan.experts_over_tensor;
    return json;
}

}  // namespace roofline::core

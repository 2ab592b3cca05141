// A recorded profile's answer as JSON.
#pragma once

#include <string>

#include "predict/profile/profile_answer.hpp"

namespace roofline::core {

[[nodiscard]] std::string profile_json(const ProfileAnswer& answer);

}  // namespace roofline::core

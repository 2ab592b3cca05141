// A recorded profile of a module of XLA, instruction by instruction.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"
#include "predict/imported/module_answer.hpp"

namespace roofline::core {

/// Puts the measured times of an average step beside the kernels of a module, which are found by the names of their
/// instructions; kernels that take longest then come first. `module` is the module's name: where the profile names
/// modules, events of others are left out. Errors: `other_module` if no instruction of the profile is a kernel of the
/// module.
[[nodiscard]] Status join_profile(const RecordedProfile& profile, std::string_view module, ModuleAnswer& answer);

}  // namespace roofline::core

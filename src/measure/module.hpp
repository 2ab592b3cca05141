// Loads parts of the program that need an optional library (oneDNN, hwloc, MPI, CUDA): shared objects in the program's
// folder, loaded when a command needs them. So the program starts fast and runs everywhere.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// Folders where modules are searched, in order: modules/ in the folder of the program, then lib/roofline/ of its
/// installation, then modules/ in the folder of the shared library that holds this code.
[[nodiscard]] std::vector<std::string> module_folders();

/// Loads the module roofline-NAME.so and returns the result of its `roofline_module_NAME()`: a pointer to an interface
/// that lives as long as the process. The error message contains `brings` ("real kernels") and `package`
/// ("libdnnl-dev"). Errors: code `absent` if the module was not built, a library that it needs is missing, or it
/// belongs to another version of the program.
[[nodiscard]] Result<void*> load_module(const std::string& name, const std::string& brings, const std::string& package);

/// The same, converted to the interface type.
template <class Interface>
[[nodiscard]] Result<Interface*> load_module_as(const std::string& name, const std::string& brings,
                                                const std::string& package) {
    ROOFLINE_TRY(auto module, load_module(name, brings, package));
    return static_cast<Interface*>(module);
}

}  // namespace roofline::core

/// Placed at the end of a module's source: defines what the module gives to the program. `object` must live as long as
/// the process.
// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be put in parentheses
#define ROOFLINE_MODULE(name, interface, object)                                              \
    extern "C" __attribute__((visibility("default"))) const char* roofline_module_version() { \
        return ROOFLINE_VERSION;                                                              \
    }                                                                                         \
    extern "C" __attribute__((visibility("default"))) void* roofline_module_##name() {        \
        return static_cast<interface*>(&(object));                                            \
    }                                                                                         \
    static_assert(true)
// NOLINTEND(bugprone-macro-parentheses)

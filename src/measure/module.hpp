// Parts of the program that need a library which may be absent (oneDNN, hwloc, MPI, CUDA): shared objects beside the program,
// loaded when a command needs one. So the program starts fast and runs everywhere.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// Where modules are looked for, first to last: modules/ beside the program, then lib/roofline/ of where it is installed.
[[nodiscard]] std::vector<std::string> module_folders();

/// What `roofline_module_NAME()` of the module roofline-NAME.so returns: a pointer to an interface that lives as long as the
/// process. `brings` ("real kernels") and `package` ("libdnnl-dev") are for the error. Errors: code `absent`, when
/// the module was not built, when a library that it needs is missing, and when it belongs to another version of the program.
[[nodiscard]] Result<void*> load_module(const std::string& name, const std::string& brings, const std::string& package);

/// The same as the interface that it is.
template <class Interface>
[[nodiscard]] Result<Interface*> load_module_as(const std::string& name, const std::string& brings,
                                                const std::string& package) {
    ROOFLINE_TRY(auto module, load_module(name, brings, package));
    return static_cast<Interface*>(module);
}

}  // namespace roofline::core

/// At the end of a module's source: what it gives to the program. `object` lives as long as the process.
// NOLINTBEGIN(bugprone-macro-parentheses): a type in parentheses is none
#define ROOFLINE_MODULE(name, interface, object)                                              \
    extern "C" __attribute__((visibility("default"))) const char* roofline_module_version() { \
        return ROOFLINE_VERSION;                                                              \
    }                                                                                         \
    extern "C" __attribute__((visibility("default"))) void* roofline_module_##name() {        \
        return static_cast<interface*>(&(object));                                            \
    }                                                                                         \
    static_assert(true)
// NOLINTEND(bugprone-macro-parentheses)

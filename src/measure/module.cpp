#include "measure/module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace roofline::core {

namespace {

std::string no_module(const std::string& name, const std::string& brings) {
    return fmt::format("this build has no {} (the module roofline-{}.so)", brings, name);
}

template <class Function>
Function* symbol(void* module, const std::string& name) {
    return reinterpret_cast<Function*>(::dlsym(module, name.c_str()));
}

/// Returns whether only root, the user, or the owner of the program itself can have written the file.
bool trusted(const std::string& path) {
    struct stat file{};
    struct stat program{};
    if (::stat(path.c_str(), &file) != 0) return false;
    const bool known = file.st_uid == 0 || file.st_uid == ::geteuid() ||
                       (::stat("/proc/self/exe", &program) == 0 && program.st_uid == file.st_uid);
    const bool group = (file.st_mode & S_IWGRP) != 0 && file.st_gid != 0 && file.st_gid != ::getegid();
    return known && (file.st_mode & S_IWOTH) == 0 && !group;
}

}  // namespace

std::vector<std::string> module_folders() {
    std::vector<std::string> folders;
    std::error_code problem;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
    if (!problem) {
        const auto folder = program.parent_path();
        folders = {(folder / "modules").string(), (folder.parent_path() / "lib" / "roofline").string()};
    }
    // This code may be in a shared library that another program has loaded, as Python does.
    Dl_info self{};
    if (::dladdr(reinterpret_cast<const void*>(&module_folders), &self) != 0 && self.dli_fname != nullptr) {
        const auto library = std::filesystem::weakly_canonical(self.dli_fname, problem);
        auto beside = (library.parent_path() / "modules").string();
        if (!problem && (folders.empty() || folders.front() != beside)) folders.push_back(std::move(beside));
    }
    return folders;
}

Result<void*> load_module(const std::string& name, const std::string& brings, const std::string& package) {
    const std::string remedy = fmt::format("install {} and build again: ./dev build", package);
    for (const std::string& folder : module_folders()) {
        const std::string path = fmt::format("{}/roofline-{}.so", folder, name);
        std::error_code problem;
        if (!std::filesystem::exists(path, problem)) continue;
        for (const std::string& place : {folder, path}) {
            if (trusted(place)) continue;
            return fail("absent", fmt::format("{} is not loaded: other users may write to {}", path, place),
                        "make sure that you or root own it and that no other user may write to it: chown, chmod o-w");
        }
        // global because MPI loads components that look up its symbols
        void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (module == nullptr) {
            const char* why = ::dlerror();
            return fail("absent",
                        fmt::format("{} cannot be loaded: {}", path, why == nullptr ? "no reason given" : why),
                        fmt::format("install the missing library ({})", package));
        }
        auto* version = symbol<const char*()>(module, "roofline_module_version");
        if (version == nullptr || std::string_view(version()) != ROOFLINE_VERSION) {
            return fail("absent", fmt::format("{} belongs to another version of the program", path),
                        "build or install both together");
        }
        auto* entry = symbol<void*()>(module, "roofline_module_" + name);
        if (entry == nullptr)
            return fail("absent", fmt::format("{} is not the module that its name says", path), remedy);
        return entry();
    }
    return fail("absent", no_module(name, brings), remedy);
}

}  // namespace roofline::core

// What the page does not have: a terminal, a machine that is measured, other processes, and modules of the program.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/words.hpp"
#include "app/local/this_machine.hpp"
#include "measure/module.hpp"
#include "measure/network/ranks.hpp"

namespace roofline::core {

Result<std::string> this_machine_path() {
    return fail("absent", "the page does not know this machine",
                "drop in the file that `roofline measure cpu -o my.toml` writes, and name it: --on my.toml");
}

std::optional<Launched> launched() { return std::nullopt; }

Status RankGroup::available() { return fail("absent", "the page has no ranks", "use the program"); }

Result<void*> load_module(const std::string&, const std::string& brings, const std::string&) {
    return fail("absent", fmt::format("the page has no {}", brings), "use the program: it takes the same words");
}

namespace cli {

bool color_wanted(const std::string& when) { return when == "always"; }

std::optional<std::size_t> columns_wanted() { return std::nullopt; }

}  // namespace cli

}  // namespace roofline::core

// Debian's libclang-rt for WebAssembly is compiled with a check of the stack, for which libc would have these.
extern "C" {
extern const std::uintptr_t __stack_chk_guard;
const std::uintptr_t __stack_chk_guard = 0x5a17c0de;
[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }
}

// What crosses between Python and the library: errors, requests and answers.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/options.hpp"
#include "app/request.hpp"

namespace roofline::python {

namespace nb = nanobind;

/// Words of a question, as the command line has them, and the texts of the files that they name and that are not read
/// from the disk.
struct Words {
    std::vector<std::string> arguments;
    std::map<std::string, std::string> texts;
};

/// Returns contents of files by name, each a str or bytes.
[[nodiscard]] std::map<std::string, std::string> file_texts(const nb::dict& texts);

/// Raises a roofline.Error. Needs the GIL.
[[noreturn]] void raise(const core::Error& error);

/// Sets the class of the errors that raise() raises.
void set_error_class(nb::object error);

/// A text for Python. An excerpt of a text that is not UTF-8, or is cut inside a character, has U+FFFD there.
[[nodiscard]] nb::str text(std::string_view bytes);

/// Converts words to a request. Raises the errors of the parser. Must not hold the GIL.
[[nodiscard]] core::Result<core::cli::Parsed> parse(const Words& words);

/// Converts words to a request of `roofline op`.
[[nodiscard]] core::Result<core::OpRequest> parse_op(const Words& words);

/// Binds the answers to sweeps and compiled questions.
void bind_sweeps(nb::module_& module);

}  // namespace roofline::python

#include "conversions.hpp"

#include <nanobind/stl/string.h>

#include "app/cli/files.hpp"

namespace roofline::python {

namespace {

// The class roofline.Error; one per process, as the module is.
nb::object& error_class() {
    static auto* const held = new nb::object();  // not destroyed, because the interpreter may be gone by then
    return *held;
}

}  // namespace

void set_error_class(nb::object error) { error_class() = std::move(error); }

nb::str text(std::string_view bytes) {
    PyObject* made = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
    if (made == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(made);
}

std::map<std::string, std::string> file_texts(const nb::dict& texts) {
    std::map<std::string, std::string> all;
    for (const auto& [name, contents] : texts) {
        std::string& held = all[nb::cast<std::string>(name)];
        if (nb::isinstance<nb::bytes>(contents)) {
            const auto bytes = nb::borrow<nb::bytes>(contents);
            held.assign(bytes.c_str(), bytes.size());
        } else {
            held = nb::cast<std::string>(contents);
        }
    }
    return all;
}

void raise(const core::Error& error) {
    nb::object place = nb::none();
    if (error.place) {
        const core::Place& at = *error.place;
        place = nb::make_tuple(text(at.source), at.line, at.column, text(at.text), at.caret);
    }
    const nb::object made = error_class()(text(error.code), text(error.message), text(error.hint), place);
    PyErr_SetObject(error_class().ptr(), made.ptr());
    throw nb::python_error();
}

core::Result<core::cli::Parsed> parse(const Words& words) {
    bool json = false;
    ROOFLINE_TRY(auto parsed, core::cli::parse_arguments(words.arguments, json));
    // A process of mpirun that asks from Python is no rank of a search: what it asks, it answers alone.
    if (parsed.local) {
        if (auto* ranks = std::get_if<core::PlanRanksRequest>(&parsed.local->what)) {
            parsed.request = core::Request{std::move(ranks->plan), parsed.local->format};
        }
    }
    if (!parsed.request) return core::fail("usage", "these words are no question", "ask another one");
    return parsed;
}

core::Result<core::OpRequest> parse_op(const Words& words) {
    ROOFLINE_TRY(auto parsed, parse(words));
    if (auto* op = std::get_if<core::OpRequest>(&parsed.request->what)) return std::move(*op);
    return core::fail("usage", "this is no question about an operation", "ask with op()");
}

}  // namespace roofline::python

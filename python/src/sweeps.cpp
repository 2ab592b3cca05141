// Sweeps over arrays, and compiled questions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/files.hpp"
#include "app/op_sweep.hpp"
#include "conversions.hpp"
#include "report/op/sweep_json.hpp"

namespace roofline::python {

namespace {

using SizeArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<core::PointSizes> size_columns(const nb::dict& arrays) {
    std::vector<core::PointSizes> columns;
    for (const auto [dim, sizes] : arrays) {
        const auto array = nb::cast<SizeArray>(sizes);
        columns.push_back({nb::cast<std::string>(dim), {array.data(), array.data() + array.size()}});
    }
    return columns;
}

template <class Number>
nb::object array_of(std::vector<Number> values) {
    auto* held = new std::vector<Number>(std::move(values));
    const nb::capsule owner(held, [](void* each) noexcept { delete static_cast<std::vector<Number>*>(each); });
    return nb::cast(nb::ndarray<nb::numpy, Number, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

nb::tuple key_of(const std::vector<std::string>& key) {
    nb::list words;
    for (const std::string& each : key) words.append(each);
    return nb::tuple(words);
}

/// Answers an operation at the points that the arrays give together: the figures by key, the bottlenecks and their ids.
nb::tuple sweep(const Words& words, const nb::dict& arrays) {
    auto sizes = size_columns(arrays);
    core::Result<core::SweepColumns> all;
    std::string machine;
    {
        const nb::gil_scoped_release released;
        const core::cli::QuestionFiles files(words.texts);
        all = [&]() -> core::Result<core::SweepColumns> {
            ROOFLINE_TRY(const auto request, parse_op(words));
            ROOFLINE_TRY(const auto swept, core::sweep_op(request, std::move(sizes)));
            machine = swept.answer.machine.id;
            return core::sweep_columns(swept.answer, swept.axes);
        }();
    }
    if (!all) raise(all.error());
    nb::list columns;
    for (core::SweepColumn& column : all->columns) {
        columns.append(nb::make_tuple(key_of(column.key), array_of(std::move(column.values))));
    }
    return nb::make_tuple(machine, columns, array_of(std::move(all->bound_by)), all->resources);
}

/// The same as the JSON of a sweep.
nb::str sweep_text(const Words& words, const nb::dict& arrays) {
    auto sizes = size_columns(arrays);
    core::Result<std::string> json;
    {
        const nb::gil_scoped_release released;
        const core::cli::QuestionFiles files(words.texts);
        json = [&]() -> core::Result<std::string> {
            ROOFLINE_TRY(const auto request, parse_op(words));
            ROOFLINE_TRY(auto swept, core::sweep_op(request, std::move(sizes)));
            const auto axes = std::move(swept.axes);
            std::vector<core::Prediction> answers;
            answers.push_back(std::move(swept.answer));
            return core::sweep_json(answers, axes);
        }();
    }
    if (!json) raise(json.error());
    return text(*json);
}

/// The figures at one point.
class Figures {
public:
    explicit Figures(core::OpPoint point) : point_(std::move(point)) {}

    [[nodiscard]] nb::object get(std::string_view name) const {
        if (name == "bound_by") {
            return point_.bound_by.empty() ? nb::none() : nb::cast(point_.bound_by);
        }
        nb::object found;
        for (std::size_t i = 0; i < point_.keys->size(); ++i) {
            const std::vector<std::string>& key = (*point_.keys)[i];
            if (key.front() != name) continue;
            if (key.size() == 1) return number(point_.values[i]);
            put(found, key, number(point_.values[i]));
        }
        return found;
    }

    [[nodiscard]] nb::dict all() const {
        nb::dict figures;
        for (const std::vector<std::string>& key : *point_.keys) {
            const nb::str name(key.front().c_str());
            if (!figures.contains(name)) figures[name] = get(key.front());
        }
        figures["bound_by"] = get("bound_by");
        return figures;
    }

private:
    static nb::object number(double value) { return std::isfinite(value) ? nb::object(nb::float_(value)) : nb::none(); }

    static void put(nb::object& into, const std::vector<std::string>& key, const nb::object& value) {
        if (!into.is_valid()) into = nb::dict();
        auto at = nb::borrow<nb::dict>(into);
        for (std::size_t i = 1; i + 1 < key.size(); ++i) {
            const nb::str name(key[i].c_str());
            if (!at.contains(name)) at[name] = nb::dict();
            at = nb::borrow<nb::dict>(nb::object(at[name]));
        }
        at[nb::str(key.back().c_str())] = value;
    }

    core::OpPoint point_;
};

/// A compiled question. The GIL guards it.
class Compiled {
public:
    Compiled(const Words& words, std::vector<std::string> dims) {
        core::Result<core::CompiledOp> made = tl::unexpected(core::Error{});
        {
            const nb::gil_scoped_release released;
            const core::cli::QuestionFiles files(words.texts);
            made = [&]() -> core::Result<core::CompiledOp> {
                ROOFLINE_TRY(auto request, parse_op(words));
                return core::CompiledOp::compile(std::move(request), std::move(dims));
            }();
        }
        if (!made) raise(made.error());
        op_ = std::make_unique<core::CompiledOp>(*std::move(made));
        for (const std::string& dim : op_->dims()) {
            names_.push_back(nb::steal<nb::str>(PyUnicode_InternFromString(dim.c_str())));
        }
        sizes_.resize(names_.size());
    }

    /// The figures at the sizes that the keywords give; None if they are not one whole number for each dimension.
    nb::object at(const nb::kwargs& given) {
        if (given.size() != names_.size()) return nb::none();
        for (std::size_t i = 0; i < names_.size(); ++i) {
            PyObject* size = PyDict_GetItem(given.ptr(), names_[i].ptr());
            if (size == nullptr || !PyLong_CheckExact(size)) return nb::none();
            int overflow = 0;
            sizes_[i] = PyLong_AsLongLongAndOverflow(size, &overflow);
            if (overflow != 0) return nb::none();
        }
        auto point = op_->at(sizes_);
        if (!point) raise(point.error());
        return nb::cast(Figures(*std::move(point)));
    }

    [[nodiscard]] bool has_formulas() const { return op_->has_formulas(); }

private:
    std::unique_ptr<core::CompiledOp> op_;
    std::vector<nb::str> names_;
    std::vector<std::int64_t> sizes_;
};

}  // namespace

void bind_sweeps(nb::module_& module) {
    module.def("sweep", [](std::vector<std::string> arguments, const nb::dict& texts, const nb::dict& arrays) {
        return sweep({std::move(arguments), file_texts(texts)}, arrays);
    });
    module.def("sweep_json", [](std::vector<std::string> arguments, const nb::dict& texts, const nb::dict& arrays) {
        return sweep_text({std::move(arguments), file_texts(texts)}, arrays);
    });
    nb::class_<Figures>(module, "Figures")
        .def("_all", &Figures::all)
        .def("__getattr__", [](const Figures& figures, const char* name) {
            nb::object found = figures.get(name);
            if (!found.is_valid()) throw nb::attribute_error(name);
            return found;
        });
    nb::class_<Compiled>(module, "Compiled")
        .def("__init__",
             [](Compiled* made, std::vector<std::string> arguments, const nb::dict& texts,
                std::vector<std::string> dims) {
                 new (made) Compiled({std::move(arguments), file_texts(texts)}, std::move(dims));
             })
        .def("at", &Compiled::at)
        .def_prop_ro("has_formulas", &Compiled::has_formulas);
}

}  // namespace roofline::python

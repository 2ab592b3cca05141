// The extension module roofline._core: questions in the words of the command line, and their answers. The package
// around it (python/roofline) makes words of keyword arguments, and objects of the answers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "app/cli/files.hpp"
#include "app/local/this_machine.hpp"
#include "base/utf8.hpp"
#include "conversions.hpp"
#include "roofline/model.hpp"
#include "units/text.hpp"

namespace roofline::python {

namespace {

/// Lets a search end when `stop` is set.
void stop_when(core::Request& request, const std::atomic<bool>& stop) {
    core::SearchControl* const search = search_of(request);
    if (search == nullptr) return;
    search->watch = [&stop](const core::SearchProgress&) { return !stop.load(std::memory_order_relaxed); };
    search->stop = [&stop] { return stop.load(std::memory_order_relaxed); };
}

/// Runs `work` in another thread without the GIL. Signals are handled meanwhile; if their handler raises an exception,
/// as that of an interrupt does, `stop` is set and the exception raised when the work has ended.
void run_interruptibly(const std::function<void()>& work, std::atomic<bool>& stop) {
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::exception_ptr problem;
    std::thread worker([&] {
        try {
            work();
        } catch (...) {
            problem = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        done = true;
        ended.notify_one();
    });
    bool interrupted = false;
    for (bool waiting = true; waiting;) {
        {
            const nb::gil_scoped_release released;
            std::unique_lock lock(mutex);
            waiting = !ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; });
        }
        if (!interrupted && PyErr_CheckSignals() != 0) {
            interrupted = true;
            stop = true;
            PyErr_Clear();
        }
    }
    worker.join();
    if (interrupted) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
    if (problem) std::rethrow_exception(problem);
}

/// Writes the files of an answer. The folder of the machine file of `on="this"` is created if needed.
core::Status write_files(const core::Response& response) {
    for (const core::NamedText& file : response.files) {
        ROOFLINE_CHECK(core::cli::write_file(file.name, file.text));
    }
    return {};
}

/// What another thread ends a search with.
class Stop {
public:
    void set() { *stop_ = true; }
    [[nodiscard]] const std::shared_ptr<std::atomic<bool>>& flag() const { return stop_; }

private:
    std::shared_ptr<std::atomic<bool>> stop_ = std::make_shared<std::atomic<bool>>(false);
};

/// Answers a question. Returns its exit status, the text of the answer, its picture, the names of the files that were
/// written, and the report.
nb::tuple ask(const Words& words, bool interruptible, const std::shared_ptr<std::atomic<bool>>& stopped) {
    core::Result<core::Response> answer;
    std::string report;
    std::atomic<bool>& stop = *stopped;
    const auto work = [&] {
        const core::cli::QuestionFiles files(words.texts);
        auto parsed = parse(words);
        if (!parsed) {
            answer = core::fail(parsed.error());
            return;
        }
        stop_when(*parsed->request, stop);
        answer = core::handle(*parsed->request);
        if (answer->error) return;
        report = core::cli::report_html(*answer, *parsed, words.arguments);
        if (auto written = write_files(*answer); !written) answer = core::fail(written.error());
    };
    if (interruptible) {
        run_interruptibly(work, stop);
    } else {
        const nb::gil_scoped_release released;
        work();
    }
    if (!answer) raise(answer.error());
    if (answer->error) raise(*answer->error);
    nb::list written;
    for (const core::NamedText& file : answer->files) written.append(text(file.name));
    return nb::make_tuple(answer->exit_code, text(core::with_directions_shown(answer->out)), text(answer->svg), written,
                          text(report));
}

/// A quantity as people read it: "84.5 us". Numbers of unknown units are returned with four digits.
std::string quantity_text(double value, std::string_view unit) {
    if (unit == "s") return to_text(Seconds{value});
    if (unit == "B") return to_text(Bytes{value});
    if (unit == "FLOP") return to_text(Flops{value});
    if (unit == "FLOP/s") return to_text(FlopRate{value});
    if (unit == "B/s") return to_text(Bandwidth{value});
    if (unit == "FLOP/B") return to_text(Intensity{value});
    if (unit == "Hz") return to_text(Frequency{value});
    if (unit == "W") return to_text(Power{value});
    if (unit == "J") return to_text(Joules{value});
    return core::number_text(value, 4);
}

nb::list options() {
    nb::list all;
    for (const core::cli::OptionFacts& each : core::cli::option_facts()) {
        all.append(nb::make_tuple(each.command, each.name, each.help, each.value, each.positional, each.repeated));
    }
    return all;
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "Questions in the words of the command line, and their answers.";
    module.attr("__version__") = ROOFLINE_VERSION;
    module.def("set_error_class", &set_error_class);
    nb::class_<Stop>(module, "Stop").def(nb::init<>()).def("set", &Stop::set);
    module.def(
        "ask",
        [](std::vector<std::string> arguments, const nb::dict& texts, bool interruptible, const Stop* stop) {
            return ask({std::move(arguments), file_texts(texts)}, interruptible, (stop ? *stop : Stop()).flag());
        },
        nb::arg("arguments"), nb::arg("texts"), nb::arg("interruptible"), nb::arg("stop").none() = nb::none());
    module.def("options", &options);
    module.def("quantity_text", &quantity_text);
    module.def("models", &Model::names);
    module.def("nearest", [](const std::string& word, const std::vector<std::string>& candidates) {
        return core::nearest(word, candidates).value_or("");
    });
    module.def(
        "error_text",
        [](const std::string& code, const std::string& message, const std::string& hint, nb::object place) {
            core::Error error{code, message, hint, {}};
            if (!place.is_none()) {
                const auto parts = nb::cast<nb::tuple>(place);
                error.place =
                    core::Place{nb::cast<std::string>(parts[0]), nb::cast<int>(parts[1]), nb::cast<int>(parts[2]),
                                nb::cast<std::string>(parts[3]), nb::cast<int>(parts[4])};
            }
            return text(to_text(error));
        },
        nb::arg("code"), nb::arg("message"), nb::arg("hint"), nb::arg("place").none());
    bind_sweeps(module);
}

}  // namespace roofline::python

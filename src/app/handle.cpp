#include "app/request.hpp"
#include "report/op/op_json.hpp"

namespace roofline::core {

namespace {

/// If a request names several machines and fails for some of them, the response has the answers for all others, and the
/// errors in `beside`.
template <class Asked, class Handle>
Result<Response> answer_per_machine(const Asked& request, Format format, const Handle& answer) {
    auto all = answer(request);
    if (all || request.machines.size() < 2) return all;
    Asked rest = request;
    rest.machines.clear();
    std::vector<MachineError> errors;
    for (const MachineRef& reference : request.machines) {
        Asked one = request;
        one.machines = {reference};
        if (auto alone = answer(one)) {
            rest.machines.push_back(reference);
        } else {
            errors.push_back({reference.name, alone.error()});
            std::string& message = errors.back().error.message;
            if (message.find(reference.name) == std::string::npos) message.insert(0, reference.name + ": ");
        }
    }
    if (rest.machines.empty() || errors.empty()) return all;
    auto others = answer(rest);
    if (!others) return all;
    if (format == Format::json) {
        others->out = json_beside_errors(std::move(others->out), rest.machines.size() == 1, errors);
    } else {
        for (MachineError& each : errors) others->beside.push_back(std::move(each.error));
    }
    others->exit_code = 2;
    return others;
}

Result<Response> answer(const Request& request) {
    const auto in_view = [&](const auto& asked) -> Result<Response> {
        if constexpr (requires { handle(asked, request.format, request.color); }) {
            return handle(asked, request.format, request.color);
        } else {
            return handle(asked, request.format);
        }
    };
    const auto visitor = [&](const auto& asked) -> Result<Response> {
        if constexpr (requires { asked.by_machine; }) return answer_per_machine(asked, request.format, in_view);
        return in_view(asked);
    };
    return std::visit(visitor, request.what);
}

// Some errors are negative answers rather than mistakes of the user.
int exit_code(const Error& error) {
    if (error.code == "interrupted") return interrupted_exit;
    return error.code == "no_fit" ? 1 : 2;
}

}  // namespace

Response handle(const Request& request) {
    auto response = answer(request);
    if (response) return std::move(*response);
    return failed_response(response.error(), exit_code(response.error()), request.format);
}

SearchControl* search_of(Request& request) {
    return std::visit(
        [](auto& asked) -> SearchControl* {
            if constexpr (requires { asked.search; }) return &asked.search;
            if constexpr (requires { asked.train.search; }) return &asked.train.search;
            return nullptr;
        },
        request.what);
}

Response failed_response(const Error& error, int exit_code, Format format) {
    Response failed;
    failed.exit_code = exit_code;
    failed.error = error;
    if (format == Format::json) failed.out = error_json(error);
    return failed;
}

}  // namespace roofline::core

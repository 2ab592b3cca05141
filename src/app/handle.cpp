#include <algorithm>

#include "app/handle_fit.hpp"
#include "app/handle_import.hpp"
#include "app/handle_model.hpp"
#include "app/handle_op.hpp"
#include "app/handle_serve.hpp"
#include "app/handle_trace.hpp"
#include "app/handle_train.hpp"
#include "app/handle_validate.hpp"
#include "app/request.hpp"
#include "app/system_option.hpp"
#include "machine/catalogue.hpp"
#include "report/machine/machine_export.hpp"
#include "report/machine/machine_view.hpp"
#include "report/machine/slice_view.hpp"
#include "report/op/op_json.hpp"

namespace roofline::core {

namespace {

Result<Response> export_machine(const MachineRequest& request, Format format) {
    if (request.machines.size() != 1 || names_slice(request.machines.front())) {
        return fail("bad_request", "the files of other tools hold one machine", "name one, without a slice");
    }
    ROOFLINE_TRY(auto machine, resolve_machine(request.machines.front(), request.sets));
    std::vector<MachineExport> exports;
    if (!request.ert.empty()) exports.push_back(ert_json(machine, request.ert));
    if (!request.rocprof.empty()) exports.push_back(rocprof_csv(machine, request.rocprof));
    Response response;
    response.out = export_view(machine, exports, format);
    for (MachineExport& made : exports) response.files.push_back({made.file, std::move(made.text)});
    return response;
}

Result<Response> handle_machine(const MachineRequest& request, Format format) {
    if (!request.ert.empty() || !request.rocprof.empty()) return export_machine(request, format);
    std::vector<Machine> machines;
    if (request.machines.empty()) {
        for (const std::string& id : machine_ids()) {
            ROOFLINE_TRY(auto machine, resolve_machine({id, {}, {}}, request.sets));
            machines.push_back(std::move(machine));
        }
        return Response{0, machine_list(machines, format), {}, {}};
    }
    if (std::any_of(request.machines.begin(), request.machines.end(), names_slice)) {
        std::vector<Slice> slices;
        for (const MachineRef& reference : request.machines) {
            ROOFLINE_TRY(auto slice, resolve_slice(reference, request.sets));
            slices.push_back(std::move(slice));
        }
        return Response{0, slice_show(slices, format), {}, {}};
    }
    for (const MachineRef& reference : request.machines) {
        ROOFLINE_TRY(auto machine, resolve_machine(reference, request.sets));
        machines.push_back(std::move(machine));
    }
    return Response{
        0, machines.size() == 1 ? machine_show(machines.front(), format) : machine_compare(machines, format), {}, {}};
}

/// Where a request names several machines and cannot be answered for some of them, the others are answered, and the errors stand
/// beside.
template <class Asked, class Handle>
Result<Response> answer_each(const Asked& request, const Handle& handle) {
    auto all = handle(request);
    if (all || request.machines.size() < 2) return all;
    Asked rest = request;
    rest.machines.clear();
    std::vector<Error> errors;
    for (const MachineRef& reference : request.machines) {
        Asked one = request;
        one.machines = {reference};
        if (auto alone = handle(one)) {
            rest.machines.push_back(reference);
        } else {
            errors.push_back(alone.error());
            std::string& message = errors.back().message;
            if (message.find(reference.name) == std::string::npos) message.insert(0, reference.name + ": ");
        }
    }
    if (rest.machines.empty() || errors.empty()) return all;
    auto others = handle(rest);
    if (!others) return all;
    others->beside = std::move(errors);
    others->exit_code = 2;
    return others;
}

Result<Response> answer(const Request& request) {
    if (const auto* op = std::get_if<OpRequest>(&request.what)) {
        return answer_each(*op,
                           [&](const OpRequest& asked) { return handle_op(asked, request.format, request.color); });
    }
    if (const auto* validate = std::get_if<ValidateRequest>(&request.what)) {
        return handle_validate(*validate, request.format);
    }
    if (const auto* fit = std::get_if<FitRequest>(&request.what)) return handle_fit(*fit, request.format);
    if (const auto* model = std::get_if<ModelRequest>(&request.what)) return handle_model(*model, request.format);
    if (const auto* train = std::get_if<TrainRequest>(&request.what)) {
        return answer_each(*train, [&](const TrainRequest& asked) { return handle_train(asked, request.format); });
    }
    if (const auto* serve = std::get_if<ServeRequest>(&request.what)) {
        return answer_each(*serve, [&](const ServeRequest& asked) { return handle_serve(asked, request.format); });
    }
    if (const auto* import = std::get_if<ImportRequest>(&request.what)) return handle_import(*import, request.format);
    if (const auto* trace = std::get_if<TraceRequest>(&request.what)) return handle_trace(*trace, request.format);
    return answer_each(std::get<MachineRequest>(request.what),
                       [&](const MachineRequest& asked) { return handle_machine(asked, request.format); });
}

// Answers that are negative rather than mistaken.
int exit_code(const Error& error) { return error.code == "no_fit" ? 1 : 2; }

}  // namespace

Response handle(const Request& request) {
    auto response = answer(request);
    if (response) return std::move(*response);
    return failed_response(response.error(), exit_code(response.error()), request.format);
}

Response failed_response(const Error& error, int exit_code, Format format) {
    Response failed;
    failed.exit_code = exit_code;
    failed.error = error;
    if (format == Format::json) failed.out = error_json(error);
    return failed;
}

}  // namespace roofline::core

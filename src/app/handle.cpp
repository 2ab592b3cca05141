#include <algorithm>

#include "app/handle_fit.hpp"
#include "app/handle_model.hpp"
#include "app/handle_op.hpp"
#include "app/handle_validate.hpp"
#include "app/request.hpp"
#include "app/system_option.hpp"
#include "machine/catalogue.hpp"
#include "report/machine/machine_view.hpp"
#include "report/machine/slice_view.hpp"
#include "report/op/op_json.hpp"

namespace roofline {

namespace {

Result<Response> handle_machine(const MachineRequest& request, Format format) {
    std::vector<Machine> machines;
    if (request.machines.empty()) {
        for (const std::string& id : machine_ids()) {
            auto machine = resolve_machine({id, {}, {}}, request.sets);
            if (!machine) return fail(machine.error());
            machines.push_back(std::move(*machine));
        }
        return Response{0, machine_list(machines, format), {}, {}};
    }
    if (std::any_of(request.machines.begin(), request.machines.end(), names_slice)) {
        std::vector<Slice> slices;
        for (const MachineRef& reference : request.machines) {
            auto slice = resolve_slice(reference, request.sets);
            if (!slice) return fail(slice.error());
            slices.push_back(std::move(*slice));
        }
        return Response{0, slice_show(slices, format), {}, {}};
    }
    for (const MachineRef& reference : request.machines) {
        auto machine = resolve_machine(reference, request.sets);
        if (!machine) return fail(machine.error());
        machines.push_back(std::move(*machine));
    }
    return Response{
        0, machines.size() == 1 ? machine_show(machines.front(), format) : machine_compare(machines, format), {}, {}};
}

Result<Response> answer(const Request& request) {
    if (const auto* op = std::get_if<OpRequest>(&request.what)) return handle_op(*op, request.format, request.color);
    if (const auto* validate = std::get_if<ValidateRequest>(&request.what)) {
        return handle_validate(*validate, request.format);
    }
    if (const auto* fit = std::get_if<FitRequest>(&request.what)) return handle_fit(*fit, request.format);
    if (const auto* model = std::get_if<ModelRequest>(&request.what)) return handle_model(*model, request.format);
    return handle_machine(std::get<MachineRequest>(request.what), request.format);
}

// Answers that are negative rather than mistaken.
int exit_code(const Error& error) { return error.code == "no_fit" ? 1 : 2; }

}  // namespace

Response handle(const Request& request) {
    auto response = answer(request);
    if (response) return std::move(*response);
    Response failed;
    failed.exit_code = exit_code(response.error());
    failed.error = response.error();
    if (request.format == Format::json) failed.out = error_json(response.error());
    return failed;
}

}  // namespace roofline

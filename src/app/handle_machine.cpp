// Handles `roofline machine`.
#include <algorithm>

#include "app/request.hpp"
#include "app/system_option.hpp"
#include "machine/catalogue.hpp"
#include "report/machine/machine_export.hpp"
#include "report/machine/machine_view.hpp"
#include "report/machine/slice_view.hpp"

namespace roofline::core {

namespace {

Result<Response> export_machine(const MachineRequest& request, Format format) {
    if (request.machines.size() != 1 || names_slice(request.machines.front())) {
        return fail("bad_request", "files of other tools describe a single machine", "name one, without a slice");
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

}  // namespace

Result<Response> handle(const MachineRequest& request, Format format) {
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

}  // namespace roofline::core

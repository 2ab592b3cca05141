#include <fmt/format.h>

#include <set>
#include <utility>

#include "api/data.hpp"
#include "api/words.hpp"
#include "machine/catalogue.hpp"
#include "predict/predict.hpp"

namespace roofline {

namespace {

Machine machine_handle(core::Machine machine, core::Calibrations constants) {
    return Machine(std::make_shared<const Machine::Data>(Machine::Data{std::move(machine), std::move(constants)}));
}

Result<Machine> read_machine(std::string_view text, std::string_view file_name) {
    ROOFLINE_TRY(auto machine, core::parse_machine(text, file_name));
    ROOFLINE_TRY(auto own, core::parse_machine_calibration(text, file_name));
    core::Calibrations constants = core::Calibrations::built_in();
    if (own) constants.replace(std::move(*own));
    return machine_handle(std::move(machine), std::move(constants));
}

Result<Machine> changed(const Machine& machine, std::string_view figure, std::string_view value) {
    core::Machine other = machine.data().machine;
    ROOFLINE_CHECK(core::set_figure(other, fmt::format("{}={}", figure, value)));
    return machine_handle(std::move(other), machine.data().constants);
}

std::optional<FlopRate> rate_in(const Machine& machine, core::Unit unit, Dtype dtype) {
    const core::Peak* peak = machine.data().machine.peak(unit, dtype);
    return peak == nullptr ? std::nullopt : peak->rate.value;
}

Status check_axes(const std::vector<core::MeshAxis>& mesh) {
    std::set<std::string> names;
    for (const core::MeshAxis& axis : mesh) {
        if (axis.name.empty()) {
            return core::fail("bad_mesh", "a mesh axis has no name",
                              "name it as the subscripts of the program do, for example X");
        }
        if (!names.insert(axis.name).second) {
            return core::fail("bad_mesh", fmt::format("the axis `{}` is given twice", axis.name), "give it once");
        }
    }
    return {};
}

System system_handle(System::Data data) { return System(std::make_shared<const System::Data>(std::move(data))); }

Result<System> wired(const Machine& machine, std::string_view shape) {
    ROOFLINE_TRY(auto slice, core::make_slice(machine.data().machine, shape));
    return system_handle({machine, std::move(slice), {}});
}

Result<System> meshed(const System& system, std::vector<MeshAxis> mesh) {
    System::Data data = system.data();
    data.mesh.clear();
    for (MeshAxis& axis : mesh) data.mesh.push_back({std::move(axis.name), axis.size, std::move(axis.links)});
    ROOFLINE_CHECK(check_axes(data.mesh));
    ROOFLINE_CHECK(core::place_mesh(data.slice, data.mesh));
    return system_handle(std::move(data));
}

}  // namespace

Result<Machine> Machine::find(std::string_view name) {
    auto machine = core::find_machine(name);
    if (!machine) return core::fail(core::in_library_terms(machine.error()));
    return machine_handle(std::move(*machine), core::Calibrations::built_in());
}

Result<Machine> Machine::from_toml(std::string_view text, std::string_view file_name) {
    return core::in_library_terms(read_machine(text, file_name));
}

std::vector<std::string> Machine::names() { return core::machine_ids(); }

Result<Machine> Machine::with(std::string_view figure, std::string_view value) const {
    return core::in_library_terms(changed(*this, figure, value));
}
// 17 digits restore every double exactly.
Result<Machine> Machine::with(std::string_view figure, FlopRate value) const {
    return with(figure, fmt::format("{:.17g} FLOP/s", value.value));
}
Result<Machine> Machine::with(std::string_view figure, Bandwidth value) const {
    return with(figure, fmt::format("{:.17g} B/s", value.value));
}
Result<Machine> Machine::with(std::string_view figure, Bytes value) const {
    return with(figure, fmt::format("{:.17g} B", value.value));
}
Result<Machine> Machine::with(std::string_view figure, Seconds value) const {
    return with(figure, fmt::format("{:.17g} s", value.value));
}
Result<Machine> Machine::with(std::string_view figure, Price value) const {
    constexpr double hour = 3600;
    return with(figure, fmt::format("{:.17g} USD/h", value.value * hour));
}

Result<Machine> Machine::with_calibration(std::string_view toml, std::string_view file_name) const {
    core::Calibrations constants = data_->constants;
    if (auto taken = constants.replace(toml, file_name); !taken) {
        return core::fail(core::in_library_terms(std::move(taken).error()));
    }
    return machine_handle(data_->machine, std::move(constants));
}

const std::string& Machine::id() const { return data_->machine.id; }
const std::string& Machine::name() const { return data_->machine.name; }

std::optional<FlopRate> Machine::matmul_rate(Dtype dtype) const { return rate_in(*this, core::Unit::matmul, dtype); }
std::optional<FlopRate> Machine::vector_rate(Dtype dtype) const { return rate_in(*this, core::Unit::vector, dtype); }

std::optional<Bandwidth> Machine::bandwidth(std::string_view level) const {
    const core::MemoryLevel* found = data_->machine.level(level);
    return found == nullptr ? std::nullopt : found->bandwidth.value;
}

std::optional<Bytes> Machine::capacity(std::string_view level) const {
    const core::MemoryLevel* found = data_->machine.level(level);
    return found == nullptr ? std::nullopt : found->total_capacity();
}

std::optional<Price> Machine::price() const { return data_->machine.price; }

System::System(Machine machine) {
    core::Slice slice{machine.data().machine, {}, {}};
    data_ = std::make_shared<const Data>(Data{std::move(machine), std::move(slice), {}});
}

Result<System> System::slice(const Machine& machine, std::string_view shape) {
    return core::in_library_terms(wired(machine, shape));
}

Result<System> System::with_mesh(std::vector<MeshAxis> mesh) const {
    return core::in_library_terms(meshed(*this, std::move(mesh)));
}

const Machine& System::machine() const { return data_->machine; }
std::int64_t System::chips() const { return data_->slice.chips(); }
std::string System::shape() const { return data_->slice.shape_text(); }

std::shared_ptr<core::Calibrations> calibrations_of(const System& system, bool calibrated) {
    if (!calibrated) return std::make_shared<core::Calibrations>(std::vector<core::Calibration>{});
    return std::make_shared<core::Calibrations>(system.machine().data().constants);
}

}  // namespace roofline

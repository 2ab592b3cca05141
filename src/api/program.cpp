#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/data.hpp"
#include "api/words.hpp"
#include "model/routed_experts.hpp"
#include "notation/notation.hpp"

namespace roofline {

namespace {

Program program_handle(Program::Data data) { return Program(std::make_shared<const Program::Data>(std::move(data))); }

Result<Program> sized(const Program& program, const Sizes& sizes) {
    Program::Data data = program.data();
    for (const auto& [dim, size] : sizes) {
        if (size >= 1) continue;
        return core::fail("bad_size", fmt::format("{} = {}: a size must be at least 1", dim, size), "");
    }
    ROOFLINE_TRY(auto overruled, core::bind_sizes(data.program, sizes));
    data.notes.insert(data.notes.end(), overruled.begin(), overruled.end());
    return program_handle(std::move(data));
}

}  // namespace

Result<Program> Program::parse(std::string_view text, std::string_view name) {
    auto program = core::parse_program(text, name);
    if (!program) return core::fail(core::in_library_terms(program.error()));
    return program_handle({std::string(name), std::move(*program), {}});
}

Result<Program> Program::with_sizes(const Sizes& sizes) const { return core::in_library_terms(sized(*this, sizes)); }

Result<Program> Program::with_expert_groups(std::int64_t chosen, std::int64_t of) const {
    Data data = *data_;
    if (auto limited = core::limit_to_groups(data.program, {chosen, of}); !limited) {
        return core::fail(core::in_library_terms(std::move(limited).error()));
    }
    return program_handle(std::move(data));
}

const std::string& Program::name() const { return data_->name; }
std::string Program::text() const { return core::print(data_->program); }
const std::vector<std::string>& Program::dimensions() const { return data_->program.dims; }

Sizes Program::sizes() const {
    Sizes sizes = data_->program.sizes;
    std::erase_if(sizes, [](const auto& each) { return each.first.starts_with('#'); });
    return sizes;
}

}  // namespace roofline

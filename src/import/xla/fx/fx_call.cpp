#include "import/xla/fx/fx_call.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

constexpr double exact_whole = 9e15;

std::optional<std::int64_t> whole_of(const FxValue& value) {
    if (!value.is(FxValue::Kind::number) || !(std::abs(value.number) <= exact_whole)) return std::nullopt;
    return static_cast<std::int64_t>(value.number);
}

std::optional<std::int64_t> from_zero(std::int64_t dim, std::size_t rank) {
    const auto size = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
    if (dim < -size || dim >= size) return std::nullopt;
    return dim < 0 ? dim + size : dim;
}

void add_arrays_of(const FxValue& value, std::vector<std::uint32_t>& arrays) {
    if (value.is(FxValue::Kind::array)) arrays.push_back(value.instruction);
    for (const FxValue& each : value.items) add_arrays_of(each, arrays);
}

}  // namespace

const FxValue* FxCall::arg(std::size_t place, std::string_view name) const {
    const FxValue* found = place < args.size() ? &args[place] : nullptr;
    for (const auto& [key, value] : kwargs) {
        if (key == name && !name.empty()) found = &value;
    }
    return found != nullptr && found->is(FxValue::Kind::none) ? nullptr : found;
}

std::optional<std::uint32_t> FxCall::array(std::size_t place, std::string_view name) const {
    const FxValue* value = arg(place, name);
    if (value == nullptr || !value->is(FxValue::Kind::array) || !to.shape(value->instruction).is_array()) return {};
    return value->instruction;
}

double FxCall::number(std::size_t place, std::string_view name, double otherwise) const {
    const FxValue* value = arg(place, name);
    return value != nullptr && value->is(FxValue::Kind::number) ? value->number : otherwise;
}

std::optional<std::int64_t> FxCall::whole(std::size_t place, std::string_view name) const {
    const FxValue* value = arg(place, name);
    return value == nullptr ? std::nullopt : whole_of(*value);
}

bool FxCall::flag(std::size_t place, std::string_view name, bool otherwise) const {
    return number(place, name, otherwise ? 1 : 0) != 0;
}

std::optional<FxDims> FxCall::wholes(std::size_t place, std::string_view name) const {
    const FxValue* value = arg(place, name);
    if (value == nullptr) return std::nullopt;
    if (const auto one = whole_of(*value)) return FxDims{*one};
    if (!value->is(FxValue::Kind::list)) return std::nullopt;
    FxDims all;
    for (const FxValue& each : value->items) {
        const auto one = whole_of(each);
        if (!one) return std::nullopt;
        all.push_back(*one);
    }
    return all;
}

std::optional<FxDims> FxCall::dims(std::size_t place, std::string_view name, std::size_t rank) const {
    auto all = wholes(place, name);
    if (!all) return std::nullopt;
    FxDims seen;
    for (std::int64_t& each : *all) {
        const auto dim = from_zero(each, rank);
        if (!dim || std::find(seen.begin(), seen.end(), *dim) != seen.end()) return std::nullopt;
        seen.push_back(*dim);
    }
    if (rank == 0) seen.clear();
    return seen;
}

std::optional<std::int64_t> FxCall::dim(std::size_t place, std::string_view name, std::size_t rank,
                                        std::optional<std::int64_t> otherwise) const {
    const FxValue* value = arg(place, name);
    const auto dim = value == nullptr ? otherwise : whole_of(*value);
    return dim && rank > 0 ? from_zero(*dim, rank) : std::nullopt;
}

std::vector<std::uint32_t> FxCall::arrays() const {
    std::vector<std::uint32_t> all;
    for (const FxValue& each : args) add_arrays_of(each, all);
    for (const auto& [name, each] : kwargs) add_arrays_of(each, all);
    return all;
}

const XlaShape* FxCall::result() const { return type.kind == FxType::Kind::tensor ? &type.shape : nullptr; }

const XlaShape* FxCall::result(std::size_t place) const {
    if (type.kind == FxType::Kind::tensor && place == 0) return &type.shape;
    if (type.kind != FxType::Kind::list || place >= type.items.size()) return nullptr;
    return type.items[place].kind == FxType::Kind::tensor ? &type.items[place].shape : nullptr;
}

FxRule find_fx_rule(std::string_view op) {
    for (const auto find :
         {fx_elementwise_rule, fx_matmul_rule, fx_attention_rule, fx_window_rule, fx_normalisation_rule,
          fx_movement_rule, fx_indexing_rule, fx_reduction_rule, fx_loss_rule, fx_collective_rule, fx_optimizer_rule}) {
        if (const FxRule rule = find(op); rule != nullptr) return rule;
    }
    return nullptr;
}

}  // namespace roofline::core

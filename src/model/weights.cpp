#include "model/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/module_pattern.hpp"
#include "program/value_copies.hpp"

namespace roofline::core {

namespace {

/// The dimensions of a weight matrix: those that a matmul sums, and the others; each expert has its own matrix.
struct Matrix {
    Rational rows{1};
    Rational columns{1};
    Rational count{1};
};

void find_products(const Block& block, std::map<ValueId, const Op*>& found) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            find_products(*inner, found);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind != OpKind::contract) continue;
            for (const Operand& input : op.inputs) found.emplace(input.value, &op);
        }
    }
}

class Weighing {
public:
    Weighing(const Model& model, std::optional<Dtype> all, const std::optional<Quantisation>& quantisation)
        : model_(model), all_(all), quantisation_(quantisation), copies_(value_copies(model.program)) {
        find_products(model.program.body, products_);
    }

    Result<WeightBytes> run() {
        result_.by_value.resize(model_.program.values.size());
        for (ValueId id = 0; id < model_.program.values.size(); ++id) {
            const Value& value = model_.program.values[id];
            if (!value.param || value.part == "mtp") continue;
            in_dtype_.clear();
            ROOFLINE_CHECK(weigh(id, value));
            const auto most = std::max_element(in_dtype_.begin(), in_dtype_.end(),
                                               [](const auto& a, const auto& b) { return a.second < b.second; });
            if (most != in_dtype_.end()) result_.by_value[id].dtype = most->first;
        }
        const Dtype plain = all_.value_or(model_.dtype);
        result_.scheme = name(plain);
        if (!all_ && quantisation_) {
            std::vector<std::string> names;
            for (const auto& entry : result_.by_format) names.push_back(entry.first);
            result_.scheme = fmt::format("{}: {}", quantisation_->method, fmt::join(names, ", "));
        }
        return std::move(result_);
    }

private:
    [[nodiscard]] Rational size(const std::string& dim) const {
        const auto found = model_.program.sizes.find(dim);
        return found == model_.program.sizes.end() ? Rational(1) : Rational(found->second);
    }

    [[nodiscard]] Matrix matrix(ValueId id) const {
        Matrix matrix;
        const auto product = products_.find(id);
        for (const Axis& axis : model_.program.values[id].type.axes) {
            const bool summed = product != products_.end() && has(product->second->along, axis.dim);
            const bool shared = product != products_.end() && !summed &&
                                std::all_of(product->second->inputs.begin(), product->second->inputs.end(),
                                            [&](const Operand& input) { return has(input.dims, axis.dim); });
            (summed ? matrix.rows : shared ? matrix.count : matrix.columns) *= size(axis.dim);
        }
        return matrix;
    }

    // A tensor that stands for copies of a second kind is called W_2.
    [[nodiscard]] static std::string written_name(const std::string& name) { return name.substr(0, name.find('_')); }

    Status weigh(ValueId id, const Value& value) {
        const Rational& count = copies_[id];
        if (!all_ && quantisation_ && !quantisation_->types.empty()) {
            typed(id, value, count);
            return {};
        }
        const auto module = model_.modules.find(written_name(value.name));
        const bool linear = value.part != "embedding" && value.part != "router" && value.part != "norm" &&
                            products_.contains(id) && module != model_.modules.end();
        if (all_ || !quantisation_ || !linear) {
            plain(id, value, count);
            return {};
        }
        if (module->second.find("{}") == std::string::npos) return one(id, module->second, count);
        for (const LayerGroup& group : model_.groups) {
            if (id < group.values_before || id >= group.values_after) continue;
            for (const std::int64_t layer : group.layers) {
                std::string name = module->second;
                name.replace(name.find("{}"), 2, std::to_string(layer));
                ROOFLINE_CHECK(one(id, name, Rational(1)));
            }
        }
        return {};
    }

    // A parameter of a GGUF file: vectors and routers are in f32, and the layers of a group are stored alike.
    void typed(ValueId id, const Value& value, const Rational& count) {
        const bool matrix = value.type.axes.size() > 1 && value.part != "router" && value.part != "norm";
        const auto group = std::find_if(model_.groups.begin(), model_.groups.end(), [&](const LayerGroup& each) {
            return id >= each.values_before && id < each.values_after;
        });
        const std::int64_t layer = group == model_.groups.end() || group->layers.empty() ? 0 : group->layers.front();
        const bool biases = matrix && !products_.contains(id) && value.part != "embedding";
        const auto stored = matrix && !biases ? stored_type(*quantisation_, written_name(value.name), layer)
                                              : std::optional(Dtype::f32);
        in_one_dtype(id, value, count, stored.value_or(model_.dtype));
    }

    void plain(ValueId id, const Value& value, const Rational& count) {
        in_one_dtype(id, value, count, all_.value_or(model_.dtype));
    }

    void in_one_dtype(ValueId id, const Value& value, const Rational& count, Dtype dtype) {
        const BitsPerElement bits = stored_bits(dtype);
        Rational elements = count;
        for (const Axis& axis : value.type.axes) elements *= size(axis.dim);
        add(id, dtype, std::string(name(dtype)), elements,
            elements * Rational(bits.numerator, bits.denominator * std::int64_t{8}));
    }

    // Adds one matrix of one layer by its name in the checkpoint.
    Status one(ValueId id, const std::string& module, const Rational& count) {
        ROOFLINE_TRY(auto format, this->format(module));
        const Value& value = model_.program.values[id];
        if (format == nullptr) {
            plain(id, value, count);
            return {};
        }
        const Matrix matrix = this->matrix(id);
        const WeightFormat& stored = *format;
        const Rational elements = matrix.rows * matrix.columns * matrix.count * count;
        Rational blocks = matrix.count * count;
        if (stored.rows > 0) {
            blocks *= (matrix.rows / Rational(stored.rows)).ceil() * (matrix.columns / Rational(stored.columns)).ceil();
        }
        add(id, dtype_of(stored), stored.name, elements,
            elements * Rational(stored.bits, 8) + blocks * Rational(stored.block_bits, 8));
        return {};
    }

    // The format of a module; null for the checkpoint's own dtype.
    Result<const WeightFormat*> format(const std::string& module) {
        for (const std::string& pattern : quantisation_->ignored) {
            ROOFLINE_TRY(auto means, means_module(pattern, module));
            if (means) return nullptr;
        }
        for (const Quantisation::Rule& rule : quantisation_->rules) {
            if (rule.modules.empty()) return &rule.format;
            for (const std::string& pattern : rule.modules) {
                ROOFLINE_TRY(auto means, means_module(pattern, module));
                if (means) return &rule.format;
            }
        }
        return nullptr;
    }

    // The dtype with the arithmetic and the size of a format.
    [[nodiscard]] static Dtype dtype_of(const WeightFormat& format) {
        const auto named = find_dtype(std::string_view(format.name).substr(0, format.name.find(',')));
        return named ? *named : format.bits > 4 ? Dtype::int8 : Dtype::int4;
    }

    void add(ValueId id, Dtype dtype, const std::string& format, const Rational& params, const Rational& bytes) {
        in_dtype_[dtype] += params;
        result_.by_value[id].bytes += bytes;
        auto& share = result_.by_format[format];
        share.params += params;
        share.bytes += bytes;
        result_.total += bytes;
    }

    const Model& model_;
    std::optional<Dtype> all_;
    const std::optional<Quantisation>& quantisation_;
    std::vector<Rational> copies_;
    std::map<ValueId, const Op*> products_;
    std::map<Dtype, Rational> in_dtype_;  ///< elements of the current parameter
    WeightBytes result_;
};

}  // namespace

Result<WeightBytes> weight_bytes(const Model& model, std::optional<Dtype> all,
                                 const std::optional<Quantisation>& quantisation) {
    return Weighing(model, all, quantisation).run();
}

}  // namespace roofline::core

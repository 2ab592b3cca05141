// Batch normalisation as the notation has it: a norm along all positions of a channel.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "import/xla/lower/module_lowering.hpp"

namespace roofline::core {

// Operands: x, scale and offset for training; mean and variance behind them for inference; x, scale, mean, variance and
// the gradient of the result for the gradient. Results of training are also the mean and the variance, of the gradient
// those of scale and offset, all of them one number for each channel.
Result<Bound> ModuleLowering::batch_norm(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    const bool training = each.opcode == "batch-norm-training";
    const bool gradient = each.opcode == "batch-norm-grad";
    ROOFLINE_CHECK(want_operands(ref, training ? 3 : 5));
    const XlaShape& shape = operands[0].shape;
    const auto place = each.number("feature_index");
    if (!place || !shape.is_array() || !are_dims({*place}, shape.dims.size())) {
        return fail_at(ref, "it needs the feature_index of its first operand");
    }
    if (shape.elements() == 0) return fail_at(ref, "its first operand has no elements");
    const std::int64_t channels = shape.dims[static_cast<std::size_t>(*place)];
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool whole = i == 0 || (gradient && i == 4);
        const std::int64_t wanted = whole ? shape.elements() : channels;
        if (!operands[i].shape.is_array() || operands[i].shape.elements() != wanted)
            return fail_at(ref, "its operands do not fit each other");
    }
    const std::string suffix = fmt::format("n{}", out_.program.values.size());
    const std::string r = "r" + suffix;
    const std::string c = "c" + suffix;
    std::string program = fmt::format("{}={}, {}={}\n", r, shape.elements() / channels, c, channels);
    std::map<std::string, Bound> given;
    const auto declare = [&](const std::string& name, std::size_t i) {
        const bool whole = i == 0 || (gradient && i == 4);
        Bound written = in_memory(ref, operands[i], into);
        program +=
            fmt::format("{} : {}[{}]\n", name, core::name(written.shape.element->dtype), whole ? r + ", " + c : c);
        given.emplace(name, std::move(written));
    };
    const std::string type = std::string(core::name(shape.element->dtype));
    const auto result = [&](const std::string& name, bool whole, const std::string& expression) {
        return fmt::format("{} : {}[{}] = {}\n", name, type, whole ? r + ", " + c : c, expression);
    };
    std::string body;
    std::vector<std::string> names{"Y"};
    declare("X", 0);
    declare("S", 1);
    if (training) {
        declare("O", 2);
        body = result("Y", true, fmt::format("add(mul(layernorm[{}](X), S), O)", r));
    } else if (gradient) {
        declare("M", 2);
        declare("V", 3);
        declare("G", 4);
        body = result("N", true, "mul(sub(X, M), rsqrt(V))") +
               result("Y", true, fmt::format("dlayernorm[{}](X, mul(G, S))", r)) +
               result("DS", false, fmt::format("sum[{}](mul(G, N))", r)) +
               result("DO", false, fmt::format("sum[{}](G)", r));
        names = {"Y", "DS", "DO"};
    } else {
        declare("O", 2);
        declare("M", 3);
        declare("V", 4);
        body = result("Y", true, "add(mul(sub(X, M), mul(S, rsqrt(V))), O)");
    }
    for (const auto& [name, bound] : given) {
        if (!bound.value) return fail_at(ref, "its operands are no arrays");
    }
    ROOFLINE_TRY(const auto made, splice(ref, program + "fuse {\n" + body + "}\n", given, names, into));
    std::vector<Bound> parts;
    const std::vector<XlaShape> shapes = each.shape.is_tuple() ? each.shape.parts : std::vector<XlaShape>{each.shape};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        Bound part;
        part.shape = shapes[i];
        // The mean and the variance of training are found in passing.
        if (i < made.size()) part.value = made[i];
        if (i >= made.size() && part.shape.is_array()) part = input(part.shape, each.name, ref);
        parts.push_back(std::move(part));
    }
    return each.shape.is_tuple() ? tuple(std::move(parts), each.shape) : parts.front();
}

}  // namespace roofline::core

#include "measure/gpu/gpu_step_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace roofline::core {

namespace {

std::string number_literal(double number, const char* type) {
    if (number != number) return fmt::format("({})(0.0 / 0.0)", type);
    if (number > 1e308) return fmt::format("({})(1e308 * 10)", type);
    if (number < -1e308) return fmt::format("({})(-1e308 * 10)", type);
    return fmt::format("({})({:.17g})", type, number);
}

std::size_t arguments_of(MapFunction function) {
    using enum MapFunction;
    if (function == where) return 3;
    const bool two = function == add || function == sub || function == mul || function == div || function == maximum ||
                     function == minimum || function == dsigmoid || function == dsilu || function == dgelu;
    return two ? 2 : 1;
}

bool has_whole_meaning(MapFunction function) {
    using enum MapFunction;
    switch (function) {
        case identity:
        case abs:
        case maximum:
        case minimum:
        case relu:
        case where:
        case add:
        case sub:
        case mul:
        case div:
        case neg:
        case square:
        case relu2:
        case step:
            return true;
        default:
            return false;
    }
}

bool is_overloaded(MapFunction function) {
    using enum MapFunction;
    return function == exp || function == log || function == sqrt || function == sin || function == cos ||
           function == tanh || function == erf;
}

}  // namespace

std::int64_t product_of_sizes(const std::vector<std::int64_t>& sizes, std::size_t first, std::size_t last) {
    std::int64_t count = 1;
    for (std::size_t i = first; i < last; ++i) count *= sizes[i];
    return count;
}

const char* gpu_stored_type(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
            return "S_f64";
        case Dtype::f32:
        case Dtype::tf32:
            return "S_f32";
        case Dtype::bf16:
            return "S_bf16";
        case Dtype::f16:
            return "S_f16";
        case Dtype::int32:
            return "S_int32";
        case Dtype::int8:
            return "S_int8";
        case Dtype::boolean:
            return "S_bool";
        default:
            return nullptr;
    }
}

const char* gpu_register_type(Dtype arithmetic) {
    return arithmetic == Dtype::f64 ? "double" : arithmetic == Dtype::int32 ? "int" : "float";
}

std::string gpu_offset_text(const std::vector<std::int64_t>& strides) {
    std::string text;
    for (std::size_t i = 0; i < strides.size(); ++i) {
        if (strides[i] == 0) continue;
        text += fmt::format("{}(i64)p{} * {}LL", text.empty() ? "" : " + ", i, strides[i]);
    }
    return text.empty() ? "0" : text;
}

std::string gpu_places_text(const std::string& from, const std::vector<std::int64_t>& loops, std::size_t first,
                            std::size_t last) {
    std::string text;
    std::string rest = from;
    for (std::size_t i = last; i-- > first;) {
        if (i == first) {
            text += fmt::format("const u64 p{} = {};\n", i, rest);
        } else {
            text += fmt::format("const u64 p{0} = {1} % {2}ull, rest{0} = {1} / {2}ull;\n", i, rest, loops[i]);
            rest = fmt::format("rest{}", i);
        }
    }
    return text;
}

bool turns_neighbours(const Tape& tape) {
    return std::any_of(tape.ops.begin(), tape.ops.end(),
                       [](const TapeOp& op) { return op.kind == TapeOp::Kind::rope; });
}

Result<GpuStepArrays> gpu_step_arrays(const RunStep& step, const StepProgram& program) {
    GpuStepArrays arrays;
    for (const std::size_t input : step.inputs) arrays.inputs.push_back(program.arrays[input].dtype);
    arrays.output = program.arrays[step.output].dtype;
    arrays.out = arrays.inputs.size();
    if (arrays.out >= max_gpu_arrays) {
        return fail("unsupported",
                    fmt::format("`{}` reads {} arrays, and a kernel of the GPU takes {}", step.text, arrays.out,
                                max_gpu_arrays - 1),
                    "divide the statement into two");
    }
    const auto known = [&](Dtype dtype) { return gpu_stored_type(dtype) != nullptr; };
    for (const Dtype dtype : arrays.inputs) {
        if (!known(dtype))
            return fail("unsupported", fmt::format("the GPU's kernels do not compute in {}", name(dtype)));
    }
    if (!known(arrays.output))
        return fail("unsupported", fmt::format("the GPU's kernels do not store {}", name(arrays.output)));
    return arrays;
}

std::string GpuTapeText::statements(std::size_t count, const std::string& prefix) const {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += statement(i, prefix);
    return text;
}

std::string GpuTapeText::function(const std::string& name) const {
    std::string text;
    for (const TapeOp& op : tape_.ops) {
        if (op.kind != TapeOp::Kind::rope) continue;
        const std::string neighbour = fmt::format("{}_r{}", name, op.in[0]);
        if (text.find(neighbour + "(") == std::string::npos) text += one_function(neighbour, op.in[0] + 1, name);
    }
    return text + one_function(name, tape_.ops.size(), name);
}

std::string GpuTapeText::parameters() const {
    std::string text = "const Arrays& A";
    for (std::size_t i = 0; i < loops_; ++i) text += fmt::format(", u64 p{}", i);
    return text;
}

std::string GpuTapeText::one_function(const std::string& name, std::size_t count, const std::string& prefix) const {
    return fmt::format("__device__ {} {}({}) {{\n{}return r{}[0];\n}}\n", type_, name, parameters(),
                       statements(count, prefix), count - 1);
}

std::string GpuTapeText::statement(std::size_t i, const std::string& prefix) const {
    const TapeOp& op = tape_.ops[i];
    std::string value;
    std::string before;
    switch (op.kind) {
        case TapeOp::Kind::load:
            value = load(op, i, before);
            break;
        case TapeOp::Kind::constant:
            value = number_literal(op.number, type_);
            break;
        case TapeOp::Kind::function:
            value = call(op);
            break;
        case TapeOp::Kind::rope:
            value = rope(op, prefix);
            break;
        case TapeOp::Kind::causal:
            value = fmt::format("(i64)({}) <= (i64)({}) + {}LL", place(op.column), place(op.row), op.shift);
            if (op.window > 0) {
                value += fmt::format(" && (i64)({}) > (i64)({}) + {}LL", place(op.column), place(op.row),
                                     op.shift - op.window);
            }
            value += fmt::format(" ? r{}[k] : {}", op.in[0], number_literal(op.number, type_));
            break;
        case TapeOp::Kind::shifted:
            value = shifted(op, i, before);
            break;
    }
    return fmt::format("{}{} r{}[{}];\n_Pragma(\"unroll\") for (int k = 0; k < {}; ++k) r{}[k] = {};\n", before, type_,
                       i, lanes_, lanes_, i, value);
}

std::string GpuTapeText::place(std::size_t loop) const {
    return loop + 1 == loops_ ? fmt::format("p{} + k", loop) : fmt::format("p{}", loop);
}

std::string GpuTapeText::load(const TapeOp& op, std::size_t i, std::string& before) const {
    const ArrayLoad& from = tape_.loads[op.load];
    const char* stored = gpu_stored_type(dtypes_[from.array]);
    const std::int64_t last = from.strides.empty() ? 0 : from.strides.back();
    const std::string address =
        fmt::format("(const {}*)A.at[{}] + ({})", stored, from.array, gpu_offset_text(from.strides));
    const bool together = lanes_ > 1 && last == 1 &&
                          std::all_of(from.strides.begin(), from.strides.end() - 1,
                                      [&](std::int64_t stride) { return stride % lanes_ == 0; });
    if (together) {
        before =
            fmt::format("const Pack<{0}, {1}> m{2} = *(const Pack<{0}, {1}>*)({3});\n", stored, lanes_, i, address);
        return fmt::format("as<{}>(m{}.x[k].get())", type_, i);
    }
    before = fmt::format("const {}* m{} = {};\n", stored, i, address);
    return fmt::format("as<{}>(m{}[k * {}LL].get())", type_, i, last);
}

// The kernel reads nothing beyond the ends.
std::string GpuTapeText::shifted(const TapeOp& op, std::size_t i, std::string& before) const {
    const ArrayLoad& from = tape_.loads[op.load];
    const std::int64_t last = from.strides.empty() ? 0 : from.strides.back();
    before =
        fmt::format("const {0}* m{1} = (const {0}*)A.at[{2}] + (i64)({3}) + {4}LL;\n",
                    gpu_stored_type(dtypes_[from.array]), i, from.array, gpu_offset_text(from.strides), from.offset);
    const std::string read = fmt::format("as<{}>(m{}[k * {}LL].get())", type_, i, last);
    if (op.below == 0) return read;
    return fmt::format("(u64)((i64)({}) + {}LL) < {}ull ? {} : {}", place(op.row), op.shift, op.below, read,
                       number_literal(0, type_));
}

std::string GpuTapeText::call(const TapeOp& op) const {
    const bool through_double = std::string_view(type_) == "int" && !has_whole_meaning(op.function);
    std::string text = fmt::format("f_{}<{}>(", name(op.function), through_double ? "double" : type_);
    // exp and similar functions are overloaded, not templates
    if (is_overloaded(op.function)) text = fmt::format("f_{}(", name(op.function));
    for (std::size_t argument = 0; argument < arguments_of(op.function); ++argument) {
        text += fmt::format("{}{}r{}[k]", argument == 0 ? "" : ", ", through_double ? "(double)" : "", op.in[argument]);
    }
    text += ")";
    return through_double ? "whole(" + text + ")" : text;
}

std::string GpuTapeText::rope(const TapeOp& op, const std::string& prefix) const {
    std::string other = "A";
    for (std::size_t i = 0; i < loops_; ++i) other += i + 1 < loops_ ? fmt::format(", p{}", i) : ", other";
    const std::size_t last = loops_ - 1;
    return fmt::format(
        "[&] {{ const u64 turned = p{0} ^ 1, other = turned < LAST ? turned : p{0}; return ({1})((double)r{2}[k] * "
        "0.5403023058681398 + (p{0} % 2 == 0 ? -{5} : {5}) * 0.8414709848078965 * (double){3}_r{2}({4})); "
        "}}()",
        last, type_, op.in[0], prefix, other, number_literal(op.number, "double"));
}

}  // namespace roofline::core

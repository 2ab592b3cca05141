#include "random_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "notation/notation.hpp"

namespace roofline::core::property {

namespace {

std::size_t up_to(std::size_t most) { return *rc::gen::inRange<std::size_t>(0, most + 1); }

template <class T>
const T& random_choice(const std::vector<T>& choices) {
    return choices[up_to(choices.size() - 1)];
}

// Returns at least `least` and at most `most` distinct dimensions in random order.
Dims random_subset(Dims dims, std::size_t least, std::size_t most) {
    for (std::size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[up_to(i - 1)]);
    dims.resize(std::min(dims.size(), least + up_to(most - least)));
    return dims;
}

Dims together(const std::vector<Tensor>& tensors) {
    Dims all;
    for (const Tensor& tensor : tensors) {
        for (const std::string& dim : tensor.dims) {
            if (std::find(all.begin(), all.end(), dim) == all.end()) all.push_back(dim);
        }
    }
    return all;
}

// No two of these have the same width and different kinds, so the dtype of the arithmetic is never ambiguous.
const std::vector<std::string> dtypes{"f32", "bf16", "int8", "int4"};

class Maker {
public:
    explicit Maker(std::size_t most_operands) : most_operands_(most_operands) {}

    RandomProgram run() {
        for (const std::string& dim : dims_) made_.sizes.emplace(dim, *rc::gen::inRange<std::int64_t>(1, 65));
        const std::size_t statements = 1 + up_to(3);
        for (std::size_t i = 0; i < statements; ++i) statement(fmt::format("R{}", i));
        made_.repeats = *rc::gen::element<std::int64_t>(1, 1, 3);
        made_.fused = up_to(2) == 0;
        return made_;
    }

private:
    // Returns an existing tensor or a new input.
    Tensor operand() {
        if (!known_.empty() && up_to(1) == 0) return random_choice(known_);
        Tensor input{fmt::format("T{}", made_.inputs.size()), random_choice(dtypes), random_subset(dims_, 1, 3),
                     random_choice(std::vector<std::string>{"hbm", "hbm", "hbm", "vmem", "host"})};
        made_.inputs.push_back(input);
        known_.push_back(input);
        return input;
    }

    void statement(const std::string& name) {
        RandomStatement statement;
        statement.result = {name, random_choice(dtypes), {}, "hbm"};
        const std::size_t kind = up_to(5);
        if (kind >= 2) {  // products are the most frequent
            const std::size_t operands = 2 + up_to(most_operands_ - 2);
            for (std::size_t i = 0; i < operands; ++i) statement.operands.push_back(operand());
            const Dims all = together(statement.operands);
            statement.result.dims = random_subset(all, 0, all.size());
            if (up_to(2) == 0) statement.function = "relu";
        } else {
            statement.operands.push_back(operand());
            const Dims& dims = statement.operands.front().dims;
            statement.result.dims = dims;
            if (kind == 0 && !dims.empty()) {
                statement.function = fmt::format("sum[{}]", dims.front());
                statement.result.dims.erase(statement.result.dims.begin());
            } else {
                statement.function = random_choice(std::vector<std::string>{"relu", "gelu", "exp"});
            }
        }
        known_.push_back(statement.result);
        made_.statements.push_back(std::move(statement));
    }

    const Dims dims_{"B", "D", "F", "Head", "S", "T"};
    std::size_t most_operands_;
    RandomProgram made_;
    std::vector<Tensor> known_;
};

class Writer {
public:
    explicit Writer(const Writing& writing) : writing_(writing) {}

    [[nodiscard]] std::string renamed(const std::string& dim) const {
        const auto found = writing_.new_names.find(dim);
        return found == writing_.new_names.end() ? dim : found->second;
    }

    [[nodiscard]] std::string type(const Tensor& tensor) const {
        Dims dims;
        for (const std::string& dim : tensor.dims) dims.push_back(renamed(dim));
        return fmt::format("{}[{}]{}", tensor.dtype, fmt::join(dims, ", "),
                           tensor.level == "hbm" ? "" : " in " + tensor.level);
    }

    [[nodiscard]] std::string statement(const RandomStatement& statement) const {
        Dims names;
        for (const Tensor& operand : statement.operands) names.push_back(operand.name);
        if (writing_.reversed) std::reverse(names.begin(), names.end());
        std::string function = statement.function;
        if (function.starts_with("sum["))
            function = fmt::format("sum[{}]", renamed(statement.operands[0].dims.front()));
        const std::string product = fmt::format("{}", fmt::join(names, " * "));
        const std::string value = function.empty() ? product : fmt::format("{}({})", function, product);
        return fmt::format("{} : {} = {}\n", statement.result.name, type(statement.result), value);
    }

private:
    const Writing& writing_;
};

}  // namespace

RandomProgram random_program(std::size_t most_operands) { return Maker(most_operands).run(); }

std::string text_of(const RandomProgram& program, const Writing& writing) {
    const Writer writer(writing);
    std::string text;
    for (const Tensor& input : program.inputs) text += fmt::format("{} : {}\n", input.name, writer.type(input));
    if (program.repeats > 1) text += fmt::format("repeat {} {{\n", program.repeats);
    if (program.fused) text += "fuse {\n";
    for (const RandomStatement& statement : program.statements) text += writer.statement(statement);
    if (program.fused) text += "}\n";
    if (program.repeats > 1) text += "}\n";
    if (!writing.sized) return text;
    Dims used = together(program.inputs);  // every dimension occurs in an input
    for (const std::string& dim : used) text += fmt::format("{}={}\n", writer.renamed(dim), program.sizes.at(dim));
    return text;
}

Program parsed(const RandomProgram& program, const Writing& writing) {
    const std::string text = text_of(program, writing);
    RC_LOG(text);
    const auto read = parse_program(text);
    if (!read) RC_FAIL(to_text(read.error()));
    return *read;
}

RandomMachine random_machine() {
    RandomMachine machine;
    for (int i = 0; i < 7; ++i) machine.rates.push_back(*rc::gen::inRange<std::int64_t>(1, 1000));
    return machine;
}

Machine RandomMachine::times(int factor) const {
    std::string text = "id = \"random\"\nname = \"Random\"\n";
    const auto rate = [&](std::size_t i, double scale) {
        return fmt::format("{:.17g}", static_cast<double>(rates[i]) * scale * factor);
    };
    std::size_t next = 0;
    for (const auto& [unit, dtype] :
         {std::pair{"matmul", "bf16"}, {"matmul", "int8"}, {"vector", "bf16"}, {"vector", "f32"}}) {
        text +=
            fmt::format("[[{}]]\ndtype = \"{}\"\nvalue = {}\nsource = \"drawn\"\n", unit, dtype, rate(next++, 1e11));
    }
    for (const char* level : {"hbm", "vmem"}) {
        text += fmt::format("[[memory]]\nlevel = \"{}\"\nbandwidth = {{ value = {}, source = \"drawn\" }}\n", level,
                            rate(next++, 1e10));
    }
    text += fmt::format("[host]\nbandwidth = {{ value = {}, source = \"drawn\" }}\n", rate(next, 1e8));
    const auto machine = parse_machine(text, "random.toml");
    if (!machine) RC_FAIL(text + to_text(machine.error()));
    return *machine;
}

ProgramAnalysis analysed(const Program& program, const Machine& machine) {
    auto analysis = analyse(program, machine, {});
    if (!analysis) RC_FAIL(to_text(analysis.error()));
    return std::move(*analysis);
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

}  // namespace roofline::core::property

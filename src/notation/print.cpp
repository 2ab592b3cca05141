#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "notation/notation.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

// Binding strength of an expression: one that binds more loosely than its surroundings is put into parentheses.
enum class Binding { sum, product, atom };

struct Text {
    std::string text;
    Binding binding = Binding::atom;
};

/// Values whose types have been written within an expression.
using Shown = std::set<ValueId>;

class StatementPrinter {
public:
    StatementPrinter(const Program& program, const Statement& statement, Types types, const LocalDims& local,
                     Shown& shown)
        : program_(program), statement_(statement), types_(types), local_(local), shown_(shown) {
        for (const Op& op : statement.ops) made_by_.emplace(op.output.value, &op);
    }

    [[nodiscard]] std::string type(const Value& value) {
        return type_text(program_, value.type, types_ == Types::sized ? &sized_ : nullptr) + where_text(value);
    }

    [[nodiscard]] std::string root(ValueId result) { return op_text(*made_by_.at(result)).text; }

private:
    [[nodiscard]] Text operand_text(const Operand& operand) {
        const auto made = made_by_.find(operand.value);
        if (made != made_by_.end()) return op_text(*made->second);
        const Value& value = program_.values[operand.value];
        if (!value.in_place || types_ == Types::none) return {value_name(program_, operand.value)};
        const std::string text = type(value);
        // The type is written with the first occurrence of a tensor; afterwards the name is used alone.
        if (value.name.empty()) return {text};
        if (!shown_.insert(operand.value).second) return {value.name};
        return {value.name + ": " + text};
    }

    [[nodiscard]] std::string inside(const Text& text, Binding around) const {
        return text.binding < around || (text.binding == around && around == Binding::product) ? "(" + text.text + ")"
                                                                                               : text.text;
    }

    [[nodiscard]] Text op_text(const Op& op) {
        switch (op.kind) {
            case OpKind::move:
                return operand_text(op.inputs.front());
            case OpKind::contract:
                return contraction(op);
            case OpKind::apply:
                break;
        }
        const std::vector<Text> arguments = this->arguments(op);
        if (op.function == "mul" || op.function == "div") {
            const std::string_view sign = op.function == "mul" ? " * " : " / ";
            const std::string left = goes_on(op) ? arguments[0].text : inside(arguments[0], Binding::product);
            return {left + std::string(sign) + inside(arguments[1], Binding::product), Binding::product};
        }
        if (op.function == "add" || op.function == "sub") {
            const std::string_view sign = op.function == "add" ? " + " : " - ";
            return {arguments[0].text + std::string(sign) + inside(arguments[1], Binding::product), Binding::sum};
        }
        std::vector<std::string> texts;
        for (const Text& argument : arguments) texts.push_back(argument.text);
        if (op.function == "received" && !statement_.messages.empty()) {
            const Message& message = statement_.messages.front();
            return {fmt::format("{}[{}]({})", collective_name(message.kind), fmt::join(message.axes, ","),
                                fmt::join(texts, ", "))};
        }
        const std::string along = op.along.empty() ? "" : fmt::format("[{}]", fmt::join(whole(op.along), ","));
        return {fmt::format("{}{}({})", op.function, along, fmt::join(texts, ", "))};
    }

    // Whether a product forms one flat a * b * c with the one on its left: in (a * b) * c the first may have another
    // dtype.
    [[nodiscard]] bool goes_on(const Op& op) const {
        if (op.function != "mul" || !op.constants.empty()) return false;
        const auto left = made_by_.find(op.inputs.front().value);
        if (left == made_by_.end()) return false;
        const Op& before = *left->second;
        return before.kind == OpKind::apply && before.function == "mul" && before.constants.empty() &&
               before.arithmetic == op.arithmetic;
    }

    [[nodiscard]] std::vector<Text> arguments(const Op& op) {
        std::vector<Text> arguments;
        auto constant = op.constants.begin();
        const auto put_constants = [&] {
            while (constant != op.constants.end() && constant->position == arguments.size()) {
                arguments.push_back({constant->value < 0 ? fmt::format("(-{})", -constant->value)
                                                         : fmt::format("{}", constant->value)});
                ++constant;
            }
        };
        for (const Operand& input : op.inputs) {
            put_constants();
            arguments.push_back(operand_text(input));
        }
        put_constants();
        return arguments;
    }

    // A statement of one chip's shard is printed as it was written.
    [[nodiscard]] std::vector<std::string> whole(std::vector<std::string> dims) const {
        for (std::string& dim : dims) dim = local_.whole(dim);
        return dims;
    }

    [[nodiscard]] Text contraction(const Op& op) {
        std::string sign = " * ";
        if (op.named_sum) {
            const std::vector<std::string> along = whole(op.along);
            sign = along.size() == 1 ? fmt::format(" *_{} ", along.front())
                                     : fmt::format(" *_{{{}}} ", fmt::join(along, ", "));
        }
        std::vector<std::string> texts;
        for (const Operand& input : op.inputs) texts.push_back(inside(operand_text(input), Binding::product));
        return {fmt::format("{}", fmt::join(texts, sign)), Binding::product};
    }

    const Program& program_;
    const Statement& statement_;
    Types types_;
    const LocalDims& local_;
    std::set<std::string> sized_;  ///< dimensions that have been printed with their size
    std::map<ValueId, const Op*> made_by_;
    Shown& shown_;
};

std::string text_of(const Program& program, const Statement& statement, Types types, const LocalDims& local,
                    Shown& shown) {
    StatementPrinter printer(program, statement, types, local, shown);
    const Value& result = program.values[statement.result];
    const std::string suffix =
        statement.using_dtype ? fmt::format(" using {}", name(*statement.using_dtype)) : std::string();
    if (statement.one_liner) {
        const std::string expr = printer.root(statement.result);
        if (types == Types::none) return fmt::format("{} -> {}{}", expr, value_name(program, statement.result), suffix);
        return fmt::format("{} -> {}{}{}", expr, result.name.empty() ? "" : result.name + ": ", printer.type(result),
                           suffix);
    }
    // A type that was not written is not printed either, because on a mesh it contains more than the dimensions.
    const bool bare = types == Types::none || (result.type_follows && types == Types::plain);
    const std::string type = bare ? "" : " : " + printer.type(result);
    return fmt::format("{}{} = {}{}", result.name, type, printer.root(statement.result), suffix);
}

class ProgramPrinter {
public:
    explicit ProgramPrinter(const Program& program) : program_(program) {
        for (const Value& value : program.values) produced_.push_back(value.intermediate);
        mark(program.body);
    }

    std::string run() {
        if (!program_.mesh.empty()) {
            std::vector<std::string> axes;
            out_ += fmt::format("mesh {}\n", mesh_text(program_.mesh));
        }
        // Sizes come first if that keeps the order in which dimensions appear. Otherwise they come last, by name: their
        // order of appearance among the statements is lost there, and a program must print the same after it is parsed
        // back.
        std::vector<std::string> sizes;
        bool prefix = true;
        bool gap = false;
        for (const std::string& dim : program_.dims) {
            const auto size = program_.sizes.find(dim);
            if (size == program_.sizes.end()) {
                gap = true;
                continue;
            }
            prefix = prefix && !gap;
            sizes.push_back(fmt::format("{}={}", dim, size->second));
        }
        if (!prefix) std::ranges::sort(sizes);
        const std::string lines = lines_of(sizes);
        if (prefix) out_ += lines;
        nodes(program_.body, 0);
        declarations(program_.values.size(), 0);
        if (!prefix) out_ += lines;
        return std::move(out_);
    }

private:
    // Sizes with commas, in lines that a person can read.
    [[nodiscard]] static std::string lines_of(const std::vector<std::string>& sizes) {
        constexpr std::size_t longest = 110;
        std::string lines;
        std::size_t line = 0;
        for (const std::string& size : sizes) {
            const bool first = line == 0;
            const bool fits = line + size.size() < longest;
            line = fits ? line + size.size() + 2 : size.size();
            lines += first ? size : fmt::format("{}{}", fits ? ", " : "\n", size);
        }
        return lines.empty() ? lines : lines + "\n";
    }

    void mark(const Block& block) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                mark(*inner);
            } else {
                produced_[std::get<Statement>(node).result] = true;
            }
        }
    }

    // Declarations keep their place among the statements.
    void declarations(ValueId before, int depth) {
        for (; next_ < before; ++next_) {
            const Value& value = program_.values[next_];
            if (produced_[next_] || value.in_place) continue;
            line(depth, value.part,
                 fmt::format("{}{} : {}{}",
                             value.frozen  ? "frozen "
                             : value.param ? "param "
                             : value.cache ? "cache "
                                           : "",
                             value.name, type_text(program_, value.type), where_text(value)));
        }
    }

    void line(int depth, std::string_view part, std::string_view text) {
        out_ += part.empty() ? fmt::format("{:{}}{}\n", "", depth * 4, text)
                             : fmt::format("{:{}}part {} {{ {} }}\n", "", depth * 4, part, text);
    }

    void nodes(const Block& block, int depth) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                declarations(statement->result, depth);
                next_ = std::max(next_, statement->result + 1);
                line(depth, statement->part, text_of(program_, *statement, Types::plain, {}, shown_));
                continue;
            }
            const Block& inner = std::get<Block>(node);
            declarations(inner.values_before, depth);
            const std::string head =
                inner.kind == Block::Kind::fuse ? "fuse" : fmt::format("repeat {}", dim_text(program_, inner.count));
            out_ += fmt::format("{:{}}{} {{\n", "", depth * 4, head);
            nodes(inner, depth + 1);
            out_ += fmt::format("{:{}}}}\n", "", depth * 4);
        }
    }

    const Program& program_;
    std::vector<bool> produced_;
    ValueId next_ = 0;
    Shown shown_;
    std::string out_;
};

}  // namespace

std::string statement_text(const Program& program, const Statement& statement, Types types, const LocalDims& local) {
    Shown shown;
    return text_of(program, statement, types, local, shown);
}

std::string print(const Program& program) { return ProgramPrinter(program).run(); }

}  // namespace roofline::core

#include "notation/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace roofline::core {

namespace {

using Names = std::map<std::string, std::string, std::less<>>;
using OptionValues = std::map<std::string, bool, std::less<>>;

/// Renames tensors and dimensions of a block.
class Renamer {
public:
    Renamer(const Names& tensors, const Names& dims) : tensors_(tensors), dims_(dims) {}

    void item(ast::Item& item) const {
        if (auto* assignment = std::get_if<ast::Assignment>(&item)) {
            rename(assignment->name, tensors_);
            if (assignment->type) type(*assignment->type);
            if (assignment->value) expr(*assignment->value);
        } else if (auto* block = std::get_if<ast::Block>(&item)) {
            rename(block->count, dims_);
            for (ast::Item& inner : block->items) this->item(inner);
        }
    }

private:
    static void rename(std::string& name, const Names& names) {
        if (const auto found = names.find(name); found != names.end()) name = found->second;
    }

    void type(ast::Type& type) const {
        for (ast::Dim& dim : type.dims) rename(dim.name, dims_);
    }

    void expr(ast::Expr& expr) const {
        if (expr.kind == ast::Expr::Kind::name || expr.kind == ast::Expr::Kind::tensor) rename(expr.name, tensors_);
        type(expr.type);
        for (ast::Word& word : expr.along) rename(word.text, dims_);
        for (ast::Expr& argument : expr.args) this->expr(argument);
    }

    const Names& tensors_;
    const Names& dims_;
};

/// Collects all names that statements define, and all dimensions of their types.
void collect(const std::vector<ast::Item>& items, std::set<std::string>& tensors, std::set<std::string>& dims) {
    for (const ast::Item& item : items) {
        if (const auto* assignment = std::get_if<ast::Assignment>(&item)) {
            tensors.insert(assignment->name);
            if (!assignment->type) continue;
            for (const ast::Dim& dim : assignment->type->dims) dims.insert(dim.name);
        } else if (const auto* block = std::get_if<ast::Block>(&item)) {
            collect(block->items, tensors, dims);
            collect(block->otherwise, tensors, dims);
        }
    }
}

class Chooser {
public:
    Chooser(const Source& source, const Choices& choices) : source_(source), choices_(choices) {}

    Result<ast::Block> run(ast::Block syntax) {
        ROOFLINE_CHECK(declare(syntax.items));
        std::erase_if(syntax.items, [](const ast::Item& item) {
            return std::holds_alternative<ast::Options>(item) || std::holds_alternative<ast::Role>(item);
        });
        std::set<std::string> tensors;
        collect(syntax.items, tensors, dims_);
        for (const auto& [name, value] : choices_.options) {
            ROOFLINE_CHECK(known(name, Span{}));
            options_.insert_or_assign(name, value);
        }
        std::vector<ast::Item> out;
        ROOFLINE_CHECK(items(std::move(syntax.items), options_, "", out));
        for (const auto& [count, kinds] : choices_.repeats) {
            if (expanded_.contains(count)) continue;
            return roofline::core::fail("unknown_name", fmt::format("the program has no `repeat {}`", count),
                                        "give kinds only for repeats of the program");
        }
        if (!sizes_.sizes.empty()) out.insert(out.begin(), ast::Item(std::move(sizes_)));
        syntax.items = std::move(out);
        return syntax;
    }

private:
    // Options may be declared after the blocks that use them, but not inside one.
    Status declare(const std::vector<ast::Item>& items) {
        for (const ast::Item& item : items) {
            const auto* list = std::get_if<ast::Options>(&item);
            if (list == nullptr) continue;
            for (const ast::Option& option : list->options) {
                if (!options_.emplace(option.name, option.value).second) {
                    return source_.fail_at(option.span, "defined_twice",
                                           fmt::format("option `{}` is declared twice", option.name));
                }
            }
        }
        return {};
    }

    Status known(const std::string& name, Span span) const {
        if (options_.contains(name)) return {};
        std::vector<std::string> names;
        for (const auto& option : options_) names.push_back(option.first);
        return source_.fail_at(span, "unknown_name", fmt::format("there is no option `{}`", name.substr(0, 40)),
                               did_you_mean(name, names,
                                            names.empty() ? "declare it: `option tied = no`"
                                                          : fmt::format("the options are {}", fmt::join(names, ", "))));
    }

    Status items(std::vector<ast::Item> in, const OptionValues& options, const std::string& part,
                 std::vector<ast::Item>& out) {
        for (ast::Item& item : in) {
            ROOFLINE_CHECK(this->item(std::move(item), options, part, out));
        }
        return {};
    }

    Status item(ast::Item item, const OptionValues& options, const std::string& part, std::vector<ast::Item>& out) {
        if (const auto* list = std::get_if<ast::Options>(&item)) {
            const ast::Option& first = list->options.front();
            return source_.fail_at(first.span, "syntax", "an option is declared inside a block",
                                   "declare it at the beginning of the program");
        }
        if (const auto* role = std::get_if<ast::Role>(&item)) {
            return source_.fail_at(role->span, "syntax", "a role is declared inside a block",
                                   "declare it at the beginning of the program");
        }
        if (auto* assignment = std::get_if<ast::Assignment>(&item)) assignment->part = part;
        auto* block = std::get_if<ast::Block>(&item);
        if (block == nullptr) {
            out.push_back(std::move(item));
            return {};
        }
        if (!block->part.empty()) return items(std::move(block->items), options, block->part, out);
        if (block->when) {
            ROOFLINE_TRY(auto holds, this->holds(*block->when, options));
            return items(holds ? std::move(block->items) : std::move(block->otherwise), options, part, out);
        }
        const auto kinds = choices_.repeats.find(block->count);
        if (block->kind == Block::Kind::repeat && kinds != choices_.repeats.end()) {
            return copies(*block, kinds->second, options, part, out);
        }
        std::vector<ast::Item> inner;
        ROOFLINE_CHECK(items(std::move(block->items), options, part, inner));
        block->items = std::move(inner);
        out.push_back(std::move(item));
        return {};
    }

    Result<bool> holds(const ast::Condition& condition, const OptionValues& options) const {
        bool any = false;
        for (const std::vector<ast::Option>& list : condition.any) {
            bool all = true;
            for (const ast::Option& option : list) {
                ROOFLINE_CHECK(known(option.name, option.span));
                all = all && options.find(option.name)->second == option.value;
            }
            any = any || all;
        }
        return any;
    }

    // Expands a repeat of several kinds into one block per kind.
    Status copies(const ast::Block& block, const std::vector<RepeatKind>& kinds, const OptionValues& options,
                  const std::string& part, std::vector<ast::Item>& out) {
        if (kinds.empty()) {
            return source_.fail_at(block.span, "size", fmt::format("`repeat {}` has no iterations", block.count));
        }
        expanded_.insert(block.count);
        std::set<std::string> before;
        std::set<std::string> ignored;
        collect(out, before, ignored);
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            OptionValues own = options;
            for (const auto& [name, value] : kinds[i].options) {
                ROOFLINE_CHECK(known(name, block.span));
                own.insert_or_assign(name, value);
            }
            ast::Block copy = block;
            copy.items.clear();
            if (kinds.size() > 1) {
                copy.count.clear();
                copy.number = kinds[i].count;
            } else {
                size(block.count, kinds[i].count, block.span);
            }
            ROOFLINE_CHECK(items(block.items, own, part, copy.items));
            std::set<std::string> inside;
            collect(copy.items, inside, ignored);
            Names tensors;
            for (const std::string& name : inside) {
                if (i > 0 && !before.contains(name)) tensors.emplace(name, fmt::format("{}_{}", name, i + 1));
            }
            Names dims;
            for (const auto& [dim, value] : kinds[i].sizes) {
                std::string name = name_of(dim, value);
                size(name, value, block.span);
                if (name != dim) dims.emplace(dim, std::move(name));
            }
            const Renamer renamer(tensors, dims);
            for (ast::Item& item : copy.items) renamer.item(item);
            out.emplace_back(std::move(copy));
        }
        return {};
    }

    void size(const std::string& dim, std::int64_t size, Span span) {
        const bool given = std::any_of(sizes_.sizes.begin(), sizes_.sizes.end(),
                                       [&](const ast::Size& other) { return other.name == dim; });
        if (!given) sizes_.sizes.push_back({dim, size, span});
    }

    // Returns F for the first size of the dimension, F2 for another size, and so on.
    std::string name_of(const std::string& dim, std::int64_t size) {
        auto& known = names_[dim];
        if (const auto found = known.find(size); found != known.end()) return found->second;
        std::string name = dim;
        for (std::size_t i = known.size() + 1; !known.empty() && (name == dim || dims_.contains(name)); ++i) {
            name = fmt::format("{}{}", dim, i);
        }
        dims_.insert(name);
        known.emplace(size, name);
        return name;
    }

    const Source& source_;
    const Choices& choices_;
    OptionValues options_;
    std::set<std::string> dims_;      ///< of the whole text
    std::set<std::string> expanded_;  ///< counts of repeats of several kinds
    std::map<std::string, std::map<std::int64_t, std::string>, std::less<>> names_;
    ast::Sizes sizes_;
};

}  // namespace

Result<ast::Block> choose(ast::Block syntax, const Source& source, const Choices& choices) {
    return Chooser(source, choices).run(std::move(syntax));
}

}  // namespace roofline::core

#include "notation/notation.hpp"

#include <fmt/format.h>

#include "notation/choose.hpp"
#include "notation/lower.hpp"
#include "notation/parser.hpp"
#include "program/elementwise_products.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_bytes = std::size_t{64} << 20U;

}  // namespace

Result<Program> parse_program(std::string_view text, std::string_view source_name) {
    return parse_program(text, source_name, {});
}

Result<Program> parse_program(std::string_view text, std::string_view source_name, const Choices& choices) {
    if (text.size() > max_bytes) {
        return fail("too_large",
                    fmt::format("the program is {} bytes long; the maximum is {}", text.size(), max_bytes));
    }
    const Source source(text, std::string(source_name));
    ROOFLINE_TRY(auto syntax, parse_syntax(source));
    ROOFLINE_TRY(auto chosen, choose(std::move(syntax), source, choices));
    auto program = lower(chosen, source);
    if (program) order_elementwise(*program);
    return program;
}

Result<DimRoles> parse_roles(std::string_view text, std::string_view source_name) {
    if (text.size() > max_bytes) return fail("too_large", "the program is too long");
    const Source source(text, std::string(source_name));
    ROOFLINE_TRY(auto syntax, parse_syntax(source));
    DimRoles roles;
    for (const ast::Item& item : syntax.items) {
        const auto* role = std::get_if<ast::Role>(&item);
        if (role == nullptr) continue;
        for (const std::string& dim : role->dims) {
            if (!roles.emplace(dim, role->name).second) {
                return source.fail_at(role->span, "defined_twice", fmt::format("`{}` has two roles", dim));
            }
        }
    }
    return roles;
}

Result<Sizes> parse_sizes(std::string_view text, std::string_view source_name) {
    if (text.size() > max_bytes) return fail("too_large", "the list of sizes is too long");
    const Source source(text, std::string(source_name));
    ROOFLINE_TRY(auto syntax, parse_syntax(source));
    Sizes sizes;
    for (const ast::Item& item : syntax.items) {
        const auto* list = std::get_if<ast::Sizes>(&item);
        if (list == nullptr) {
            return fail("syntax", fmt::format("`{}` is not a list of sizes", text.substr(0, 60)), "write B=256,D=8k");
        }
        for (const ast::Size& size : list->sizes) {
            if (!sizes.emplace(size.name, size.size).second) {
                return source.fail_at(size.span, "size_conflict", fmt::format("`{}` is given twice", size.name));
            }
        }
    }
    return sizes;
}

}  // namespace roofline::core

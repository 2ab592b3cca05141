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

Result<ast::Block> syntax_of(const Source& source, std::string_view what) {
    const std::size_t bytes = source.text().size();
    if (bytes > max_bytes) {
        return fail("too_large", fmt::format("the {} is {} bytes long; the maximum is {}", what, bytes, max_bytes));
    }
    return parse_syntax(source);
}

Result<Program> program_of(ast::Block syntax, const Source& source, const Choices& choices) {
    ROOFLINE_TRY(auto chosen, choose(std::move(syntax), source, choices));
    auto program = lower(chosen, source);
    if (program) order_elementwise(*program);
    return program;
}

Result<DimRoles> roles_of(const ast::Block& syntax, const Source& source) {
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

}  // namespace

Result<Program> parse_program(std::string_view text, std::string_view source_name) {
    return parse_program(text, source_name, {});
}

Result<Program> parse_program(std::string_view text, std::string_view source_name, const Choices& choices) {
    const Source source(text, std::string(source_name));
    ROOFLINE_TRY(auto syntax, syntax_of(source, "program"));
    return program_of(std::move(syntax), source, choices);
}

Result<DimRoles> parse_roles(std::string_view text, std::string_view source_name) {
    const Source source(text, std::string(source_name));
    ROOFLINE_TRY(const auto syntax, syntax_of(source, "program"));
    return roles_of(syntax, source);
}

Result<ProgramAndRoles> parse_program_and_roles(std::string_view text, std::string_view source_name,
                                                const Choices& choices) {
    const Source source(text, std::string(source_name));
    ROOFLINE_TRY(auto syntax, syntax_of(source, "program"));
    ROOFLINE_TRY(auto roles, roles_of(syntax, source));
    ROOFLINE_TRY(auto program, program_of(std::move(syntax), source, choices));
    return ProgramAndRoles{std::move(program), std::move(roles)};
}

Result<Sizes> parse_sizes(std::string_view text, std::string_view source_name) {
    const Source source(text, std::string(source_name));
    ROOFLINE_TRY(const auto syntax, syntax_of(source, "list of sizes"));
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

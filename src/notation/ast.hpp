// What the parser reads, before names and dimensions are resolved. Only notation/ knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core::ast {

struct Dim {
    std::string name;                  ///< "" for a bare number
    std::optional<std::int64_t> size;  ///< given in place, or the bare number
    std::vector<std::string> mesh;
    Span span;
};

/// X=3 after `at`.
struct Coordinate {
    std::string axis;
    std::int64_t place = 0;
    Span span;
};

struct Type {
    Dtype dtype = Dtype::bf16;
    std::vector<Dim> dims;
    std::vector<std::string> unreduced;
    std::string level = "hbm";
    std::vector<Coordinate> at;
    Span span;
};

struct Word {
    std::string text;
    Span span;
};

struct Expr {
    enum class Kind {
        tensor,         ///< a type written in place, perhaps with a name
        name,           ///< a tensor defined elsewhere
        number,         ///< a scalar constant
        product,        ///< a * b * c, flat
        named_product,  ///< a *_D b
        call,           ///< f[dims](args); + - / and unary minus are calls too
    };
    Kind kind = Kind::name;
    std::string name;  ///< of tensor, name, call
    double number = 0;
    Type type;                ///< of tensor
    std::vector<Word> along;  ///< of call and named_product
    std::vector<Expr> args;
    int depth = 1;  ///< longest way down
    Span span;
};

struct Assignment {
    std::string name;  ///< "" for the unnamed result of a one-liner
    bool param = false;
    bool cache = false;
    std::string part;  ///< of the `part` block around it
    std::optional<Type> type;
    std::optional<Expr> value;  ///< none: a declaration
    std::optional<Dtype> using_dtype;
    bool one_liner = false;
    Span span;
};

struct Size {
    std::string name;
    std::int64_t size = 0;
    Span span;
};

struct Sizes {
    std::vector<Size> sizes;
};

struct MeshAxis {
    Size axis;
    std::vector<std::string> wires;  ///< after `on`
};

struct Mesh {
    std::vector<MeshAxis> axes;
};

/// tied = yes, after `option`.
struct Option {
    std::string name;
    bool value = false;
    Span span;
};

struct Options {
    std::vector<Option> options;
};

/// columns = F, I after `role`: what dimensions are to those who split programs.
struct Role {
    std::string name;
    std::vector<std::string> dims;
    Span span;
};

/// What stands after `when`: in one of these lists all options must be as they say.
struct Condition {
    std::vector<std::vector<Option>> any;
};

struct Block;
using Item = std::variant<Assignment, Sizes, Mesh, Options, Role, Block>;

struct Block {
    roofline::core::Block::Kind kind = roofline::core::Block::Kind::sequence;
    std::string count;                   ///< of repeat: a name, or
    std::optional<std::int64_t> number;  ///< a number
    std::string part;                    ///< of `part NAME { ... }`, which is no block of its own once choices are made
    std::optional<Condition> when;       ///< of `when ... { ... }`, likewise
    std::vector<Item> items;
    std::vector<Item> otherwise;  ///< of `when`, after `else`
    Span span;
};

}  // namespace roofline::core::ast

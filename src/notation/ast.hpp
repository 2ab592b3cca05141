// The syntax tree that the parser produces, before names and dimensions are resolved. Only notation/ uses it.
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
    std::optional<std::int64_t> size;  ///< written size, or the bare number
    std::vector<std::string> mesh;
    Span span;
};

/// A coordinate, such as X=3 after `at`.
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
        tensor,         ///< a type written in place, possibly with a name
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
    int depth = 1;  ///< length of the longest path down the tree
    Span span;
};

struct Assignment {
    std::string name;  ///< "" for the unnamed result of a one-liner
    bool param = false;
    bool frozen = false;  ///< a parameter that is not trained
    bool cache = false;
    std::string part;  ///< name of the enclosing `part` block
    std::optional<Type> type;
    std::optional<Expr> value;  ///< empty for a declaration
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
    std::vector<std::string> links;  ///< after `on`
};

struct Mesh {
    std::vector<MeshAxis> axes;
};

/// An option after `option`, such as tied = yes.
struct Option {
    std::string name;
    bool value = false;
    Span span;
};

struct Options {
    std::vector<Option> options;
};

/// A role after `role`, such as columns = F, I: the meaning of dimensions for sharding a program.
struct Role {
    std::string name;
    std::vector<std::string> dims;
    Span span;
};

/// The condition after `when`: a disjunction of lists, in one of which all options must have the given values.
struct Condition {
    std::vector<std::vector<Option>> any;
};

struct Block;
using Item = std::variant<Assignment, Sizes, Mesh, Options, Role, Block>;

struct Block {
    roofline::core::Block::Kind kind = roofline::core::Block::Kind::sequence;
    std::string count;                   ///< of repeat: a name, or
    std::optional<std::int64_t> number;  ///< a number
    std::string part;               ///< of `part NAME { ... }`, which is not a block of its own once choices are made
    std::optional<Condition> when;  ///< of `when ... { ... }`, likewise
    std::vector<Item> items;
    std::vector<Item> otherwise;  ///< of `when`, after `else`
    Span span;
};

}  // namespace roofline::core::ast

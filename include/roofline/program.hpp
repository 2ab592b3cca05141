// Programs: operations on tensors, written in the notation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofline/result.hpp"

namespace roofline {

/// Sizes of dimensions by name: {{"B", 256}, {"D", 8192}}. Each is at least 1.
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

/// A program in the notation: one operation, or a block of statements. A handle: it is immutable, cheap to copy and
/// safe to share between threads.
class Program {
public:
    /// Parses a program. `name` is used in messages and headings, for example the name of its file. Errors carry line,
    /// column and remedy. Texts of more than 64 MB are refused.
    [[nodiscard]] static Result<Program> parse(std::string_view text, std::string_view name = "");

    /// Returns a copy of the program with these sizes, which take precedence over those in the text. A program with
    /// unsized dimensions has formulas but no times. Errors: `unknown_dimension` (the hint names the nearest match),
    /// `bad_size` (below 1).
    [[nodiscard]] Result<Program> with_sizes(const Sizes& sizes) const;

    /// Returns a copy of the program in which each token may use only the experts of `chosen` of `of` equal groups
    /// (node-limited routing, DeepSeek-V3, arXiv 2412.19437). Errors: the number of groups does not divide the number
    /// of experts; the program has no experts.
    [[nodiscard]] Result<Program> with_expert_groups(std::int64_t chosen, std::int64_t of) const;

    [[nodiscard]] const std::string& name() const;
    /// Returns the program as text that parse() accepts.
    [[nodiscard]] std::string text() const;
    /// Returns the named dimensions in the order of their first appearance.
    [[nodiscard]] const std::vector<std::string>& dimensions() const;
    /// Returns the sizes of all named dimensions that have one.
    [[nodiscard]] Sizes sizes() const;

    /// Internal to the library.
    struct Data;
    explicit Program(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

}  // namespace roofline

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

/// A program in the notation: one operation, or a block of statements. A handle: immutable, cheap to copy,
/// safe to share between threads.
class Program {
public:
    /// Reads a program. `name` stands in messages and headings: that of its file. Errors carry line and column and the
    /// remedy; texts beyond 64 MB are refused.
    [[nodiscard]] static Result<Program> parse(std::string_view text, std::string_view name = "");

    /// The same program with these sizes, which go before those in the text. Dimensions without a size have formulas
    /// and no times. Errors: `unknown_dimension` (the hint names the nearest), `bad_size` for a size below 1.
    [[nodiscard]] Result<Program> with_sizes(const Sizes& sizes) const;

    /// The same program whose tokens are limited to the experts of `chosen` of `of` equal groups (node-limited routing,
    /// DeepSeek-V3, arXiv 2412.19437). Errors: groups that do not divide the experts; no experts.
    [[nodiscard]] Result<Program> with_expert_groups(std::int64_t chosen, std::int64_t of) const;

    [[nodiscard]] const std::string& name() const;
    /// The program as text, which parse() reads back.
    [[nodiscard]] std::string text() const;
    /// Named dimensions in the order in which they first appear.
    [[nodiscard]] const std::vector<std::string>& dimensions() const;
    /// Sizes that are known by now, of named dimensions.
    [[nodiscard]] Sizes sizes() const;

    /// For the library alone.
    struct Data;
    explicit Program(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

}  // namespace roofline

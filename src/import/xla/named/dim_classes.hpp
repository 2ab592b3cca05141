// Which dimensions of the tensors of a program are the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace roofline::core {

/// Dimensions of tensors, joined to classes: those that an operation ties are one dimension. A class may be made of
/// parts, the outermost first: where one tensor has 32 x 128 and another one, tied to it by a reshape, 4096 in their
/// place, the 4096 is these two dimensions together. Two dimensions of one owner, a tensor or an operation, are never
/// the same: a tie that would make them so is refused.
class DimClasses {
public:
    using Id = std::uint32_t;

    /// Returns a new owner of dimensions.
    [[nodiscard]] std::uint32_t owner() { return owners_++; }
    /// Returns a new class of one dimension.
    [[nodiscard]] Id add(std::int64_t size, std::uint32_t owner);
    /// Keeps a dimension from being made of parts.
    void keep_whole(Id id);
    /// Ties the dimensions of two lists that hold the same elements in the same order. Returns whether all of them
    /// could be tied.
    bool tie(std::span<const Id> one, std::span<const Id> other);
    /// Returns the parts that a list of dimensions is made of: classes that are made of nothing else.
    [[nodiscard]] std::vector<Id> parts(std::span<const Id> dims);
    [[nodiscard]] std::int64_t size(Id id) const { return classes_[id].size; }
    [[nodiscard]] std::size_t count() const { return classes_.size(); }

private:
    struct Class {
        Id joined = 0;  ///< the class that it has become part of, or itself
        std::int64_t size = 1;
        bool whole = false;
        std::vector<Id> parts{};
        std::unordered_set<std::uint32_t> owners{};
    };
    /// Goes through the parts of a list, as they are when it gets to them.
    class Walk;

    [[nodiscard]] Id find(Id id);
    [[nodiscard]] bool may_join(Id one, Id other) const;
    void join(Id one, Id other);
    /// Makes a class of an outer part of this size and the rest.
    void split(Id id, std::int64_t outer);

    std::vector<Class> classes_;
    std::uint32_t owners_ = 0;
};

}  // namespace roofline::core

// The links of a slice while mesh axes are placed on them, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "network/placement.hpp"
#include "network/slice.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// An axis of a torus, or a whole tier, and how much of it is taken.
struct TakenLink {
    std::size_t tier = 0;
    std::size_t axis = 0;
    std::int64_t size = 0;
    bool wrapped = false;
    std::int64_t taken = 1;

    [[nodiscard]] std::int64_t left() const { return size / taken; }
};

class Placing {
public:
    explicit Placing(const Slice& slice);

    /// Those of more than one member, innermost first.
    [[nodiscard]] const std::vector<TakenLink>& links() const { return links_; }

    /// Places an axis on links that are named, and returns its lanes. Errors: links that the slice lacks, or that are
    /// too short.
    [[nodiscard]] Result<std::vector<Lane>> place_on(const Slice& slice, const MeshAxis& axis);
    /// Places an axis as place_mesh() says, and returns its lanes; empty when it cannot be placed.
    std::vector<Lane> place(std::int64_t size, MeshOrder order);

    /// Returns the ways in which an axis can be placed next, if the order is from the innermost: that of place(), and
    /// on a tier with several axes every choice of whole ones, or of what is left of them. Where none of these have its
    /// size, it takes a part of one more. Empty when it cannot be placed.
    [[nodiscard]] std::vector<std::vector<Lane>> ways(std::int64_t size) const;
    /// Takes lanes that ways() returned.
    void take(const std::vector<Lane>& lanes);

    /// Returns the name of a link, "ici.0" or "nvlink".
    [[nodiscard]] static std::string name_of(const Slice& slice, std::size_t tier, std::size_t axis);

private:
    [[nodiscard]] std::optional<std::size_t> tier_with(std::int64_t size) const;
    [[nodiscard]] std::vector<Lane> one_whole(std::int64_t size, std::optional<std::size_t> tier);
    [[nodiscard]] std::vector<Lane> several_whole(std::int64_t size, std::optional<std::size_t> tier);
    [[nodiscard]] std::vector<Lane> parts(std::int64_t size);
    [[nodiscard]] tl::unexpected<Error> unknown(const Slice& slice, const std::string& axis,
                                                const std::string& name) const;

    std::vector<TakenLink> links_;
};

}  // namespace roofline::core

// The dimensions of one chip's program: shards of dimensions that are split over chips, and halos beside them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "algebra/polynomial.hpp"

namespace roofline::core {

/// Positions of its neighbours' shards that a chip needs beside its own: W - 1 for a window, or for taps, of W
/// positions; otherwise a fixed number.
struct Halo {
    std::string window{};        ///< the dimension W, or ""
    std::int64_t positions = 0;  ///< without a window

    bool operator==(const Halo&) const = default;

    [[nodiscard]] Polynomial size() const;
    [[nodiscard]] std::string text() const;  ///< "W-1", or the number
};

/// A chip's part of a dimension: one of `shards` equal shards, rounded up, and the halo that an operation needs.
struct LocalDim {
    std::string dim;
    std::int64_t shards = 1;
    std::optional<Halo> halo{};

    bool operator==(const LocalDim&) const = default;

    /// Returns the symbol of the shard in a polynomial; the halo is left out.
    [[nodiscard]] Symbol symbol() const { return {dim, shards}; }
    /// Returns the number of positions: ceil(dim / shards), and those of the halo.
    [[nodiscard]] Polynomial size() const;
    /// Returns the name by which tensors and operations refer to it, as people read it: "S" for the whole dimension,
    /// "S/4" for a shard, "S/4+W-1" or "T+1" with a halo. Nothing parses it: LocalDims has what it stands for.
    [[nodiscard]] std::string name() const;
};

/// What the names of a program's dimensions stand for. A name that is not in it is that of a whole dimension, so it is
/// empty for a program that is not one chip's part of another. Names of dimensions as they are written have neither a
/// slash nor a plus, so that no name stands for two.
class LocalDims {
public:
    /// Adds a part of a dimension, and the same without its halo. Returns its name.
    std::string add(const LocalDim& local);

    /// Returns what a name stands for; null for a whole dimension.
    [[nodiscard]] const LocalDim* find(std::string_view name) const {
        if (by_name_.empty()) return nullptr;
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] bool has_halo(std::string_view name) const {
        const LocalDim* local = find(name);
        return local != nullptr && local->halo.has_value();
    }
    /// Returns the symbol of a dimension or a shard in a polynomial; a halo is left out.
    [[nodiscard]] Symbol symbol(const std::string& name) const {
        const LocalDim* local = find(name);
        return local == nullptr ? Symbol{name, 1} : local->symbol();
    }
    /// Returns the number of positions, those of a halo included.
    [[nodiscard]] Polynomial size(const std::string& name) const;
    /// Returns the name of the dimension of which it is a part: "S" for "S/4+W-1".
    [[nodiscard]] std::string whole(const std::string& name) const;
    /// Returns the name of the same shard without its halo: "S/4" for "S/4+W-1".
    [[nodiscard]] std::string without_halo(const std::string& name) const;

    [[nodiscard]] auto begin() const { return by_name_.begin(); }
    [[nodiscard]] auto end() const { return by_name_.end(); }

    bool operator==(const LocalDims&) const = default;

private:
    std::map<std::string, LocalDim, std::less<>> by_name_;
};

}  // namespace roofline::core

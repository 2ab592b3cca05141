#include "work/tiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

// A tensor of the kernel: its dimensions under the operations' names, and the bytes of an element.
struct HeldTensor {
    Dims dims;
    double element_bytes = 0;
    bool input = false;
};

double stored_bytes(Dtype dtype) {
    const BitsPerElement bits = stored_bits(dtype);
    return bits.numerator / (8.0 * bits.denominator);
}

struct Tensors {
    std::vector<HeldTensor> held;
    Dims result_dims;  ///< of the stored results
    Dims summed;       ///< summed by some contraction
};

Tensors tensors_of(const Program& program, const KernelWork& kernel) {
    Tensors tensors;
    std::set<ValueId> seen;
    std::set<ValueId> written;
    for (const Transfer& transfer : kernel.transfers) {
        if (transfer.write) written.insert(transfer.value);
    }
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            for (const Operand& input : op.inputs) {
                const Value& value = program.values[input.value];
                if (value.intermediate || !seen.insert(input.value).second) continue;
                tensors.held.push_back({input.dims, stored_bytes(value.type.dtype), true});
            }
            const Dtype dtype = program.values[op.output.value].type.dtype;
            const bool contraction = op.kind == OpKind::contract;
            const bool stored = written.contains(op.output.value);
            if ((contraction || stored) && seen.insert(op.output.value).second) {
                const double accumulated = contraction ? stored_bytes(info(op.arithmetic).accumulator) : 0;
                tensors.held.push_back({op.output.dims, std::max(stored_bytes(dtype), accumulated), false});
            }
            if (contraction) tensors.summed.insert(tensors.summed.end(), op.along.begin(), op.along.end());
            for (const std::string& dim : op.output.dims) {
                if (stored && !has(tensors.result_dims, dim)) tensors.result_dims.push_back(dim);
            }
        }
    }
    return tensors;
}

std::optional<BlockBytes> bytes_held(const Program& program, const Tensors& tensors, const Sizes& tile) {
    BlockBytes held;
    for (const HeldTensor& tensor : tensors.held) {
        double bytes = tensor.element_bytes;
        for (const std::string& dim : tensor.dims) {
            const auto size = program.sizes.find(dim);
            if (size == program.sizes.end()) return std::nullopt;
            const auto cut = tile.find(dim);
            bytes *= static_cast<double>(cut == tile.end() ? size->second : std::min(cut->second, size->second));
        }
        (tensor.input ? held.operands : held.sums) += bytes;
    }
    return held;
}

// The traffic of fetching the inputs, once per tile of the dimensions that they lack.
double fetched(const Program& program, const Tensors& tensors, const Sizes& tile) {
    double sum = 0;
    for (const HeldTensor& tensor : tensors.held) {
        if (!tensor.input) continue;
        double bytes = tensor.element_bytes;
        for (const std::string& dim : tensor.dims) bytes *= static_cast<double>(program.sizes.find(dim)->second);
        for (const std::string& dim : tensors.result_dims) {
            const auto cut = tile.find(dim);
            if (cut == tile.end() || has(tensor.dims, dim)) continue;
            bytes *= std::ceil(static_cast<double>(program.sizes.find(dim)->second) / static_cast<double>(cut->second));
        }
        sum += bytes;
    }
    return sum;
}

}  // namespace

std::optional<double> tile_bytes(const Program& program, const KernelWork& kernel, const Sizes& tile) {
    const auto held = block_bytes(program, kernel, tile);
    return held ? std::optional(held->operands + held->sums) : std::nullopt;
}

std::optional<BlockBytes> block_bytes(const Program& program, const KernelWork& kernel, const Sizes& tile) {
    return bytes_held(program, tensors_of(program, kernel), tile);
}

std::vector<std::string> summed_dims(const Program& program, const KernelWork& kernel) {
    return tensors_of(program, kernel).summed;
}

Sizes group_of_blocks(const Program& program, const KernelWork& kernel, const Sizes& tile, std::int64_t blocks,
                      double cache) {
    const Tensors tensors = tensors_of(program, kernel);
    double all = 0;
    double largest = 0;
    for (const HeldTensor& tensor : tensors.held) {
        if (!tensor.input) continue;
        double bytes = tensor.element_bytes;
        for (const std::string& dim : tensor.dims) bytes *= static_cast<double>(program.sizes.at(dim));
        all += bytes;
        largest = std::max(largest, bytes);
    }
    if (all - largest <= cache) return {};
    // And the factor by which the number of blocks may still grow.
    std::vector<std::pair<Sizes, std::int64_t>> groups{{tile, blocks}};
    for (const auto& [dim, size] : tile) {
        if (!has(tensors.result_dims, dim)) continue;
        for (std::size_t i = 0, known = groups.size(); i < known; ++i) {
            for (std::int64_t more = 2; more <= groups[i].second; more *= 2) {
                Sizes wider = groups[i].first;
                wider[dim] = std::min(size * more, program.sizes.at(dim));
                groups.emplace_back(std::move(wider), groups[i].second / more);
            }
        }
    }
    const auto least = std::min_element(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
        return fetched(program, tensors, a.first) < fetched(program, tensors, b.first);
    });
    return least->first;
}

Result<Sizes> best_tile(const Program& program, const KernelWork& kernel, double capacity) {
    const Tensors tensors = tensors_of(program, kernel);
    Sizes tile;
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> searched;
    std::set<std::string> dims(tensors.result_dims.begin(), tensors.result_dims.end());
    for (const HeldTensor& tensor : tensors.held) dims.insert(tensor.dims.begin(), tensor.dims.end());
    double combinations = 1;
    for (const std::string& dim : dims) {
        const auto size = program.sizes.find(dim);
        if (size == program.sizes.end()) {
            return fail("unsized", fmt::format("the best tile depends on `{}`, which has no size", dim),
                        "give it with --dims");
        }
        const bool in_result = has(tensors.result_dims, dim);
        const bool lacked = std::any_of(tensors.held.begin(), tensors.held.end(), [&](const HeldTensor& tensor) {
            return tensor.input && !has(tensor.dims, dim);
        });
        if (!in_result) {
            constexpr std::int64_t summed_block = 128;
            tile[dim] = std::min(size->second, summed_block);
        } else if (!lacked) {
            if (!has(tensors.summed, dim)) tile[dim] = 1;
        } else {
            std::vector<std::int64_t> sizes;
            for (std::int64_t cut = 8; cut < size->second && cut < (std::int64_t{1} << 40); cut *= 2)
                sizes.push_back(cut);
            sizes.push_back(size->second);
            combinations *= static_cast<double>(sizes.size());
            searched.emplace_back(dim, std::move(sizes));
        }
    }
    constexpr double max_combinations = 500'000;
    if (combinations > max_combinations) {
        return fail("unsupported", "too many dimensions to search for the best tile",
                    "give the tile's sizes: --tile B=128,F=256");
    }

    std::optional<Sizes> best;
    double least = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> at(searched.size(), 0);
    while (true) {
        for (std::size_t i = 0; i < searched.size(); ++i) tile[searched[i].first] = searched[i].second[at[i]];
        const auto held = bytes_held(program, tensors, tile);
        if (held && held->operands + held->sums <= capacity) {
            const double traffic = fetched(program, tensors, tile);
            if (traffic < least) {
                least = traffic;
                best = tile;
            }
        }
        std::size_t i = 0;
        while (i < at.size() && ++at[i] == searched[i].second.size()) at[i++] = 0;
        if (i == at.size()) break;
    }
    if (!best) {
        return fail("no_fit", fmt::format("not even the smallest tile fits {:.0f} bytes", capacity));
    }
    return *best;
}

}  // namespace roofline::core

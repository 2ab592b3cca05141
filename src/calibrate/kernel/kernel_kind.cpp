#include "calibrate/kernel/kernel_kind.hpp"

#include <algorithm>
#include <optional>

#include "program/functions.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

namespace {

std::string operand_dtypes(const Program& local, const Op& product) {
    std::vector<Dtype> dtypes{product.arithmetic};
    for (const Operand& input : product.inputs) {
        const Dtype dtype = local.values[input.value].type.dtype;
        if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
    }
    std::string text;
    for (const Dtype dtype : dtypes) text += (text.empty() ? "" : " x ") + std::string(name(dtype));
    return text;
}

/// Returns whether a single row attends to others: a decode step. A row that attends only to itself is a prefill of one
/// token.
bool attends_to_others(const MaskedPlane& plane, const Sizes& sizes) {
    const auto columns = sizes.find(plane.columns);
    return mask_case(plane, sizes).rows == MaskCase::Rows::one && (columns == sizes.end() || columns->second > 1);
}

/// Returns whether a mask excludes anything. It does not in a decode step, whose token attends to the whole context.
bool masks(const Program& local, const KernelWork& kernel) {
    return std::any_of(kernel.statements.begin(), kernel.statements.end(), [&](const Statement* statement) {
        return std::any_of(statement->ops.begin(), statement->ops.end(), [&](const Op& op) {
            const auto& planes = local.values[op.output.value].masks;
            return std::any_of(planes.begin(), planes.end(),
                               [&](const MaskedPlane& plane) { return !attends_to_others(plane, local.sizes); });
        });
    });
}

/// The dimensions of a dispatch: its groups, and the rows of one of them.
enum DispatchDim : std::size_t { dispatch_groups, dispatch_rows };

/// Returns whether an operation dispatches rows to groups that `dim` numbers, or `dim` numbers the rows of a group. The
/// groups may be sharded after the dispatch, so `dim` is given without its shard.
bool dispatches(const LocalDims& local, const Op& op, DispatchDim which, const std::string& dim) {
    const FunctionInfo* function = op.kind == OpKind::apply ? find_function(op.function) : nullptr;
    return function != nullptr && function->kind == FunctionKind::dispatch && op.along.size() > which &&
           local.whole(op.along[which]) == dim;
}

/// Returns whether a statement of the program dispatches rows to groups by that dimension.
bool dispatches(const LocalDims& local, const Block& block, DispatchDim which, const std::string& dim) {
    return std::any_of(block.nodes.begin(), block.nodes.end(), [&](const Node& node) {
        if (const auto* inner = std::get_if<Block>(&node)) return dispatches(local, *inner, which, dim);
        const std::vector<Op>& ops = std::get<Statement>(node).ops;
        return std::any_of(ops.begin(), ops.end(), [&](const Op& op) { return dispatches(local, op, which, dim); });
    });
}

/// Returns whether some of the dimensions are those of a dispatch.
bool dispatches(const Program& program, DispatchDim which, const std::vector<std::string>& dims) {
    return std::any_of(dims.begin(), dims.end(), [&](const std::string& dim) {
        return dispatches(program.local_dims, program.body, which, program.local_dims.whole(dim));
    });
}

bool is_grouped(const Program& program, const KernelWork& kernel) {
    return std::any_of(kernel.matmuls.begin(), kernel.matmuls.end(), [&](const MatmulShape& shape) {
        return shape.unit == Unit::matmul && dispatches(program, dispatch_groups, shape.batch);
    });
}

/// Returns the variant of a grouped matmul. Libraries have other kernels for both gradients: that of the matrices
/// ("weight gradient") sums over the rows of each group, and that of the rows ("transposed") over the last dimension of
/// each matrix, which lies in memory as the forward pass reads it.
std::string grouped_variant(const Program& program, const Op& product) {
    if (dispatches(program, dispatch_rows, product.along)) return "weight gradient";
    const auto transposed = [&](const Operand& operand) {
        return !operand.dims.empty() && has(product.along, operand.dims.back()) &&
               !dispatches(program, dispatch_rows, operand.dims);
    };
    return std::any_of(product.inputs.begin(), product.inputs.end(), transposed) ? "transposed" : "";
}

/// Returns the dtype of at most 8 bits that a kernel converts to, if it does nothing else.
std::optional<Dtype> quantised_dtype(const Program& local, const KernelWork& kernel) {
    std::optional<Dtype> narrow;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            if (op.kind != OpKind::move || op.inputs.size() != 1) return std::nullopt;
            const Dtype from = local.values[op.inputs.front().value].type.dtype;
            const Dtype to = local.values[op.output.value].type.dtype;
            if (info(to).bits <= 8 && info(to).bits < info(from).bits) narrow = to;
        }
    }
    return narrow;
}

bool multiplies(const Block& block, ValueId value) {
    return std::any_of(block.nodes.begin(), block.nodes.end(), [&](const Node& node) {
        if (const auto* inner = std::get_if<Block>(&node)) return multiplies(*inner, value);
        const std::vector<Op>& ops = std::get<Statement>(node).ops;
        return std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
            return op.kind == OpKind::contract && std::any_of(op.inputs.begin(), op.inputs.end(),
                                                              [&](const Operand& each) { return each.value == value; });
        });
    });
}

/// Returns whether a matmul reads a result of the kernel. A library that quantizes for a matmul also computes the
/// scales, while a conversion alone is given them.
bool feeds_matmul(const Program& local, const KernelWork& kernel) {
    return std::any_of(kernel.statements.begin(), kernel.statements.end(), [&](const Statement* statement) {
        return std::any_of(statement->ops.begin(), statement->ops.end(),
                           [&](const Op& op) { return multiplies(local.body, op.output.value); });
    });
}

/// Returns whether the kernel applies a function that `is` accepts.
template <class Is>
bool applies(const KernelWork& kernel, Is&& is) {
    return std::any_of(kernel.statements.begin(), kernel.statements.end(), [&](const Statement* statement) {
        return std::any_of(statement->ops.begin(), statement->ops.end(), [&](const Op& op) {
            const FunctionInfo* function = op.kind == OpKind::apply ? find_function(op.function) : nullptr;
            return function != nullptr && is(*function);
        });
    });
}

/// Returns whether the function passes over each row twice: for the row's statistics, and for each element.
bool normalises(const FunctionInfo& function) {
    return function.kind == FunctionKind::keep && function.statistics.rounds > 0;
}

bool is_softmax(const FunctionInfo& function) { return function.name == "softmax" || function.name == "dsoftmax"; }

bool rotates(const FunctionInfo& function) { return function.name == "rope" || function.name == "unrope"; }

bool is_transcendental(const FunctionInfo& function) {
    return function.kind == FunctionKind::map && function.transcendentals > 0;
}

/// Returns the dimensions of a tensor as the kernel's operations name them.
std::vector<std::string> dims_in(const KernelWork& kernel, ValueId value) {
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            for (const Operand& input : op.inputs) {
                if (input.value == value) return input.dims;
            }
            if (op.output.value == value) return op.output.dims;
        }
    }
    return {};
}

/// Returns whether a kernel reduces rows and writes results that still have all elements of these rows: a norm or a
/// softmax that is written as its formula, as modules of XLA and graphs of PyTorch have it.
bool keeps_reduced_rows(const KernelWork& kernel) {
    std::vector<std::string> reduced;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            const FunctionInfo* function = op.kind == OpKind::apply ? find_function(op.function) : nullptr;
            if (function != nullptr && function->kind == FunctionKind::reduce)
                reduced.insert(reduced.end(), op.along.begin(), op.along.end());
        }
    }
    return std::any_of(kernel.transfers.begin(), kernel.transfers.end(), [&](const Transfer& transfer) {
        if (!transfer.write) return false;
        const std::vector<std::string> dims = dims_in(kernel, transfer.value);
        return std::all_of(reduced.begin(), reduced.end(), [&](const std::string& dim) { return has(dims, dim); });
    });
}

}  // namespace

bool side_by_side(const std::vector<const MatmulShape*>& products) {
    const MatmulShape& first = *products.front();
    return std::all_of(products.begin(), products.end(), [&](const MatmulShape* each) {
        return each->m == first.m && each->k == first.k && each->batch == first.batch;
    });
}

bool has_latents(const KernelWork& kernel) {
    std::vector<ValueId> before;
    bool softmax = false;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            softmax = softmax || (op.kind == OpKind::apply && op.function == "softmax");
            if (op.kind != OpKind::contract) continue;
            for (const Operand& input : op.inputs) {
                const bool again = std::find(before.begin(), before.end(), input.value) != before.end();
                if (softmax && again) return true;
                if (!softmax) before.push_back(input.value);
            }
            if (softmax) return false;
        }
    }
    return false;
}

std::optional<std::vector<std::string>> head_dims(const KernelWork& kernel, const MatmulShape& scores) {
    std::string tokens;
    std::vector<std::string> written;  // dimensions of the scores in the program's order
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            if (op.kind != OpKind::apply) continue;
            if (op.function == "softmax") written = op.output.dims;
            if (op.function == "causal" && !op.along.empty()) tokens = op.along.front();
        }
    }
    std::vector<std::string> heads = scores.m;
    if (tokens.empty()) {
        if (heads.size() < 2) return std::nullopt;
        // Heads with the same keys follow the dimension of these keys' heads, [T, H, G, S] or [H, G, T, S].
        const auto of_keys = std::find_if(written.rbegin(), written.rend(),
                                          [&](const std::string& dim) { return has(scores.batch, dim); });
        const auto row =
            std::find_if(written.begin(), of_keys.base(), [&](const std::string& dim) { return has(heads, dim); });
        if (row != of_keys.base()) {
            tokens = *row;
        } else {
            for (const std::string& dim : written) {
                if (has(heads, dim)) tokens = dim;
            }
        }
    }
    if (!has(heads, tokens)) return std::vector<std::string>{};
    std::erase(heads, tokens);
    return heads;
}

std::optional<std::string> windowed_dim(const KernelWork& kernel) {
    std::vector<const Op*> gathers;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            if (op.kind == OpKind::apply && op.function == "gather" && !op.along.empty()) gathers.push_back(&op);
            if (op.kind != OpKind::contract) continue;
            for (const Operand& input : op.inputs) {
                const auto made = std::find_if(gathers.begin(), gathers.end(),
                                               [&](const Op* each) { return each->output.value == input.value; });
                if (made != gathers.end()) return (*made)->along.front();
            }
        }
    }
    return std::nullopt;
}

WeightedSum shared_bytes(const KernelWork& kernel, const MatmulShape& scores) {
    WeightedSum sum;
    for (const Transfer& transfer : kernel.transfers) {
        if (transfer.write || transfer.level != "hbm") continue;
        const std::vector<std::string> dims = dims_in(kernel, transfer.value);
        const bool by_row =
            std::any_of(scores.m.begin(), scores.m.end(), [&](const auto& row) { return has(dims, row); });
        if (!by_row) sum.emplace_back(transfer.bytes, 1.0);
    }
    return sum;
}

WeightedSum inner_results(const LocalDims& local, const KernelWork& kernel) {
    WeightedSum sum;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            if (op.kind != OpKind::contract) continue;
            const bool written =
                std::any_of(kernel.transfers.begin(), kernel.transfers.end(),
                            [&](const Transfer& each) { return each.write && each.value == op.output.value; });
            if (!written) sum.emplace_back(elements(local, op.output.dims), 1.0);
        }
    }
    return sum;
}

std::optional<std::string> group_dim(const ProgramWork& work, const KernelWork& kernel) {
    for (const MatmulShape& shape : kernel.matmuls) {
        if (shape.unit != Unit::matmul || shape.batch.empty()) continue;
        for (const KernelWork& other : work.kernels) {
            for (const Statement* statement : other.statements) {
                for (const Op& op : statement->ops) {
                    const bool groups =
                        op.along.size() > 1 &&
                        std::any_of(shape.batch.begin(), shape.batch.end(), [&](const auto& dim) {
                            return dispatches(work.local_dims, op, dispatch_groups, work.local_dims.whole(dim));
                        });
                    if (groups) return op.along[1];
                }
            }
        }
    }
    return std::nullopt;
}

KernelRows rows_of(const LocalDims& local, const KernelWork& kernel) {
    std::vector<std::string> most;
    for (const Transfer& transfer : kernel.transfers) {
        std::vector<std::string> dims = dims_in(kernel, transfer.value);
        // a table may have rows that are not read
        const bool better = dims.size() > most.size() || (transfer.write && dims.size() == most.size());
        if (better) most = std::move(dims);
    }
    const std::size_t inner = std::min(most.size(), applies(kernel, rotates) && most.size() > 2 ? std::size_t{2} : 1);
    const auto middle = most.end() - static_cast<std::ptrdiff_t>(inner);
    return {elements(local, {most.begin(), middle}), elements(local, {middle, most.end()})};
}

KernelKind kernel_kind(const KernelWork& kernel) {
    const auto products = std::count_if(kernel.matmuls.begin(), kernel.matmuls.end(),
                                        [](const MatmulShape& shape) { return shape.unit == Unit::matmul; });
    if (products >= 2 && applies(kernel, [](const FunctionInfo& each) { return each.name == "softmax"; })) {
        return applies(kernel, [](const FunctionInfo& each) { return each.kind == FunctionKind::mask; })
                   ? KernelKind::causal_attention
                   : KernelKind::attention;
    }
    if (products > 0) return KernelKind::contraction;
    if (applies(kernel, [](const FunctionInfo& each) { return each.kind == FunctionKind::reduce; })) {
        if (!keeps_reduced_rows(kernel)) return KernelKind::reduction;
        const bool exponential = applies(kernel, [](const FunctionInfo& each) { return each.name == "exp"; });
        return exponential ? KernelKind::softmax : KernelKind::normalisation;
    }
    if (applies(kernel, is_softmax)) return KernelKind::softmax;
    if (applies(kernel, normalises)) return KernelKind::normalisation;
    if (applies(kernel, is_transcendental)) return KernelKind::activation;
    if (applies(kernel, rotates)) return KernelKind::rotation;
    if (applies(kernel, [](const FunctionInfo& each) { return each.kind == FunctionKind::gather; }))
        return KernelKind::gather;
    return KernelKind::elementwise;
}

KernelKey kernel_key(const Program& local, const KernelWork& kernel) {
    KernelKey key;
    key.kind = kernel_kind(kernel);
    if (key.kind == KernelKind::contraction && is_grouped(local, kernel)) key.kind = KernelKind::grouped_contraction;
    if (key.kind == KernelKind::causal_attention && !masks(local, kernel)) key.kind = KernelKind::attention;
    if (key.kind == KernelKind::attention && windowed_dim(kernel)) key.kind = KernelKind::windowed_attention;
    if (info(key.kind).family == KernelFamily::attention && has_latents(kernel))
        key.kind = KernelKind::latent_attention;
    if (key.kind == KernelKind::elementwise) {
        const auto narrow = quantised_dtype(local, kernel);
        if (narrow && feeds_matmul(local, kernel))
            return {KernelKind::quantisation, std::string(name(*narrow)), "", ""};
    }
    if (info(key.kind).family == KernelFamily::rows) return key;
    // libraries have other kernels for the derivative, which multiplies five times instead of twice
    if (applies(kernel, [](const FunctionInfo& each) { return each.name == "dsoftmax"; })) key.variant = "backward";
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            if (op.kind != OpKind::contract || !key.dtype.empty()) continue;
            key.dtype = operand_dtypes(local, op);
            if (key.kind == KernelKind::grouped_contraction) key.variant = grouped_variant(local, op);
        }
    }
    return key;
}

}  // namespace roofline::core

#include "program/local_dims.hpp"

namespace roofline::core {

Polynomial Halo::size() const {
    return window.empty() ? Polynomial(positions) : Polynomial::dim(window) - Polynomial(1);
}

std::string Halo::text() const { return window.empty() ? std::to_string(positions) : window + "-1"; }

Polynomial LocalDim::size() const {
    const Polynomial shard = Polynomial::symbol(symbol());
    return halo ? shard + halo->size() : shard;
}

std::string LocalDim::name() const {
    std::string text = shard_name(symbol());
    if (halo) text += "+" + halo->text();
    return text;
}

std::string LocalDims::add(const LocalDim& local) {
    const LocalDim shard{local.dim, local.shards};
    if (shard.shards > 1) by_name_.try_emplace(shard.name(), shard);
    std::string name = local.name();
    if (local.halo) by_name_.try_emplace(name, local);
    return name;
}

Polynomial LocalDims::size(const std::string& name) const {
    const LocalDim* local = find(name);
    return local == nullptr ? Polynomial::dim(name) : local->size();
}

std::string LocalDims::whole(const std::string& name) const {
    const LocalDim* local = find(name);
    return local == nullptr ? name : local->dim;
}

std::string LocalDims::without_halo(const std::string& name) const {
    return has_halo(name) ? LocalDim{find(name)->dim, find(name)->shards}.name() : name;
}

}  // namespace roofline::core

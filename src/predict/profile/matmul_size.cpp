#include "predict/profile/matmul_size.hpp"

#include <algorithm>
#include <string>

#include "predict/prediction.hpp"

namespace roofline::core {

namespace {

/// Product of the sizes of dimensions; 0 if one has none.
double product_of(const Program& local, const std::vector<std::string>& dims) {
    double product = 1;
    for (const std::string& dim : dims) {
        const auto size = count(local, local.local_dims.size(dim));
        product *= size ? size->to_double() : 0;
    }
    return product;
}

}  // namespace

std::vector<MatmulSize> matmul_sizes(const Program& local, const KernelWork& kernel) {
    std::vector<MatmulSize> sizes;
    for (const MatmulShape& shape : kernel.matmuls) {
        if (shape.unit != Unit::matmul) continue;
        MatmulSize size{product_of(local, shape.batch),
                        {product_of(local, shape.m), product_of(local, shape.n), product_of(local, shape.k)}};
        std::sort(size.sides.begin(), size.sides.end());
        if (size.volume() > 0) sizes.push_back(size);
    }
    return sizes;
}

}  // namespace roofline::core

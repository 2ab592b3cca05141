#include "measure/run/bounded.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

/// Half a unit in the last place of `dtype`, relative to the number.
double unit_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
            return 0x1p-53;
        case Dtype::bf16:
            return 0x1p-8;
        default:
            return 0x1p-24;
    }
}

double function_value(const std::string& f, const std::array<double, max_arguments>& x) {
    const double a = x[0];
    const double b = x[1];
    if (f == "add") return a + b;
    if (f == "sub") return a - b;
    if (f == "mul") return a * b;
    if (f == "div") return a / b;
    if (f == "neg") return -a;
    if (f == "abs") return std::abs(a);
    if (f == "square") return a * a;
    if (f == "maximum") return std::max(a, b);
    if (f == "minimum") return std::min(a, b);
    if (f == "where") return a != 0 ? b : x[2];
    if (f == "relu") return std::max(a, 0.0);
    if (f == "relu2") return std::max(a, 0.0) * std::max(a, 0.0);
    if (f == "exp") return std::exp(a);
    if (f == "log") return std::log(a);
    if (f == "sqrt") return std::sqrt(a);
    if (f == "rsqrt") return 1 / std::sqrt(a);
    if (f == "sin") return std::sin(a);
    if (f == "cos") return std::cos(a);
    if (f == "tanh") return std::tanh(a);
    if (f == "erf") return std::erf(a);
    if (f == "sigmoid") return 1 / (1 + std::exp(-a));
    if (f == "softplus") return std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a)));
    if (f == "silu") return a / (1 + std::exp(-a));
    if (f == "gelu") {
        return a / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a)));
    }
    if (f == "step") return a > 0 ? 1 : 0;
    if (f == "dsigmoid") return b / (2 + 2 * std::cosh(a));
    if (f == "dsilu") return b * (1 + std::exp(-a) + a * std::exp(-a)) / ((1 + std::exp(-a)) * (1 + std::exp(-a)));
    if (f == "dgelu") {
        const double root = std::sqrt(2 / 3.14159265358979323846);
        const double cosine = std::cosh(root * (a + 0.044715 * a * a * a));
        const double slope = root * (1 + 3 * 0.044715 * a * a) / (cosine * cosine);
        return b / 2 * (1 + std::tanh(root * (a + 0.044715 * a * a * a)) + a * slope);
    }
    return a;  // convert
}

double whole_mapped(const std::string& f, const std::array<double, max_arguments>& x) {
    if (f == "mul") return as_int32(bits_of(x[0]) * bits_of(x[1]));
    if (f == "square") return as_int32(bits_of(x[0]) * bits_of(x[0]));
    if (f == "relu2") return as_int32(bits_of(std::max(x[0], 0.0)) * bits_of(std::max(x[0], 0.0)));
    if (f == "div") return std::trunc(function_value(f, x));
    return as_int32(bits_of(std::nearbyint(function_value(f, x))));
}

/// Totals over all elements of a row.
struct RowTotals {
    double sum = 0;
    double magnitude = 0;
    double most = -unbounded;
    double least = unbounded;
    double widest = 0;     ///< largest error bound of an element
    double sum_bound = 0;  ///< error bound of the sum
};

RowTotals totals_of(const std::vector<Bounded>& row, const Rounding& rounding) {
    RowTotals all;
    for (const Bounded& x : row) {
        all.sum += x.value;
        all.magnitude += std::abs(x.value);
        all.most = std::max(all.most, x.value);
        all.least = std::min(all.least, x.value);
        if (std::isfinite(x.value)) all.widest = std::max(all.widest, x.bound);
        all.sum_bound += x.bound;
    }
    all.sum_bound =
        rounding.whole ? 0 : all.sum_bound + rounding.of_sum(all.magnitude, static_cast<double>(row.size()));
    return all;
}

void scan(std::vector<Bounded>& row, const std::vector<Bounded>& second, double unit) {
    Bounded h;
    for (std::size_t t = 0; t < row.size(); ++t) {
        const double value = row[t].value * h.value + second[t].value;
        h.bound = std::abs(row[t].value) * h.bound + std::abs(h.value) * row[t].bound + second[t].bound +
                  2 * unit * (std::abs(row[t].value * h.value) + std::abs(second[t].value));
        h.value = value;
        row[t] = h;
    }
}

void scan_back(std::vector<Bounded>& row, const std::vector<Bounded>& second, double unit) {
    Bounded h;
    Bounded factor;
    for (std::size_t t = row.size(); t-- > 0;) {
        const double value = factor.value * h.value + second[t].value;
        h.bound = std::abs(factor.value) * h.bound + std::abs(h.value) * factor.bound + second[t].bound +
                  2 * unit * (std::abs(factor.value * h.value) + std::abs(second[t].value));
        h.value = value;
        factor = row[t];
        row[t] = h;
    }
}

/// Derivative of a softmax: x becomes x (y - sum(x y)).
void softmax_slope(std::vector<Bounded>& row, const std::vector<Bounded>& second, const Rounding& rounding) {
    Bounded sum;
    double magnitude = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        sum.value += row[i].value * second[i].value;
        sum.bound += std::abs(row[i].value) * second[i].bound + std::abs(second[i].value) * row[i].bound;
        magnitude += std::abs(row[i].value * second[i].value);
    }
    sum.bound += rounding.of_sum(magnitude, static_cast<double>(row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
        const double difference = second[i].value - sum.value;
        const double terms = std::abs(second[i].value) + std::abs(sum.value);
        row[i] = {row[i].value * difference,
                  std::abs(difference) * row[i].bound +
                      std::abs(row[i].value) * (second[i].bound + sum.bound + 4 * rounding.unit * terms)};
    }
}

double sum_of_exponentials(const std::vector<Bounded>& row, double most) {
    double all = 0;
    for (const Bounded& x : row) all += std::exp(x.value - most);
    return all;
}

Bounded logsumexp(const std::vector<Bounded>& row, const RowTotals& totals, double unit) {
    const double value = totals.most + std::log(sum_of_exponentials(row, totals.most));
    return {value, totals.widest + 32 * unit * (1 + std::abs(value) + std::abs(totals.most))};
}

void softmax(std::vector<Bounded>& row, const RowTotals& totals, double unit) {
    const double all = sum_of_exponentials(row, totals.most);
    const double root = std::sqrt(static_cast<double>(row.size()));
    for (Bounded& x : row) {
        const double value = std::exp(x.value - totals.most) / all;
        const double exponent = std::isfinite(x.value) ? std::abs(x.value - totals.most) : 0;
        const double spread = std::abs(totals.most) + exponent;
        x = {value, value * (3 * totals.widest + (spread + 4 * root + 40) * unit) + 1e-42};
    }
}

/// Computes a layer norm or, when not `centred`, an RMS norm.
void normalise(std::vector<Bounded>& row, const RowTotals& totals, bool centred, double unit) {
    const auto n = static_cast<double>(row.size());
    const double mean = centred ? totals.sum / n : 0;
    double variance = 0;
    double distance = 0;
    for (const Bounded& x : row) {
        variance += (x.value - mean) * (x.value - mean) / n;
        distance += std::abs(x.value - mean) / n;
    }
    const double shift = centred ? totals.sum_bound / n + 4 * unit * totals.magnitude / n : 0;
    const double scale = 1 / std::sqrt(variance);
    const double relative = distance * (totals.widest + shift) / variance + unit * (4 * std::sqrt(n) + 32);
    for (Bounded& x : row) {
        const double value = (x.value - mean) * scale;
        x = {value, (x.bound + shift + 2 * unit * std::abs(x.value)) * scale + std::abs(value) * relative};
    }
}

/// Derivative of what normalise() computes: (y - mean(n y) n) over the root mean square of x. For a layer norm the mean
/// of y is subtracted too.
void normalise_slope(std::vector<Bounded>& row, const std::vector<Bounded>& second, bool centred,
                     const Rounding& rounding) {
    const auto n = static_cast<double>(row.size());
    std::vector<Bounded> normal = row;
    normalise(normal, totals_of(row, rounding), centred, rounding.unit);
    const RowTotals gradients = totals_of(second, rounding);
    const double mean = centred ? gradients.sum / n : 0;
    const double mean_bound = centred ? gradients.sum_bound / n : 0;
    double along = 0;
    double along_bound = 0;
    double magnitude = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        along += normal[i].value * second[i].value / n;
        along_bound += (std::abs(normal[i].value) * second[i].bound + std::abs(second[i].value) * normal[i].bound) / n;
        magnitude += std::abs(normal[i].value * second[i].value) / n;
    }
    along_bound += rounding.of_sum(magnitude, n);
    double variance = 0;
    double distance = 0;
    double widest = 0;
    const double centre = centred ? totals_of(row, rounding).sum / n : 0;
    for (const Bounded& x : row) {
        variance += (x.value - centre) * (x.value - centre) / n;
        distance += std::abs(x.value - centre) / n;
        widest = std::max(widest, x.bound + 4 * rounding.unit * std::abs(x.value));
    }
    const double relative = distance * widest / variance + rounding.unit * (4 * std::sqrt(n) + 32);
    for (std::size_t i = 0; i < row.size(); ++i) {
        const double terms = std::abs(second[i].value) + std::abs(mean) + std::abs(normal[i].value * along);
        const double value = second[i].value - mean - normal[i].value * along;
        const double bound = second[i].bound + mean_bound + std::abs(normal[i].value) * along_bound +
                             std::abs(along) * normal[i].bound + terms * relative;
        row[i] = {value / std::sqrt(variance), bound / std::sqrt(variance)};
    }
}

}  // namespace

Rounding::Rounding(Dtype sums) : unit(unit_of(sums)), whole(sums == Dtype::int32) {}

double Rounding::of_sum(double magnitude, double terms) const { return magnitude * unit * (4 * std::sqrt(terms) + 8); }

double as_int32(std::uint64_t bits) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)); }

std::uint64_t bits_of(double whole) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)); }

Bounded mapped(const std::string& function, const std::array<Bounded, max_arguments>& arguments,
               const Rounding& rounding) {
    std::array<double, max_arguments> x{};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = arguments[i].value;
    if (rounding.whole) return {whole_mapped(function, x), 0};
    const double value = function_value(function, x);
    // the bound adds how far each argument's error moves the result to the rounding of the function itself
    double bound = 32 * rounding.unit * std::abs(value) + 1e-42;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!(arguments[i].bound > 0)) continue;
        x[i] = arguments[i].value + arguments[i].bound;
        const double up = std::abs(function_value(function, x) - value);
        x[i] = arguments[i].value - arguments[i].bound;
        const double down = std::abs(function_value(function, x) - value);
        x[i] = arguments[i].value;
        bound += std::max(up, down);
    }
    // a result that is small because large terms cancel keeps the rounding errors of these terms
    if (function == "gelu" || function == "silu") bound += 8 * rounding.unit * std::abs(x[0]);
    if (function == "dsilu") bound += 16 * rounding.unit * std::abs(x[1]) * (1 + std::abs(x[0]));
    if (function == "dgelu") bound += 16 * rounding.unit * std::abs(x[1]) * (1 + std::abs(x[0] * x[0] * x[0]));
    if (function == "softplus" || function == "sin" || function == "cos") bound += 8 * rounding.unit;
    return {value, bound};
}

std::vector<Bounded> along_row(const std::string& function, std::vector<Bounded> row,
                               const std::vector<Bounded>& second, const Rounding& rounding) {
    const double unit = rounding.unit;
    const auto n = static_cast<double>(row.size());
    const RowTotals totals = totals_of(row, rounding);
    if (function == "sum") return {{totals.sum, totals.sum_bound}};
    if (function == "mean") {
        const double mean = totals.sum / n;
        return {{mean, totals.sum_bound / n + unit * std::abs(mean)}};
    }
    if (function == "max") return {{totals.most, totals.widest}};
    if (function == "min") return {{totals.least, totals.widest}};
    if (function == "logsumexp") return {logsumexp(row, totals, unit)};
    if (function == "scan") {
        scan(row, second, unit);
    } else if (function == "dscan") {
        scan_back(row, second, unit);
    } else if (function == "softmax") {
        softmax(row, totals, unit);
    } else if (function == "dsoftmax") {
        softmax_slope(row, second, rounding);
    } else if (function == "dnorm" || function == "dlayernorm") {
        normalise_slope(row, second, function == "dlayernorm", rounding);
    } else {
        normalise(row, totals, function == "layernorm", unit);
    }
    return row;
}

Bounded stored(Bounded number, Dtype dtype) {
    const double v = number.value;
    switch (dtype) {
        case Dtype::int8:
        case Dtype::int32: {
            const double low = dtype == Dtype::int8 ? -128.0 : -2147483648.0;
            const double high = dtype == Dtype::int8 ? 127.0 : 2147483647.0;
            // a value between two integers may be rounded to either of them if it has an error of its own
            const double half = number.bound > 0 ? 1.0 : 0.0;
            return {std::clamp(std::nearbyint(v), low, high), number.bound + half};
        }
        case Dtype::boolean:
            return {v != 0 ? 1.0 : 0.0, std::abs(v) <= number.bound && number.bound > 0 ? 1.0 : 0.0};
        case Dtype::f16:
            if (std::abs(v) + number.bound > 65504) return {v, unbounded};
            return {v, number.bound + 0x1p-11 * std::abs(v) + 0x1p-25};
        case Dtype::f64:
            return {v, number.bound + 0x1p-53 * std::abs(v) + 1e-320};
        default:
            if (std::abs(v) + number.bound > 3.38e38) return {v, unbounded};
            return {v, number.bound + unit_of(dtype) * std::abs(v) + 1e-38 * 0x1p-7};
    }
}

}  // namespace roofline::core

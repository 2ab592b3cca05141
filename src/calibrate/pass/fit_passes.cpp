#include "calibrate/pass/fit_passes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "calibrate/constants.hpp"
#include "calibrate/pass/pass_factor.hpp"
#include "calibrate/pass/unpacking.hpp"
#include "machine/catalogue.hpp"

namespace roofline::core {

namespace {

using PassRows = std::vector<const PassSample*>;

double median_of(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double predicted_s(const PassFamily& family, const PassSample& row) {
    return pass_factor(family, row.machine, row.parts.generates) * pass_seconds(family, row.parts);
}

double log_deviation(const PassFamily& family, const PassSample& row) {
    return std::log(predicted_s(family, row) / row.measured_s);
}

double total_of(const PassFamily& family, const PassRows& rows) {
    // beyond this a row is an outlier, and how far beyond matters little
    constexpr double outlier = 0.5;
    constexpr double little = 0.05;
    double sum = 0;
    for (const PassSample* row : rows) {
        const double deviation = std::abs(log_deviation(family, *row));
        sum += std::min(outlier, deviation) + little * std::max(0.0, deviation - outlier);
    }
    return sum;
}

/// The fraction of a measurement's products whose weights have these types.
double part_of_products(const PassFamily& family, const PassProducts& products, const PassSample& row) {
    double part = 0;
    double whole = 0;
    for (const auto& [dtype, seconds] : row.parts.products_s) {
        whole += seconds;
        if (&family.of(dtype) == &products) part += seconds;
    }
    return whole > 0 ? part / whole : 0;
}

/// A constant of the products of each type of weights.
struct TypeConstant {
    double PassProducts::* value;
    bool generates;  ///< rows of generation determine it, or those of prompts
};

constexpr TypeConstant type_constants[] = {{&PassProducts::rate, false}, {&PassProducts::unpack, true}};

/// The products whose parameter is determined by measurements: those that are half of some measurement's or more. A few
/// matrices of a type among many of others do not determine it, because its parameter would absorb their deviations.
std::vector<PassProducts*> determined(PassFamily& family, const PassRows& rows, const TypeConstant& constant) {
    constexpr double main_part = 0.5;
    std::vector<PassProducts*> found;
    for (PassProducts& products : family.products) {
        if (!(products.*constant.value > 0)) continue;
        const bool any = std::any_of(rows.begin(), rows.end(), [&](const PassSample* row) {
            return row->parts.generates == constant.generates && part_of_products(family, products, *row) >= main_part;
        });
        if (any) found.push_back(&products);
    }
    return found;
}

/// The parameters of a family that measurements determine, except those of types of weights.
std::vector<double*> constants_of(PassFamily& family, const PassRows& rows) {
    const auto any = [&](const auto& holds) {
        return std::any_of(rows.begin(), rows.end(), [&](const PassSample* row) { return holds(*row); });
    };
    std::vector<double*> constants{&family.memory, &family.kernel_s};
    if (any([](const PassSample& row) { return row.parts.generates && row.parts.tokens > 0; })) {
        constants.push_back(&family.cache);
    }
    // Prompts of one length do not tell attention from matmuls, and what they leave over would grow with the square of
    // longer ones.
    const auto prompt =
        std::find_if(rows.begin(), rows.end(), [](const PassSample* row) { return !row->parts.generates; });
    if (any([&](const PassSample& row) {
            return !row.parts.generates && row.parts.tokens != (*prompt)->parts.tokens;
        })) {
        constants.push_back(&family.attention);
    }
    if (any([](const PassSample& row) { return row.parts.chips > 1; })) constants.push_back(&family.hop_s);
    return constants;
}

/// One parameter per type of weights: which of them measurements determine, and which follow similar types.
struct TypeNeighbours {
    TypeConstant constant;
    std::vector<PassProducts*> fitted;
    std::vector<PassProducts*> following;

    /// The geometric mean of other fitted types that are unpacked alike. Empty: there is none.
    [[nodiscard]] std::optional<double> mean_of_alike(const PassProducts& products) const {
        const Unpacking own = unpacking_of(products);
        return mean_where(products, [&](Unpacking other) { return other == own && own != Unpacking::any; });
    }

    /// The same, else of all block types, else of all types. Empty: no type is fitted.
    [[nodiscard]] std::optional<double> mean_beside(const PassProducts& products) const {
        if (const auto alike = mean_of_alike(products)) return alike;
        const auto blocks = mean_where(products, [](Unpacking other) { return other != Unpacking::none; });
        return blocks ? blocks : mean_where(products, [](Unpacking) { return true; });
    }

    void follow() const {
        for (PassProducts* const each : following) {
            if (const auto mean = mean_beside(*each)) each->*constant.value = *mean;
        }
    }

    /// How far fitted types are from those that are unpacked alike.
    [[nodiscard]] double spread() const {
        double sum = 0;
        for (const PassProducts* each : fitted) {
            if (const auto mean = mean_of_alike(*each)) sum += std::abs(std::log(each->*constant.value / *mean));
        }
        return sum;
    }

private:
    template <class Holds>
    [[nodiscard]] std::optional<double> mean_where(const PassProducts& products, const Holds& holds) const {
        double logs = 0;
        double count = 0;
        for (const PassProducts* each : fitted) {
            if (each == &products || !holds(unpacking_of(*each))) continue;
            logs += std::log(each->*constant.value);
            ++count;
        }
        return count > 0 ? std::optional(std::exp(logs / count)) : std::nullopt;
    }
};

std::vector<TypeNeighbours> neighbours_of(PassFamily& family, const PassRows& rows) {
    std::vector<TypeNeighbours> all;
    for (const TypeConstant& constant : type_constants) {
        TypeNeighbours types{constant, determined(family, rows, constant), {}};
        for (PassProducts& each : family.products) {
            const bool is_fitted = std::find(types.fitted.begin(), types.fitted.end(), &each) != types.fitted.end();
            if (each.*constant.value > 0 && !is_fitted) types.following.push_back(&each);
        }
        all.push_back(std::move(types));
    }
    return all;
}

/// Fits the constants by coordinate descent on their logarithms, with decreasing steps. Types of weights stay near
/// those with similar dequantisation, and keys and values that are small compared with the weights near the usual
/// fraction of the memory bandwidth.
void fit_constants(PassFamily& family, const PassRows& rows, double step) {
    std::vector<double*> constants = constants_of(family, rows);
    const std::vector<TypeNeighbours> types = neighbours_of(family, rows);
    for (const TypeNeighbours& each : types) {
        for (PassProducts* const products : each.fitted) constants.push_back(&(products->*each.constant.value));
    }
    const auto total = [&] {
        constexpr double pull = 0.03;  // of a row's deviation
        constexpr double usual_cache = 0.3;
        double pulled = std::abs(std::log(family.cache / usual_cache));
        for (const TypeNeighbours& each : types) {
            each.follow();
            pulled += each.spread();
        }
        return total_of(family, rows) + pull * pulled;
    };
    double least = total();
    for (; step > 1e-3; step /= 2) {
        bool better = true;
        for (int turn = 0; better && turn < 30; ++turn) {
            better = false;
            for (double* const constant : constants) {
                for (const double by : {std::exp(step), std::exp(-step)}) {
                    const double before = *constant;
                    *constant = before * by;
                    // no chip is much faster than its rates
                    const bool sane = *constant > 1e-9 && *constant <= 4;
                    const double sum = sane ? total() : least;
                    if (sane && sum < least - 1e-12) {
                        least = sum;
                        better = true;
                    } else {
                        *constant = before;
                    }
                }
            }
        }
    }
    for (const TypeNeighbours& each : types) each.follow();
}

void set_factors(PassFamily& family, const PassRows& rows) {
    std::set<std::string> machines;
    for (const PassSample* row : rows) machines.insert(row->machine);
    family.chips.clear();
    for (const std::string& machine : machines) {
        PassChip chip;
        chip.machine = machine;
        for (const bool generates : {true, false}) {
            std::vector<double> logs;
            for (const PassSample* row : rows) {
                if (row->machine != machine || row->parts.generates != generates) continue;
                logs.push_back(std::log(row->measured_s / pass_seconds(family, row->parts)));
                ++chip.rows;
            }
            const auto count = static_cast<double>(logs.size());
            const double factor = four_digits(std::exp(median_of(logs) * count / (count + 1)));
            (generates ? chip.generation : chip.prompts) = factor;
        }
        family.chips.push_back(std::move(chip));
    }
}

void fit_family(PassFamily& family, const PassRows& rows) {
    family.chips.clear();
    double step = 0.8;
    for (int turn = 0; turn < 3; ++turn) {
        fit_constants(family, rows, step);
        set_factors(family, rows);
        step = 0.2;
    }
    const auto rounded = [](double& value) { value = four_digits(value); };
    for (double* const constant : {&family.memory, &family.cache, &family.attention}) rounded(*constant);
    family.kernel_s = four_digits(family.kernel_s * 1e6) / 1e6;
    family.hop_s = four_digits(family.hop_s * 1e6) / 1e6;
    for (PassProducts& products : family.products) {
        rounded(products.rate);
        rounded(products.unpack);
    }
    set_factors(family, rows);
}

/// A family before the fit, with constants from which the search starts.
PassFamily started(const PassFamily& known) {
    PassFamily family = known;
    family.memory = 0.7;
    family.cache = 0.3;
    family.attention = 0.1;
    family.kernel_s = 3e-6;
    family.hop_s = 3e-4;
    for (PassProducts& products : family.products) {
        products.rate = 0.4;
        if (products.unpack > 0) products.unpack = 0.3;
    }
    return family;
}

PassRows rows_where(const PassRows& rows, const std::function<bool(const PassSample&, std::size_t)>& holds) {
    PassRows kept;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (holds(*rows[i], i)) kept.push_back(rows[i]);
    }
    return kept;
}

double relative_error(const PassFamily& family, const PassSample& row) {
    return std::abs(predicted_s(family, row) / row.measured_s - 1);
}

/// Median errors of generation and of prompts.
class BothErrors {
public:
    void add(const PassSample& row, double error) { (row.parts.generates ? generation_ : prompts_).push_back(error); }
    void store(PassFamily& family, double PassErrors::* place) const {
        family.generation.*place = median_of(generation_);
        family.prompts.*place = median_of(prompts_);
    }

private:
    std::vector<double> generation_;
    std::vector<double> prompts_;
};

void measure_errors(PassFamily& family, const PassRows& rows) {
    BothErrors fitted;
    for (const PassSample* row : rows) fitted.add(*row, relative_error(family, *row));
    fitted.store(family, &PassErrors::fitted);

    constexpr std::size_t folds = 4;
    BothErrors held_out;
    for (std::size_t fold = 0; fold < folds; ++fold) {
        PassFamily other = started(family);
        fit_family(other, rows_where(rows, [&](const PassSample&, std::size_t i) { return i % folds != fold; }));
        for (std::size_t i = fold; i < rows.size(); i += folds) {
            held_out.add(*rows[i], relative_error(other, *rows[i]));
        }
    }
    held_out.store(family, &PassErrors::held_out);

    BothErrors chips;
    if (family.chips.size() < 2) return;
    for (const PassChip& chip : family.chips) {
        PassFamily other = started(family);
        fit_family(other,
                   rows_where(rows, [&](const PassSample& row, std::size_t) { return row.machine != chip.machine; }));
        for (const PassSample* row : rows) {
            if (row->machine == chip.machine) chips.add(*row, relative_error(other, *row));
        }
    }
    chips.store(family, &PassErrors::chips);
}

/// The errors of chips by the models of other families.
void measure_relatives(PassModels& models, const std::map<std::size_t, PassRows>& rows_of) {
    for (const auto& [index, rows] : rows_of) {
        PassFamily& family = models.families[index];
        PassModels others;
        for (const PassFamily& each : models.families) {
            if (each.software == family.software && each.name != family.name) others.families.push_back(each);
        }
        BothErrors errors;
        for (const PassSample* row : rows) {
            const auto machine = find_machine(row->machine);
            if (!machine) continue;
            const auto expected = others.expected(*machine, row->software, row->parts);
            if (expected) errors.add(*row, std::abs(expected->seconds / row->measured_s - 1));
        }
        errors.store(family, &PassErrors::relatives);
    }
    for (PassFamily& family : models.families) {
        // a single chip says nothing about others of its family
        if (family.chips.size() > 1) continue;
        family.generation.chips = std::max(family.generation.relatives, family.generation.held_out);
        family.prompts.chips = std::max(family.prompts.relatives, family.prompts.held_out);
    }
}

/// The family of a software and a machine among those that are known; a new one of its own if there is none.
PassFamily family_of(const PassModels& known, const std::string& software, const std::string& machine) {
    for (const PassFamily& family : known.families) {
        if (family.software == software && family.chip(machine) != nullptr) return family;
    }
    PassFamily family;
    family.software = software;
    family.name = machine;
    family.products = {{{"f32", "f16", "bf16"}, 1, 0}, {{}, 1, 0}};
    return family;
}

}  // namespace

PassModels fit_passes(std::vector<PassSample> samples, const PassModels& known) {
    std::erase_if(samples, [](const PassSample& sample) { return !(sample.measured_s > 0); });
    const auto key = [](const PassSample& s) {
        return std::tie(s.software, s.machine, s.model, s.weights, s.parts.generates, s.parts.chips, s.parts.tokens,
                        s.parts.cores, s.measured_s);
    };
    std::sort(samples.begin(), samples.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    std::map<std::pair<std::string, std::string>, std::pair<PassFamily, PassRows>> groups;
    for (const PassSample& sample : samples) {
        const PassFamily family = family_of(known, sample.software, sample.machine);
        auto& [started_as, rows] = groups[{family.software, family.name}];
        if (rows.empty()) started_as = family;
        rows.push_back(&sample);
    }
    PassModels models;
    std::map<std::size_t, PassRows> rows_of;
    constexpr std::size_t fewest = 4;
    for (auto& [name, group] : groups) {
        auto& [known_family, rows] = group;
        if (rows.size() < fewest) continue;
        PassFamily family = started(known_family);
        fit_family(family, rows);
        family.rows = static_cast<std::int64_t>(rows.size());
        family.models = distinct(rows, &PassSample::model);
        family.sources = distinct(rows, &PassSample::source);
        family.longest = 0;
        for (const PassSample* row : rows) {
            family.longest = std::max(family.longest, static_cast<std::int64_t>(row->parts.tokens));
        }
        family.longest = std::max<std::int64_t>(1, family.longest);
        measure_errors(family, rows);
        rows_of.emplace(models.families.size(), rows);
        models.families.push_back(std::move(family));
    }
    measure_relatives(models, rows_of);
    return models;
}

}  // namespace roofline::core

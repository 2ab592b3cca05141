#include "app/recovery_option.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include "app/number_option.hpp"
#include "base/ascii.hpp"
#include "plan/interruptions.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

struct RateUnit {
    std::string_view text;
    double chip_seconds;
};

constexpr RateUnit rate_units[] = {
    {"", thousand_chip_days}, {"/1000chip-days", thousand_chip_days}, {"/chip-hour", 3600.0},
    {"/chip-day", 86400.0},   {"/chip-year", 365.25 * 86400},
};

constexpr const char* rate_hint =
    "give a number above 0 per 1,000 chip-days, such as --failures 0.47, or with a unit: 0.47/1000chip-days, "
    "2e-5/chip-hour, 0.0005/chip-day, 0.17/chip-year";

Result<double> bandwidth_of(const std::string& text) {
    const auto bandwidth = parse_quantity<Bandwidth>(text);
    if (!bandwidth) return fail(of_option("--storage", bandwidth.error()));
    if (!(bandwidth->value > 0)) {
        return fail("range", "--storage: the bandwidth must be above 0", "for example --storage 2TB/s");
    }
    return bandwidth->value;
}

Result<std::optional<double>> restart_of(const std::string& text) {
    if (text.empty()) return std::nullopt;
    constexpr const char* hint = "give a time with its unit: --restart 10min, 90s or 0.5h";
    // A bare number might be meant in minutes or in seconds.
    if (trimmed(text).find_first_not_of("0123456789.eE+-") == std::string_view::npos) {
        return fail("unit", fmt::format("--restart {}: the unit is missing", text.substr(0, 40)), hint);
    }
    const auto time = parse_quantity<Seconds>(text);
    if (!time) return fail(of_option("--restart", time.error()));
    return time->value;
}

}  // namespace

Result<double> parse_failures(std::string_view text) {
    const std::string_view given = trimmed(text);
    double number = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
    const std::string_view unit = trimmed(given.substr(static_cast<std::size_t>(end - given.data())));
    if (error == std::errc() && std::isfinite(number) && number > 0) {
        for (const RateUnit& each : rate_units) {
            const double rate = number / each.chip_seconds;
            if (unit == each.text && std::isnormal(rate)) return rate;
        }
        return fail("unit", fmt::format("--failures: unknown unit `{}`", unit.substr(0, 40)), rate_hint);
    }
    return fail("number", fmt::format("--failures: `{}` is not a rate", given.substr(0, 40)), rate_hint);
}

Result<std::optional<RecoveryQuestion>> recovery_option(const TrainRequest& request) {
    const char* given = !request.storage.empty()    ? "--storage"
                        : !request.failures.empty() ? "--failures"
                        : !request.restart.empty()  ? "--restart"
                        : request.async_checkpoints ? "--async-checkpoints"
                                                    : nullptr;
    if (given == nullptr) return std::nullopt;
    if (request.tokens.empty()) {
        return fail("bad_request", fmt::format("{} is about a whole run, whose tokens are not given", given),
                    "add them: --tokens 15T");
    }
    if (request.storage.empty()) {
        return fail("bad_request", fmt::format("{} needs the bandwidth to the storage of checkpoints", given),
                    "add it: --storage 2TB/s");
    }
    RecoveryQuestion question;
    ROOFLINE_TRY(question.bandwidth, bandwidth_of(request.storage));
    if (!request.failures.empty()) {
        ROOFLINE_TRY(question.interruptions, parse_failures(request.failures));
    }
    ROOFLINE_TRY(question.restart_s, restart_of(request.restart));
    question.blocking = !request.async_checkpoints;
    return question;
}

}  // namespace roofline::core

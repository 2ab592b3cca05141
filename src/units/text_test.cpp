#include "units/text.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace roofline::core {

namespace {

template <class Q>
double value(std::string_view text) {
    const Result<Q> result = parse_quantity<Q>(text);
    REQUIRE_MESSAGE(result.has_value(), std::string(text));
    return result->value;
}

template <class Q>
Error error(std::string_view text) {
    const Result<Q> result = parse_quantity<Q>(text);
    REQUIRE_FALSE(result.has_value());
    return result.error();
}

std::string size_trouble(std::string_view text) {
    const Result<std::int64_t> result = parse_size(text);
    return result ? "taken" : result.error().message;
}

}  // namespace

TEST_CASE("sizes and their multipliers") {
    CHECK(parse_size("4096") == 4096);
    CHECK(parse_size("8k") == 8000);
    CHECK(parse_size("8K") == 8000);
    CHECK(parse_size("4Ki") == 4096);
    CHECK(parse_size("1M") == 1000000);
    CHECK(parse_size("2Gi") == 2147483648);
    CHECK(parse_size("3T") == 3000000000000);
    CHECK(parse_size("1Ti") == 1099511627776);
    CHECK(parse_size("1e6") == 1000000);
    CHECK(parse_size("1.5k") == 1500);
    CHECK(parse_size("0.5Ki") == 512);
    CHECK(parse_size("2.50e1") == 25);
    CHECK(parse_size(" 128 ") == 128);
    CHECK(parse_size("12000e-3") == 12);
    CHECK(parse_size("000000000000000000000000000000000000007") == 7);
    CHECK(parse_size("1.0000000000000000000000000000000000000000") == 1);
    CHECK(parse_size("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
    CHECK(parse_size("8388607Ti") == 8388607 * 1099511627776);
}

TEST_CASE("text that is not a size") {
    CHECK(size_trouble("0") == "a size cannot be zero");
    CHECK(size_trouble("0e99999999999999999999") == "a size cannot be zero");
    CHECK(size_trouble("-5") == "the size `-5` is negative");
    CHECK(size_trouble("2.5") == "the size `2.5` is not whole");
    CHECK(size_trouble("1.0001k") == "the size `1.0001k` is not whole");
    CHECK(size_trouble("1e-99999999999999999999") == "the size `1e-99999999999999999999` is not whole");
    CHECK(size_trouble("9223372036854775808") == "the size `9223372036854775808` is beyond 2^63 - 1");
    CHECK(size_trouble("8388608Ti") == "the size `8388608Ti` is beyond 2^63 - 1");
    CHECK(size_trouble("1e19") == "the size `1e19` is beyond 2^63 - 1");
    CHECK(size_trouble("1e99999999999999999999") == "the size `1e99999999999999999999` is beyond 2^63 - 1");
    CHECK(size_trouble("abc") == "`abc` is not a size");
    CHECK(size_trouble("") == "`` is not a size");
    CHECK(size_trouble(".") == "`.` is not a size");
    CHECK(size_trouble("1e") == "`1e` is not a size");
    CHECK(size_trouble("nan") == "`nan` is not a size");
    CHECK(size_trouble("5m") == "unknown multiplier `m` in the size `5m`");
    CHECK(size_trouble("7B") == "unknown multiplier `B` in the size `7B`");
    CHECK(size_trouble(std::string(1'000'000, '9')).size() < 100);
}

TEST_CASE("bandwidths in bytes and bits") {
    CHECK(value<Bandwidth>("3TB/s") == 3e12);
    CHECK(value<Bandwidth>("3 TB/s") == 3e12);
    CHECK(value<Bandwidth>("8.1e11") == 8.1e11);
    CHECK(value<Bandwidth>("819GB/s") == 8.19e11);
    CHECK(value<Bandwidth>("400 Gbit/s") == 5e10);
    CHECK(value<Bandwidth>("1 KiB/s") == 1024);
    CHECK(value<Bandwidth>("5 gbytes/s") == 5e9);
}

TEST_CASE("operations and their rates") {
    CHECK(value<FlopRate>("1.97e14") == 1.97e14);
    CHECK(value<FlopRate>("197 TFLOP/s") == 1.97e14);
    CHECK(value<FlopRate>("197TFLOPS") == 1.97e14);
    CHECK(value<FlopRate>("197 Tflops") == 1.97e14);
    CHECK(value<FlopRate>("394 TOP/s") == 3.94e14);
    CHECK(value<FlopRate>("394 TOPS") == 3.94e14);
    CHECK(value<Flops>("8.6 GFLOP") == 8.6e9);
}

TEST_CASE("bytes, times, frequencies, power, energy") {
    CHECK(value<Bytes>("16GiB") == 17179869184.0);
    CHECK(value<Bytes>("16 GB") == 1.6e10);
    CHECK(value<Bytes>("1 kbit") == 125);
    CHECK(value<Seconds>("1e-6") == 1e-6);
    CHECK(value<Seconds>("1us") == 1e-6);
    CHECK(value<Seconds>("1 \xC2\xB5s") == 1e-6);
    CHECK(value<Seconds>("1 \xCE\xBCs") == 1e-6);
    CHECK(value<Seconds>("5ms") == 5e-3);
    CHECK(value<Seconds>("2 min") == 120);
    CHECK(value<Seconds>("2h") == 7200);
    CHECK(value<Frequency>("1.5 GHz") == 1.5e9);
    CHECK(value<Frequency>("1.5ghz") == 1.5e9);
    CHECK(value<Power>("700 W") == 700);
    CHECK(value<Power>("700w") == 700);
    CHECK(value<Joules>("2.5 kJ") == 2500);
}

TEST_CASE("a price is per hour, with or without a unit") {
    CHECK(value<Price>("3600") == 1);
    CHECK(value<Price>("2.5") == approx(2.5 / 3600));
    CHECK(value<Price>("2.5 USD/h") == value<Price>("2.5"));
    CHECK(value<Price>("7200 $/hr") == 2);
    CHECK(error<Price>("$2.5").message == "`$2.5` is not a number");
}

TEST_CASE("a prefix does not cost a digit") {
    CHECK(2.039 * 1e12 != 2.039e12);  // multiplying would lose one
    CHECK(value<Bandwidth>("2.039 TB/s") == 2.039e12);
    CHECK(value<Bandwidth>("4.35 TB/s") == 4.35e12);
    CHECK(value<Bandwidth>("1e-3 TB/s") == 1e9);
    CHECK(value<Bandwidth>("1e+3 GB/s") == 1e12);
}

TEST_CASE("ambiguous units are refused with a remedy") {
    CHECK(error<Bandwidth>("3 tb/s").hint == "write TB/s for bytes or Tbit/s for bits");
    CHECK(error<Bandwidth>("819GBps").hint == "write GB/s");
    CHECK(error<Bandwidth>("400 Gbps").hint == "write GB/s for bytes or Gbit/s for bits");
    CHECK(error<Bytes>("16 gb").hint == "write GB for bytes or Gbit for bits");
    CHECK(error<Bandwidth>("5 mB/s").hint == "write MB/s");
    CHECK(error<Frequency>("5 mHz").hint == "m is milli and M is mega; write a frequency such as 1.5 GHz or 1.5e9");
}

TEST_CASE("a wrong unit is named") {
    CHECK(error<Bandwidth>("3 GHz").message == "`3 GHz` is a frequency, not a bandwidth");
    CHECK(error<Bandwidth>("3 TB").message == "`3 TB` is a number of bytes, not a bandwidth");
    CHECK(error<FlopRate>("197 TFLOP").message == "`197 TFLOP` is a number of operations, not a rate of operations");
    CHECK(error<Seconds>("5 Ms").message == "unknown unit `Ms`");
    CHECK(error<Bytes>("5 parsec").message == "unknown unit `parsec`");
    CHECK(error<Bandwidth>("3T").message == "unknown unit `T`");
}

TEST_CASE("text that is not a quantity") {
    CHECK(error<Bandwidth>("").message == "expected a bandwidth");
    CHECK(error<Bandwidth>("fast").message == "`fast` is not a number");
    CHECK(error<Bandwidth>("inf").message == "`inf` is not a number");
    CHECK(error<Bandwidth>("nan GB/s").message == "`nan GB/s` is not a number");
    CHECK(error<Bandwidth>("-3 GB/s").message == "`-3 GB/s` is negative");
    CHECK(error<Bandwidth>("1e400").code == "range");
    CHECK(error<Bandwidth>("1e308 TB/s").code == "range");
    CHECK(error<Bandwidth>("0x10").message == "unknown unit `x10`");
    CHECK(error<Bandwidth>("1,5 GB/s").message == "unknown unit `,5 GB/s`");
}

TEST_CASE("three digits and a suitable prefix") {
    CHECK(to_text(Flops{8589934592}) == "8.59 GFLOP");
    CHECK(to_text(Bytes{69206016}) == "69.2 MB");
    CHECK(to_text(Bytes{1048576}) == "1.05 MB");
    CHECK(to_text(Bytes{12e9}) == "12 GB");
    CHECK(to_text(Bytes{512}) == "512 B");
    CHECK(to_text(Bytes{0}) == "0 B");
    CHECK(to_text(Bytes{0.5}) == "0.5 B");
    CHECK(to_text(Seconds{84.5e-6}) == "84.5 us");
    CHECK(to_text(Seconds{128e-6}) == "128 us");
    CHECK(to_text(Seconds{1.22e-3}) == "1.22 ms");
    CHECK(to_text(Seconds{2.5}) == "2.5 s");
    CHECK(to_text(Seconds{86400}) == "86400 s");
    CHECK(to_text(Bandwidth{8.19e11}) == "819 GB/s");
    CHECK(to_text(FlopRate{1.97e14}) == "197 TFLOP/s");
    CHECK(to_text(Frequency{1.5e9}) == "1.5 GHz");
    CHECK(to_text(Power{700}) == "700 W");
    CHECK(to_text(Joules{0.00025}) == "250 uJ");
    CHECK(to_text(Price{2.5 / 3600}) == "2.5 USD/h");
    CHECK(to_text(Intensity{124.12}) == "124 FLOP/B");
    CHECK(to_text(Intensity{0.5}) == "0.5 FLOP/B");
}

TEST_CASE("rounding comes before the prefix") {
    CHECK(to_text(Seconds{999.7e-6}) == "1 ms");
    CHECK(to_text(Seconds{999.4e-6}) == "999 us");
    CHECK(to_text(Seconds{9.996e-6}) == "10 us");
    CHECK(to_text(Bytes{999999}) == "1 MB");
    CHECK(to_text(Seconds{0.9996}) == "1 s");
}

TEST_CASE("values beyond the prefixes") {
    CHECK(to_text(Flops{3.8e25}) == "3.8e+25 FLOP");
    CHECK(to_text(Seconds{1e-15}) == "0.001 ps");
    CHECK(to_text(Seconds{std::numeric_limits<double>::infinity()}) == "inf s");
    CHECK(to_text(Bytes{-1500}) == "-1.5 kB");
}

TEST_CASE("capacities are in powers of 1024 where they are exact") {
    CHECK(capacity_text(Bytes{17179869184.0}) == "16 GiB");
    CHECK(capacity_text(Bytes{134217728}) == "128 MiB");
    CHECK(capacity_text(Bytes{1610612736}) == "1.5 GiB");
    CHECK(capacity_text(Bytes{196608}) == "192 KiB");
    CHECK(capacity_text(Bytes{24.1e9}) == "24.1 GB");
    CHECK(capacity_text(Bytes{80e9}) == "80 GB");
    CHECK(capacity_text(Bytes{50e6}) == "50 MB");
    CHECK(capacity_text(Bytes{512}) == "512 B");
    CHECK(capacity_text(Bytes{0}) == "0 B");
}

TEST_CASE("numbers") {
    CHECK(number_text(127.7712, 5) == "127.77");
    CHECK(number_text(0.0123) == "0.0123");
    CHECK(number_text(1.2e15) == "1.2e+15");
    CHECK(number_text(2048) == "2048");
    CHECK(number_text(12345.6) == "12346");
    CHECK(number_text(0.99999) == "1");
    CHECK(number_text(99.95, 3) == "100");
    CHECK(number_text(1e-7) == "1e-07");
    CHECK(number_text(-2.5) == "-2.5");
    CHECK(number_text(0) == "0");
    CHECK(number_text(100) == "100");
    CHECK(number_text(1.5, 40) == "1.5");
    CHECK(number_text(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("rates to the last digit") {
    CHECK(exact_text(8.19e11) == "8.19e11");
    CHECK(exact_text(1.97e14) == "1.97e14");
    CHECK(exact_text(63015384615.0) == "63015384615");
    CHECK(exact_text(240000) == "240000");
    CHECK(exact_text(1.6e9) == "1.6e9");
    CHECK(exact_text(2.5) == "2.5");
    CHECK(exact_text(0.005) == "0.005");
    CHECK(exact_text(1e-6) == "1e-6");
    CHECK(exact_text(-1e12) == "-1e12");
    CHECK(exact_text(0) == "0");
    CHECK(exact_text(1234.5678) == "1234.5678");
    CHECK(exact_text(9007199254740993.0) == "9007199254740992");  // 2^53 + 1 is no double
    CHECK(exact_text(123456789012345680.0) == "123456789012345680");
    CHECK(exact_text(1e22) == "1e22");
    CHECK(exact_text(4.9406564584124654e-324) == "5e-324");
    CHECK(exact_text(0.00012345) == "1.2345e-4");
    for (const double sample : {1.0 / 3, 2.039e12, 2.5e-308, 1.7976931348623157e308, 123456789.125}) {
        CHECK(std::stod(exact_text(sample)) == sample);
    }
}

TEST_CASE("grouped digits") {
    CHECK(grouped(69206016) == "69,206,016");
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1,000");
    CHECK(grouped(-1000) == "-1,000");
    CHECK(grouped(-100) == "-100");
    CHECK(grouped(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
}

TEST_CASE("percentages never say none or all when it is some or most") {
    CHECK(percent_text(0) == "0");
    CHECK(percent_text(0.0034) == "0.34");
    CHECK(percent_text(0.567) == "57");
    CHECK(percent_text(0.99496) == "99");
    CHECK(percent_text(0.99997) == "99.9");
    CHECK(percent_text(1) == "100");
    CHECK(percent_text(1.5) == "150");
    CHECK(percent_text(12345.678) == "1234568");
    CHECK(percent_text(1e300) == "1e+302");
}

}  // namespace roofline::core

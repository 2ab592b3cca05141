// Programs of the benchmarks, and code that several benchmarks share.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "app/request.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

namespace roofline::core::bench {

inline const std::string one_liner = "bf16[B, D] * int8[D, F] -> bf16[B, F]";
inline const std::string sized_one_liner = "B=64, D=8192, F=8192\n" + one_liner;

/// Returns a chain of 25 gated MLPs: 100 statements, and the declarations that they need.
inline std::string hundred_statements() {
    std::string text = "B=4096, D=8192, F=28672\nX0 : bf16[B, D]\n";
    for (int i = 0; i < 25; ++i) {
        text += fmt::format(
            "param G{0} : bf16[D, F]; param U{0} : bf16[D, F]; param W{0} : bf16[F, D]\n"
            "N{0} : bf16[B, D] = norm[D](X{0})\n"
            "H{0} : bf16[B, F] = silu(N{0} * G{0}) * (N{0} * U{0})\n"
            "Y{0} : bf16[B, D] = H{0} * W{0}\n"
            "X{1} : bf16[B, D] = X{0} + Y{0}\n",
            i, i + 1);
    }
    return text;
}

/// Lets a benchmark whose setup failed report the error and fail, so that it does not measure the error path.
template <class T>
bool skipped(benchmark::State& state, const T& result) {
    if (result) return false;
    state.SkipWithError(result.error().message.c_str());
    return true;
}

/// Answers a request repeatedly. Returns the number of bytes of the answer, 0 if the request failed.
inline std::size_t answered(benchmark::State& state, const Request& request) {
    const Response first = handle(request);
    if (first.error) {
        state.SkipWithError(first.error->message.c_str());
        return 0;
    }
    for (auto _ : state) benchmark::DoNotOptimize(handle(request));
    return first.out.size();
}

}  // namespace roofline::core::bench

// The kernels with which servers exchange tokens with experts on other chips, and which of them each server uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "network/slice.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// How tokens get to experts on other chips, and results back.
enum class ExchangeForm {
    all_to_all,  ///< tokens go to the chips that have their experts, results to the chips that have the tokens
    all_gather,  ///< all tokens go to all chips (all-gather); their partial results are added up (reduce-scatter)
};
/// Returns "all-to-all".
[[nodiscard]] std::string_view name(ExchangeForm form);

/// The kernels of an exchange: its dispatch and its combine.
struct ExchangeKernels {
    std::string name;  ///< a variant of exchange models: "deepep low latency"; or another name: "all-gather"
    ExchangeForm form = ExchangeForm::all_to_all;
    bool once = false;  ///< a token is sent once to each chip, otherwise once for each choice
    /// The kernels that take the place of these where prompts are processed, and where tokens are generated; "": these.
    std::string prefill{};
    std::string decode{};
    std::string source{};  ///< citation of what they do

    bool operator==(const ExchangeKernels&) const = default;
};

/// The kernels that a server uses by default.
struct ServerExchange {
    std::string software;  ///< "sglang"
    std::string exchange;  ///< name of ExchangeKernels
    std::string within{};  ///< only if the slice has a single network tier, this one: "nvlink"; "": on any slice
    std::string source{};  ///< citation of the default

    bool operator==(const ServerExchange&) const = default;
};

/// The kernels of both phases. They are null if nothing is known about a server, whose exchanges are then whatever is
/// the fastest.
struct ExchangeChoice {
    const ExchangeKernels* prefill = nullptr;
    const ExchangeKernels* decode = nullptr;
    bool asked = false;  ///< by name, and not the default of a server
};

/// The contents of data/exchanges.toml: all kernels, and what servers use.
struct KnownExchanges {
    std::vector<ExchangeKernels> kernels;
    std::vector<ServerExchange> servers;

    /// Returns the kernels of this name; null if there are none.
    [[nodiscard]] const ExchangeKernels* find(std::string_view name) const;
    /// Returns the kernels that are asked for. Error: there are none of this name (the nearest is named).
    [[nodiscard]] Result<ExchangeChoice> named(std::string_view name) const;
    /// Returns what a server uses by default on a slice. `software` may have a version.
    [[nodiscard]] ExchangeChoice of_server(std::string_view software, const Slice& slice) const;
};

/// Reads data/exchanges.toml strictly. Errors carry the line and the column. They include kernels that are used but not
/// described, or described twice.
[[nodiscard]] Result<KnownExchanges> parse_exchanges(const TomlInput& toml, std::string_view origin);

/// Returns the built-in table.
[[nodiscard]] const KnownExchanges& built_in_exchanges();

}  // namespace roofline::core

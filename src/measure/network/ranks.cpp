#include "measure/network/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "measure/module.hpp"
#include "measure/network/all_ranks.hpp"

namespace roofline::core {

namespace {

std::optional<int> number(const char* text) {
    if (text == nullptr) return std::nullopt;
    const std::string_view digits = text;
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 0) return std::nullopt;
    return value;
}

}  // namespace

std::optional<Launched> launched(const std::function<const char*(const char*)>& variable) {
    struct Names {
        const char* ranks;
        const char* rank;
    };
    // Open MPI; MPICH and its derivatives
    for (const Names& names : {Names{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, Names{"PMI_SIZE", "PMI_RANK"}}) {
        const auto ranks = number(variable(names.ranks));
        const auto rank = number(variable(names.rank));
        if (ranks && rank && *rank < *ranks) return Launched{*ranks, *rank};
    }
    return std::nullopt;
}

std::optional<Launched> launched() {
    return launched([](const char* name) { return std::getenv(name); });
}

namespace {

Result<RankLibrary*> rank_library() {
    return load_module_as<RankLibrary>("mpi", "exchange between processes", "libopenmpi-dev and openmpi-bin");
}

}  // namespace

Status RankGroup::available() {
    auto library = rank_library();
    return library ? Status{} : fail(library.error());
}

Result<RankGroup> RankGroup::join(double max_s) {
    ROOFLINE_TRY(auto library, rank_library());
    ROOFLINE_TRY(auto world, (library)->world());
    RankGroup ranks;
    ranks.library_ = library;
    ranks.watch_ = std::make_unique<RankWatch>(max_s);
    ranks.watched_ = ranks.watch_->watched(*world);
    ranks.world_ = ranks.watched_.get();
    const auto started = launched();
    if (started && started->ranks != ranks.size()) {
        return fail(
            "wrong_launcher",
            fmt::format("the launcher started {} ranks, but {} sees {}", started->ranks, ranks.library(), ranks.size()),
            "use the mpirun of the MPI that the program was built with, or build with the other MPI: "
            "cmake -DROOFLINE_MPI=openmpi or mpich");
    }
    return ranks;
}

RankGroup::RankGroup(RankGroup&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)),
      watch_(std::move(other.watch_)),
      watched_(std::move(other.watched_)),
      world_(std::exchange(other.world_, nullptr)) {}

RankGroup::~RankGroup() {
    if (library_ == nullptr) return;
    const RankWatch::Within within(*watch_);  // joining waits for the other ranks too
    watched_.reset();
    library_->end();
}

std::string RankGroup::library() const { return library_ == nullptr ? "threads" : library_->name(); }

Result<int> RankGroup::hosts() {
    if (library_ == nullptr) return 1;
    ROOFLINE_TRY(auto names, all_texts(*world_, library_->host()));
    std::sort(names.begin(), names.end());
    return static_cast<int>(std::unique(names.begin(), names.end()) - names.begin());
}

}  // namespace roofline::core

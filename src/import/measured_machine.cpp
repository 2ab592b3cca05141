#include "import/measured_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/ascii.hpp"
#include "text/source.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Levels from the outside in; levels of equal rank are not compared.
constexpr std::array<std::pair<std::string_view, int>, 9> ranks{
    {{"hbm", 0}, {"l3", 1}, {"l2", 2}, {"cmem", 2}, {"vmem", 3}, {"smem", 3}, {"l1", 3}, {"tmem", 4}, {"reg", 5}}};
constexpr double most_of_base = 4;
constexpr double least_of_base = 0.02;
constexpr double beats_base = 1.05;
constexpr double little_of_base = 0.5;

int rank_of(std::string_view level) {
    const auto found = std::find_if(ranks.begin(), ranks.end(), [&](const auto& each) { return each.first == level; });
    return found == ranks.end() ? -1 : found->second;
}

/// A figure with its file and its destination.
struct PlacedFigure {
    const ToolFigure* figure = nullptr;
    const ToolFile* file = nullptr;
    std::string level;  ///< level of a bandwidth

    [[nodiscard]] std::string path() const {
        if (!level.empty()) return level + ".bandwidth";
        const auto& rate = std::get<ToolRate>(figure->what);
        return fmt::format("{}.{}", name(rate.unit), name(rate.dtype));
    }
    [[nodiscard]] std::string text() const {
        return level.empty() ? to_text(FlopRate{figure->value}) : to_text(Bandwidth{figure->value});
    }
    [[nodiscard]] tl::unexpected<Error> fail(std::string code, std::string message, std::string hint) const {
        const Source source(file->text, file->name);
        return source.fail_at(source.span(figure->offset), std::move(code), std::move(message), std::move(hint));
    }
};

/// Bytes that `threads` threads can hold in a cache: each thread uses the cache of its own core.
double held_by(const MemoryLevel& level, std::int64_t threads) {
    if (!level.capacity.value) return 0;
    const std::int64_t used = threads > 0 ? std::min(threads, level.instances) : level.instances;
    return level.capacity.value->value * static_cast<double>(used);
}

class MachineMaker {
public:
    MachineMaker(const std::optional<Machine>& base, const std::vector<LevelChoice>& levels)
        : base_(base), levels_(levels) {
        if (base) made_.machine = *base;
    }

    Result<MeasuredMachine> make(const std::vector<ToolFile>& files, const std::string& id, const std::string& date);

private:
    Result<std::string> level_of(const PlacedFigure& placed);
    [[nodiscard]] std::string holder(const ToolBandwidth& bandwidth) const;
    Status place(const std::vector<ToolFile>& files);
    [[nodiscard]] Status check_order() const;
    void note_unchanged_levels();
    Status take(const std::vector<PlacedFigure>& alike);
    template <class Q>
    Status put(const std::vector<PlacedFigure>& alike, Figure<Q>& figure);
    MemoryLevel& memory(const std::string& id);
    Peak& peak(const ToolRate& rate);
    void identify(const std::vector<ToolFile>& files, const std::string& id, const std::string& date);

    const std::optional<Machine>& base_;
    const std::vector<LevelChoice>& levels_;
    MeasuredMachine made_;
    std::vector<std::string> order_;                           // paths in order of occurrence
    std::map<std::string, std::vector<PlacedFigure>> placed_;  // by path, highest first
};

// The innermost cache of the base that holds a working set, else the main memory.
std::string MachineMaker::holder(const ToolBandwidth& bandwidth) const {
    std::string level = "hbm";
    for (const MemoryLevel& each : base_->memory) {  // outermost first
        if (each.id == "hbm" || each.managed != Managed::hardware || rank_of(each.id) < 1) continue;
        if (bandwidth.working_set <= held_by(each, bandwidth.threads)) level = each.id;
    }
    return level;
}

Result<std::string> MachineMaker::level_of(const PlacedFigure& placed) {
    const auto& bandwidth = std::get<ToolBandwidth>(placed.figure->what);
    const std::string name = bandwidth.level.empty() ? "" : lowered(placed.figure->name);
    for (const LevelChoice& choice : levels_) {
        if (lowered(choice.name) == name) return choice.level;
    }
    if (!bandwidth.level.empty()) return bandwidth.level;
    const bool stream = placed.file->figures.tool != "likwid-bench";  // a benchmark of main memory
    if (base_ && bandwidth.working_set > 0) return holder(bandwidth);
    if (stream) return "hbm";
    return placed.fail("no_level",
                       bandwidth.working_set > 0
                           ? fmt::format("it is unknown which level holds the working set of {} of {}",
                                         to_text(Bytes{bandwidth.working_set}), placed.figure->name)
                           : fmt::format("the run of {} does not state its working set", placed.figure->name),
                       "name a machine with caches of known size with --base, or the level with --level l2");
}

Status MachineMaker::place(const std::vector<ToolFile>& files) {
    for (const ToolFile& file : files) {
        for (const ToolFigure& figure : file.figures.figures) {
            PlacedFigure placed{&figure, &file, ""};
            if (std::holds_alternative<ToolBandwidth>(figure.what)) {
                ROOFLINE_TRY(placed.level, level_of(placed));
            }
            auto& alike = placed_[placed.path()];
            if (alike.empty()) order_.push_back(placed.path());
            const auto lower = std::find_if(alike.begin(), alike.end(), [&](const PlacedFigure& other) {
                return other.figure->value < figure.value;
            });
            alike.insert(lower, std::move(placed));
        }
    }
    return {};
}

Status MachineMaker::check_order() const {
    for (const auto& [path, alike] : placed_) {
        const PlacedFigure& inner = alike.front();
        for (const auto& [other_path, others] : placed_) {
            const PlacedFigure& outer = others.front();
            if (inner.level.empty() || outer.level.empty() || rank_of(inner.level) <= rank_of(outer.level)) continue;
            if (inner.figure->value >= outer.figure->value) continue;
            return inner.fail(
                "contradiction",
                fmt::format("{} at {} is slower than {} further out, at {}", inner.level, inner.text(), outer.level,
                            outer.text()),
                fmt::format(
                    "a tool that guesses levels may have confused them: correct it with --level {}=...",
                    std::get<ToolBandwidth>(inner.figure->what).level.empty() ? inner.level : inner.figure->name));
        }
    }
    return {};
}

// Compares with the figures of the base that were not replaced; these may belong to another state of the machine.
void MachineMaker::note_unchanged_levels() {
    for (const MemoryLevel& kept : made_.machine.memory) {
        if (placed_.contains(kept.id + ".bandwidth") || !kept.bandwidth.value) continue;
        for (const auto& [path, alike] : placed_) {
            const PlacedFigure& measured = alike.front();
            if (measured.level.empty() || rank_of(measured.level) == rank_of(kept.id)) continue;
            const bool inside = rank_of(measured.level) > rank_of(kept.id);
            const bool slower = measured.figure->value < kept.bandwidth.value->value;
            if (inside != slower) continue;
            made_.notes.push_back(fmt::format("{} was measured at {}, but {} remains at {}: measure both",
                                              measured.level, measured.text(), kept.id,
                                              to_text(*kept.bandwidth.value)));
        }
    }
}

MemoryLevel& MachineMaker::memory(const std::string& id) {
    auto& all = made_.machine.memory;
    const auto found = std::find_if(all.begin(), all.end(), [&](const MemoryLevel& each) { return each.id == id; });
    if (found != all.end()) return *found;
    MemoryLevel level;
    level.id = id;
    level.label = id == "hbm" ? "main memory" : id;
    level.scope = "chip";
    const auto before =
        std::find_if(all.begin(), all.end(), [&](const MemoryLevel& each) { return rank_of(each.id) > rank_of(id); });
    return *all.insert(before, std::move(level));
}

Peak& MachineMaker::peak(const ToolRate& rate) {
    if (const Peak* known = made_.machine.peak(rate.unit, rate.dtype)) {
        return made_.machine.peaks[static_cast<std::size_t>(known - made_.machine.peaks.data())];
    }
    Peak peak{rate.unit, rate.dtype, rate.unit == Unit::matmul ? info(rate.dtype).accumulator : rate.dtype, {}, false};
    return made_.machine.peaks.emplace_back(std::move(peak));
}

template <class Q>
Status MachineMaker::put(const std::vector<PlacedFigure>& alike, Figure<Q>& figure) {
    const PlacedFigure& best = alike.front();
    const ToolFigure& measured = *best.figure;
    const std::string& tool = best.file->figures.tool;
    ImportedFigure taken;
    taken.path = best.path();
    taken.value = measured.value;
    taken.unit = best.level.empty() ? "FLOP/s" : "B/s";
    taken.text = best.text();
    taken.from = fmt::format("{} {}", tool, measured.name);
    taken.file = best.file->name;
    taken.line = Source(best.file->text, "").span(measured.offset).line;
    taken.note = measured.note;
    const auto add = [&](std::string text) { taken.note += (taken.note.empty() ? "" : "; ") + std::move(text); };
    if (measured.low > 0 && measured.high > measured.low) {
        add(fmt::format("{} to {}", to_text(Q{measured.low}), to_text(Q{measured.high})));
    }
    if (alike.size() > 1) {
        add(fmt::format("highest of {}, lowest {}", alike.size(), to_text(Q{alike.back().figure->value})));
    }
    Figure<Q> after;
    after.value = Q{measured.value};
    after.basis = Basis::measured;
    after.source = fmt::format("{}, {}", tool, best.file->name);
    after.note = measured.name + (taken.note.empty() ? "" : ": " + taken.note);
    if (figure.value) {
        taken.before = figure.value->value;
        taken.before_text = to_text(*figure.value);
        const double ratio = measured.value / *taken.before;
        if (ratio > most_of_base || ratio < least_of_base) {
            return best.fail("other_machine",
                             fmt::format("{} was measured at {}, but {} has {}", taken.path, taken.text,
                                         made_.machine.name, taken.before_text),
                             "is it the output of another machine, or are the units different?");
        }
        if (ratio > beats_base) {
            made_.notes.push_back(
                fmt::format("{} at {} exceeds the {} of {}: one of the two figures is wrong or counts something else",
                            taken.path, taken.text, taken.before_text, made_.machine.name));
        }
        if (ratio < little_of_base) {
            made_.notes.push_back(fmt::format("{} reaches {} % of the {} of {}: did the run use the whole chip?",
                                              taken.path, percent_text(ratio), taken.before_text, made_.machine.name));
        }
        after.alternatives.push_back({figure.value->value, figure.source,
                                      fmt::format("{}: value of {}", name(figure.basis), made_.machine.name)});
    }
    after.alternatives.insert(after.alternatives.end(), figure.alternatives.begin(), figure.alternatives.end());
    figure = std::move(after);
    made_.taken.push_back(std::move(taken));
    return {};
}

Status MachineMaker::take(const std::vector<PlacedFigure>& alike) {
    const PlacedFigure& best = alike.front();
    if (!best.level.empty()) return put(alike, memory(best.level).bandwidth);
    Peak& entry = peak(std::get<ToolRate>(best.figure->what));
    entry.quoted_sparse = false;
    return put(alike, entry.rate);
}

void MachineMaker::identify(const std::vector<ToolFile>& files, const std::string& id, const std::string& date) {
    Machine& machine = made_.machine;
    std::vector<std::string> tools;
    std::string device;
    for (const ToolFile& file : files) {
        if (std::find(tools.begin(), tools.end(), file.figures.tool) == tools.end()) tools.push_back(file.figures.tool);
        if (device.empty()) device = file.figures.device;
    }
    const std::string by = fmt::format("{}{}", fmt::join(tools, " and "), date.empty() ? "" : ", imported on " + date);
    machine.aliases.clear();
    machine.origin = "";
    if (base_) {
        machine.notes = fmt::format("{}, with figures measured by {}{}{}", base_->id, by,
                                    machine.notes.empty() ? "" : ". ", machine.notes);
        machine.name += ", measured";
    } else {
        machine.kind = "chip";
        machine.name = device.empty() ? id : device;
        machine.notes = fmt::format("from figures measured by {}", by);
    }
    machine.id = id;
}

Result<MeasuredMachine> MachineMaker::make(const std::vector<ToolFile>& files, const std::string& id,
                                           const std::string& date) {
    ROOFLINE_CHECK(place(files));
    ROOFLINE_CHECK(check_order());
    for (const std::string& path : order_) {
        ROOFLINE_CHECK(take(placed_[path]));
    }
    note_unchanged_levels();
    for (const ToolFile& file : files) {
        if (file.figures.left_out.empty()) continue;
        made_.notes.push_back(fmt::format("omitted from {}: {}", file.name, fmt::join(file.figures.left_out, ", ")));
    }
    const MemoryLevel* main = made_.machine.level("hbm");
    if (main == nullptr || !main->bandwidth.value) {
        made_.notes.emplace_back(
            "there is no main memory bandwidth, which most predictions need: add a run, or name a machine with --base");
    }
    identify(files, id, date);
    return std::move(made_);
}

}  // namespace

Result<LevelChoice> parse_level_choice(std::string_view text) {
    const std::size_t equals = text.find('=');
    LevelChoice choice;
    if (equals != std::string_view::npos) choice.name = trimmed(text.substr(0, equals));
    choice.level = lowered(trimmed(equals == std::string_view::npos ? text : text.substr(equals + 1)));
    if (choice.level == "dram") choice.level = "hbm";
    if (rank_of(choice.level) >= 0) return choice;
    std::vector<std::string> known;
    for (const auto& [level, rank] : ranks) known.emplace_back(level);
    return fail("unknown_level", fmt::format("{} is not a memory level", in_ticks(choice.level)),
                did_you_mean(choice.level, known, "levels are hbm (main memory), l3, l2, l1, smem and others"));
}

Result<MeasuredMachine> measured_machine(const std::optional<Machine>& base, const std::vector<ToolFile>& files,
                                         const std::vector<LevelChoice>& levels, const std::string& id,
                                         const std::string& date) {
    return MachineMaker(base, levels).make(files, id, date);
}

}  // namespace roofline::core

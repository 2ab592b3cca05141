#include "measure/run/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "measure/run/fill.hpp"
#include "measure/sample_watch.hpp"
#include "measure/stop.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_sets = 4096;
constexpr double reserve = 0.1;  // fraction of the free memory that is left to the system

void collect(const Block& block, std::vector<const Statement*>& statements) {
    for (const Node& node : block.nodes) {
        if (const auto* statement = std::get_if<Statement>(&node)) {
            statements.push_back(statement);
        } else {
            collect(std::get<Block>(node), statements);
        }
    }
}

std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Result<std::unique_ptr<Execution>> Execution::make(const Program& program, Device& device,
                                                   const ExecutionOptions& options) {
    std::unique_ptr<Execution> execution(new Execution(program, device));
    ROOFLINE_CHECK(execution->prepare(options));
    return execution;
}

Execution::~Execution() {
    for (const Memory& memory : memory_) {
        if (memory.start != nullptr) device_.release(memory.start);
    }
    for (const Packed& packed : packed_) {
        if (packed.memory.start != nullptr) device_.release(packed.memory.start);
    }
}

Status Execution::prepare(const ExecutionOptions& options) {
    ROOFLINE_TRY(auto steps, make_steps(program_, {device_.after_matmul()}));
    steps_ = std::move(steps);
    collect(program_.body, statements_);
    memory_.resize(steps_.arrays.size());
    packed_.resize(steps_.steps.size());
    used_.resize(steps_.arrays.size());
    only_packed_.resize(steps_.arrays.size(), true);
    stands_for_.resize(steps_.arrays.size());
    for (std::size_t i = 0; i < steps_.steps.size(); ++i) {
        const RunStep& step = steps_.steps[i];
        ROOFLINE_TRY(auto kernel, device_.make(step, steps_));
        packed_[i].bytes = (kernel)->packed_bytes();
        for (std::size_t input = 0; input < step.inputs.size(); ++input) {
            used_[step.inputs[input]] = true;
            const bool packs = packed_[i].bytes > 0 && (kernel)->packed_input() == input;
            if (!packs) only_packed_[step.inputs[input]] = false;
        }
        used_[step.output] = true;
        only_packed_[step.output] = false;
        kernels_.push_back(std::move(kernel));
    }
    ROOFLINE_CHECK(plan_memory(options));
    ROOFLINE_CHECK(allocate());
    ROOFLINE_CHECK(fill());
    return pack();
}

double Execution::bytes_for(std::int64_t sets) const {
    double bytes = 0;
    const auto many = static_cast<double>(sets);
    for (std::size_t i = 0; i < memory_.size(); ++i) {
        if (!used_[i]) continue;
        const RunArray& array = steps_.arrays[i];
        bytes +=
            static_cast<double>(array.bytes()) * static_cast<double>(array.copies) * (memory_[i].rotates ? many : 1);
    }
    for (std::size_t i = 0; i < packed_.size(); ++i) {
        if (packed_[i].bytes == 0) continue;
        const RunArray& array = steps_.arrays[steps_.steps[i].inputs[kernels_[i]->packed_input()]];
        bytes += static_cast<double>(packed_[i].bytes) * static_cast<double>(array.copies) * many;
    }
    return bytes;
}

Status Execution::plan_memory(const ExecutionOptions& options) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
        const RunArray& array = steps_.arrays[i];
        memory_[i].copies = array.copies;
        memory_[i].rotates = array.role != RunArray::Role::scratch && !only_packed_[i];
    }
    const double fixed = bytes_for(0);
    const double set = bytes_for(1) - fixed;
    const auto free = static_cast<double>(device_.memory_free());
    if (fixed + set > free * (1 - reserve)) {
        return fail("too_large",
                    fmt::format("the program needs {} of memory, and {} are free", to_text(Bytes{fixed + set}),
                                to_text(Bytes{free})),
                    "choose smaller sizes, or free memory; a tenth is left to the system");
    }
    const double wanted =
        options.rotate_bytes > 0 ? options.rotate_bytes : 4 * static_cast<double>(device_.largest_cache());
    const double affordable = (free * (1 - reserve) / 2 - fixed) / std::max(set, 1.0);
    const double sets = std::min({std::ceil(wanted / std::max(set, 1.0)), affordable, static_cast<double>(most_sets)});
    sets_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(sets));
    if (static_cast<double>(sets_) * set < 0.999 * wanted) {
        steps_.notes.push_back(
            fmt::format("the copies of the inputs take {} of memory, less than four times the "
                        "last cache: some of it may be read from there",
                        to_text(Bytes{static_cast<double>(sets_) * set})));
    }
    return {};
}

Status Execution::allocate() {
    const auto get = [&](Memory& memory, std::size_t bytes) -> Status {
        memory.stride = padded(bytes);
        const std::int64_t count = memory.copies * (memory.rotates ? sets_ : 1);
        ROOFLINE_TRY(auto start, device_.allocate(memory.stride * static_cast<std::size_t>(count)));
        memory.start = static_cast<char*>(start);
        return {};
    };
    for (std::size_t i = 0; i < memory_.size(); ++i) {
        stands_for_[i] = i;
        if (!used_[i]) continue;
        ROOFLINE_CHECK(get(memory_[i], static_cast<std::size_t>(steps_.arrays[i].bytes())));
    }
    for (std::size_t i = 0; i < packed_.size(); ++i) {
        if (packed_[i].bytes == 0) continue;
        packed_[i].memory.rotates = true;
        packed_[i].memory.copies = steps_.arrays[steps_.steps[i].inputs[kernels_[i]->packed_input()]].copies;
        ROOFLINE_CHECK(get(packed_[i].memory, packed_[i].bytes));
    }
    return {};
}

Status Execution::fill() {
    const bool positive = needs_positive_inputs(program_);
    std::vector<char> bytes;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
        const RunArray& array = steps_.arrays[i];
        const Memory& memory = memory_[i];
        if (!used_[i] || array.role == RunArray::Role::scratch) continue;
        bytes.assign(static_cast<std::size_t>(array.bytes()), 0);
        for (std::int64_t copy = 0; copy < memory.copies; ++copy) {
            if (stop_requested()) return fail(interrupted());
            if (array.role == RunArray::Role::input) fill_array(array, copy, positive, bytes.data());
            for (std::int64_t set = 0; set < (memory.rotates ? sets_ : 1); ++set) {
                char* to = memory.start + static_cast<std::size_t>(set * memory.copies + copy) * memory.stride;
                ROOFLINE_CHECK(device_.upload(bytes.data(), to, bytes.size()));
            }
        }
    }
    return {};
}

Status Execution::pack() {
    for (std::size_t i = 0; i < packed_.size(); ++i) {
        const Packed& packed = packed_[i];
        if (packed.bytes == 0) continue;
        const std::size_t array = steps_.steps[i].inputs[kernels_[i]->packed_input()];
        const Memory& from = memory_[array];
        for (std::int64_t set = 0; set < sets_; ++set) {
            for (std::int64_t copy = 0; copy < from.copies; ++copy) {
                if (stop_requested()) return fail(interrupted());
                const std::int64_t source = from.rotates ? set * from.copies + copy : copy;
                const double start = now_s();
                ROOFLINE_CHECK(kernels_[i]->pack(
                    from.start + static_cast<std::size_t>(source) * from.stride,
                    packed.memory.start + static_cast<std::size_t>(set * from.copies + copy) * packed.memory.stride));
                ROOFLINE_CHECK(device_.synchronise());
                // the timed set is the last one: its pages are mapped and the source is in the caches; the first set
                // pays for both
                if (set == sets_ - 1) {
                    pack_s_ += now_s() - start;
                    pack_bytes_ += static_cast<double>(steps_.arrays[array].bytes());
                }
            }
        }
    }
    return {};
}

void* Execution::at(const Memory& memory, std::size_t depth, std::int64_t set) const {
    std::int64_t copy = 0;
    if (memory.copies > 1) {
        for (std::size_t i = 0; i < depth && i < frames_.size(); ++i) copy = copy * frames_[i].count + frames_[i].index;
    }
    return memory.start + static_cast<std::size_t>((memory.rotates ? set * memory.copies : 0) + copy) * memory.stride;
}

void* Execution::memory_of(ValueId value, std::int64_t set) {
    const auto array = steps_.array_of[value];
    if (!array || !used_[*array]) return nullptr;
    const std::size_t actual = stands_for_[*array];
    return at(memory_[actual], steps_.arrays[actual].depth, set);
}

Status Execution::step(std::size_t index, std::int64_t set) {
    const RunStep& step = steps_.steps[index];
    void* arrays[8] = {};
    std::vector<void*> many;
    std::span<void*> pointers(arrays);
    if (step.inputs.size() + 1 > pointers.size()) {
        many.resize(step.inputs.size() + 1);
        pointers = many;
    }
    const auto pointer = [&](std::size_t array) {
        const std::size_t actual = stands_for_[array];
        return at(memory_[actual], steps_.arrays[actual].depth, set);
    };
    for (std::size_t i = 0; i < step.inputs.size(); ++i) pointers[i] = pointer(step.inputs[i]);
    if (packed_[index].bytes > 0) {
        const std::size_t input = kernels_[index]->packed_input();
        pointers[input] = at(packed_[index].memory, steps_.arrays[step.inputs[input]].depth, set);
    }
    pointers[step.inputs.size()] = pointer(step.output);
    return kernels_[index]->run(pointers.first(step.inputs.size() + 1));
}

Status Execution::block(const StepBlock& block, std::int64_t set, const BeforeStatement& before,
                        const AfterStatement& after) {
    std::optional<std::size_t> open;  // the statement whose steps are running
    const auto close = [&]() -> Status {
        if (open && after) {
            ROOFLINE_CHECK(after(*open));
        }
        open.reset();
        return {};
    };
    for (const auto& node : block.nodes) {
        if (const auto* index = std::get_if<std::size_t>(&node)) {
            const std::size_t statement = steps_.steps[*index].statement;
            if (open != statement) {
                ROOFLINE_CHECK(close());
                if (before) {
                    ROOFLINE_CHECK(before(statement));
                }
                open = statement;
            }
            ROOFLINE_CHECK(step(*index, set));
            continue;
        }
        ROOFLINE_CHECK(close());
        const auto& inner = std::get<StepBlock>(node);
        frames_.push_back({0, inner.count});
        for (std::int64_t pass = 0; pass < inner.count; ++pass) {
            if (stop_requested()) return fail(interrupted());
            frames_.back().index = inner.back ? inner.count - 1 - pass : pass;
            ROOFLINE_CHECK(this->block(inner, set, before, after));
            if (pass + 1 == inner.count) break;
            for (const auto& [made, read] : inner.carried) std::swap(stands_for_[made], stands_for_[read]);
        }
        frames_.pop_back();
    }
    return close();
}

Status Execution::run(std::int64_t set, const BeforeStatement& before) {
    frames_.clear();
    for (std::size_t i = 0; i < stands_for_.size(); ++i) stands_for_[i] = i;
    return block(steps_.body, set, before, {});
}

Result<CheckResult> Execution::check(const CheckOptions& options) {
    ROOFLINE_CHECK(fill());
    frames_.clear();
    for (std::size_t i = 0; i < stands_for_.size(); ++i) stands_for_[i] = i;
    CheckResult all;
    const auto after = [&](std::size_t statement) -> Status {
        const bool first = std::all_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.index == 0; });
        const bool last =
            std::all_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.index + 1 == f.count; });
        if (!first && !last) return {};
        ROOFLINE_CHECK(device_.synchronise());
        std::map<std::size_t, std::vector<char>> fetched;
        const auto held = [&](ValueId value) -> HeldValue {
            const auto array = steps_.array_of[value];
            void* memory = memory_of(value, 0);
            if (memory == nullptr) return {};
            const RunArray& shape = steps_.arrays[*array];
            if (device_.shares_memory()) return {memory, shape.dtype};
            auto& copy = fetched[*array];
            if (copy.empty()) {
                copy.resize(static_cast<std::size_t>(shape.bytes()));
                if (auto status = device_.download(memory, copy.data(), copy.size()); !status) return {};
            }
            return {copy.data(), shape.dtype};
        };
        ROOFLINE_TRY(auto result, check_statement(program_, *statements_[statement], held, options));
        all.checked += result.checked;
        all.max_rel_error = std::max(all.max_rel_error, result.max_rel_error);
        if (result.of_bound > all.of_bound) {
            all.of_bound = result.of_bound;
            all.worst = result.worst;
        }
        return {};
    };
    ROOFLINE_CHECK(block(steps_.body, 0, {}, after));
    return all;
}

std::vector<std::string> Execution::notes() const {
    std::vector<std::string> notes = steps_.notes;
    for (const std::string& note : device_.notes()) notes.push_back(note);
    for (const auto& kernel : kernels_) {
        std::string note = kernel->note();
        if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end())
            notes.push_back(std::move(note));
    }
    return notes;
}

// Disturbed samples are recognised by comparison with the best sample because not every program keeps all threads busy
// all the time.
Result<Spread> Execution::sample(const SamplingOptions& options, std::int64_t sets) {
    const auto work = [&](std::int64_t calls) -> Status {
        for (std::int64_t call = 0; call < calls; ++call) {
            ROOFLINE_CHECK(run(next_set_++ % sets));
        }
        return device_.synchronise();
    };
    ROOFLINE_TRY(auto sampled, take_samples(work, options));
    double busiest = 0;
    for (const Sample& each : sampled.samples) busiest = std::max(busiest, std::min(each.cpu_share, 1.0));
    Spread spread = spread_of(sampled.samples, options.least_cpu_share * busiest);
    const auto preempted = std::count_if(sampled.samples.begin(), sampled.samples.end(),
                                         [](const Sample& each) { return each.preempted > 1; });
    // if even the best sample had little processor time and other processes took it, no undisturbed sample exists for
    // comparison
    if (device_.shares_memory() && busiest < 0.9 && 2 * static_cast<std::size_t>(preempted) > sampled.samples.size())
        spread.disturbed = true;
    return spread;
}

Result<Timing> Execution::time(const SamplingOptions& options) {
    Timing timing;
    timing.sets = sets_;
    timing.set_bytes = bytes_for(1) - bytes_for(0);
    timing.pack_s = pack_s_;
    timing.pack_bytes = pack_bytes_;
    next_set_ = 0;
    ROOFLINE_TRY(timing.cold, sample(options, sets_));
    if (steps_.kernels.size() > 1) {
        ROOFLINE_TRY(timing.kernels, time_kernels(options.samples));
    }
    ROOFLINE_TRY(timing.hot, sample(options, 1));
    return timing;
}

// The clock is read between kernels, so the times do not include overlap between kernels; kernels on a CPU do not
// overlap.
Result<std::vector<double>> Execution::time_kernels(std::size_t rounds) {
    std::vector<std::vector<double>> samples(steps_.kernels.size());
    std::vector<std::size_t> kernel_of(statements_.size(), 0);
    for (const RunStep& step : steps_.steps) kernel_of[step.statement] = step.kernel;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<double> spent(samples.size(), 0);
        std::optional<std::size_t> current;
        double since = now_s();
        const auto mark = [&](std::optional<std::size_t> next) -> Status {
            ROOFLINE_CHECK(device_.synchronise());
            const double time = now_s();
            if (current) spent[*current] += time - since;
            since = time;
            current = next;
            return {};
        };
        ROOFLINE_CHECK(run(next_set_++ % sets_, [&](std::size_t statement) { return mark(kernel_of[statement]); }));
        ROOFLINE_CHECK(mark(std::nullopt));
        for (std::size_t i = 0; i < spent.size(); ++i) samples[i].push_back(spent[i]);
    }
    std::vector<double> medians;
    for (auto& each : samples) {
        std::sort(each.begin(), each.end());
        medians.push_back(quantile(each, 0.5));
    }
    return medians;
}

}  // namespace roofline::core

#include "plan/live_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace roofline::core {

namespace {

/// A range of places, both ends included. A place is a statement or a fused kernel, in program order.
struct Interval {
    std::size_t first = 0;
    std::size_t last = 0;
};

/// The places of a repeat, or of the whole program.
struct PassRange {
    Interval places;
    std::size_t outside = 0;        ///< the range around it; for the whole program, itself
    std::set<std::string> carried;  ///< names that its iterations carry on
};

/// A tensor that statements produce and read.
struct TensorLife {
    std::optional<std::size_t> made;
    std::size_t made_in = 0;  ///< index of a range
    std::size_t last = 0;
    bool leaves_kernel = false;  ///< read by another kernel than the one that produces it
};

class LifeTimes {
public:
    LifeTimes(const TrainingProgram& step, const Program& local, const FrameworkHabits& habits)
        : step_(step),
          local_(local),
          lives_(local.values.size()),
          fixed_(local.values.size(), false),
          fused_gradients_(habits.fused_gradients) {
        for (ValueId id = 0; id < fixed_.size(); ++id) fixed_[id] = local.values[id].param || local.values[id].cache;
        for (const StepTensor& tensor : step.tensors) {
            if (tensor.role != StepRole::activation) fixed_[tensor.value] = true;
            if (tensor.role == StepRole::gradient && tensor.param) gradient_of_[tensor.value] = *tensor.param;
            if (habits.fsdp_units && tensor.role == StepRole::param && tensor.repeats.empty())
                elsewhere_.insert(tensor.value);
        }
        loss_parts_ = habits.loss_parts;
        const auto logits = loss_parts_ > 1 ? logits_of(local.body) : std::nullopt;
        if (logits) in_parts_ = dims_of(*logits);
    }

    Result<LiveTensors> run() {
        stretches_.push_back({});
        walk(local_.body, 0);
        stretches_.front().places.last = places_;
        held_.places = places_ + 1;
        std::vector<bool> kept(lives_.size(), false);
        note_ends();
        for (const StepTensor& tensor : step_.tensors) {
            if (tensor.role != StepRole::activation) continue;
            kept[tensor.value] = true;
            keep(tensor);
        }
        for (ValueId id = 0; id < lives_.size(); ++id) {
            if (!kept[id]) pass_on(id);
        }
        for (const auto& [copy, places] : copies_) {
            if (!elsewhere_.contains(std::get<0>(copy))) add(places, copy_bytes(copy));
        }
        for (const Addend& each : addends_) {
            add({each.made, stretches_[each.stretch].places.last}, bytes(each.product.value, each.product.dims));
        }
        for (auto& [shape, stretches] : stand_ins_) {
            auto& alternatives = held_.largest_of.emplace_back();
            for (auto& [stretch, all] : stretches) alternatives.push_back(std::move(all));
        }
        if (unsized_) return fail("no_size", "the memory of a step cannot be counted because a size is not known");
        return std::move(held_);
    }

private:
    /// A tensor, the dimensions that it was gathered to, and the range in which it is gathered.
    using Copy = std::tuple<ValueId, std::vector<std::string>, std::size_t>;

    void walk(const Block& block, std::size_t stretch) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                visit(*statement, stretch);
                ++places_;
                continue;
            }
            const Block& inner = std::get<Block>(node);
            if (inner.kind == Block::Kind::fuse) {
                for (const Node& each : inner.nodes) {
                    if (const auto* fused = std::get_if<Statement>(&each)) visit(*fused, stretch);
                }
                ++places_;
                continue;
            }
            std::size_t within = stretch;
            if (inner.kind == Block::Kind::repeat) {
                within = stretches_.size();
                stretches_.push_back({{places_, places_}, stretch, {}});
            }
            walk(inner, within);
            if (within != stretch && places_ > stretches_[within].places.first) {
                stretches_[within].places.last = places_ - 1;
            }
        }
    }

    void visit(const Statement& statement, std::size_t stretch) {
        std::map<ValueId, const Op*> inside;  // produced inside a statement
        for (const Op& op : statement.ops) {
            for (const Operand& input : op.inputs) read(input, inside, stretch);
            inside[op.output.value] = &op;
        }
        note_gradient(statement, stretch);
        const ValueId id = statement.result;
        TensorLife& life = lives_[id];
        if (!life.made) {
            life.made = places_;
            life.made_in = stretch;
            life.last = places_;
        }
        if (local_.values[id].carried) stretches_[stretch].carried.insert(local_.values[id].name);
        const Operand& made = statement.ops.back().output;
        if (elements_of(made.dims) > elements_of(dims_of(id))) note_copy(id, made.dims, stretch);
    }

    // A matmul result that is added to a gradient occupies memory besides it until the pass ends, because a framework
    // hands gradients on when they are computed and adds them afterwards. If the matmul kernel accumulates, a stand-in
    // tensor takes the place of its result.
    void note_gradient(const Statement& statement, std::size_t stretch) {
        if (!fixed_[statement.result]) return;
        const Op& last = statement.ops.back();
        const Op* product = last.kind == OpKind::contract ? &last : added_product(statement);
        if (product == nullptr) return;
        if (fused_gradients_) return note_stand_in(*product, statement.result, stretch);
        if (product != &last) addends_.push_back({product->output, stretch, places_});
    }

    // Returns the contraction that `G = G + (A * B)` adds; null for other statements.
    static const Op* added_product(const Statement& statement) {
        const Op& last = statement.ops.back();
        if (last.kind != OpKind::apply || last.inputs.size() != 2 || statement.ops.size() < 2) return nullptr;
        if (last.inputs.front().value == last.inputs.back().value) return nullptr;
        const Op& product = statement.ops[statement.ops.size() - 2];
        const bool added = product.kind == OpKind::contract && product.output.value == last.inputs.back().value;
        return added ? &product : nullptr;
    }

    // For experts the shape of one of them counts: dimensions that all operands and the result have count matmuls.
    void note_stand_in(const Op& product, ValueId gradient, std::size_t stretch) {
        const auto param = gradient_of_.find(gradient);
        if (param == gradient_of_.end()) return;
        std::vector<std::string> shape;
        for (const std::string& dim : product.output.dims) {
            const bool everywhere =
                std::all_of(product.inputs.begin(), product.inputs.end(), [&](const Operand& input) {
                    return std::find(input.dims.begin(), input.dims.end(), dim) != input.dims.end();
                });
            if (!everywhere) shape.push_back(dim);
        }
        std::sort(shape.begin(), shape.end());
        LiveBytes bytes{info(local_.values[param->second].type.dtype).bits / 8.0, shape};
        stand_ins_[shape][stretch].push_back(std::move(bytes));
    }

    void read(const Operand& input, const std::map<ValueId, const Op*>& inside, std::size_t stretch) {
        const ValueId id = input.value;
        const auto made = inside.find(id);
        if (made != inside.end()) {  // a contraction inside an expression whose sum goes over chips is stored for it
            const Op& maker = *made->second;
            if (maker.kind == OpKind::contract && elements_of(maker.output.dims) > elements_of(input.dims)) {
                note_copy(id, maker.output.dims, stretch);
            }
            return;
        }
        TensorLife& life = lives_[id];
        life.leaves_kernel = life.leaves_kernel || !life.made || *life.made != places_;
        life.last = std::max(life.last, reach(id, stretch));
        if (elements_of(input.dims) > elements_of(dims_of(id))) note_copy(id, input.dims, stretch);
    }

    // How long a value that is read here may be needed: until all iterations of a repeat are done, unless the
    // iterations produce it themselves.
    [[nodiscard]] std::size_t reach(ValueId id, std::size_t stretch) {
        for (std::size_t at = stretch; at != lives_[id].made_in && at != 0; at = stretches_[at].outside) {
            readers_[id].insert(at);
        }
        return places_;
    }

    void note_copy(ValueId id, const std::vector<std::string>& dims, std::size_t stretch) {
        const auto [found, fresh] = copies_.emplace(Copy{id, dims, stretch}, Interval{places_, places_});
        if (!fresh) found->second.last = places_;
    }

    [[nodiscard]] std::vector<std::string> dims_of(ValueId id) const { return core::dims_of(local_.values[id].type); }

    double elements_of(const std::vector<std::string>& dims) {
        const auto number = elements(local_.local_dims, dims).evaluate(local_.sizes);
        if (!number) unsized_ = true;
        return number ? number->to_double() : 0;
    }

    LiveBytes bytes(ValueId id, std::vector<std::string> dims) {
        const double parts = dims_of(id) == in_parts_ ? loss_parts_ : 1;
        static_cast<void>(elements_of(dims));  // all sizes are known
        return {info(local_.values[id].type.dtype).bits / 8.0 / parts, std::move(dims)};
    }

    // A parameter that layers gather one after the other is held for this layer and the next.
    LiveBytes copy_bytes(const Copy& copy) {
        const auto& [id, dims, stretch] = copy;
        return bytes(id, dims) * (local_.values[id].param && stretch != 0 ? 2 : 1);
    }

    void add(const Interval& places, LiveBytes bytes, LiveTimes times = LiveTimes::once) {
        held_.tensors.push_back({places.first, places.last, std::move(bytes), times});
    }

    // Finds where the backward passes end that belong to repeats.
    void note_ends() {
        for (const StepTensor& tensor : step_.tensors) {
            if (tensor.role != StepRole::activation || tensor.repeats.empty()) continue;
            for (const std::size_t reader : readers_[tensor.value]) {
                std::size_t& end = ends_[tensor.repeats];
                end = std::max(end, stretches_[reader].places.last);
            }
        }
    }

    void keep(const StepTensor& tensor) {
        const TensorLife& life = lives_[tensor.value];
        const LiveBytes one = bytes(tensor.value, dims_of(tensor.value));
        LiveBytes passes = one;
        passes.dims.insert(passes.dims.end(), tensor.repeats.begin(), tensor.repeats.end());
        static_cast<void>(elements_of(tensor.repeats));
        const std::size_t made = life.made.value_or(0);
        Interval all{made, std::max(made, life.last)};
        // A value that nothing reads is freed with the rest of its pass.
        if (!tensor.repeats.empty() && readers_[tensor.value].empty())
            all.last = std::max(all.last, ends_[tensor.repeats]);
        for (const std::size_t reader : readers_[tensor.value]) {
            if (!tensor.repeats.empty()) all.last = std::max(all.last, stretches_[reader].places.last);
        }
        const LiveTimes flights = tensor.repeats.empty() ? LiveTimes::others : LiveTimes::layers;
        const std::size_t last = readers_[tensor.value].empty() ? all.last : std::max(made, life.last);
        if (tensor.repeats.empty()) {
            add({made, last}, one);
        } else {  // one for this iteration, the others for as long as iterations need them
            add({made, last}, one);
            add(all, passes);
            add(all, one * -1);
        }
        const Interval always{0, places_};
        add(always, passes, flights);
        add(always, passes * -1);
        held_.kept.push_back({0, 0, std::move(passes), flights});
    }

    void pass_on(ValueId id) {
        const Value& value = local_.values[id];
        const TensorLife& life = lives_[id];
        if (fixed_[id] || value.intermediate || !life.made) return;
        if (!life.leaves_kernel && life.last == *life.made) return;
        std::size_t last = life.last;
        if (value.carried) last = std::max(last, stretches_[life.made_in].places.last);
        for (const std::size_t reader : readers_[id]) {
            if (!stretches_[reader].carried.contains(value.name)) last = std::max(last, stretches_[reader].places.last);
        }
        add({*life.made, last}, bytes(id, dims_of(id)));
    }

    const TrainingProgram& step_;
    const Program& local_;
    std::vector<TensorLife> lives_;
    std::vector<bool> fixed_;                               ///< counted elsewhere: parameters, gradients, states
    std::map<std::vector<std::string>, std::size_t> ends_;  ///< by repeats
    double loss_parts_ = 1;
    /// Dimensions of logits, of which only one of `loss_parts_` parts exists at a time.
    std::vector<std::string> in_parts_;
    std::set<ValueId> elsewhere_;  ///< parameters whose copies are counted elsewhere
    std::vector<PassRange> stretches_;
    std::map<ValueId, std::set<std::size_t>> readers_;  ///< repeats that read values from before them
    std::map<Copy, Interval> copies_;
    struct Addend {
        Operand product;
        std::size_t stretch = 0;
        std::size_t made = 0;
    };
    std::vector<Addend> addends_;  ///< terms added to gradients
    bool fused_gradients_ = false;
    std::map<ValueId, ValueId> gradient_of_;  ///< the parameter
    std::map<std::vector<std::string>, std::map<std::size_t, std::vector<LiveBytes>>>
        stand_ins_;  ///< by shape and range
    std::size_t places_ = 0;
    LiveTensors held_;
    bool unsized_ = false;
};

}  // namespace

Result<LiveTensors> live_tensors(const TrainingProgram& step, const Program& local, const FrameworkHabits& habits) {
    return LifeTimes(step, local, habits).run();
}

Result<LiveMemory> live_memory(const TrainingProgram& step, const Program& local, const InFlight& in_flight,
                               const FrameworkHabits& habits) {
    ROOFLINE_TRY(const auto held, live_tensors(step, local, habits));
    std::map<std::string, double, std::less<>> sizes;
    const auto bytes_of = [&](const LiveBytes& bytes) {
        double product = bytes.scale;
        for (const std::string& dim : bytes.dims) {
            const auto [size, fresh] = sizes.try_emplace(dim, 0);
            if (fresh) size->second = elements(local.local_dims, {dim}).evaluate(local.sizes)->to_double();
            product *= size->second;
        }
        return product;
    };
    const auto all_of = [&](const LiveTensor& tensor) {
        const double times = tensor.times == LiveTimes::layers   ? in_flight.layers
                             : tensor.times == LiveTimes::others ? in_flight.others
                                                                 : 1;
        return bytes_of(tensor.bytes) * times;
    };
    LiveMemory memory;
    for (const LiveTensor& tensor : held.kept) memory.kept += all_of(tensor);
    std::vector<double> live(held.places + 1, 0);
    for (const LiveTensor& tensor : held.tensors) {
        const double bytes = all_of(tensor);
        live[tensor.first] += bytes;
        live[tensor.last + 1] -= bytes;
    }
    double now = 0;
    for (const double change : live) {
        now += change;
        memory.peak = std::max(memory.peak, now);
    }
    for (const auto& alternatives : held.largest_of) {
        double most = 0;
        for (const std::vector<LiveBytes>& together : alternatives) {
            double sum = 0;
            for (const LiveBytes& bytes : together) sum += bytes_of(bytes);
            most = std::max(most, sum);
        }
        memory.peak += most;
    }
    return memory;
}

}  // namespace roofline::core

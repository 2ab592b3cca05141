#include "measure/network/overlapped_op.hpp"

#include <algorithm>
#include <utility>

namespace roofline::core {

namespace {

std::size_t bytes_of(const Box& box, Dtype dtype) {
    return box.elements() * static_cast<std::size_t>(info(dtype).bits) / 8;
}

bool has_halo(const HeldShard& held, std::size_t dim) { return held.has_halo() && held.dim == dim; }

Box from_zero(Box box) {
    std::fill(box.start.begin(), box.start.end(), 0);
    return box;
}

}  // namespace

Result<MoveChain> MoveChain::make(MeshRanks& ranks, const std::vector<ShardMove::What>& steps, Device& device,
                                  std::vector<void*>& memory) {
    MoveChain chain;
    for (const ShardMove::What& step : steps) {
        ROOFLINE_TRY(auto move, ShardMove::make(ranks, step));
        ROOFLINE_TRY(auto room, device.allocate(std::max<std::size_t>(move.bytes_after(), 1)));
        memory.push_back(room);
        chain.moves_.push_back(std::make_unique<ShardMove>(std::move(move)));
        chain.between_.push_back(room);
    }
    chain.at_ = chain.moves_.size();
    return chain;
}

Status MoveChain::start(const void* in, void* out) {
    in_ = in;
    out_ = out;
    at_ = 0;
    return start_step();
}

Status MoveChain::start_step() {
    if (at_ == moves_.size()) return {};
    const void* from = at_ == 0 ? in_ : between_[at_ - 1];
    void* to = at_ + 1 == moves_.size() ? out_ : between_[at_];
    return moves_[at_]->start(static_cast<const std::byte*>(from), static_cast<std::byte*>(to));
}

Status MoveChain::poll() {
    if (at_ == moves_.size()) return {};
    ROOFLINE_CHECK(moves_[at_]->done());
    // the next step is not started here because ranks would start it at different times, and all must start steps in
    // the same order
    return {};
}

Status MoveChain::finish() {
    while (at_ < moves_.size()) {
        ROOFLINE_CHECK(moves_[at_]->finish());
        ++at_;
        ROOFLINE_CHECK(start_step());
    }
    return {};
}

Result<std::unique_ptr<OverlappedOp>> OverlappedOp::make(const Program& program, const OpStrategies& ways,
                                                         const Strategy& way, MeshRanks& ranks, Device& device,
                                                         std::vector<TensorSteps> tensors,
                                                         std::optional<ExternalChoices> choices) {
    std::unique_ptr<OverlappedOp> op(new OverlappedOp(program, ways, way, ranks, device, std::move(tensors)));
    op->choices_ = std::move(choices);
    if (way.at != Sharding::everywhere) return std::unique_ptr<OverlappedOp>{};
    for (const std::string& dim : ways.op().output.dims) {
        const int pieces = op->may_cut(dim) ? op->pieces_of(dim) : 1;
        if (pieces == 1) continue;
        ROOFLINE_CHECK(op->prepare(dim, pieces));
        return op;
    }
    return std::unique_ptr<OverlappedOp>{};
}

OverlappedOp::~OverlappedOp() {
    whole_.clear();
    pieces_.clear();
    for (void* memory : memory_) device_.release(memory);
}

const Operand& OverlappedOp::operand(std::size_t tensor) const {
    const Op& op = ways_.op();
    return tensor < op.inputs.size() ? op.inputs[tensor] : op.output;
}

std::optional<std::size_t> OverlappedOp::place(std::size_t tensor, const std::string& dim) const {
    const std::vector<std::string>& dims = operand(tensor).dims;
    const auto found = std::find(dims.begin(), dims.end(), dim);
    if (found == dims.end()) return std::nullopt;
    return static_cast<std::size_t>(found - dims.begin());
}

// A dimension may be cut if no step splits or gathers it, the array of some step has it, and no function works along
// it.
bool OverlappedOp::may_cut(const std::string& dim) const {
    bool exchanged = false;
    if (has(ways_.op().along, dim) || (choices_ && has(choices_->operand.dims, dim))) return false;
    for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
        const auto at = place(tensor, dim);
        if (!at) continue;
        if (has_halo(tensors_[tensor].held, *at)) return false;
        for (const ShardMove::What& step : tensors_[tensor].steps) {
            if (has_halo(step.from, *at) || has_halo(step.to, *at)) return false;
            if (step.from.lies.dims[*at] != step.to.lies.dims[*at]) return false;
            exchanged = exchanged || step.move.has_value();
        }
    }
    for (const Operand& input : ways_.op().inputs) {
        for (const MaskedPlane& plane : program_.values[input.value].masks) {
            if (plane.rows == dim || plane.columns == dim) return false;
        }
    }
    return exchanged;
}

int OverlappedOp::pieces_of(const std::string& dim) const {
    const auto size = program_.sizes.find(dim);
    if (size == program_.sizes.end()) return 1;
    const auto d =
        static_cast<std::size_t>(std::find(ways_.dims().begin(), ways_.dims().end(), dim) - ways_.dims().begin());
    const std::int64_t share = size->second / chips_across(ranks_.system(), way_.split[d]);
    for (const int pieces : {8, 4, 2}) {
        if (share % pieces == 0) return pieces;
    }
    return 1;
}

Result<void*> OverlappedOp::allocate(std::size_t bytes) {
    auto memory = device_.allocate(std::max<std::size_t>(bytes, 1));
    if (memory) memory_.push_back(*memory);
    return memory;
}

Status OverlappedOp::prepare(const std::string& dim, int pieces) {
    const std::size_t inputs = ways_.op().inputs.size();
    for (std::size_t tensor = 0; tensor < inputs; ++tensor) {
        const bool cut = place(tensor, dim).has_value();
        auto chain =
            MoveChain::make(ranks_, cut ? std::vector<ShardMove::What>{} : tensors_[tensor].steps, device_, memory_);
        if (!chain) return fail(chain.error());
        void* memory = tensors_[tensor].memory;
        if (!chain->empty()) {
            const ShardMove::What& last = tensors_[tensor].steps.back();
            ROOFLINE_TRY(memory,
                         allocate(bytes_of(box_of(last.to, last.sizes, ranks_.system(), ranks_.chip()), last.dtype)));
        }
        whole_.push_back(std::move(*chain));
        whole_memory_.push_back(memory);
    }
    for (int index = 0; index < pieces; ++index) {
        ROOFLINE_TRY(auto made, piece(dim, pieces, index));
        pieces_.push_back(std::move(made));
    }
    return {};
}

Result<OverlappedOp::PieceTensor> OverlappedOp::piece_tensor(std::size_t tensor, const std::string& dim, int pieces,
                                                             int index) {
    PieceTensor made;
    const std::size_t inputs = ways_.op().inputs.size();
    const auto at = place(tensor, dim);
    if (!at) {
        made.moved_memory = whole_memory_[tensor];
        return made;
    }
    made.cut = true;
    const Dtype dtype = program_.values[operand(tensor).value].type.dtype;
    const TensorSteps& steps = tensors_[tensor];
    std::vector<ShardMove::What> cut = steps.steps;
    std::vector<std::int64_t> sizes;
    for (const std::string& each : operand(tensor).dims) sizes.push_back(*size_of(program_, each));
    const bool output = tensor == inputs;
    const HeldShard outside = output && !cut.empty() ? cut.back().to : steps.held;
    made.shard = from_zero(box_of(outside, sizes, ranks_.system(), ranks_.chip()));
    made.part = made.shard;
    made.part.size[*at] /= pieces;
    made.part.start[*at] = index * made.part.size[*at];
    made.in_place = std::all_of(made.shard.size.begin(), made.shard.size.begin() + static_cast<std::ptrdiff_t>(*at),
                                [](std::int64_t size) { return size == 1; });
    for (ShardMove::What& step : cut) step.sizes[*at] /= pieces;
    ROOFLINE_TRY(made.chain, MoveChain::make(ranks_, cut, device_, memory_));
    const std::size_t part_bytes = bytes_of(made.part, dtype);
    if (made.in_place) {
        made.part_memory = static_cast<std::byte*>(steps.memory) + static_cast<std::size_t>(index) * part_bytes;
    } else {
        ROOFLINE_TRY(made.part_memory, allocate(part_bytes));
    }
    made.moved_memory = made.part_memory;
    if (!cut.empty()) {  // the tensors that the operation itself reads and writes
        const ShardMove::What& inside = output ? cut.front() : cut.back();
        const HeldShard& lies = output ? inside.from : inside.to;
        ROOFLINE_TRY(made.moved_memory,
                     allocate(bytes_of(box_of(lies, inside.sizes, ranks_.system(), ranks_.chip()), dtype)));
    }
    if (!output && steps.fixed && !made.in_place) {
        made.copied = true;
        copy_part(static_cast<std::byte*>(made.part_memory), made.part, static_cast<const std::byte*>(steps.memory),
                  made.shard, made.part, bytes_of({{}, {}}, dtype));
    }
    return made;
}

// Pieces have equal shapes, so one kernel serves all, unless a weight is cut: its pieces are packed separately.
Result<std::shared_ptr<LocalOp>> OverlappedOp::local_of(const std::string& dim, int pieces) {
    bool weight_cut = pieces_.empty();
    for (std::size_t tensor = 0; !weight_cut && tensor + 1 < tensors_.size(); ++tensor) {
        weight_cut = stays(tensor) && place(tensor, dim) && pieces_.front().local->packs(tensor);
    }
    if (!weight_cut) return pieces_.front().local;
    Program smaller = program_;
    smaller.sizes[dim] /= pieces;
    const auto choices = choices_ ? std::optional(choices_->operand) : std::nullopt;
    ROOFLINE_TRY(auto share, share_of_op(smaller, ways_, way_, ranks_.system(), ranks_.chip(), choices));
    ROOFLINE_TRY(auto local, LocalOp::make(std::move(share), device_));
    return std::shared_ptr<LocalOp>(std::move(local));
}

Result<OverlappedOp::Piece> OverlappedOp::piece(const std::string& dim, int pieces, int index) {
    ROOFLINE_TRY(auto local, local_of(dim, pieces));
    Piece made;
    made.local = std::move(local);
    std::vector<const void*> fixed;
    for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
        ROOFLINE_TRY(auto part, piece_tensor(tensor, dim, pieces, index));
        if (tensor + 1 < tensors_.size()) {
            made.inputs.push_back(part.moved_memory);
            fixed.push_back(stays(tensor) ? part.moved_memory : nullptr);
        }
        made.tensors.push_back(std::move(part));
    }
    if (choices_) {
        made.inputs.push_back(choices_->memory);
        fixed.push_back(nullptr);
    }
    if (made.local.use_count() == 1) {
        ROOFLINE_CHECK(made.local->pack(fixed));
    }
    return made;
}

Status OverlappedOp::start_inputs(Piece& piece) {
    for (std::size_t tensor = 0; tensor + 1 < piece.tensors.size(); ++tensor) {
        PieceTensor& part = piece.tensors[tensor];
        if (!part.cut) continue;
        if (!part.in_place && !part.copied) {
            const Dtype dtype = program_.values[operand(tensor).value].type.dtype;
            copy_part(static_cast<std::byte*>(part.part_memory), part.part,
                      static_cast<const std::byte*>(tensors_[tensor].memory), part.shard, part.part,
                      bytes_of({{}, {}}, dtype));
        }
        if (part.chain.empty()) continue;
        ROOFLINE_CHECK(part.chain.start(part.part_memory, part.moved_memory));
    }
    return {};
}

Status OverlappedOp::finish_inputs(Piece& piece) {
    for (std::size_t tensor = 0; tensor + 1 < piece.tensors.size(); ++tensor) {
        ROOFLINE_CHECK(piece.tensors[tensor].chain.finish());
    }
    return {};
}

Status OverlappedOp::run() {
    for (std::size_t tensor = 0; tensor < whole_.size(); ++tensor) {
        if (whole_[tensor].empty()) continue;
        ROOFLINE_CHECK(whole_[tensor].start(tensors_[tensor].memory, whole_memory_[tensor]));
        ROOFLINE_CHECK(whole_[tensor].finish());
    }
    ROOFLINE_CHECK(start_inputs(pieces_.front()));
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        Piece& piece = pieces_[i];
        ROOFLINE_CHECK(finish_inputs(piece));
        if (i + 1 < pieces_.size()) {
            ROOFLINE_CHECK(start_inputs(pieces_[i + 1]));
        }
        if (i > 0) {
            ROOFLINE_CHECK(pieces_[i - 1].tensors.back().chain.poll());
        }
        PieceTensor& result = piece.tensors.back();
        ROOFLINE_CHECK(piece.local->run(piece.inputs, result.moved_memory));
        if (i > 0) {
            ROOFLINE_CHECK(pieces_[i - 1].tensors.back().chain.finish());
        }
        if (result.chain.empty()) continue;
        ROOFLINE_CHECK(result.chain.start(result.moved_memory, result.part_memory));
    }
    ROOFLINE_CHECK(pieces_.back().tensors.back().chain.finish());
    const std::size_t element = bytes_of({{}, {}}, program_.values[ways_.op().output.value].type.dtype);
    for (const Piece& piece : pieces_) {
        const PieceTensor& result = piece.tensors.back();
        if (result.in_place) continue;
        copy_part(static_cast<std::byte*>(tensors_.back().memory), result.shard,
                  static_cast<const std::byte*>(result.part_memory), result.part, result.part, element);
    }
    return {};
}

}  // namespace roofline::core

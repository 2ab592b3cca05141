#include "measure/mpi/mpi_communicator.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "measure/network/sum.hpp"

namespace roofline::core {

namespace {

// MPI has no bf16 and no f16, so a function of ours sums them.
template <Dtype dtype, Reduction reduction>
void add_halves(void* more, void* to, int* count, MPI_Datatype* /*type*/) {
    add_into(static_cast<std::byte*>(to), static_cast<const std::byte*>(more), 2 * static_cast<std::size_t>(*count),
             dtype, reduction);
}

template <Dtype dtype, Reduction reduction>
MPI_Op half_op() {
    static const MPI_Op made = [] {
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create(add_halves<dtype, reduction>, 1, &op);
        return op;
    }();
    return made;
}

template <Dtype dtype>
MPI_Op half_op(Reduction reduction) {
    if (reduction == Reduction::sum) return half_op<dtype, Reduction::sum>();
    return reduction == Reduction::max ? half_op<dtype, Reduction::max>() : half_op<dtype, Reduction::min>();
}

struct SumType {
    MPI_Datatype type = MPI_BYTE;
    MPI_Op op = MPI_SUM;
    std::size_t bytes = 1;  ///< per element
};

SumType sum_of(Dtype dtype, Reduction reduction) {
    const MPI_Op op = reduction == Reduction::sum ? MPI_SUM : reduction == Reduction::max ? MPI_MAX : MPI_MIN;
    switch (dtype) {
        case Dtype::f64:
            return {MPI_DOUBLE, op, 8};
        case Dtype::f32:
            return {MPI_FLOAT, op, 4};
        case Dtype::int32:
            return {MPI_INT32_T, op, 4};
        case Dtype::bf16:
            return {MPI_UINT16_T, half_op<Dtype::bf16>(reduction), 2};
        default:
            return {MPI_UINT16_T, half_op<Dtype::f16>(reduction), 2};
    }
}

// Requests of one send and one receive, or of one collective.
struct Requests {
    std::array<MPI_Request, 2> each{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

int start_permute(const Exchange& exchange, MPI_Comm group, Requests& requests) {
    const int bytes = static_cast<int>(exchange.part);
    if (exchange.from >= 0) {
        const int code = MPI_Irecv(exchange.out, bytes, MPI_BYTE, exchange.from, 0, group, requests.each.data());
        if (code != MPI_SUCCESS) return code;
    }
    return exchange.to < 0 ? MPI_SUCCESS
                           : MPI_Isend(exchange.in, bytes, MPI_BYTE, exchange.to, 0, group, &requests.each[1]);
}

int start_collective(const Exchange& exchange, MPI_Comm group, int rank, Requests& requests) {
    const int bytes = static_cast<int>(exchange.part);
    const SumType sum = sum_of(exchange.dtype, exchange.reduction);
    const int elements = static_cast<int>(exchange.part / sum.bytes);
    MPI_Request* request = requests.each.data();
    switch (exchange.kind) {
        case CollectiveKind::all_gather:
            return MPI_Iallgather(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, group, request);
        case CollectiveKind::reduce_scatter:
            return MPI_Ireduce_scatter_block(exchange.in, exchange.out, elements, sum.type, sum.op, group, request);
        case CollectiveKind::all_reduce:
            return MPI_Iallreduce(exchange.in, exchange.out, elements, sum.type, sum.op, group, request);
        case CollectiveKind::all_to_all:
            return MPI_Ialltoall(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, group, request);
        case CollectiveKind::gather:
            return MPI_Igather(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, exchange.root, group,
                               request);
        case CollectiveKind::scatter:
            return MPI_Iscatter(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, exchange.root, group,
                                request);
        case CollectiveKind::broadcast:
            if (rank == exchange.root && exchange.part > 0) std::memcpy(exchange.out, exchange.in, exchange.part);
            return MPI_Ibcast(exchange.out, bytes, MPI_BYTE, exchange.root, group, request);
        case CollectiveKind::permute:
        case CollectiveKind::send:
            break;
    }
    return start_permute(exchange, group, requests);
}

// Blocking collectives are separate: libraries use faster algorithms for them than in the background.
int run_collective(const Exchange& exchange, MPI_Comm group, int rank) {
    const int bytes = static_cast<int>(exchange.part);
    const SumType sum = sum_of(exchange.dtype, exchange.reduction);
    const int elements = static_cast<int>(exchange.part / sum.bytes);
    switch (exchange.kind) {
        case CollectiveKind::all_gather:
            return MPI_Allgather(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, group);
        case CollectiveKind::reduce_scatter:
            return MPI_Reduce_scatter_block(exchange.in, exchange.out, elements, sum.type, sum.op, group);
        case CollectiveKind::all_reduce:
            return MPI_Allreduce(exchange.in, exchange.out, elements, sum.type, sum.op, group);
        case CollectiveKind::all_to_all:
            return MPI_Alltoall(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, group);
        case CollectiveKind::gather:
            return MPI_Gather(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, exchange.root, group);
        case CollectiveKind::scatter:
            return MPI_Scatter(exchange.in, bytes, MPI_BYTE, exchange.out, bytes, MPI_BYTE, exchange.root, group);
        case CollectiveKind::broadcast:
            if (rank == exchange.root && exchange.part > 0) std::memcpy(exchange.out, exchange.in, exchange.part);
            return MPI_Bcast(exchange.out, bytes, MPI_BYTE, exchange.root, group);
        case CollectiveKind::permute:
        case CollectiveKind::send:
            break;
    }
    Requests requests;
    const int code = start_permute(exchange, group, requests);
    if (code != MPI_SUCCESS) return code;
    return MPI_Waitall(2, requests.each.data(), MPI_STATUSES_IGNORE);
}

class MpiPending : public PendingExchange {
public:
    explicit MpiPending(CollectiveKind kind) : kind_(kind) {}
    ~MpiPending() override { MPI_Waitall(2, requests.each.data(), MPI_STATUSES_IGNORE); }

    Result<bool> done() override {
        int flag = 0;
        const int code = MPI_Testall(2, requests.each.data(), &flag, MPI_STATUSES_IGNORE);
        ROOFLINE_CHECK(mpi_status(code, collective_name(kind_, true)));
        return flag != 0;
    }
    Status wait() override {
        return mpi_status(MPI_Waitall(2, requests.each.data(), MPI_STATUSES_IGNORE), collective_name(kind_, true));
    }

    Requests requests;

private:
    CollectiveKind kind_;
};

}  // namespace

Status mpi_status(int code, std::string_view doing) {
    if (code == MPI_SUCCESS) return {};
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return fail("exchange_failed", fmt::format("MPI failed in {}: {}", doing,
                                               std::string_view(text.data(), static_cast<std::size_t>(length))));
}

MpiCommunicator::MpiCommunicator(MPI_Comm handle) : handle_(handle) {
    MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(handle_, &rank_);
    MPI_Comm_size(handle_, &size_);
}

MpiCommunicator::~MpiCommunicator() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (handle_ != MPI_COMM_WORLD && ended == 0) MPI_Comm_free(&handle_);
}

Status MpiCommunicator::barrier() { return mpi_status(MPI_Barrier(handle_), "a barrier"); }

Status MpiCommunicator::run(const Exchange& exchange) {
    return mpi_status(run_collective(exchange, handle_, rank_), collective_name(exchange.kind, true));
}

Result<std::unique_ptr<PendingExchange>> MpiCommunicator::start(const Exchange& exchange) {
    auto pending = std::make_unique<MpiPending>(exchange.kind);
    const int code = start_collective(exchange, handle_, rank_, pending->requests);
    ROOFLINE_CHECK(mpi_status(code, collective_name(exchange.kind, true)));
    return pending;
}

Result<std::unique_ptr<Communicator>> MpiCommunicator::split(int color, int key) {
    MPI_Comm part = MPI_COMM_NULL;
    ROOFLINE_CHECK(mpi_status(MPI_Comm_split(handle_, color, key, &part), "dividing the ranks"));
    return std::make_unique<MpiCommunicator>(part);
}

}  // namespace roofline::core

// A group of MPI ranks.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>

#include "measure/network/communicator.hpp"

namespace roofline::core {

/// Converts an MPI return code to a status with MPI's message; `doing` names the action in the message.
[[nodiscard]] Status mpi_status(int code, std::string_view doing);

class MpiCommunicator : public Communicator {
public:
    /// Takes ownership of the handle, and frees it unless it is that of all ranks.
    explicit MpiCommunicator(MPI_Comm handle);
    ~MpiCommunicator() override;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::size_t max_bytes() const override { return std::size_t{1} << 30; }
    Status barrier() override;
    Status run(const Exchange& exchange) override;
    Result<std::unique_ptr<PendingExchange>> start(const Exchange& exchange) override;
    Result<std::unique_ptr<Communicator>> split(int color, int key) override;

private:
    MPI_Comm handle_;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace roofline::core

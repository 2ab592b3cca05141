// The MPI that this program was built with.
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "measure/module.hpp"
#include "measure/mpi/mpi_communicator.hpp"
#include "measure/network/communicator.hpp"

namespace roofline::core {

namespace {

// Shortens "Open MPI v4.1.4, package: ..." and what MPICH says, its version and then a list of options on lines of
// their own.
std::string spoken_version(std::string_view text) {
    const std::size_t digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) return std::string(text.substr(0, 40));
    std::string_view name = text.substr(0, digit);
    name = name.substr(0, name.find(" V"));
    while (name.ends_with(' ') || name.ends_with('v') || name.ends_with('\t')) name.remove_suffix(1);
    const std::size_t end = text.find_first_not_of("0123456789.", digit);
    return fmt::format("{} {}", name, text.substr(digit, end - digit));
}

class MpiLibrary : public RankLibrary {
public:
    Result<Communicator*> world() override {
        if (world_ != nullptr) return world_.get();
        int level = 0;
        const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
        ROOFLINE_CHECK(mpi_status(code, "joining the ranks"));
        world_ = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD);
        return world_.get();
    }

    std::string name() override {
        std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
        int length = 0;
        MPI_Get_library_version(text.data(), &length);
        return spoken_version({text.data(), static_cast<std::size_t>(length)});
    }

    std::string host() override {
        std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
        int length = 0;
        MPI_Get_processor_name(text.data(), &length);
        return {text.data(), static_cast<std::size_t>(length)};
    }

    void end() override {
        if (world_ == nullptr) return;
        world_.reset();
        MPI_Finalize();
    }

private:
    std::unique_ptr<MpiCommunicator> world_;
};

MpiLibrary library;

}  // namespace

ROOFLINE_MODULE(mpi, RankLibrary, library);

}  // namespace roofline::core

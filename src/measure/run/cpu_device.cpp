#include "measure/run/cpu_device.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "measure/module.hpp"
#include "measure/run/cpu_kernels.hpp"
#include "measure/run/faster_kernel.hpp"
#include "measure/run/matmul_library.hpp"
#include "measure/run/step_builder.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20U;

std::optional<std::int64_t> number_in(const std::string& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const char* first = std::find_if(text.data(), end, [](char c) { return c >= '0' && c <= '9'; });
    if (std::from_chars(first, end, value).ec != std::errc{}) return std::nullopt;
    return value;
}

std::optional<std::int64_t> number_of_file(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    return number_in(line);
}

class CpuDevice : public Device {
public:
    CpuDevice(std::unique_ptr<Team> team, MatmulLibrary* library) : team_(std::move(team)), library_(library) {}

    ~CpuDevice() override {
        while (!memory_.empty()) release(memory_.begin()->first);
    }

    [[nodiscard]] std::string name() const override {
        return fmt::format("{} thread{}, {}", team_->threads(), team_->threads() == 1 ? "" : "s",
                           library_ == nullptr ? "no library" : library_->name());
    }
    [[nodiscard]] std::int64_t memory_free() const override { return free_memory(); }
    [[nodiscard]] std::int64_t largest_cache() const override { return last_level_cache(); }
    [[nodiscard]] int threads() const override { return team_->threads(); }
    [[nodiscard]] std::vector<std::string> notes() const override { return {notes_.begin(), notes_.end()}; }
    [[nodiscard]] std::vector<MapFunction> after_matmul() const override {
        if (library_ != nullptr) return library_->after_matmul();
        using enum MapFunction;
        return {relu, relu2, exp, tanh, sigmoid, silu, gelu, square, sqrt, rsqrt, abs, neg};
    }

    // Allocates huge pages where the system provides them: with small pages, TLB misses cost a large array a third of
    // its bandwidth.
    Result<void*> allocate(std::size_t bytes) override {
        const std::size_t whole = (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64 + huge_page;
        void* memory =
            ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            return fail("no_memory", fmt::format("{} bytes cannot be allocated", bytes), "choose smaller sizes");
        }
        if (bytes < huge_page) {
            memory_[memory] = {memory, whole};
            return memory;
        }
        ::madvise(memory, whole, MADV_HUGEPAGE);
        const auto start = reinterpret_cast<std::uintptr_t>(memory);
        const std::size_t slack = (huge_page - start % huge_page) % huge_page;
        // streams that begin at the same offset in their pages conflict in the caches, so each begins at another offset
        const std::size_t stagger = std::min<std::size_t>(memory_.size() % 16 * 1088, huge_page - slack) / 64 * 64;
        void* given = static_cast<char*>(memory) + slack + stagger;
        memory_[given] = {memory, whole};
        return given;
    }

    void release(void* memory) override {
        const auto found = memory_.find(memory);
        if (found == memory_.end()) return;
        ::munmap(found->second.start, found->second.bytes);
        memory_.erase(found);
    }

    // Each thread copies its own part because memory is placed near the thread that touches it first.
    Status upload(const void* from, void* to, std::size_t bytes) override {
        team_->run([&](int thread) {
            const Share share = share_of(static_cast<std::int64_t>(bytes), thread, team_->threads());
            std::memcpy(static_cast<char*>(to) + share.first, static_cast<const char*>(from) + share.first,
                        static_cast<std::size_t>(share.last - share.first));
        });
        return {};
    }
    Status download(const void* from, void* to, std::size_t bytes) override {
        std::memcpy(to, from, bytes);
        return {};
    }

    Result<std::unique_ptr<StepKernel>> make(const RunStep& step, const StepProgram& program) override {
        const auto* matmul = std::get_if<MatmulStep>(&step.what);
        if (matmul == nullptr) return make_cpu_kernel(step, program, *team_);
        std::string why_not;
        if (library_ != nullptr) {
            if (auto kernel = library_->make(*matmul, why_not)) return faster(std::move(kernel), step, program);
            notes_.insert(why_not);
        }
        return make_plain_matmul(*matmul, *team_);
    }

    std::set<std::string> notes_;

private:
    // Chooses between the kernel of the library and our own: on some processors libraries have no tuned kernel for some
    // sizes.
    Result<std::unique_ptr<StepKernel>> faster(std::unique_ptr<StepKernel> library, const RunStep& step,
                                               const StepProgram& program) {
        auto own = make_plain_matmul(std::get<MatmulStep>(step.what), *team_);
        ROOFLINE_TRY(auto won, second_is_faster(*library, *own, step, program, *this));
        if (!won) return library;
        notes_.insert("some matmuls run on the program's own kernel, which was faster in a trial than oneDNN's");
        return own;
    }

    struct Mapping {
        void* start = nullptr;
        std::size_t bytes = 0;
    };
    std::unique_ptr<Team> team_;
    MatmulLibrary* library_;
    std::map<void*, Mapping> memory_;
};

}  // namespace

void configure_openmp(std::size_t threads) {
    for (const char* name :
         {"OMP_PLACES", "GOMP_CPU_AFFINITY", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_THREAD_LIMIT"})
        ::unsetenv(name);
    ::setenv("OMP_PROC_BIND", "false", 1);
    ::setenv("OMP_DYNAMIC", "false", 1);
    ::setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
}

std::int64_t free_memory() {
    std::int64_t available = 0;
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("MemAvailable:")) available = number_in(line).value_or(0) * 1024;
    }
    const auto limit = number_of_file("/sys/fs/cgroup/memory.max");  // "max" where there is none
    const auto used = number_of_file("/sys/fs/cgroup/memory.current");
    if (limit && used && *limit > 0) {
        const std::int64_t left = std::max<std::int64_t>(*limit - *used, 0);
        available = available == 0 ? left : std::min(available, left);
    }
    return available;
}

std::int64_t last_level_cache() {
    std::int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        const auto size =
            number_of_file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));  // "32768K"
        if (size) largest = std::max(largest, *size * 1024);
    }
    return largest > 0 ? largest : std::int64_t{32} << 20;
}

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options) {
    std::vector<int> processors = processors_to_use();
    if (options.threads > static_cast<int>(processors.size())) {
        return fail("bad_request",
                    fmt::format("{} threads were requested, but only {} cores are available", options.threads,
                                processors.size()),
                    fmt::format("--threads {}", processors.size()));
    }
    if (options.threads > 0) processors.resize(static_cast<std::size_t>(options.threads));
    MatmulLibrary* library = nullptr;
    std::string why_not;
    if (options.library) {
        configure_openmp(processors.size());
        auto loaded = load_module_as<MatmulLibrary>("dnnl", "fast matmuls of oneDNN", "libdnnl-dev");
        if (loaded) {
            library = *loaded;
        } else {
            why_not = fmt::format(
                "matmuls run on the program's own kernels, which are slower than a tuned "
                "library's: {}; {}",
                loaded.error().message, loaded.error().hint);
        }
    }
    auto device = std::make_unique<CpuDevice>(
        library == nullptr ? make_team(processors) : library->make_team(processors), library);
    if (!why_not.empty()) device->notes_.insert(why_not);
    return device;
}

}  // namespace roofline::core

#include "measure/cpu/topology.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

using namespace roofline::core;

namespace {

/// A folder of files like those of the kernel; the destructor removes it.
class FakeSystem {
public:
    FakeSystem() {
        root_ = std::filesystem::temp_directory_path() / ("roofline-topology-" + std::to_string(::getpid()));
        std::filesystem::remove_all(root_);
        std::filesystem::create_directories(root_);
    }
    FakeSystem(const FakeSystem&) = delete;
    FakeSystem& operator=(const FakeSystem&) = delete;
    ~FakeSystem() {
        std::error_code problem;
        std::filesystem::remove_all(root_, problem);
    }
    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << "\n";
    }
    void cache(int cpu, int index, const std::string& type, int level, const std::string& size,
               const std::string& shared) const {
        const std::string base = "cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
        write(base + "type", type);
        write(base + "level", std::to_string(level));
        write(base + "size", size);
        write(base + "shared_cpu_list", shared);
    }
    [[nodiscard]] std::string root() const { return root_.string(); }

private:
    std::filesystem::path root_;
};

}  // namespace

TEST_CASE("processor lists in the kernel's format") {
    CHECK(parse_cpu_list("0") == std::vector<int>{0});
    CHECK(parse_cpu_list("0-3,8\n") == std::vector<int>{0, 1, 2, 3, 8});
    CHECK(parse_cpu_list("").empty());
    CHECK(parse_cpu_list("x").empty());
    CHECK(parse_cpu_list("3-1").empty());
    CHECK(parse_cpu_list("0-99999999999").empty());
    CHECK(parse_cpu_list("-5").empty());
}

TEST_CASE("four processors on two cores that share an L3") {
    const FakeSystem system;
    for (int cpu = 0; cpu < 4; ++cpu) {
        const std::string base = "cpu" + std::to_string(cpu) + "/topology/";
        const std::string pair = cpu % 2 == 0 ? "0,2" : "1,3";
        system.write(base + "thread_siblings_list", pair);
        system.write(base + "physical_package_id", "0");
        system.cache(cpu, 0, "Data", 1, "32K", pair);
        system.cache(cpu, 1, "Instruction", 1, "32K", pair);
        system.cache(cpu, 2, "Unified", 2, "512K", pair);
        system.cache(cpu, 3, "Unified", 3, "16M", "0-3");
    }
    const auto topology = sysfs_topology(system.root(), {0, 1, 2, 3});
    REQUIRE(topology);
    CHECK(topology->cpus == std::vector<int>{0, 1});
    CHECK(topology->packages == 1);
    REQUIRE(topology->caches.size() == 3);
    CHECK(topology->caches[0].bytes == 32 * 1024);
    CHECK(topology->caches[0].instances == 2);
    CHECK(topology->caches[0].cores == 1);
    CHECK(topology->caches[2].level == 3);
    CHECK(topology->caches[2].bytes == 16 * 1024 * 1024);
    CHECK(topology->caches[2].instances == 1);
    CHECK(topology->caches[2].cores == 2);
    // this process may use only one core
    const auto one = sysfs_topology(system.root(), {3});
    REQUIRE(one);
    CHECK(one->cpus == std::vector<int>{3});
    // only processors in use count as sharing
    CHECK(one->caches[2].cores == 1);
}

TEST_CASE("a system that reports no topology") {
    const FakeSystem system;
    const auto topology = sysfs_topology(system.root(), {0});
    REQUIRE_FALSE(topology);
    CHECK(topology.error().code == "absent");
}

TEST_CASE("the lowest limit of a control group and its parents applies") {
    const FakeSystem system;
    CHECK(cgroup_cpu_limit(system.root(), "/a/b") == 0);
    system.write("a/cpu.max", "150000 100000");
    CHECK(cgroup_cpu_limit(system.root(), "/a/b") == 1.5);
    system.write("a/b/cpu.max", "max 100000");
    CHECK(cgroup_cpu_limit(system.root(), "/a/b") == 1.5);
    system.write("a/b/cpu.max", "50000 100000");
    CHECK(cgroup_cpu_limit(system.root(), "/a/b") == 0.5);
    CHECK(cgroup_cpu_limit(system.root(), "") == 0);
    system.write("a/b/cpu.max", "50000 0");
    CHECK(cgroup_cpu_limit(system.root(), "/a/b") == 1.5);
}

TEST_CASE("this machine has a processor to run on") {
    CHECK_FALSE(allowed_cpus().empty());
    const CpuTopology topology = cpu_topology();
    CHECK_FALSE(topology.cpus.empty());
    CHECK(topology.cpus.size() <= allowed_cpus().size());
    CHECK(usable_memory() >= 0);
}

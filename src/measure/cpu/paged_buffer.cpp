#include "measure/cpu/paged_buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <limits>

#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

PagedBuffer::~PagedBuffer() {
    if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
}

Result<PagedBuffer> PagedBuffer::make(std::size_t bytes, Pages pages) {
    if (bytes > std::numeric_limits<std::size_t>::max() / 2)
        return fail("memory", "the requested memory exceeds the address space");
    PagedBuffer buffer;
    buffer.mapped_bytes_ = (bytes / huge_page + 2) * huge_page;
    void* mapped = ::mmap(nullptr, buffer.mapped_bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        return fail(
            "memory",
            fmt::format("cannot allocate {} of memory for the measurement", to_text(Bytes{static_cast<double>(bytes)})),
            "end other programs that use memory, or raise the memory limit");
    }
    buffer.mapped_ = mapped;
    // this is only advice: a kernel without such pages provides others, and the measured rates show it
    ::madvise(mapped, buffer.mapped_bytes_, pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    const std::size_t skip = (huge_page - address % huge_page) % huge_page;
    buffer.data_ = static_cast<char*>(mapped) + skip;
    buffer.bytes_ = bytes;
    return buffer;
}

}  // namespace roofline::core

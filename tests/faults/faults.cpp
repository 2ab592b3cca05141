// A library for LD_PRELOAD that makes one allocation or one system call of a program fail, and with FAULTS_ON=1 all
// later ones, too. FAULTY_NEW=12 selects the twelfth `operator new`, FAULTY_CALL=3 the third of the calls that write.
// FAULTS_LOG names a file that receives both counts when the program ends.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

long number(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

/// Counts events that may fail and decides which of them do.
class Fault {
public:
    explicit Fault(const char* name) : name_(name) {}

    bool here() {
        if (wanted_ < 0) wanted_ = number(name_);
        ++count_;
        return wanted_ > 0 && (count_ == wanted_ || (count_ > wanted_ && number("FAULTS_ON") > 0));
    }
    [[nodiscard]] long count() const { return count_; }

private:
    const char* name_;
    long wanted_ = -1;
    long count_ = 0;
};

// Static constructors are avoided because the first allocations happen before those of this library run.
Fault& allocations() {
    static Fault fault("FAULTY_NEW");
    return fault;
}
Fault& calls() {
    static Fault fault("FAULTY_CALL");
    return fault;
}

void* allocated(std::size_t bytes, std::size_t alignment) {
    if (allocations().here()) return nullptr;
    const std::size_t rounded = (bytes + alignment) / alignment * alignment;
    return alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(bytes + 1);
}

void* allocated_or_thrown(std::size_t bytes, std::size_t alignment) {
    void* memory = allocated(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

constexpr std::size_t plain = alignof(std::max_align_t);

int no_space() {
    errno = ENOSPC;
    return -1;
}

struct AtEnd {
    ~AtEnd() {
        const char* name = std::getenv("FAULTS_LOG");
        if (name == nullptr) return;
        if (std::FILE* log = std::fopen(name, "w")) {
            std::fprintf(log, "%ld %ld\n", allocations().count(), calls().count());
            std::fclose(log);
        }
    }
};
const AtEnd at_end;

}  // namespace

void* operator new(std::size_t bytes) { return allocated_or_thrown(bytes, plain); }
void* operator new[](std::size_t bytes) { return allocated_or_thrown(bytes, plain); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocated_or_thrown(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocated(bytes, plain); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

ssize_t write(int file, const void* content, size_t bytes) {
    if (calls().here()) return no_space();
    return ::syscall(SYS_write, file, content, bytes);
}
int fsync(int file) {
    if (calls().here()) return no_space();
    return static_cast<int>(::syscall(SYS_fsync, file));
}
int fchmod(int file, mode_t mode) {
    if (calls().here()) return no_space();
    return static_cast<int>(::syscall(SYS_fchmod, file, mode));
}
int rename(const char* from, const char* to) {
    if (calls().here()) return no_space();
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int close(int file) {
    if (calls().here()) {
        ::syscall(SYS_close, file);
        return no_space();
    }
    return static_cast<int>(::syscall(SYS_close, file));
}

}  // extern "C"

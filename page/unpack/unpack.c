/* Unpacks what scripts/page.py has packed by LZMA, which browsers cannot. It needs no C library. */
#include <LzmaDec.h>

extern unsigned char __heap_base;

static unsigned char* free_memory = &__heap_base;

/* Returns memory for so many bytes, or null. It is never given back. */
__attribute__((export_name("room"))) void* room(size_t bytes) {
    const size_t page = 65536;
    unsigned char* const begin = free_memory;
    unsigned char* const end = begin + ((bytes + 15) & ~(size_t)15);
    const size_t pages = ((size_t)end + page - 1) / page;
    const size_t there = __builtin_wasm_memory_size(0);
    if (end < begin) return 0;
    if (pages > there && __builtin_wasm_memory_grow(0, pages - there) == (size_t)-1) return 0;
    free_memory = end;
    return begin;
}

static void* take(void* self, size_t bytes) { return room(bytes); }
static void forget(void* self, void* memory) {}

void* memcpy(void* to, const void* from, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
    return to;
}

/* Unpacks a file of LZMA of so many bytes: 5 bytes of properties, 8 of its size unpacked, then the data. Returns how
   many bytes are in `to`, which has room for them; less than in the header if the data are damaged. */
__attribute__((export_name("unpack"))) size_t unpack(const unsigned char* packed, size_t bytes, unsigned char* to,
                                                     size_t size) {
    ISzAlloc memory = {take, forget};
    ELzmaStatus status;
    SizeT unpacked = size;
    SizeT used = bytes - 13;
    if (bytes < 13 || LzmaDecode(to, &unpacked, packed + 13, &used, packed, 5, LZMA_FINISH_ANY, &status, &memory)) {
        return 0;
    }
    return unpacked;
}

/* Unpacks what scripts/page.py has packed by LZMA, which browsers cannot. It needs no C library.

   It is asked for one piece after the other: browsers begin with code that was compiled fast, and only go on with
   faster code at the next call. */
#include <LzmaDec.h>

extern unsigned char __heap_base;

static unsigned char* free_memory = &__heap_base;
static CLzmaDec decoder;
static const unsigned char* rest;
static SizeT rest_bytes;

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

/* Begins with a file of LZMA of so many bytes: 5 bytes of properties, 8 of its size unpacked, then the data. `to` has
   room for what is unpacked. Returns whether it can be read. */
__attribute__((export_name("begin"))) int begin(const unsigned char* packed, size_t bytes, unsigned char* to,
                                                size_t size) {
    static ISzAlloc memory = {take, forget};
    if (bytes < 13) return 0;
    LzmaDec_Construct(&decoder);
    if (LzmaDec_AllocateProbs(&decoder, packed, 5, &memory)) return 0;
    decoder.dic = to;
    decoder.dicBufSize = size;
    LzmaDec_Init(&decoder);
    rest = packed + 13;
    rest_bytes = bytes - 13;
    return 1;
}

/* Unpacks until there are so many bytes. Returns how many there are; less if the data are damaged. */
__attribute__((export_name("unpack"))) size_t unpack(size_t until) {
    ELzmaStatus status;
    SizeT used = rest_bytes;
    if (LzmaDec_DecodeToDic(&decoder, until, rest, &used, LZMA_FINISH_ANY, &status)) return 0;
    rest += used;
    rest_bytes -= used;
    return decoder.dicPos;
}

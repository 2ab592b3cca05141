// Compiles hot loops for several generations of processors; the version for this processor is chosen when the program
// starts.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ROOFLINE_MULTIVERSION
#endif
#endif
#ifndef ROOFLINE_MULTIVERSION
#define ROOFLINE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#else
#define ROOFLINE_MULTIVERSION
#endif

/// Marks functions that such a loop calls: they must be inlined to be compiled for the same processor.
#define ROOFLINE_INLINE inline __attribute__((always_inline))

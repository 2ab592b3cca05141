#include "import/measurement_notes.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

/// A library's name in tables and its name in this program. A longer name precedes names that it contains.
struct Library {
    std::string_view word;
    std::string_view name;
};
constexpr std::array<Library, 18> libraries{{{"oneccl", "oneccl"},
                                             {"rccl", "rccl"},
                                             {"nccl", "nccl"},
                                             {"sglang-jax", "sglang-jax"},
                                             {"optimum-habana", "optimum-habana"},
                                             {"sglang", "sglang"},
                                             {"vllm", "vllm"},
                                             {"trtllm", "trtllm"},
                                             {"tensorrt-llm", "trtllm"},
                                             {"aiter", "aiter"},
                                             {"hipblaslt", "hipblaslt"},
                                             {"torch", "torch"},
                                             {"jax", "jax"},
                                             {"xla", "xla"},
                                             {"mlx", "mlx"},
                                             {"openmpi", "openmpi"},
                                             {"mpich", "mpich"},
                                             {"mpi", "mpi"}}};

constexpr std::array<std::string_view, 9> algorithms{"one-shot", "two-shot", "custom",  "nvls",  "tree",
                                                     "ring",     "pat",      "collnet", "direct"};

bool is_letter(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }
bool in_version(char c) { return is_digit(c) || is_letter(c) || c == '.'; }

/// Position of `word` in the lower-case `text`, without adjacent letters.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
    for (std::size_t at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return at;
    }
    return std::string_view::npos;
}

/// The version that follows a name: after blanks, '-', '/' or '(' the characters that begin with a digit. ROCm's
/// version is used as that of the library that comes with it.
std::string version_at(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" -/=v("), text.size());
    text.remove_prefix(begin);
    std::string platform;
    if (text.starts_with("rocm ")) {
        platform = "rocm-";
        text.remove_prefix(5);
    }
    if (text.empty() || !is_digit(text.front())) return "";
    const auto end = std::find_if_not(text.begin(), text.end(), in_version);
    std::string version = platform + std::string(text.begin(), end);
    while (!version.empty() && version.back() == '.') version.pop_back();
    return version;
}

/// The integer that a word consists of, or 0.
std::int64_t whole(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc{} && end == word.data() + word.size() && value > 0 ? value : 0;
}

/// The number after a phrase if the unit follows it; else 0.
double number_after(std::string_view note, std::string_view phrase, std::string_view unit) {
    const std::size_t at = note.find(phrase);
    if (at == std::string_view::npos) return 0;
    double value = 0;
    const char* const last = note.data() + note.size();
    const auto [end, error] = std::from_chars(note.data() + at + phrase.size(), last, value);
    const bool fits = error == std::errc{} && std::string_view(end, last).starts_with(unit);
    return fits && value > 0 ? value : 0;
}

/// Rounding of the time because of the clock or of a rounded rate: for "throughput quantised to 0.01 GB/s", half a
/// step.
double rounding_of(const std::string& note, const MeasuredCollective& row) {
    const double step = number_after(note, "quantised to ", " gb/s") * 1e9;
    const double rate = row.size / row.time_s;
    return std::max(clock_rounding_s(note), step > 0 && rate > 0 ? row.time_s * (step / 2) / rate : 0);
}

}  // namespace

double clock_rounding_s(std::string_view note) {
    const std::string folded = lowered(note);
    return std::max(number_after(folded, "timer ", "us") * 1e-6, number_after(folded, "milliseconds to ", "") * 1e-3) /
           2;
}

std::string software_in(std::string_view text) {
    const std::string folded = lowered(text);
    std::size_t first = std::string::npos;
    std::string found;
    for (const Library& library : libraries) {
        const std::size_t at = find_word(folded, library.word);
        if (at >= first) continue;
        first = at;
        // "rccl-tests with RCCL 2.22.3": the first mention that has a version
        std::string version;
        for (std::size_t next = at; next != std::string::npos && version.empty();
             next = find_word(folded, library.word, next + 1)) {
            version = version_at(std::string_view(folded).substr(next + library.word.size()));
        }
        found = std::string(library.name) + (version.empty() ? "" : " " + version);
    }
    return found;
}

std::vector<std::string> note_words(std::string_view note) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : note) {
        if (is_digit(c) || is_letter(c) || c == '.' || c == '-' || c == '/') {
            word += to_lower(c);
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    return words;
}

void apply_note(std::string_view note, MeasuredCollective& row) {
    if (note.empty()) return;
    const std::vector<std::string> words = note_words(note);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool known = std::find(algorithms.begin(), algorithms.end(), word) != algorithms.end();
        // "custom one-shot" means the one-shot kernel
        if (known && (row.algorithm.empty() || row.algorithm == "custom")) row.algorithm = word;
        if (word == "eager" || word == "graph") row.launch = word;
        // one process with a thread for each device, instead of a process for each
        const std::string_view next = i + 1 < words.size() ? std::string_view(words[i + 1]) : "";
        if (word == "single" && next == "process") row.launch = "one process";
        if (word == "numa" && next == "balancing") row.launch = "numa balancing";
        if (word == "in-place") row.in_place = true;
        if (word == "concurrent" && i > 0 && whole(words[i - 1]) > 0) row.groups = whole(words[i - 1]);
        if (!row.dtype) row.dtype = find_dtype(word);
    }
    row.rounding_s = rounding_of(lowered(note), row);
}

}  // namespace roofline::core

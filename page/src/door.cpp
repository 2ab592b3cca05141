// What JavaScript calls, and what it is called for. A question is a list of strings (message.hpp): the number of words,
// the words, and name and content of each file; the answer is that of answer_list().
#include <charconv>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "answer.hpp"
#include "app/cli/parse_words.hpp"
#include "given_files.hpp"
#include "message.hpp"

namespace roofline::page {

/// Ends the question with this answer. There are no exceptions here, so JavaScript throws one, which leaves all calls
/// of WebAssembly, and then starts a new instance.
extern "C" [[noreturn, clang::import_module("roofline"), clang::import_name("leave")]] void leave(const char* list,
                                                                                                  std::size_t bytes);

/// Is told how far a search for plans has come (SearchProgress); the best is 0 where none is known.
extern "C" [[clang::import_module("roofline"), clang::import_name("searched")]] void searched(double looked_at,
                                                                                              double plans,
                                                                                              double best);

namespace {

/// What is known of the question that is being answered.
struct Asked {
    bool json = false;
    /// Makes an error of a message of the parser, while it runs.
    const std::function<core::Error(std::string_view)>* rephrased = nullptr;
};

Asked& asked() {
    static Asked question;
    return question;
}

[[noreturn]] void leave_with(const Answer& answer) {
    const std::string list = answer_list(answer);
    leave(list.data(), list.size());
}

[[noreturn]] void leave_without_memory() {
    // It is made before memory is short.
    static const std::string text = answer_list(
        failed_answer({"out_of_memory", "out of memory", "ask for less at a time, or use the program", {}}, false, 1));
    static const std::string json = answer_list(
        failed_answer({"out_of_memory", "out of memory", "ask for less at a time, or use the program", {}}, true, 1));
    const std::string& list = asked().json ? json : text;
    leave(list.data(), list.size());
}

std::vector<char>& question() {
    static std::vector<char> bytes;
    return bytes;
}

std::string& answer() {
    static std::string list;
    return list;
}

}  // namespace

extern "C" {

/// Returns memory for a question of so many bytes.
[[clang::export_name("room")]] char* page_room(std::size_t bytes) {
    question().resize(bytes);
    return question().data();
}

/// Answers the question in that memory. Returns the list, which is there until the next call.
[[clang::export_name("ask")]] const char* page_ask() {
    std::set_new_handler(leave_without_memory);
    const auto strings = strings_of({question().data(), question().size()});
    std::size_t count = 0;
    if (!strings.empty()) std::from_chars(strings[0].data(), strings[0].data() + strings[0].size(), count);
    std::vector<std::string> words;
    std::map<std::string, std::string_view, std::less<>> files;
    for (std::size_t i = 1; i < strings.size(); ++i) {
        if (i <= count) {
            words.emplace_back(strings[i]);
        } else if (i + 1 < strings.size()) {
            files.emplace(strings[i], strings[i + 1]);
            ++i;
        }
    }
    const GivenFiles given(std::move(files));
    asked() = {};
    const auto watch = [](const core::SearchProgress& at) {
        searched(static_cast<double>(at.looked_at), static_cast<double>(at.plans), at.best.value_or(0));
        return true;
    };
    answer() = answer_list(answer_to(words, asked().json, watch));
    question() = {};
    return answer().data();
}

[[clang::export_name("answer_bytes")]] std::size_t page_answer_bytes() { return answer().size(); }

/// `throw` is compiled to a call of these functions.
void* __cxa_allocate_exception(std::size_t bytes) noexcept { return ::operator new(bytes); }
void __cxa_free_exception(void* thrown) noexcept { ::operator delete(thrown); }

/// Whatever is thrown begins with its std::exception: the exceptions of CLI11 and of the standard library do.
[[noreturn]] void __cxa_throw(void* thrown, std::type_info*, void (*)(void*)) {
    const std::string message = static_cast<const std::exception*>(thrown)->what();
    const Asked& about = asked();
    if (about.rephrased == nullptr) leave_with({1, "", "error: " + message + "\n", {}});
    leave_with(failed_answer((*about.rephrased)(message), about.json, 2));
}
}

}  // namespace roofline::page

namespace roofline::core::cli {

Status parse_words(CLI::App& app, const std::vector<std::string>& words,
                   const std::function<Error(std::string_view)>& rephrased) {
    page::asked().rephrased = &rephrased;
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
    page::asked().rephrased = nullptr;
    return {};
}

}  // namespace roofline::core::cli

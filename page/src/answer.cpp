#include "answer.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.hpp"
#include "message.hpp"
#include "report/op/op_json.hpp"
#include "report/plot/png.hpp"

namespace roofline::page {

Answer failed_answer(const core::Error& error, bool json, int code) {
    if (json) return {code, core::error_json(error), "", {}};
    std::string text = to_text(error);
    if (!text.ends_with('\n')) text += '\n';
    return {code, "", std::move(text), {}};
}

// The same steps as those of run() in app/cli/main.cpp.
Answer answer_to(const std::vector<std::string>& words, bool& json, const core::SearchWatcher& watch) {
    auto parsed = core::cli::parse_arguments(words, json);
    if (!parsed) return failed_answer(parsed.error(), json, 2);
    if (parsed->local) {
        const core::Error absent{"absent",
                                 "this command needs the machine that it measures or runs on, or its processes",
                                 "use the program: it takes the same words",
                                 {}};
        return failed_answer(absent, json, 3);
    }
    if (!parsed->request) return {0, std::move(parsed->print), "", {}};
    if (core::SearchControl* search = core::search_of(*parsed->request)) search->watch = watch;
    core::Response response = core::handle(*parsed->request);
    if (response.error) return failed_answer(*response.error, json, response.exit_code);
    Answer answer{response.exit_code, "", "", std::move(response.files)};
    if (!response.svg.empty()) {
        if (!parsed->plots.svg.empty()) answer.written.push_back({parsed->plots.svg, response.svg});
        if (!parsed->plots.png.empty()) {
            auto png = core::svg_to_png(response.svg);
            if (!png) return failed_answer(png.error(), json, 1);
            answer.written.push_back({parsed->plots.png, std::move(*png)});
        }
    }
    if (std::string html = core::cli::report_html(response, *parsed, words); !html.empty()) {
        answer.written.push_back({parsed->plots.html, std::move(html)});
    }
    for (const core::Error& error : response.beside) answer.err += failed_answer(error, false, 2).err;
    answer.out = core::with_directions_shown(response.out);
    return answer;
}

std::string answer_list(const Answer& answer) {
    const std::string code = fmt::format("{}", answer.code);
    std::vector<std::string_view> strings{code, answer.out, answer.err};
    for (const core::NamedText& file : answer.written) {
        strings.push_back(file.name);
        strings.push_back(file.text);
    }
    return list_of(strings);
}

}  // namespace roofline::page

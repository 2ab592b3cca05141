#include "report/serve/serve_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "report/figure.hpp"
#include "report/op/op_page.hpp"
#include "report/page/page_sources.hpp"
#include "report/plot/shares.hpp"
#include "report/serve/serve_figures.hpp"
#include "report/serve/serve_picture.hpp"
#include "report/serve/serve_text.hpp"

namespace roofline::core {

namespace {

std::string memory_picture(const ServeAnswer& answer) {
    const auto& memory = answer.chip_memory;
    SharesBar bar{"a chip", in_bytes(memory.total()), {}};
    const std::pair<const char*, std::string_view> pieces[] = {{"weights", "memory_bytes_per_chip.weights"},
                                                               {"KV cache", "memory_bytes_per_chip.kv"},
                                                               {"activations", "memory_bytes_per_chip.activations"}};
    for (const auto& [label, key] : pieces) {
        const FigureValue bytes = value_of(serve_figures(), key, answer);
        if (bytes.is_number()) bar.pieces.push_back({label, bytes.get<double>(), in_bytes(bytes.get<double>())});
    }
    std::string subtitle;
    if (answer.capacity) {
        subtitle = fmt::format("{:.0f} % of {}", 100 * memory.total() / *answer.capacity, in_bytes(*answer.capacity));
    }
    return to_svg(SharesPlot{"Memory of a chip", std::move(subtitle), {std::move(bar)}});
}

}  // namespace

void add_serving(PageWriter& page, const ServeAnswer& answer) {
    ReportPage sections = serve_sections(answer);
    page.title(sections.title);
    page.question(sections.question);
    page.add(std::move(sections));
    page.section(PagePlace::choice, "Tokens per second against the time per token");
    page.picture(serve_picture({answer}));
    page.section(PagePlace::detail, "Picture of the memory");
    page.picture(memory_picture(answer));
    if (answer.emitted) {
        page.section(PagePlace::answer, "Launch");
        page.code(answer.emitted->text);
    }
    PageSources sources;
    sources.add_memory(answer.slice.machine);
    sources.add_price(answer.slice.machine);
    add_derivation(page, answer.decode, "Derivation of a decode step", std::move(sources));
}

ReportPage serve_page(const std::vector<ServeAnswer>& answers) {
    PageWriter page;
    if (answers.size() == 1) {
        add_serving(page, answers.front());
        return page.take();
    }
    std::vector<std::string> slices;
    for (const ServeAnswer& answer : answers) slices.push_back(slice_name(answer));
    const std::string& model = answers.front().model.name;
    page.title(fmt::format("Serving {} on {} slices", model, answers.size()));
    page.question(fmt::format("Which of {} serves {} faster or cheaper, and why?", fmt::join(slices, ", "), model));
    page.section(PagePlace::answer, "Side by side");
    page.table(serve_comparison(answers));
    page.picture(serve_picture(answers));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        PageWriter one;
        add_serving(one, answers[i]);
        page.add(one.take(), slices[i]);
    }
    return page.take();
}

}  // namespace roofline::core

// Collects the sections of a report while a command goes through its answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/figure.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns a quantity of an answer as a fact.
template <class Figures, class Answer>
[[nodiscard]] PageFact fact_of(const Figures& all, std::string_view key, const Answer& answer,
                               std::string_view remark = {}) {
    const auto& figure = find_figure(all, key);
    return {std::string(figure.label.empty() ? key.substr(key.find_last_of(".#") + 1) : figure.label),
            text_of(all, key, answer), std::string(remark), figures::exact_text(value_of(all, key, answer), key)};
}

/// The sections of a page in the order in which they are written. Texts may be wrapped: line ends and repeated spaces
/// become one space each.
class PageWriter {
public:
    void title(std::string_view text);
    void question(std::string_view text);
    /// Adds a quantity that is shown in large letters at the top. One without a value is left out.
    void headline(PageFact fact);

    /// Begins a section; a section without anything in it is left out.
    void section(PagePlace place, std::string title);
    void fact(PageFact fact);
    void fact(std::string_view label, std::string_view value, std::string_view remark);
    void table(Table table, std::string caption = {});
    void say(std::string_view text);
    void list(std::vector<std::string> items);
    void lines(std::vector<PageLine> lines);
    void code(std::string text);
    void picture(std::string svg);
    /// Adds a remark to those at the end of the page; each is said once.
    void note(std::string_view text);

    /// Adds all of another page but its title and question. The titles of its sections begin with `name`, if there is
    /// one; headlines are then left out.
    void add(ReportPage other, const std::string& name = {});

    /// Returns the page and leaves this one empty.
    [[nodiscard]] ReportPage take();

private:
    void block(PageBlock block);

    ReportPage page_;
};

}  // namespace roofline::core

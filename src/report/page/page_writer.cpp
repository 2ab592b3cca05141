#include "report/page/page_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofline::core {

namespace {

// Undoes wrapping.
std::string flat(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n';
        if (space && (result.empty() || result.back() == ' ')) continue;
        result += space ? ' ' : c;
    }
    if (result.ends_with(' ')) result.pop_back();
    return result;
}

}  // namespace

void PageWriter::title(std::string_view text) { page_.title = flat(text); }

void PageWriter::question(std::string_view text) { page_.question = flat(text); }

void PageWriter::headline(PageFact fact) {
    if (fact.value.empty() || fact.value == "-") return;
    fact.remark = flat(fact.remark);
    page_.headline.push_back(std::move(fact));
}

void PageWriter::section(PagePlace place, std::string title) { page_.sections.push_back({place, std::move(title)}); }

void PageWriter::block(PageBlock block) {
    if (page_.sections.empty()) section(PagePlace::answer, "Answer");
    page_.sections.back().blocks.push_back(std::move(block));
}

void PageWriter::fact(PageFact fact) {
    fact.label = flat(fact.label);
    fact.value = flat(fact.value);
    fact.remark = flat(fact.remark);
    if (page_.sections.empty() || page_.sections.back().blocks.empty() ||
        !std::holds_alternative<PageFacts>(page_.sections.back().blocks.back())) {
        block(PageFacts{});
    }
    std::get<PageFacts>(page_.sections.back().blocks.back()).facts.push_back(std::move(fact));
}

void PageWriter::fact(std::string_view label, std::string_view value, std::string_view remark) {
    fact(PageFact{std::string(label), std::string(value), std::string(remark)});
}

void PageWriter::table(Table table, std::string caption) {
    if (!table.rows.empty()) block(PageTable{std::move(table), std::move(caption)});
}

void PageWriter::say(std::string_view text) {
    if (std::string all = flat(text); !all.empty()) block(PageText{std::move(all)});
}

void PageWriter::list(std::vector<std::string> items) {
    for (std::string& item : items) item = flat(item);
    if (!items.empty()) block(PageList{std::move(items)});
}

void PageWriter::lines(std::vector<PageLine> lines) {
    if (!lines.empty()) block(PageLines{std::move(lines)});
}

void PageWriter::code(std::string text) {
    if (!text.empty()) block(PageCode{std::move(text)});
}

void PageWriter::picture(std::string svg) {
    if (!svg.empty()) block(PagePicture{std::move(svg)});
}

void PageWriter::note(std::string_view text) {
    std::string all = flat(text);
    if (std::find(page_.notes.begin(), page_.notes.end(), all) == page_.notes.end()) {
        page_.notes.push_back(std::move(all));
    }
}

void PageWriter::add(ReportPage other, const std::string& name) {
    for (PageSection& each : other.sections) {
        if (!name.empty()) each.title = fmt::format("{}: {}", name, each.title);
        page_.sections.push_back(std::move(each));
    }
    for (const std::string& each : other.notes) note(each);
    if (!name.empty()) return;
    for (PageFact& each : other.headline) page_.headline.push_back(std::move(each));
}

ReportPage PageWriter::take() {
    std::erase_if(page_.sections, [](const PageSection& each) { return each.blocks.empty(); });
    return std::exchange(page_, ReportPage{});
}

}  // namespace roofline::core

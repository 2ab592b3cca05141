#include "machine/toml_file.hpp"

#include <utility>

namespace roofline::core {

TomlFile::TomlFile(const TomlInput& toml, std::string_view origin, std::string remedy)
    : source_(toml.text(), std::string(origin)), root_(toml.parsed()) {
    if (root_) return;
    if (auto parsed = TomlDocument::parse(source_, std::move(remedy))) {
        own_ = *std::move(parsed);
    } else {
        parsed_ = fail(std::move(parsed).error());
    }
    root_ = own_.root();
}

void TomlFile::read_sources() {
    const TomlNode own = root_.find("sources");
    if (!own || !own.is(TomlKind::table)) return;
    const Citations none;
    Reader reader(own, "[sources]", problems_, none);
    for (const TomlNode source : own) {
        citations_.add(std::string(source.key()), reader.required_text(source.key()));
    }
}

Status TomlFile::status() const {
    if (!parsed_) return parsed_;
    const auto& problem = problems_.first();
    if (!problem) return {};
    return source_.fail_at(span_of(problem->at, source_.text()), problem->code, problem->message, problem->hint);
}

}  // namespace roofline::core

// A strict SVG reader for tests.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofline::core {

/// An SVG tag with the text that follows it.
struct SvgElement {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string text;  ///< the text between this tag and the next

    double number(const std::string& key) const {
        const auto it = attributes.find(key);
        return it == attributes.end() ? std::nan("") : std::strtod(it->second.c_str(), nullptr);
    }
    bool has_class(const std::string& css) const {
        const auto it = attributes.find("class");
        return it != attributes.end() && (" " + it->second + " ").find(" " + css + " ") != std::string::npos;
    }
};

/// Reads the XML that this project writes, strictly: tags balance, attributes are quoted and unique, every & begins a
/// known entity, text contains no <. An empty result means that the document is not well-formed.
class SvgReader {
public:
    explicit SvgReader(std::string_view xml) : rest_(xml) {}

    std::vector<SvgElement> read() {
        std::vector<SvgElement> elements;
        while (!rest_.empty()) {
            if (rest_.front() != '<' || !tag(elements)) return {};
            const std::string text = take_until('<');
            if (!sound(text)) return {};
            if (!elements.empty()) elements.back().text += text;
        }
        return open_.empty() ? elements : std::vector<SvgElement>{};
    }

private:
    std::string take_until(char end) {
        const std::size_t n = std::min(rest_.find(end), rest_.size());
        std::string out(rest_.substr(0, n));
        rest_.remove_prefix(n);
        return out;
    }

    static bool sound(std::string_view text) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n') return false;
            if (text[i] != '&') continue;
            const std::string_view entity = text.substr(i, text.find(';', i) - i + 1);
            if (entity != "&lt;" && entity != "&gt;" && entity != "&amp;" && entity != "&quot;" && entity != "&#39;")
                return false;
        }
        return true;
    }

    bool tag(std::vector<SvgElement>& elements) {
        rest_.remove_prefix(1);
        std::string body = take_until('>');
        if (rest_.empty()) return false;
        rest_.remove_prefix(1);
        if (body.starts_with('/')) {
            if (open_.empty() || open_.back() != body.substr(1)) return false;
            open_.pop_back();
            return true;
        }
        const bool closed = body.ends_with('/');
        if (closed) body.pop_back();
        SvgElement element;
        std::string_view left = body;
        element.name = left.substr(0, left.find(' '));
        left.remove_prefix(element.name.size());
        while (!left.empty()) {
            const std::size_t equals = left.find("=\"");
            if (left.front() != ' ' || equals == std::string_view::npos) return false;
            const std::size_t end = left.find('"', equals + 2);
            if (end == std::string_view::npos) return false;
            const std::string value(left.substr(equals + 2, end - equals - 2));
            if (!sound(value)) return false;
            if (!element.attributes.emplace(left.substr(1, equals - 1), value).second) return false;
            left.remove_prefix(end + 1);
        }
        if (!closed) open_.push_back(element.name);
        elements.push_back(std::move(element));
        return true;
    }

    std::string_view rest_;
    std::vector<std::string> open_;
};

inline std::vector<SvgElement> elements_of(const std::string& svg, const std::string& css) {
    std::vector<SvgElement> all = SvgReader(svg).read();
    CHECK_FALSE(all.empty());  // well-formed
    std::erase_if(all, [&](const SvgElement& e) { return !e.has_class(css); });
    return all;
}

inline std::vector<std::string> texts(const std::vector<SvgElement>& elements) {
    std::vector<std::string> out;
    for (const SvgElement& e : elements) {
        const std::size_t end = e.text.find_last_not_of('\n');
        out.push_back(e.text.substr(0, end + 1));
    }
    return out;
}

inline bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace roofline::core

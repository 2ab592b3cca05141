#include "import/xla/xla_module.hpp"

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

std::optional<std::string_view> find_attribute(const std::vector<XlaAttribute>& attributes, std::string_view key) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const XlaAttribute& attribute) { return attribute.key == key; });
    return found == attributes.end() ? std::nullopt : std::optional(found->value);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    text = trimmed(text);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

std::optional<std::string_view> XlaInstruction::attribute(std::string_view key) const {
    return find_attribute(attributes, key);
}

std::vector<std::int64_t> XlaInstruction::numbers(std::string_view key) const {
    const auto text = attribute(key);
    return text ? number_list(*text).value_or(std::vector<std::int64_t>{}) : std::vector<std::int64_t>{};
}

std::optional<std::int64_t> XlaInstruction::number(std::string_view key) const {
    const auto text = attribute(key);
    return text ? whole_number(*text) : std::nullopt;
}

std::optional<std::string_view> XlaModule::attribute(std::string_view key) const {
    return find_attribute(attributes, key);
}

void fuse_entry(XlaModule& module) {
    const XlaComputation& main = module.main();
    const auto custom = [](const XlaInstruction& each) { return each.opcode == "custom-call"; };
    if (std::any_of(main.instructions.begin(), main.instructions.end(), custom)) return;
    XlaComputation entry;
    entry.name = "entry";
    XlaInstruction fusion;
    fusion.name = main.result().name;
    fusion.opcode = "fusion";
    fusion.shape = main.result().shape;
    fusion.called = {module.entry};
    fusion.attributes = {{"kind", "kLoop"}};
    fusion.origin = main.result().origin;
    // Operands are in the order of the parameters' numbers, which is that of their literals.
    std::vector<std::pair<std::int64_t, const XlaInstruction*>> parameters;
    for (const XlaInstruction& each : main.instructions) {
        if (each.opcode == "parameter") parameters.emplace_back(whole_number(each.literal).value_or(0), &each);
    }
    std::sort(parameters.begin(), parameters.end());
    for (const auto& [number, parameter] : parameters) {
        fusion.operands.push_back(static_cast<std::uint32_t>(entry.instructions.size()));
        entry.instructions.push_back(*parameter);
    }
    entry.root = static_cast<std::uint32_t>(entry.instructions.size());
    entry.instructions.push_back(std::move(fusion));
    module.entry = static_cast<std::uint32_t>(module.computations.size());
    module.computations.push_back(std::move(entry));
}

std::optional<std::vector<std::int64_t>> number_list(std::string_view text) {
    text = trimmed(text);
    const bool braces = text.size() >= 2 &&
                        ((text.front() == '{' && text.back() == '}') || (text.front() == '[' && text.back() == ']'));
    if (!braces) return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<std::int64_t> numbers;
    while (!trimmed(text).empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const auto number = whole_number(text.substr(0, comma));
        if (!number) return std::nullopt;
        numbers.push_back(*number);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return numbers;
}

std::optional<std::string_view> value_of_key(std::string_view text, std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
        const auto word = [](char c) { return is_digit(c) || c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z'); };
        if (at > 0 && word(text[at - 1])) continue;
        std::size_t next = at + key.size();
        while (next < text.size() && (text[next] == '"' || text[next] == '\\' || text[next] == ' ')) ++next;
        if (next >= text.size() || (text[next] != ':' && text[next] != '=')) continue;
        ++next;
        while (next < text.size() && text[next] == ' ') ++next;
        std::size_t end = next;
        int depth = 0;
        while (end < text.size()) {
            const char c = text[end];
            if (c == '{' || c == '[' || c == '(') ++depth;
            if (c == '}' || c == ']' || c == ')') {
                if (depth == 0) break;
                --depth;
            }
            if (depth == 0 && c == ',') break;
            ++end;
        }
        return trimmed(text.substr(next, end - next));
    }
    return std::nullopt;
}

// A walk through all calls; what is entered again before it is left calls itself.
std::optional<std::uint32_t> put_callees_first(XlaModule& module) {
    enum class State : std::uint8_t { fresh, entered, left };
    auto& all = module.computations;
    std::vector<State> states(all.size(), State::fresh);
    std::vector<std::uint32_t> order;
    std::vector<std::vector<std::uint32_t>> callees(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const XlaInstruction& instruction : all[i].instructions) {
            callees[i].insert(callees[i].end(), instruction.called.begin(), instruction.called.end());
        }
    }
    for (std::uint32_t start = 0; start < all.size(); ++start) {
        std::vector<std::pair<std::uint32_t, std::size_t>> path;
        if (states[start] == State::fresh) path.emplace_back(start, 0);
        while (!path.empty()) {
            auto& [at, next] = path.back();
            states[at] = State::entered;
            if (next == callees[at].size()) {
                states[at] = State::left;
                order.push_back(at);
                path.pop_back();
                continue;
            }
            const std::uint32_t callee = callees[at][next++];
            if (states[callee] == State::entered) return callee;
            if (states[callee] == State::fresh) path.emplace_back(callee, 0);
        }
    }
    std::vector<std::uint32_t> place(all.size());
    std::vector<XlaComputation> sorted;
    sorted.reserve(all.size());
    for (const std::uint32_t at : order) {
        place[at] = static_cast<std::uint32_t>(sorted.size());
        sorted.push_back(std::move(all[at]));
    }
    for (XlaComputation& computation : sorted) {
        for (XlaInstruction& instruction : computation.instructions) {
            for (std::uint32_t& callee : instruction.called) callee = place[callee];
        }
    }
    module.entry = place[module.entry];
    all = std::move(sorted);
    return std::nullopt;
}

}  // namespace roofline::core

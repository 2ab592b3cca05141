#include "import/xla/sharding/xla_sharding.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_devices = 1'000'000;

/// Goes through the text of a sharding. Backslashes, which quote inside strings of HLO, are skipped.
class ShardingText {
public:
    explicit ShardingText(std::string_view text) : text_(text) { skip(); }

    [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
    [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
    void next() {
        ++at_;
        skip();
    }
    bool accept(std::string_view word) {
        if (!text_.substr(std::min(at_, text_.size())).starts_with(word)) return false;
        at_ += word.size();
        skip();
        return true;
    }
    bool go_to(std::string_view word) {
        const std::size_t found = text_.find(word, at_);
        if (found == std::string_view::npos) return false;
        at_ = found;
        return true;
    }
    std::optional<std::int64_t> number() {
        std::int64_t number = 0;
        const char* from = text_.data() + std::min(at_, text_.size());
        const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), number);
        if (error != std::errc{} || number < 0 || number > most_devices) return std::nullopt;
        at_ += static_cast<std::size_t>(end - from);
        skip();
        return number;
    }
    // `[4,1,2]` or `(1,0)`.
    std::optional<std::vector<std::int64_t>> list(char open, char close) {
        if (peek() != open) return std::nullopt;
        std::vector<std::int64_t> numbers;
        do {
            next();
            const auto each = number();
            if (!each) return std::nullopt;
            numbers.push_back(*each);
        } while (peek() == ',');
        if (peek() != close) return std::nullopt;
        next();
        return numbers;
    }
    // `"name"`, the quotes perhaps behind backslashes.
    std::string quoted() {
        std::string name;
        for (next(); !at_end() && peek() != '"'; next()) name += peek();
        next();
        return name;
    }
    [[nodiscard]] std::string word() {
        std::string word;
        for (; is_word(peek()); next()) word += peek();
        return word;
    }

private:
    static bool is_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' || c == '$';
    }
    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\\')) ++at_;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// Takes the outermost devices of a list of distances: so many of them.
std::optional<std::vector<StridedDim>> take_tiles(std::int64_t tiles, std::vector<StridedDim>& from) {
    std::vector<StridedDim> taken;
    while (tiles > 1) {
        if (from.empty()) return std::nullopt;
        StridedDim& outer = from.front();
        if (tiles % outer.count == 0) {
            if (outer.count > 1) taken.push_back(outer);
            tiles /= outer.count;
            from.erase(from.begin());
        } else if (outer.count % tiles == 0) {
            taken.push_back({tiles, outer.stride * (outer.count / tiles)});
            outer.count /= tiles;
            tiles = 1;
        } else {
            return std::nullopt;
        }
    }
    return taken;
}

// The devices of an iota that was reshaped and transposed, as distances, outermost first.
std::optional<std::vector<StridedDim>> transposed(const std::vector<std::int64_t>& sizes,
                                                  const std::vector<std::int64_t>& order) {
    std::vector<StridedDim> dims(sizes.size());
    std::int64_t stride = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        if (sizes[i] < 1 || stride > most_devices / sizes[i]) return std::nullopt;
        dims[i] = {sizes[i], stride};
        stride *= sizes[i];
    }
    if (order.empty()) return dims;
    std::vector<StridedDim> out;
    std::vector<bool> seen(sizes.size());
    for (const std::int64_t place : order) {
        if (static_cast<std::size_t>(place) >= sizes.size() || seen[static_cast<std::size_t>(place)])
            return std::nullopt;
        seen[static_cast<std::size_t>(place)] = true;
        out.push_back(dims[static_cast<std::size_t>(place)]);
    }
    return out.size() == sizes.size() ? std::optional(out) : std::nullopt;
}

// The distances of devices that are listed one by one for these tiles.
std::optional<std::vector<StridedDim>> listed_devices(ShardingText& text, const std::vector<std::int64_t>& tiles) {
    std::vector<std::int64_t> devices;
    while (const auto device = text.number()) {
        devices.push_back(*device);
        if (text.peek() != ',') break;
        text.next();
    }
    std::vector<StridedDim> dims;
    std::size_t inner = devices.size();
    for (const std::int64_t tile : tiles) {
        if (tile < 1 || inner % static_cast<std::size_t>(tile) != 0) return std::nullopt;
        inner /= static_cast<std::size_t>(tile);
        if (tile > 1) dims.push_back({tile, devices[inner] - devices[0]});
    }
    if (devices.empty() || inner != 1 || devices[0] != 0) return std::nullopt;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        std::int64_t expected = 0;
        auto rest = static_cast<std::int64_t>(i);
        for (std::size_t d = dims.size(); d-- > 0;) {
            expected += rest % dims[d].count * dims[d].stride;
            rest /= dims[d].count;
        }
        if (devices[i] != expected) return std::nullopt;
    }
    return dims;
}

/// Reads one sharding of Shardy, from its `<`.
class ShardyReader {
public:
    ShardyReader(ShardingText& text, const std::map<std::string, ShardyMesh, std::less<>>& meshes)
        : text_(text), meshes_(meshes) {}

    std::optional<XlaSharding> read() {
        text_.next();  // <
        const ShardyMesh* mesh = nullptr;
        if (text_.accept("@")) {
            const auto found = meshes_.find(text_.word());
            if (found != meshes_.end()) mesh = &found->second;
        }
        XlaSharding sharding;
        bool good = mesh != nullptr && text_.accept(",") && text_.accept("[");
        while (good && text_.peek() == '{') good = dim(*mesh, sharding);
        good = good && text_.accept("]");
        int depth = 1;  // replicated={"z"}, unreduced={"w"} and the end
        for (; !text_.at_end() && depth > 0; text_.next()) {
            if (text_.peek() == 'u' && good) good = !text_.accept("unreduced");
            depth += text_.peek() == '<' ? 1 : text_.peek() == '>' ? -1 : 0;
        }
        return good ? std::optional(sharding) : std::nullopt;
    }

private:
    bool dim(const ShardyMesh& mesh, XlaSharding& sharding) {
        std::vector<StridedDim> dims;
        text_.next();  // {
        while (!text_.at_end() && text_.peek() != '}') {
            if (text_.accept("?")) {
                sharding.open = true;
            } else if (text_.peek() == '"') {
                const auto axis = this->axis(mesh);
                if (!axis) return false;
                if (axis->count > 1) dims.push_back(*axis);
            } else if (!text_.accept(",")) {
                return false;
            }
        }
        text_.next();  // }
        if (text_.accept("p")) (void)text_.number();
        (void)text_.accept(",");
        sharding.dims.push_back(std::move(dims));
        return true;
    }

    // `"x"`, or `"x":(2)4`: of the axis the part of 4 with 2 outside of it.
    std::optional<StridedDim> axis(const ShardyMesh& mesh) {
        const std::string name = text_.quoted();
        std::int64_t stride = 1;
        std::optional<StridedDim> found;
        for (const auto& [axis, size] : std::views::reverse(mesh)) {
            if (axis == name) found = StridedDim{size, stride};
            stride *= size;
        }
        if (!found || !text_.accept(":")) return found;
        if (!text_.accept("(")) return std::nullopt;
        const auto outside = text_.number();
        if (!outside || !text_.accept(")")) return std::nullopt;
        const auto part = text_.number();
        if (!part || *outside < 1 || *part < 1 || found->count % (*outside * *part) != 0) return std::nullopt;
        return StridedDim{*part, found->stride * (found->count / (*outside * *part))};
    }

    ShardingText& text_;
    const std::map<std::string, ShardyMesh, std::less<>>& meshes_;
};

}  // namespace

std::map<std::string, ShardyMesh, std::less<>> shardy_meshes(const XlaModule& module) {
    std::map<std::string, ShardyMesh, std::less<>> meshes;
    const auto attributes = module.attribute("frontend_attributes");
    if (!attributes) return meshes;
    ShardingText text(*attributes);
    if (!text.go_to("xla.sdy.meshes=")) return meshes;
    (void)text.accept("xla.sdy.meshes=");
    while (!text.at_end() && (text.accept("{") || text.accept(",") || text.accept("\""))) {
        (void)text.accept("@");
        const std::string name = text.word();
        if (!text.accept("=") || !text.accept("#sdy.mesh<[")) continue;
        ShardyMesh mesh;
        std::int64_t devices = 1;
        bool good = true;
        while (text.peek() == '"') {
            mesh.emplace_back(text.quoted(), 0);
            const auto size = text.accept("=") ? text.number() : std::nullopt;
            mesh.back().second = size.value_or(0);
            good = good && size && *size > 0 && devices <= most_devices / *size;
            if (good) devices *= *size;
            (void)text.accept(",");
        }
        good = good && text.accept("]") && text.accept(">");  // not device_ids=[...]
        if (good && !name.empty()) meshes.emplace(name, std::move(mesh));
        if (!good && text.go_to(">")) text.next();
    }
    return meshes;
}

std::optional<XlaSharding> read_tile_sharding(std::string_view written) {
    ShardingText text(trimmed(written));
    if (!text.accept("{")) return std::nullopt;
    if (text.accept("replicated}")) return XlaSharding{};
    if (!text.accept("devices=")) return std::nullopt;
    auto tiles = text.list('[', ']');
    if (!tiles) return std::nullopt;
    std::optional<std::vector<StridedDim>> devices;
    if (text.accept("<=")) {
        const auto sizes = text.list('[', ']');
        std::vector<std::int64_t> order;
        if (sizes && text.accept("T")) order = text.list('(', ')').value_or(std::vector<std::int64_t>{-1});
        if (sizes) devices = transposed(*sizes, order);
    } else {
        devices = listed_devices(text, *tiles);
    }
    if (!devices) return std::nullopt;
    std::size_t behind = 0;  // tile dimensions that are none of the array
    if (text.accept("last_tile_dim_replicate")) {
        behind = 1;
    } else if (text.accept("last_tile_dims={")) {
        do {
            if (text.word() != "replicated") return std::nullopt;  // manual: of one device already
            ++behind;
        } while (text.accept(","));
        if (!text.accept("}")) return std::nullopt;
    }
    if (behind > tiles->size()) return std::nullopt;
    tiles->resize(tiles->size() - behind);
    XlaSharding sharding;
    for (const std::int64_t tile : *tiles) {
        auto taken = take_tiles(tile, *devices);
        if (!taken) return std::nullopt;
        sharding.dims.push_back(std::move(*taken));
    }
    return sharding;
}

std::vector<std::optional<XlaSharding>> read_shardy_shardings(
    std::string_view written, const std::map<std::string, ShardyMesh, std::less<>>& meshes) {
    ShardingText text(written);
    std::vector<std::optional<XlaSharding>> all;
    const bool several = text.accept("#sdy.sharding_per_value<[");
    if (!several && !text.accept("#sdy.sharding")) return all;
    while (text.peek() == '<') {
        all.push_back(ShardyReader(text, meshes).read());
        if (!several || !text.accept(",")) break;
    }
    return all;
}

std::vector<std::optional<XlaSharding>> shardings_of(const XlaInstruction& instruction,
                                                     const std::map<std::string, ShardyMesh, std::less<>>& meshes) {
    const std::size_t arrays = instruction.shape.is_tuple() ? instruction.shape.parts.size() : 1;
    std::vector<std::optional<XlaSharding>> all;
    if (const auto attributes = instruction.attribute("frontend_attributes")) {
        constexpr std::string_view key = "xla.sdy.sharding=\"";
        const std::size_t found = attributes->find(key);
        if (found != std::string_view::npos) {
            all = read_shardy_shardings(attributes->substr(found + key.size()), meshes);
        }
    }
    if (const auto sharding = instruction.attribute("sharding"); sharding && all.empty()) {
        std::string_view text = trimmed(*sharding);
        if (text.starts_with("{{")) {
            text = text.substr(1);
            while (text.starts_with('{')) {
                const std::size_t end = text.find('}');  // last_tile_dims={...} may be inside
                std::size_t close = end;
                if (const std::size_t inner = text.find('{', 1); inner < end) close = text.find('}', end + 1);
                if (close == std::string_view::npos) break;
                all.push_back(read_tile_sharding(text.substr(0, close + 1)));
                text = trimmed(text.substr(close + 1));
                if (!text.starts_with(',')) break;
                text = trimmed(text.substr(1));
            }
        } else {
            all.push_back(read_tile_sharding(text));
        }
    }
    all.resize(arrays);
    return all;
}

}  // namespace roofline::core

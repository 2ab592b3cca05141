// Writes the C++ source that holds the files of data/ as constants, as declared in src/machine/embedded.hpp. The build
// runs it:
//   embed_data FORM DATA OUTPUT      how, the folder, and the source file to write
// All TOML files are parsed here. With the form `parsed`, all their values go into one array and all texts into
// another, so that the program does not need to parse them. With the form `text` it gets the texts, which a packer
// makes a quarter as large as those arrays, and parses a file when it is first asked for.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/source.hpp"
#include "text/toml_node.hpp"

using namespace roofline::core;

namespace {

namespace fs = std::filesystem;

[[noreturn]] void stop(const fs::path& file, const std::string& message) {
    throw std::runtime_error(file.string() + ": " + message);
}

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) stop(path, "cannot be read");
    return text;
}

/// Returns the files of a folder by their names without extension, in alphabetical order.
std::map<std::string, fs::path> files_in(const fs::path& folder, std::string_view ending) {
    std::map<std::string, fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ending) files.emplace(entry.path().stem().string(), entry.path());
    }
    if (files.empty()) stop(folder, "no files " + std::string(ending));
    return files;
}

/// Returns a C++ string literal that is split over several lines.
std::string literal(std::string_view text) {
    constexpr std::size_t width = 100;
    std::string out = "\"";
    std::size_t begin = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (out.size() - begin > width) {
            out += "\"\n    \"";
            begin = out.size();
        }
        if (c == '"' || c == '\\') {
            out += {'\\', c};
        } else if (byte >= 0x20 && byte < 0x7F) {
            out += c;
        } else {
            const auto digit = [&](unsigned shift) { return static_cast<char>('0' + (byte >> shift & 7U)); };
            out += {'\\', digit(6), digit(3), digit(0)};
        }
    }
    return out + "\"";
}

std::string view(std::string_view text) { return literal(text) + "sv"; }

/// The values and texts of all files.
class Tables {
public:
    /// Adds a file and returns the index of its root table.
    std::size_t add(TomlNode root) {
        const std::size_t at = values_.size();
        values_.emplace_back();
        fill(at, root);
        return at;
    }

    [[nodiscard]] std::string source() const {
        if (values_.empty()) return "";
        std::string out =
            "constexpr char texts[] =\n    " + literal(texts_) + ";\n\nconstexpr TomlRecord values[] = {\n";
        for (const TomlRecord& each : values_) out += "    " + written(each) + ",\n";
        return out + "};\n\nconstexpr TomlRecords all{values, texts};\n";
    }

private:
    void fill(std::size_t at, TomlNode node) {
        TomlRecord record = values_[at];
        record.kind = node.kind();
        record.place = node.place();
        record.bits = node.bits();
        if (node.is(TomlKind::text)) {
            record.first = interned(node.text());
            record.count = static_cast<std::uint32_t>(node.text().size());
        } else if (node.size() > 0) {
            record.first = static_cast<std::uint32_t>(values_.size());
            record.count = static_cast<std::uint32_t>(node.size());
            values_.resize(values_.size() + node.size());
        }
        values_[at] = record;
        for (std::size_t i = 0; i < node.size(); ++i) {
            if (node.is(TomlKind::table)) {
                TomlRecord& member = values_[record.first + i];
                member.key = interned(node[i].key());
                member.key_size = static_cast<std::uint32_t>(node[i].key().size());
                member.key_place = node[i].key_place();
            }
            fill(record.first + i, node[i]);
        }
    }

    /// Returns the offset of the text in the array of all texts; adds it if it is new.
    std::uint32_t interned(std::string_view text) {
        const auto [known, added] = known_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
        if (added) texts_ += text;
        return known->second;
    }

    static std::string written(const TomlRecord& each) {
        std::string out = "{TomlKind(" + std::to_string(static_cast<int>(each.kind)) + ")";
        for (const std::uint32_t number : {each.key, each.key_size, each.first, each.count}) {
            out += ", " + std::to_string(number);
        }
        for (const TomlPlace place : {each.key_place, each.place}) {
            out += ", {" + std::to_string(place.line) + ", " + std::to_string(place.column) + "}";
        }
        return out + ", " + std::to_string(each.bits) + "U}";
    }

    std::vector<TomlRecord> values_;
    std::string texts_;
    std::map<std::string, std::uint32_t, std::less<>> known_;
};

class Embedding {
public:
    Embedding(fs::path data, bool as_text) : data_(std::move(data)), as_text_(as_text) {}

    std::string source() {
        add_machines();
        add_calibrations();
        add_frameworks();
        add_keys();
        add_architectures();
        add_sources();
        for (const std::string name :
             {"presets", "trained_models", "training_steps", "model_names", "systems", "extrapolation", "servers",
              "passes", "server_memory", "benchmark_loads", "exchanges", "interruptions"}) {
            const fs::path path = data_ / (name + ".toml");
            const std::string text = text_of(path);
            functions_ +=
                "TomlNode embedded_" + name + "() { return " + added(path, parsed(path, text).root()) + "(); }\n";
        }
        return "// Written by tools/embed_data.cpp from data/. Do not edit.\n"
               "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
               "#include \"machine/embedded.hpp\"\n\n#include <array>\n\nnamespace roofline::core {\nnamespace {\n"
               "using namespace std::string_view_literals;\n\n" +
               tables_.source() + files_ + arrays_ + "\n}  // namespace\n\n" + functions_ +
               "\n}  // namespace roofline::core\n";
    }

private:
    TomlDocument parsed(const fs::path& path, const std::string& text) {
        auto document = TomlDocument::parse(Source(text, path.string()));
        if (!document) {
            const auto& place = document.error().place;
            stop(path, (place ? std::to_string(place->line) + ": " : "") + document.error().message);
        }
        return *std::move(document);
    }

    /// Adds the function that returns the root of a file, and returns its name. `text` is an expression for the text;
    /// "" for values that are written down.
    std::string added(const fs::path& path, TomlNode root, const std::string& text) {
        const std::string name = "file_" + std::to_string(count_++);
        if (text.empty()) {
            files_ += "TomlNode " + name + "() { return {all, " + std::to_string(tables_.add(root)) + "}; }\n";
        } else {
            files_ += "TomlNode " + name + "() {\n    static const auto document = TomlDocument::parse(Source(" + text +
                      ", " + literal(path.filename().string()) + "));\n    return document->root();\n}\n";
        }
        return name;
    }
    std::string added(const fs::path& path, TomlNode root) {
        return added(path, root, as_text_ ? view(text_of(path)) : "");
    }

    void check_name(const fs::path& path, TomlNode root, std::string_view key, std::string_view name) {
        const TomlNode said = root.find(key);
        if (said && said.text() == name) return;
        stop(path, "the file's name and its `" + std::string(key) + "` must agree");
    }

    static std::string aliases(TomlNode root) {
        std::string lines;
        if (const TomlNode list = root.find("aliases")) {
            for (const TomlNode alias : list) lines += std::string(alias.text()) + "\n";
        }
        return lines;
    }

    /// Adds an array of `type` with one row per file, and the function that returns it.
    void add_array(const std::string& type, const std::string& name, std::size_t count, const std::string& rows) {
        arrays_ +=
            "\nconstexpr std::array<" + type + ", " + std::to_string(count) + "> " + name + "{{\n" + rows + "}};\n";
        functions_ += "std::span<const " + type + "> embedded_" + name + "() { return " + name + "; }\n";
    }

    void add_machines() {
        std::string rows;
        const auto files = files_in(data_ / "machines", ".toml");
        for (const auto& [id, path] : files) {
            const std::string text = text_of(path);
            const TomlDocument document = parsed(path, text);
            check_name(path, document.root(), "id", id);
            const std::string name = "text_of_" + std::to_string(count_);
            files_ += "constexpr std::string_view " + name + " =\n    " + view(text) + ";\n";
            const std::string file = added(path, document.root(), as_text_ ? name : "");
            // Names and vendors are asked of many machines at once, so only the first lines are parsed for them.
            const std::string begin = name + ".substr(0, " + std::to_string(text.find("\n[")) + ")";
            const std::string identity = as_text_ ? added(path, document.root(), begin) : file;
            rows += "    {" + view(id) + ", " + view(aliases(document.root())) + ", " + name + ", " + file + ", " +
                    identity + "},\n";
        }
        add_array("EmbeddedMachine", "machines", files.size(), rows);
    }

    void add_calibrations() {
        std::string rows;
        const auto files = files_in(data_ / "calibration", ".toml");
        for (const auto& [id, path] : files) {
            const std::string text = text_of(path);
            const TomlDocument document = parsed(path, text);
            check_name(path, document.root(), "machine", id);
            rows += "    {" + view(id) + ", " + added(path, document.root()) + "},\n";
        }
        add_array("EmbeddedCalibration", "calibrations", files.size(), rows);
    }

    void add_frameworks() {
        std::string rows;
        const auto files = files_in(data_ / "frameworks", ".toml");
        for (const auto& [id, path] : files) {
            const std::string text = text_of(path);
            const TomlDocument document = parsed(path, text);
            check_name(path, document.root(), "name", id);
            rows += "    {" + view(id) + ", " + added(path, document.root()) + "},\n";
        }
        add_array("EmbeddedFramework", "frameworks", files.size(), rows);
    }

    void add_keys() {
        std::string rows;
        const auto files = files_in(data_ / "models", ".toml");
        for (const auto& [id, path] : files) {
            const std::string text = text_of(path);
            const TomlDocument document = parsed(path, text);
            const TomlNode root = document.root();
            check_name(path, root, "model_type", id);
            const TomlNode base = root.find("base");
            rows += "    {" + view(id) + ", " + view(aliases(root)) + ", " +
                    (root.find("unsupported") ? "true" : "false") + ", " + view(base ? base.text() : "") + ", " +
                    added(path, root) + "},\n";
        }
        add_array("EmbeddedKeys", "keys", files.size(), rows);
    }

    void add_architectures() {
        std::string rows;
        const auto files = files_in(data_ / "architectures", ".roof");
        for (const auto& [name, path] : files) rows += "    {" + view(name) + ",\n    " + view(text_of(path)) + "},\n";
        add_array("EmbeddedArchitecture", "architectures", files.size(), rows);
    }

    void add_sources() {
        std::string rows;
        const fs::path path = data_ / "sources.toml";
        const std::string text = text_of(path);
        const TomlDocument document = parsed(path, text);
        for (const TomlNode source : document.root()) {
            if (source.text().empty()) stop(path, std::string(source.key()) + " has no citation");
            rows += "    {" + view(source.key()) + ", " + view(source.text()) + "},\n";
        }
        add_array("EmbeddedSource", "sources", document.root().size(), rows);
    }

    fs::path data_;
    bool as_text_;
    Tables tables_;
    std::size_t count_ = 0;  ///< of files so far
    std::string files_;      ///< their functions and texts
    std::string arrays_;
    std::string functions_;
};

}  // namespace

int main(int count, char** words) {
    const std::string_view form = count == 4 ? words[1] : "";
    if (form != "parsed" && form != "text") {
        std::cerr << "usage: embed_data parsed|text DATA OUTPUT\n";
        return 2;
    }
    try {
        const std::string source = Embedding(words[2], form == "text").source();
        std::ofstream file(words[3], std::ios::binary);
        file << source;
        if (!file.flush()) stop(words[3], "cannot be written");
    } catch (const std::exception& error) {
        std::cerr << "embed_data: " << error.what() << "\n";
        return 1;
    }
    return 0;
}

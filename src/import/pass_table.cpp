#include "import/pass_table.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_tokens = 1'000'000'000;

/// The number that makes up a whole text; 0: it is none.
std::int64_t whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value > 0 && value < most_tokens ? value : 0;
}

class PassRowReader {
public:
    explicit PassRowReader(CsvReader& reader) : reader_(reader), columns_(reader.header()), fields_(reader) {}

    Result<MeasuredPass> read(std::string& skip) {
        MeasuredPass row;
        row.line = reader_.line();
        row.source = publisher(text({"source"}));
        row.system = text({"accelerator", "system", "machine"});
        row.model = text({"model"});
        row.weights = text({"quant"});
        row.software = lowered(text({"backend", "software"}));
        if (row.software.empty()) row.software = "llama.cpp";
        const std::string_view test = text({"test"});
        row.generates = test.starts_with("tg");
        row.tokens = test.size() > 2 ? whole_number(test.substr(2)) : 0;
        if (const auto at = find_column(columns_, {"n_accel"})) {
            ROOFLINE_TRY(const auto chips, fields_.whole(*at));
            row.chips = std::max<std::int64_t>(1, chips);
        }
        ROOFLINE_TRY(row.tokens_per_s, fields_.number(*find_column(columns_, {"tokens_per_s"})));
        const std::string_view note = text({"notes", "note"});
        if (note.ends_with(" threads")) row.threads = whole_number(note.substr(0, note.find(' ')));
        constexpr std::int64_t most_chips = 1024;
        if (row.tokens == 0 || (!row.generates && !test.starts_with("pp"))) {
            skip = fmt::format("the test {} is neither pp N nor tg N", in_ticks(test));
        } else if (!(row.tokens_per_s > 0)) {
            skip = "no tokens per second";
        } else if (row.chips > most_chips) {
            skip = "more than 1024 chips";
        }
        return row;
    }

private:
    [[nodiscard]] std::string_view text(std::initializer_list<std::string_view> names) const {
        return fields_.text(find_column(columns_, names));
    }
    /// What stands before the version and the place in it.
    static std::string publisher(std::string_view source) {
        return std::string(source.substr(0, source.find_first_of("@ ")));
    }

    CsvReader& reader_;
    const std::vector<std::string>& columns_;
    TableFields fields_;
};

}  // namespace

bool is_pass_table(const std::vector<std::string>& columns) {
    return find_column(columns, {"model"}) && find_column(columns, {"accelerator", "system", "machine"}) &&
           find_column(columns, {"quant"}) && find_column(columns, {"test"}) && find_column(columns, {"tokens_per_s"});
}

Result<PassTable> read_pass_table(CsvReader& reader) {
    if (!is_pass_table(reader.header())) {
        return reader.fail_at(0, "bad_table", "this is not a table of llama.cpp's benchmark",
                              "its columns are model, accelerator, quant, test and tokens_per_s");
    }
    PassRowReader rows(reader);
    return read_table<PassTable>(reader, [&](std::string& skip) { return rows.read(skip); });
}

}  // namespace roofline::core

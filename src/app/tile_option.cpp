#include "app/tile_option.hpp"

#include <utility>

#include "notation/notation.hpp"

namespace roofline::core {

Result<std::vector<TileChoice>> tile_choices(const std::vector<std::string>& options) {
    std::vector<TileChoice> choices;
    for (const std::string& option : options) {
        const std::size_t colon = option.find(':');
        TileChoice choice;
        if (colon != std::string::npos) choice.level = option.substr(0, colon);
        const std::string what = colon == std::string::npos ? option : option.substr(colon + 1);
        if (what != "best") {
            ROOFLINE_TRY(choice.sizes, parse_sizes(what, "--tile"));
        }
        choices.push_back(std::move(choice));
    }
    return choices;
}

}  // namespace roofline::core

// What an answer rests on: the figures of the machine with their sources, and the measurements of expected times.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "predict/prediction.hpp"
#include "report/page/page_writer.hpp"

namespace roofline::core {

/// Collects figures, each once.
class PageSources {
public:
    void add(const Rate& rate);
    /// Adds the rates of all resources of a prediction.
    void add(const Prediction& answer);
    /// Adds the peaks of a machine and the bandwidths of its memory.
    void add_roofs(const Machine& machine);
    /// Adds the capacity of the main memory.
    void add_memory(const Machine& machine);
    /// Adds the price that costs rest on.
    void add_price(const Machine& machine);

    /// Writes a section with all of them; none if there are no figures.
    void write(PageWriter& page);

private:
    struct Origin {
        std::string_view basis;
        std::string source;
        std::string remark;
    };
    void row(const std::string& label, std::string value, double exact, std::string_view unit, Origin origin);

    Table table_{{"figure", "value", "basis", "source", "remark"}, {}, {false, true, false, false, false}};
    std::set<std::string> known_;
};

/// Writes a section with the models of the expected time: the measurements that they were fitted to, and their errors.
/// None without an expected time.
void add_measurements(PageWriter& page, const Prediction& answer);

}  // namespace roofline::core

#include "app/plan_part.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "algebra/rational.hpp"
#include "app/plan_question.hpp"
#include "app/plan_request_json.hpp"
#include "report/plan_json.hpp"
#include "report/train/train_words.hpp"
#include "text/json.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;
using Kind = FileValue::Kind;

// Calls `field` for each count.
template <class Counts, class Field>
void each_count(Counts& counts, const Field& field) {
    auto& [looked_at, priced, divides, memory, weights, bound, limit, unsuited, compiled, unsearched] = counts;
    field("looked_at", looked_at);
    field("priced", priced);
    field("divides", divides);
    field("memory", memory);
    field("weights", weights);
    field("bound", bound);
    field("limit", limit);
    field("unsuited", unsuited);
    field("compiled", compiled);
    field("unsearched", unsearched);
}

// The choice beside the degrees: "4 full interleaved:2".
std::string choice_words(const TrainSetup& setup) {
    return fmt::format("{} {} {}", setup.batch.microbatches, remat_text(setup.options), schedule_text(setup.schedule));
}

Json found_json(const FoundPlan& found) {
    const auto& [setup, seconds, order_s, memory, order] = found;
    Json plan = plan_json(setup.plan);
    plan["mesh"] = mesh_option(setup.plan);
    plan["zero"] = setup.plan.zero;
    return {{"unit", order.unit}, {"index", order.index},    {"seconds", seconds},           {"order_s", order_s},
            {"memory", memory},   {"plan", std::move(plan)}, {"choice", choice_words(setup)}};
}

Json found_json(const std::vector<FoundPlan>& plans) {
    Json list = Json::array();
    for (const FoundPlan& each : plans) list.push_back(found_json(each));
    return list;
}

Json times_json(const UnitTimes& times) {
    Json list = Json::array();
    for (const auto& [seconds, degrees] : times) list.push_back({{"order_s", seconds}, {"degrees", degrees}});
    return list;
}

// What all parts of a question share.
struct PartedQuestion {
    Json request;
    PlanQuestion question;
    std::vector<PlanUnit> units;
};

class PartReader {
public:
    /// `known`: the question of the file before, which is replaced if this one has another.
    PartReader(const NamedText& file, const FileValue& root, std::shared_ptr<const PartedQuestion>& known)
        : file_(file), root_(root), known_(known) {}

    Result<SearchedPart> run() {
        const FileValue* const part = root_.find("part");
        if (part == nullptr || !part->is(Kind::table)) return fail(wrong("it is not a valid part of a search"));
        ROOFLINE_CHECK(check_version());
        SearchedPart read;
        ROOFLINE_TRY(read.part.number, whole(*part, "number"));
        ROOFLINE_TRY(read.part.of, whole(*part, "of"));
        const FileValue* const question = root_.find("question");
        if (question == nullptr) return fail(wrong("`question` is missing"));
        ROOFLINE_TRY(read.request,
                     read_plan_request(*question).map_error([&](const Error& error) { return wrong(error.message); }));
        const FileValue* const apart = part->find("apart");
        read.part.apart = apart != nullptr && apart->is(Kind::boolean) && apart->boolean;
        const bool leading = read.part.apart && read.part.number == 0;
        read.request.part = leading ? "leading" : fmt::format("{}/{}", read.part.number, read.part.of);
        ROOFLINE_CHECK(find_question(read.request).map_error([&](Error error) {
            error.message = fmt::format("{}: {}", file_.name, error.message);
            return error;
        }));
        ROOFLINE_CHECK(read_counts(read.part, read.found));
        if (leading) {
            ROOFLINE_TRY(read.found.leading, read_leading());
        }
        ROOFLINE_TRY(read.found.best, plans("best"));
        ROOFLINE_TRY(read.found.larger, plans("larger"));
        ROOFLINE_TRY(auto nearest, plans("nearest"));
        if (!nearest.empty()) read.found.nearest = std::move(nearest.front());
        ROOFLINE_CHECK(read_refused(read.found));
        const FileValue* const search_s = root_.find("search_s");
        if (search_s != nullptr && search_s->is_number()) read.search_s = search_s->real;
        return read;
    }

private:
    [[nodiscard]] Error wrong(std::string_view why) const {
        return {"bad_part",
                fmt::format("{}: {}", file_.name, why),
                "`roofline plan train ... --part 3/64 -o FILE` writes a part; search it again",
                {}};
    }

    // Parts of one question are many, so it is made once.
    Status find_question(const PlanRequest& request) {
        ROOFLINE_CHECK(part_option(request.part));
        Json json = plan_request_json(request);
        if (known_ == nullptr || known_->request != json) {
            ROOFLINE_TRY(auto question, part_question(request).and_then(with_sizes));
            ROOFLINE_TRY(auto units, units_of(question.space, question.search.limit));
            known_ = std::make_shared<PartedQuestion>(
                PartedQuestion{std::move(json), std::move(question), std::move(units)});
        }
        question_ = &known_->question;
        return {};
    }

    [[nodiscard]] Status check_version() const {
        const FileValue* const version = root_.find("version");
        if (version == nullptr || !version->is(Kind::text)) return fail(wrong("`version` is missing"));
        if (version->text == ROOFLINE_VERSION) return {};
        return fail("bad_part",
                    fmt::format("{} was written by roofline {}, and this is {}", file_.name,
                                version->text.substr(0, 40), ROOFLINE_VERSION),
                    "search all parts and merge them with the same version");
    }

    [[nodiscard]] Result<std::int64_t> whole(const FileValue& table, std::string_view key) const {
        const FileValue* const value = table.find(key);
        if (value == nullptr || !value->is(Kind::whole) || value->whole < 0) {
            return fail(wrong(fmt::format("`{}` is not a whole number", key)));
        }
        return value->whole;
    }

    [[nodiscard]] Result<double> positive(const FileValue& table, std::string_view key, bool zero) const {
        const FileValue* const value = table.find(key);
        if (value == nullptr || !value->is_number() || !std::isfinite(value->real) || value->real < 0 ||
            (value->real == 0 && !zero)) {
            return fail(wrong(fmt::format("`{}` is not a positive number", key)));
        }
        return value->real;
    }

    // All plans of the part must be there, and each in one of the counts.
    Status read_counts(const PlanPart& part, FoundPlans& found) {
        const FileValue* const counts = root_.find("counts");
        if (counts == nullptr) return fail(wrong("`counts` is missing"));
        Status status;
        each_count(found.counts, [&](std::string_view key, std::int64_t& count) {
            const auto read = whole(*counts, key);
            if (read) count = *read;
            if (!read && status) status = fail(read.error());
        });
        ROOFLINE_CHECK(status);
        PlanCounts right;
        for (const PlanUnit& unit : units_of_part(known_->units, part)) {
            right.looked_at += unit.searched;
            right.divides += unit.undivided;
            right.unsearched += unit.plans - unit.searched;
            found.counted = found.counted && unit.counted;
            units_.emplace(unit.number, unit);
        }
        const PlanCounts& is = found.counts;
        const auto exact = [](std::int64_t count) { return static_cast<Int128>(count); };
        if (is.looked_at != right.looked_at || is.divides != right.divides || is.unsearched != right.unsearched ||
            exact(is.priced) + is.memory + is.bound + is.limit + is.unsuited != is.looked_at) {
            return fail(
                wrong(fmt::format("its counts are not those of {} plans, which the part has", right.looked_at)));
        }
        return {};
    }

    [[nodiscard]] Result<std::vector<UnitTimes>> read_leading() const {
        const FileValue* const list = root_.find("leading");
        if (list == nullptr || !list->is(Kind::list) || list->items.size() != units_.size()) {
            return fail(wrong("`leading` does not have the times of all leading units"));
        }
        std::vector<UnitTimes> all;
        for (const FileValue& unit : list->items) {
            UnitTimes& times = all.emplace_back();
            if (!unit.is(Kind::list)) return fail(wrong("`leading` has no lists of times"));
            for (const FileValue& each : unit.items) {
                ROOFLINE_TRY(const double seconds, positive(each, "order_s", false));
                const FileValue* const degrees = each.find("degrees");
                PlanDegrees read{};
                bool valid = degrees != nullptr && degrees->is(Kind::list) && degrees->items.size() == read.size();
                for (std::size_t i = 0; valid && i < read.size(); ++i) {
                    valid = degrees->items[i].is(Kind::whole);
                    read[i] = degrees->items[i].whole;
                }
                if (!valid) return fail(wrong("a time of `leading` has no degrees"));
                times.emplace_back(seconds, read);
            }
        }
        return all;
    }

    [[nodiscard]] Result<std::vector<FoundPlan>> plans(std::string_view key) const {
        constexpr std::size_t most = 1024;  // more than a search keeps
        const FileValue* const list = root_.find(key);
        if (list == nullptr || !list->is(Kind::list) || list->items.size() > most) {
            return fail(wrong(fmt::format("`{}` is not a list of plans", key)));
        }
        std::vector<FoundPlan> found;
        for (const FileValue& each : list->items) {
            ROOFLINE_TRY(found.emplace_back(), plan(each));
        }
        return found;
    }

    [[nodiscard]] Result<PlanPlace> place(const FileValue& each) const {
        PlanPlace order;
        ROOFLINE_TRY(order.unit, whole(each, "unit"));
        ROOFLINE_TRY(order.index, whole(each, "index"));
        const auto unit = units_.find(order.unit);
        if (unit == units_.end() || order.index >= unit->second.plans) {
            return fail(wrong(fmt::format("the part has no plan {} of unit {}", order.index, order.unit)));
        }
        return order;
    }

    [[nodiscard]] Result<FoundPlan> plan(const FileValue& each) const {
        FoundPlan found;
        ROOFLINE_TRY(found.order, place(each));
        ROOFLINE_TRY(found.seconds, positive(each, "seconds", true));
        ROOFLINE_TRY(found.order_s, positive(each, "order_s", true));
        ROOFLINE_TRY(found.memory, positive(each, "memory", false));
        const FileValue* const axes = each.find("plan");
        const FileValue* const choice = each.find("choice");
        if (axes == nullptr || choice == nullptr || !choice->is(Kind::text)) return fail(wrong("a plan has no choice"));
        found.setup = question_->train.setup;
        ROOFLINE_TRY(found.setup.plan, degrees(*axes));
        for (const PlanChoice& one : choices_of(question_->space, found.setup.plan)) {
            const auto& [remat, microbatches, schedule] = one;
            found.setup.options.remat = remat;
            found.setup.batch.microbatches = microbatches;
            found.setup.schedule = schedule;
            if (choice_words(found.setup) == choice->text) return found;
        }
        return fail(wrong("a plan has a choice that the search does not have"));
    }

    [[nodiscard]] Result<Plan> degrees(const FileValue& axes) const {
        Plan plan;
        Int128 chips = 1;
        for (const auto& [name, degree] :
             {std::pair("data", &plan.data), std::pair("fsdp", &plan.fsdp), std::pair("tensor", &plan.tensor),
              std::pair("sequence", &plan.sequence), std::pair("context", &plan.context),
              std::pair("expert", &plan.expert), std::pair("pipeline", &plan.pipeline)}) {
            ROOFLINE_TRY(*degree, whole(axes, name));
            chips *= *degree;
            if (chips < 1 || chips > question_->space.chips) break;
        }
        ROOFLINE_TRY(const std::int64_t zero, whole(axes, "zero"));
        const FileValue* const over_tensor = axes.find("experts_over_tensor");
        const bool known = over_tensor != nullptr && over_tensor->is(Kind::boolean);
        plan.experts_over_tensor = known && over_tensor->boolean;
        if (chips != question_->space.chips || zero > 2 || !known) return fail(wrong("a plan is not one of the space"));
        plan.zero = static_cast<int>(zero);
        ROOFLINE_CHECK(read_order(axes, plan));
        return plan;
    }

    Status read_order(const FileValue& axes, Plan& plan) const {
        const FileValue* const mesh = axes.find("mesh");
        if (mesh == nullptr || !mesh->is(Kind::text)) return fail(wrong("a plan has no mesh"));
        if (!mesh->text.empty()) {
            auto read = parse_plan({mesh->text}, question_->space.chips);
            if (read) read->zero = plan.zero;
            if (!read || !read->same_axes(plan)) return fail(wrong("a plan has the mesh of another one"));
            plan.links = std::move(read->links);
        }
        const auto orders = AxisOrders(question_->space.slice, question_->space.placed).of(plan);
        if (std::find(orders.begin(), orders.end(), plan.links) != orders.end()) return {};
        return fail(wrong("a plan has an order of axes that the search does not have"));
    }

    Status read_refused(FoundPlans& found) const {
        const FileValue* const refused = root_.find("refused");
        if (refused == nullptr || refused->is_null()) return {};
        RefusedPlan read;
        ROOFLINE_TRY(read.order, place(*refused));
        const FileValue* const why = refused->find("why");
        if (why == nullptr || !why->is(Kind::text)) return fail(wrong("`why` is not a text"));
        read.why = why->text;
        found.refused = std::move(read);
        return {};
    }

    const NamedText& file_;
    const FileValue& root_;
    std::shared_ptr<const PartedQuestion>& known_;
    const PlanQuestion* question_ = nullptr;  ///< that of `known_`
    std::map<std::int64_t, PlanUnit> units_;
};

// "3, 7 and 9 of 64"
std::string missing_text(const std::set<std::int64_t>& known, std::int64_t of) {
    constexpr std::size_t most = 8;
    std::vector<std::int64_t> missing;
    for (std::int64_t number = 1; number <= of && missing.size() <= most; ++number) {
        if (!known.contains(number)) missing.push_back(number);
    }
    const bool more = missing.size() > most;
    if (more) missing.pop_back();
    return fmt::format("{}{}", fmt::join(missing, ", "), more ? ", ..." : "");
}

}  // namespace

std::string part_text(const PlanPart& part) {
    return part.number == 0 ? "the leading part" : fmt::format("part {} of {}", part.number, part.of);
}

std::string part_json(const SearchedPart& searched) {
    const FoundPlans& found = searched.found;
    Json json = Json::object();
    json["schema"] = 1;
    const PlanPart& part = searched.part;
    json["part"] = {{"number", part.number}, {"of", part.of}};
    if (part.apart) json["part"]["apart"] = true;
    json["version"] = ROOFLINE_VERSION;
    json["question"] = plan_request_json(searched.request);
    Json& counts = json["counts"] = Json::object();
    each_count(found.counts, [&](std::string_view key, std::int64_t count) { counts[std::string(key)] = count; });
    json["search_s"] = figure_value(searched.search_s);
    json["best"] = found_json(found.best);
    json["larger"] = found_json(found.larger);
    json["nearest"] = Json::array();
    if (found.nearest) json["nearest"].push_back(found_json(*found.nearest));
    if (part.apart && part.number == 0) {
        Json& leading = json["leading"] = Json::array();
        for (const UnitTimes& each : found.leading) leading.push_back(times_json(each));
        json["rest"] = found.rest;
    }
    json["refused"] = Json();
    if (found.refused) {
        const auto& [order, why] = *found.refused;
        json["refused"] = {{"unit", order.unit}, {"index", order.index}, {"why", why}};
    }
    return dumped(json) + "\n";
}

namespace {

Result<SearchedPart> read_part(const NamedText& file, std::shared_ptr<const PartedQuestion>& known) {
    ROOFLINE_TRY(const auto root, parse_json(file.text, file.name));
    return PartReader(file, root, known).run();
}

Status check_belongs(const SearchedPart& first, const std::string& first_name, const SearchedPart& part,
                     const std::string& name) {
    constexpr std::string_view remedy = "merge the parts of one search";
    if (const auto key = difference(first.request, part.request)) {
        return fail("bad_part",
                    fmt::format("{} and {} are parts of different questions: `{}` differs", first_name, name, *key),
                    std::string(remedy));
    }
    if (first.part.apart != part.part.apart) {
        return fail("bad_part",
                    fmt::format("one of {} and {} is a part of the rest beside the leading part, and the other is not",
                                first_name, name),
                    std::string(remedy));
    }
    if (part.part.of == first.part.of || part.part.number == 0 || first.part.number == 0) return {};
    return fail("bad_part",
                fmt::format("{} is one of {} parts, and {} one of {}", first_name, first.part.of, name, part.part.of),
                std::string(remedy));
}

// Errors: a part that is missing.
Status check_complete(const PlanPart& part, const std::map<std::int64_t, std::string>& known) {
    if (part.apart && !known.contains(0)) {
        return fail("bad_part", "the leading part is missing", "search it too: roofline plan train ... --part leading");
    }
    const std::int64_t found = std::ssize(known) - (part.apart ? 1 : 0);
    if (found == part.of && part.of > 0) return {};
    if (part.of == 0) {
        return fail("bad_part", "the leading part is alone", "search the rest: roofline plan train ... --part 1/1");
    }
    std::set<std::int64_t> numbers;
    for (const auto& [number, name] : known) numbers.insert(number);
    const bool one = part.of - found == 1;
    const std::string missing = missing_text(numbers, part.of);
    return fail("bad_part",
                fmt::format("part{} {} of {} {} missing", one ? "" : "s", missing, part.of, one ? "is" : "are"),
                fmt::format("search {} too: roofline plan train ... --part {}/{}", one ? "it" : "each of them",
                            one ? missing : "N", part.of));
}

}  // namespace

Result<SearchedPart> read_part(const NamedText& file) {
    std::shared_ptr<const PartedQuestion> known;
    return read_part(file, known);
}

Result<SearchedPart> leading_part(const PlanRequest& request) {
    ROOFLINE_TRY(auto leading, read_part(request.leading));
    if (!leading.part.apart || leading.part.number != 0) {
        return fail("bad_part",
                    fmt::format("{} is {}, and no leading part", request.leading.name, part_text(leading.part)),
                    "search that with --part leading");
    }
    if (const auto key = difference(leading.request, request)) {
        return fail("bad_part",
                    fmt::format("{} is the leading part of another question: `{}` differs", request.leading.name, *key),
                    "search that of this question with --part leading");
    }
    return leading;
}

Result<SearchedPart> merge_files(const std::vector<NamedText>& files) {
    if (files.empty()) return fail("no_parts", "no files are given", "roofline plan --merge part-*.json");
    SearchedPart whole;
    std::vector<FoundPlans> found;
    std::map<std::int64_t, std::string> known;
    std::shared_ptr<const PartedQuestion> question;
    for (const NamedText& file : files) {
        ROOFLINE_TRY(auto part, read_part(file, question));
        if (known.empty()) {
            whole = part;
            whole.search_s.reset();
        }
        ROOFLINE_CHECK(check_belongs(whole, files.front().name, part, file.name));
        const auto [other, fresh] = known.emplace(part.part.number, file.name);
        if (!fresh) {
            return fail(
                "bad_part",
                fmt::format("{} is given twice: in {} and in {}", part_text(part.part), other->second, file.name),
                "leave one of them out");
        }
        if (part.part.number > 0) whole.part = part.part;
        if (part.search_s) whole.search_s = whole.search_s.value_or(0) + *part.search_s;
        found.push_back(std::move(part.found));
    }
    ROOFLINE_CHECK(check_complete(whole.part, known));
    whole.found = merge_parts(std::move(found), plans_kept(question->question));
    // A part alone may have none, because those of the leading units are better.
    const PlanCounts& counts = whole.found.counts;
    if (whole.found.best.empty() != (counts.priced + counts.limit == 0)) {
        return fail("bad_part",
                    fmt::format("{} plans were priced, but `best` has {} in all files", counts.priced + counts.limit,
                                whole.found.best.empty() ? "none" : "some"),
                    "search the parts again");
    }
    whole.part = {};
    whole.request.part.clear();
    return whole;
}

}  // namespace roofline::core

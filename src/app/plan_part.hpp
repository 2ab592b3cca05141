// A searched part of the plans of a job as a file, and the way back from the files of all parts to the whole.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "predict/plan/plan.hpp"

namespace roofline::core {

/// The result of a part, and the question that it belongs to.
struct SearchedPart {
    PlanRequest request;
    PlanPart part;
    FoundPlans found;
    std::optional<double> search_s{};
};

/// Searches the plans of the request, or the part that it names. Errors: those of part_question(), of calibration files
/// and of find_plans().
[[nodiscard]] Result<SearchedPart> search_part(const PlanRequest& request);

/// Returns the file of a part, one JSON object.
[[nodiscard]] std::string part_json(const SearchedPart& searched);

/// Returns "part 3 of 64", or "the leading part".
[[nodiscard]] std::string part_text(const PlanPart& part);

/// Reads the file of the leading part that the request names. Errors: those of read_part(); another part; a part of
/// another question.
[[nodiscard]] Result<SearchedPart> leading_part(const PlanRequest& request);

/// Reads the file of a part. Errors: it is no part, was cut off, was written by another version of the program, or does
/// not have the plans that the space has there.
[[nodiscard]] Result<SearchedPart> read_part(const NamedText& file);

/// Returns the whole of all parts, with the time that they took together. Errors, with the names of the files: parts of
/// different questions or numbers of parts, a part twice, parts that are missing.
[[nodiscard]] Result<SearchedPart> merge_files(const std::vector<NamedText>& files);

/// Returns the answer of a search of which all parts are known. Errors: those of predict_plan_jobs().
[[nodiscard]] Result<Response> answer_parts(const SearchedPart& whole, const PlanMergeRequest& request, Format format);

}  // namespace roofline::core

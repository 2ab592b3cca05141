#include "import/launch/training_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "import/launch/launch_plan_reader.hpp"
#include "import/launch/slice_degrees.hpp"

namespace roofline::core {

Result<TrainingLaunch> LaunchPlanReader::read() {
    launch_.notes = values_.notes();
    ROOFLINE_TRY(left_over_, left_over_degrees(values_, job_));
    ROOFLINE_CHECK(read_degrees());
    ROOFLINE_CHECK(read_sharding());
    ROOFLINE_CHECK(read_plan());
    ROOFLINE_CHECK(read_schedule());
    ROOFLINE_CHECK(read_batch());
    ROOFLINE_CHECK(read_remat());
    ROOFLINE_CHECK(read_numbers());
    ROOFLINE_CHECK(read_optimizer());
    read_overlap();
    return std::move(launch_);
}

Status LaunchPlanReader::read_remat() {
    if (!has("recompute")) return {};
    std::string policy = values_.text("recompute");
    if (policy == "alternate" && has("recompute_option")) {
        const std::string option = values_.text("recompute_option");
        if (option != "op") policy = option == "1" ? "full" : "other";
    }
    if (policy == "other") {
        note(fmt::format("{}: no recomputation policy keeps the same tensors; give --remat",
                         values_.written(values_.stated("recompute") ? "recompute" : "recompute_option")));
        return {};
    }
    if (values_.on("recompute_old") && policy == "none") policy = "selective";
    if (policy == "selective" && has("recompute_modules")) {
        const std::string modules = values_.text("recompute_modules");
        if (modules != "core_attn") {
            return values_.fail_at("recompute_modules", "bad_plan",
                                   fmt::format("there is no policy that recomputes {}", modules.substr(0, 60)),
                                   "core_attn is --remat selective; name tensors with --remat in a plan of your own");
        }
    }
    if (policy == "full" && has("recompute_method")) ROOFLINE_CHECK(check_whole_layers());
    ROOFLINE_TRY(launch_.remat, remat_options(policy));
    return {};
}

// Recomputation of some layers of a stage is no policy.
Status LaunchPlanReader::check_whole_layers() {
    const auto layers = values_.number("recompute_layers");
    if (values_.text("recompute_method") == "uniform") {
        if (layers.value_or(1) == 1) return {};
        return values_.fail_at(
            "recompute_layers", "bad_plan",
            fmt::format("groups of {} layers are recomputed together: there is no such policy", *layers),
            "1 is --remat full");
    }
    const std::int64_t of_stage =
        values_.number("layers").value_or(job_.layers) / std::max<std::int64_t>(launch_.plan.pipeline, 1);
    if (layers.value_or(of_stage) >= of_stage) return {};
    return values_.fail_at("recompute_layers", "bad_plan",
                           fmt::format("only {} of the {} layers of a stage are recomputed, for which there is no "
                                       "policy",
                                       *layers, of_stage),
                           fmt::format("{} is --remat full", of_stage));
}

Status LaunchPlanReader::read_numbers() {
    if (values_.on("fp16")) note("fp16 is priced as bf16");
    if (values_.on("fp16") && values_.on("bf16")) {
        return values_.fail_at("fp16", "contradiction", "the dtype is both fp16 and bf16", "keep one of them");
    }
    launch_.numbers = has("fp8") || has("converters");
    std::string dtype = values_.text("fp8");
    const std::string converters = values_.text("converters");
    if (converters.find("float8") != std::string::npos) dtype = "fp8";
    if (converters.find("mx") != std::string::npos) dtype = "mxfp8";
    if (dtype == "fp8" && has("fp8_recipe")) dtype = values_.text("fp8_recipe");
    if (!values_.text("fp4").empty()) {
        if (!dtype.empty() && dtype != "none") {
            return values_.fail_at("fp4", "contradiction", "the dtype of matmuls is given twice", "keep one of them");
        }
        dtype = values_.text("fp4");
    }
    if (!dtype.empty() && dtype != "none") launch_.products = find_dtype(dtype);
    return {};
}

Status LaunchPlanReader::read_optimizer() {
    if (!has("optimizer")) return {};
    TrainingOptions options;
    options.master = table().master;
    const std::string name = values_.text("optimizer");
    if (name == "sgd") options.optimizer = Optimizer::sgd;
    if (values_.stated("master") && values_.text("master") != "f32") {
        note(fmt::format("{}: a copy of the parameters in other than f32 is counted as one in f32",
                         values_.written("master")));
    }
    options.f32_gradients =
        table().f32_gradients && values_.text("gradients") != "bf16" && !values_.on("narrow_gradients");
    if (has("own_precision") && !values_.on("own_precision")) {
        for (const char* key : {"gradients", "moment", "second_moment", "master"}) {
            if (!values_.stated(key) || values_.text(key) == "f32") continue;
            return values_.fail_at(key, "contradiction",
                                   fmt::format("{} needs {}", values_.written(key), values_.written("own_precision")),
                                   "add it, or remove this");
        }
    }
    const std::string moment = values_.text("moment");
    const std::string second = has("second_moment") ? values_.text("second_moment") : moment;
    if (!moment.empty() && moment != second) {
        return values_.fail_at("second_moment", "bad_plan",
                               fmt::format("the moments are {} and {}: no plan can express that", moment, second),
                               "use one dtype for both");
    }
    if (const auto dtype = find_dtype(moment)) options.moments = *dtype;
    if (has("held_parameters") && values_.text("held_parameters") != values_.text("held")) {
        return values_.fail_at(values_.text("held") == "bf16" ? "held" : "held_parameters", "contradiction",
                               fmt::format("{} and {} are given together, or states lie in the host's memory",
                                           values_.written("held_parameters"), values_.written("held")),
                               "give both or none");
    }
    if (values_.text("held") == "bf16") {
        options.master = options.f32_gradients = false;
        options.moments = Dtype::bf16;
    }
    launch_.optimizer = options;
    return {};
}

void LaunchPlanReader::read_overlap() {
    if (!has("overlap_tensor") && !has("overlap_expert")) return;
    std::vector<std::string> axes;
    if (values_.on("overlap_tensor") && launch_.plan.tensor > 1) axes.emplace_back("tensor");
    if (values_.on("overlap_expert") && launch_.plan.expert > 1) axes.emplace_back("expert");
    launch_.overlapped = std::move(axes);
    if (has("overlap_gradients") && !values_.on("overlap_gradients") && launch_.plan.replicas() > 1) {
        note(fmt::format("{} is not given, but times assume that gradients are reduced during the backward pass",
                         values_.written("overlap_gradients")));
    }
}

Result<TrainingLaunch> training_launch(const LaunchValues& values, const LaunchJob& job) {
    return LaunchPlanReader(values, job).read();
}

}  // namespace roofline::core

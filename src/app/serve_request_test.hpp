// Requests for serving Llama 3.1 8B, for tests, and what is answered.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/request.hpp"

namespace roofline::core {

inline ServeRequest llama(std::initializer_list<const char*> slices) {
    ServeRequest request;
    request.config = {"llama-3.1-8b", ""};
    for (const char* slice : slices) request.machines.push_back({slice, {}});
    request.prompt = "1k";
    request.output = "256";
    request.batch = "16";
    return request;
}

inline Response answered(const ServeRequest& request, Format format) {
    auto response = handle(request, format);
    REQUIRE_MESSAGE(response, response.error().message);
    return std::move(*response);
}

inline nlohmann::json json_of(const ServeRequest& request) {
    return nlohmann::json::parse(answered(request, Format::json).out);
}

}  // namespace roofline::core

// A plan as the flags or the configuration of a framework that runs it.
#pragma once

#include <string>
#include <vector>

namespace roofline::core {

struct EmittedLaunch {
    std::string framework;             ///< "megatron"
    std::string version;               ///< whose documentation its settings were taken from
    std::string text;                  ///< of a file that starts the plan, with the remarks as comments
    std::vector<std::string> remarks;  ///< what it does not express, and what the framework finds itself
};

}  // namespace roofline::core

// The files of a question: those that the page gives it, and no others.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace roofline::page {

/// While it exists, the command line reads these files. The contents must outlive it.
class GivenFiles {
public:
    explicit GivenFiles(std::map<std::string, std::string_view, std::less<>> files);
    ~GivenFiles();
    GivenFiles(const GivenFiles&) = delete;
    GivenFiles& operator=(const GivenFiles&) = delete;
};

}  // namespace roofline::page

// The transport of `roofline page`: HTTP on this machine's own address. A module implements it.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"

namespace roofline::core {

/// A request as it came: nothing of it is decoded or checked.
struct HttpRequest {
    std::string method;  ///< "GET"
    std::string target;  ///< "/0123/files/a%20b.hlo?x=1"
    std::string host;    ///< the header Host; "" if it is missing or given twice
};

struct HttpReply {
    int status = 200;
    std::string type{};  ///< of the content: "application/json"
    std::string body{};
    std::string location{};   ///< where the content is instead; "" for none
    bool attachment = false;  ///< content that a browser must not interpret
};

class HttpServer {
public:
    using Answer = std::function<HttpReply(const HttpRequest&)>;

    HttpServer() = default;
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    virtual ~HttpServer() = default;

    /// Binds to a port of 127.0.0.1, to any free one for 0, and returns its number. Errors: code `port` if it is in use
    /// or not allowed.
    [[nodiscard]] virtual Result<int> bind(int port) = 0;
    /// Answers requests, several at a time, until `stopped` returns true, which is asked about twenty times a second.
    /// bind() must have succeeded. Errors: connections are no longer accepted.
    [[nodiscard]] virtual Status run(const Answer& answer, const std::function<bool()>& stopped) = 0;
};

}  // namespace roofline::core

// The module that speaks HTTP, with cpp-httplib.
#include "app/local/http_server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>

#include "measure/module.hpp"

namespace roofline::core {

namespace {

constexpr const char* address = "127.0.0.1";
constexpr std::size_t threads = 4;
constexpr std::time_t patience_s = 3;  ///< for a client that sends or reads slowly

void reply_with(const HttpReply& reply, httplib::Response& response) {
    response.status = reply.status;
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    response.set_header("Connection", "close");
    if (reply.status == 405) response.set_header("Allow", "GET");
    if (!reply.location.empty()) response.set_header("Location", reply.location);
    if (reply.attachment) {
        response.set_header("Content-Disposition", "attachment");
        response.set_header("Content-Security-Policy", "sandbox");
    }
    response.set_content(reply.body, reply.type.empty() ? std::string("text/plain; charset=utf-8") : reply.type);
}

class HttplibServer final : public HttpServer {
public:
    Result<int> bind(int port) override {
        server_ = std::make_unique<httplib::Server>();
        // The library's own choice, SO_REUSEPORT, would let two servers share a port without a word.
        server_->set_socket_options([](socket_t socket) {
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        });
        server_->set_keep_alive_max_count(1);
        server_->set_payload_max_length(0);
        server_->set_read_timeout(patience_s);
        server_->set_write_timeout(patience_s);
        server_->new_task_queue = [] { return new httplib::ThreadPool(threads); };
        const int bound = port == 0                              ? server_->bind_to_any_port(address)
                          : server_->bind_to_port(address, port) ? port
                                                                 : -1;
        if (bound > 0) return bound;
        return fail("port", fmt::format("cannot listen on {}:{}: the port is in use, or not allowed", address, port),
                    "leave --port out to use a free port");
    }

    Status run(const Answer& answer, const std::function<bool()>& stopped) override {
        // Every request is answered here, before the library looks for files or handlers of its own.
        server_->set_pre_routing_handler([&](const httplib::Request& request, httplib::Response& response) {
            const bool one_host = request.get_header_value_count("Host") == 1;
            reply_with(answer({request.method, request.target, one_host ? request.get_header_value("Host") : ""}),
                       response);
            return httplib::Server::HandlerResponse::Handled;
        });
        bool listened = true;
        std::thread listener([&] { listened = server_->listen_after_bind(); });
        bool asked = false;
        while (!asked && !finished(listener)) {
            asked = stopped();
            if (!asked) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        server_->stop();
        listener.join();
        server_.reset();
        if (asked || listened) return {};
        return fail("port", "connections are no longer accepted", "start it again");
    }

private:
    // Whether it has ended of itself.
    [[nodiscard]] bool finished(const std::thread&) {
        if (server_->is_running()) started_ = true;
        return started_ && !server_->is_running();
    }

    std::unique_ptr<httplib::Server> server_;
    bool started_ = false;
};

HttplibServer the_server;

}  // namespace

}  // namespace roofline::core

ROOFLINE_MODULE(http, roofline::core::HttpServer, roofline::core::the_server);

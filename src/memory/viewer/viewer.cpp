#include "memory/viewer/viewer.hpp"

#include "core/json_fields.hpp"
#include "core/json_surrogates.hpp"
#include "core/json_text.hpp"
#include "core/printable.hpp"
#include "core/text.hpp"
#include "memory/mcp/local_call.hpp"
#include "memory/store/ids.hpp"
#include "memory/transfer/records.hpp"
#include "memory/viewer/http_server.hpp"
#include "memory/viewer/pages.hpp"
#include "memory/viewer/token.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <deque>

namespace holdfast::memory {

using core::cat;
namespace json = boost::json;

namespace {

constexpr std::int64_t live_every_ms = 2000;
constexpr std::int64_t ticket_ms = 60'000;
constexpr std::size_t most_tickets = 16;

// What pages may ask for. Nothing here stops the process or brings in anything.
constexpr std::array<std::string_view, 16> allowed = {"core.health",
                                                      "feedback.submit",
                                                      "memory.episodes",
                                                      "memory.feedback",
                                                      "memory.forget",
                                                      "memory.get_policy",
                                                      "memory.get_trace",
                                                      "memory.get_world",
                                                      "memory.list_policies",
                                                      "memory.list_traces",
                                                      "memory.list_world_models",
                                                      "memory.search",
                                                      "memory.sessions",
                                                      "memory.timeline",
                                                      "skill.get",
                                                      "skill.list"};

HttpResponse as_json(json::object body, int status = 200) {
    return {.status = status, .body = core::json_text(body)};
}

HttpResponse refused(int status, std::string_view code, std::string_view message) {
    return as_json({{"error", {{"code", code}, {"message", message}}}}, status);
}

// The whole store as lines, a page whenever the client has taken the last one.
class ExportPieces final : public BodyPieces {
public:
    explicit ExportPieces(Service& service)
        : service_(service) {}

    void more(Sink sink) override {
        service_.run(nullptr, [cursor = next_, &service = service_, sink = std::move(sink)](bool open) {
            if (!open)
                return sink("", AfterPiece::broken);
            auto reader = service.store().reader();
            if (!reader)
                return sink("", AfterPiece::broken);
            auto page = export_page(**reader, *cursor);
            if (!page)
                return sink("", AfterPiece::broken);
            *cursor = page->next;
            // Behind damage the next page would be this one again. A download that breaks off is not taken
            // for the whole.
            sink(std::move(page->lines), page->trouble        ? AfterPiece::broken
                                         : page->next.empty() ? AfterPiece::end
                                                              : AfterPiece::more);
        });
    }

private:
    Service& service_;
    // Shared with the page on its way: this object goes with the client, perhaps in between.
    std::shared_ptr<std::string> next_ = std::make_shared<std::string>();
};

// Health, again and again, for as long as the page is open: and as long as it is, it holds the owner. The
// clock of the live pages is one thread's, in LiveClock.
class LiveClock {
public:
    LiveClock() = default;
    ~LiveClock() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
            changed_.notify_all();
        }
        if (thread_.joinable())
            thread_.join();
    }
    LiveClock(const LiveClock&) = delete;
    LiveClock& operator=(const LiveClock&) = delete;

    void later(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({monotonic_ms() + live_every_ms, std::move(work)});
        if (!thread_.joinable())
            thread_ = std::thread([this] { loop(); });
        changed_.notify_all();
    }

private:
    struct Waiting {
        std::int64_t due_ms;
        std::function<void()> work;
    };
    void loop() {
        std::unique_lock lock(mutex_);
        while (!stopping_) {
            if (waiting_.empty()) {
                changed_.wait(lock);
                continue;
            }
            const auto left = waiting_.front().due_ms - monotonic_ms();
            if (left > 0) {
                changed_.wait_for(lock, std::chrono::milliseconds(left));
                continue;
            }
            auto work = std::move(waiting_.front().work);
            waiting_.pop_front();
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Waiting> waiting_; // all wait the same time, so the first is the next
    bool stopping_ = false;
    std::thread thread_;
};

class LivePieces final : public BodyPieces {
public:
    LivePieces(OwnerDesk& desk, LiveClock& clock)
        : desk_(desk)
        , clock_(clock)
        , hold_(desk.hold()) {}

    void more(Sink sink) override {
        auto ask = [&desk = desk_, sink = std::move(sink)] {
            call_local(desk.contract(), "core.health", {}, "", [sink](LocalAnswer answer) {
                sink(core::json_text(answer.ok() ? answer.result : json::value(nullptr)) + "\n",
                     AfterPiece::more);
            });
        };
        if (std::exchange(first_, false))
            ask();
        else
            clock_.later(std::move(ask));
    }

private:
    OwnerDesk& desk_;
    LiveClock& clock_;
    Hold hold_;
    bool first_ = true;
};

class Viewer final : public Companion {
public:
    Viewer(OwnerDesk& desk, std::uint16_t port)
        : desk_(desk) {
        const auto trouble = begin(port);
        if (!trouble.empty())
            std::fprintf(stderr, "holdfast-memory: no viewer: %s\n", core::printable(trouble).c_str());
    }
    ~Viewer() override {
        server_.reset();
        desk_.set_address("");
    }
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;

private:
    // What went wrong; empty: it is there.
    std::string begin(std::uint16_t port) {
        auto token = viewer_token(desk_.service().paths().home);
        if (!token)
            return token.error().message;
        token_ = std::move(*token);
        auto server = HttpServer::start(port, [this](HttpRequest request, Respond respond) {
            handle(std::move(request), std::move(respond));
        });
        if (!server)
            return server.error().message;
        server_ = std::move(*server);
        const auto address = cat("http://127.0.0.1:", server_->port(), "/");
        port_ = server_->port();
        desk_.set_address(address);
        say_viewer_address(desk_.service().paths().home, address,
                           port != 0 && port_ != port ? cat("port ", port, " was taken") : "");
        return "";
    }

    // A name that leads here but is not ours is how a page from elsewhere would come in (DNS rebinding).
    [[nodiscard]] bool is_our_host(const std::string& host) const {
        const auto port = cat(":", port_.load());
        return host == "127.0.0.1" + port || host == "localhost" + port;
    }

    [[nodiscard]] bool knows_token(const HttpRequest& request) const {
        constexpr std::string_view scheme = "Bearer ";
        return request.authorization.starts_with(scheme) &&
               same_secret(std::string_view(request.authorization).substr(scheme.size()), token_);
    }

    void handle(HttpRequest request, Respond respond) {
        if (!is_our_host(request.host))
            return respond(refused(421, "host", "this server answers to 127.0.0.1 and localhost only"));
        if ((!request.origin.empty() && request.origin != cat("http://", request.host)) ||
            request.fetch_site == "cross-site" || request.fetch_site == "same-site")
            return respond(refused(403, "origin", "requests from other pages are refused"));
        if (request.path.starts_with("/export/"))
            return send_export(request, std::move(respond));
        if (!request.path.starts_with("/api/"))
            return send_page(request, std::move(respond));
        if (request.method != "POST")
            return respond(refused(405, "method", "this wants POST"));
        if (!knows_token(request))
            return respond(
                refused(401, "token",
                        "the token is missing or wrong; holdfast memory status shows the whole address"));
        if (!request.content_type.starts_with("application/json"))
            return respond(refused(415, "content_type", "this wants application/json"));
        desk_.touch();
        if (request.path == "/api/live")
            return respond({.content_type = "application/x-ndjson",
                            .pieces = std::make_unique<LivePieces>(desk_, clock_)});
        if (request.path == "/api/ticket")
            return respond(as_json({{"result", {{"ticket", new_ticket()}}}}));
        if (request.path == "/api/call")
            return call(request, std::move(respond));
        respond(refused(404, "not_found", "there is nothing here"));
    }

    static void send_page(const HttpRequest& request, Respond respond) {
        const auto pages = viewer_pages();
        const auto found = std::ranges::find(pages, std::string_view(request.path), &Page::path);
        if (found == pages.end())
            return respond({.status = 404, .content_type = "text/plain", .body = "there is nothing here\n"});
        if (request.method != "GET")
            return respond({.status = 405, .content_type = "text/plain", .body = "this wants GET\n"});
        respond({.content_type = std::string(found->content_type), .body = std::string(found->text)});
    }

    void call(const HttpRequest& request, Respond respond) {
        boost::system::error_code failed;
        auto parsed = core::parse_mended(request.body, failed, 64);
        auto* object = failed ? nullptr : parsed.if_object();
        const auto method = object != nullptr ? core::text_field(*object, "method") : std::string();
        if (std::ranges::find(allowed, method) == allowed.end())
            return respond(refused(400, "method", "this is not for pages"));
        json::object params;
        if (auto* given = object->if_contains("params"); given != nullptr && given->is_object())
            params = std::move(given->get_object());
        call_local(desk_.contract(), method, std::move(params), "",
                   [respond = std::move(respond)](LocalAnswer answer) mutable {
                       respond(answer.ok() ? as_json({{"result", std::move(answer.result)}})
                                           : refused(200, answer.code, answer.message));
                   });
    }

    // A download cannot carry a header, so it gets a word that is good once and for a minute.
    std::string new_ticket() {
        auto ticket = random_word(32);
        tickets_.push_back({ticket, monotonic_ms() + ticket_ms});
        if (tickets_.size() > most_tickets)
            tickets_.pop_front();
        return ticket;
    }

    void send_export(const HttpRequest& request, Respond respond) {
        const auto word = std::string_view(request.path).substr(std::string_view("/export/").size());
        const auto now = monotonic_ms();
        const auto found = std::ranges::find_if(tickets_, [&](const Ticket& ticket) {
            return ticket.until_ms > now && same_secret(word, ticket.word);
        });
        if (request.method != "GET" || found == tickets_.end())
            return respond({.status = 403,
                            .content_type = "text/plain",
                            .body = "this link is used up; ask for the export again\n"});
        if (!request.head_only)
            tickets_.erase(found);
        respond({.content_type = "application/x-ndjson",
                 .more_headers = "Content-Disposition: attachment; filename=\"holdfast-memory.jsonl\"\r\n",
                 .pieces = std::make_unique<ExportPieces>(desk_.service())});
    }

    struct Ticket {
        std::string word;
        std::int64_t until_ms = 0;
    };
    OwnerDesk& desk_;
    std::string token_;
    std::atomic<std::uint16_t> port_ = 0;
    std::deque<Ticket> tickets_; // on the server's thread
    LiveClock clock_;
    std::unique_ptr<HttpServer> server_; // goes first
};

} // namespace

void say_viewer_address(const std::string& home, const std::string& address, const std::string& remark) {
    const auto token = ::isatty(STDERR_FILENO) == 1 ? viewer_token(home) : Result<std::string>("");
    const bool whole = token && !token->empty();
    std::fprintf(stderr, "memory: viewer at %s%s%s%s%s\n", address.c_str(),
                 whole ? cat("#token=", *token).c_str() : " (the whole address: holdfast memory status)",
                 remark.empty() ? "" : " (", remark.c_str(), remark.empty() ? "" : ")");
}

std::unique_ptr<Companion> start_viewer(OwnerDesk& desk, std::uint16_t port) {
    return std::make_unique<Viewer>(desk, port);
}

} // namespace holdfast::memory

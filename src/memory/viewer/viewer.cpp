#include "memory/viewer/viewer.hpp"

#include "base/printable.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "core/page_sessions.hpp"
#include "memory/contract/local_call.hpp"
#include "memory/ids/ids.hpp"
#include "memory/transfer/records.hpp"
#include "memory/viewer/http_server.hpp"
#include "memory/viewer/pages.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <deque>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t live_every_ms = 2000;
constexpr std::int64_t download_ms = 60'000;
constexpr std::size_t most_downloads = 16;

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
    return {.status = status, .body = json::to_text(body)};
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
                sink(json::to_text(answer.ok() ? answer.result : json::value(nullptr)) + "\n",
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

// The sessions of the pages and the links that begin them. From any thread: links are asked for on the
// serving thread, requests come on the server's.
class Sessions final : public PageLinks {
public:
    // Each owner's pages have a host name of their own. So what another program, which had the port before or
    // between, left in a browser for its pages (stored values, cached scripts, a service worker) is not there
    // for these.
    explicit Sessions(std::uint16_t port)
        : host_(cat("m", sys::random_token().substr(0, 16), ".localhost:", port))
        , sessions_(port, sys::random_token) {}

    [[nodiscard]] const std::string& host() const noexcept { return host_; }

    Link new_link(std::int64_t valid_ms) override {
        const std::lock_guard lock(mutex_);
        const auto ticket = sessions_.new_ticket(monotonic_ms(), valid_ms);
        return {ticket.id, cat("http://", host_, "/#ticket=", ticket.id, '.', ticket.secret)};
    }
    std::string_view link_state(std::string_view id) override {
        const std::lock_guard lock(mutex_);
        switch (sessions_.ticket_state(id, monotonic_ms())) {
        case core::PageSessions::TicketState::open:
            return "open";
        case core::PageSessions::TicketState::used:
            return "used";
        case core::PageSessions::TicketState::gone:
            break;
        }
        return "gone";
    }
    std::optional<core::PageSessions::Proof> prove(const std::string& id, const std::string& nonce) {
        const std::lock_guard lock(mutex_);
        return sessions_.prove(id, nonce, monotonic_ms());
    }
    std::optional<core::PageSessions::LogIn> log_in(const HttpRequest& request) {
        const std::lock_guard lock(mutex_);
        return sessions_.log_in({request.authorization, request.path, request.body}, monotonic_ms());
    }
    std::optional<std::string> accept(const HttpRequest& request) {
        const std::lock_guard lock(mutex_);
        return sessions_.accept({request.authorization, request.path, request.body});
    }

private:
    std::mutex mutex_;
    std::string host_;
    core::PageSessions sessions_;
};

// For a page whose owner has ended, and that was loaded again.
constexpr std::string_view other_owner =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Memory</title>"
    "<p>The memory that this address belonged to has ended. Open it again with: "
    "<code>holdfast memory open</code></p></html>\n";

class Viewer final : public Companion {
public:
    Viewer(OwnerDesk& desk, std::uint16_t port)
        : desk_(desk) {
        const auto trouble = begin(port);
        if (!trouble.empty())
            std::fprintf(stderr, "holdfast-memory: no viewer: %s\n", base::printable(trouble).c_str());
    }
    ~Viewer() override {
        desk_.contract().serve_pages(nullptr);
        server_.reset();
        desk_.set_address("");
    }
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;

private:
    // What went wrong; empty: it is there.
    std::string begin(std::uint16_t port) {
        // The secret of earlier versions. Nobody takes it any more.
        (void)::unlink(cat(desk_.service().paths().home, "/viewer.token").c_str());
        auto server = HttpServer::start(port, [this](HttpRequest request, Respond respond) {
            return handle(std::move(request), std::move(respond));
        });
        if (!server)
            return server.error().message;
        server_ = std::move(*server);
        sessions_ = std::make_shared<Sessions>(server_->port());
        desk_.contract().serve_pages(sessions_);
        port_ = server_->port(); // from now on requests are answered
        const auto address = cat("http://127.0.0.1:", server_->port(), "/");
        desk_.set_address(address);
        say_viewer_address(address, port != 0 && port_ != port ? cat("port ", port, " was taken") : "");
        return "";
    }

    // A name that leads here but is not ours is how a page from elsewhere would come in (DNS rebinding).
    [[nodiscard]] bool is_our_host(const std::string& host) const {
        const auto port = cat(":", port_.load());
        return host == "127.0.0.1" + port || host == "localhost" + port || host == "[::1]" + port ||
               host == sessions_->host();
    }

    // True: the request has shown that it comes from a page that was let in.
    bool handle(HttpRequest request, Respond respond) {
        const auto no = [&](HttpResponse response) {
            respond(std::move(response));
            return false;
        };
        if (port_ == 0)
            return no(refused(503, "starting", "the server is just starting; ask again"));
        if (!is_our_host(request.host)) {
            if (request.method == "GET" && request.host.ends_with(cat(".localhost:", port_.load())))
                return no({.status = 421,
                           .content_type = "text/html; charset=utf-8",
                           .body = std::string(other_owner)});
            return no(refused(421, "host", "this server answers to 127.0.0.1 and localhost only"));
        }
        const bool is_page = !request.path.starts_with("/api/") && !request.path.starts_with("/export/");
        // Whoever follows a link comes from elsewhere. The pages say nothing by themselves, and no other site
        // can frame or read them.
        const bool is_visit = is_page && request.method == "GET" && request.fetch_mode == "navigate";
        if ((!request.origin.empty() && request.origin != cat("http://", request.host)) ||
            (!is_visit && (request.fetch_site == "cross-site" || request.fetch_site == "same-site")))
            return no(refused(403, "origin", "requests from other pages are refused"));
        if (is_page)
            return no(page(request));
        if (request.path.starts_with("/export/"))
            return send_export(request, std::move(respond));
        if (request.method != "POST")
            return no(refused(405, "method", "this wants POST"));
        if (!request.content_type.starts_with("application/json"))
            return no(refused(415, "content_type", "this wants application/json"));
        if (request.path == "/api/prove")
            return no(prove(request));
        if (request.path == "/api/login") {
            const auto login = sessions_->log_in(request);
            if (!login)
                return no(unknown());
            proven(std::move(respond), login->proof)(as_json({{"result", {{"session", login->session}}}}));
            return true;
        }
        const auto proof = sessions_->accept(request);
        if (!proof)
            return no(unknown());
        desk_.touch();
        serve(request, proven(std::move(respond), *proof));
        return true;
    }

    // To a page that was let in.
    void serve(const HttpRequest& request, Respond respond) {
        if (request.path == "/api/live")
            return respond({.content_type = "application/x-ndjson",
                            .pieces = std::make_unique<LivePieces>(desk_, clock_)});
        if (request.path == "/api/export")
            return respond(as_json({{"result", {{"download", new_download()}}}}));
        if (request.path == "/api/call")
            return call(request, std::move(respond));
        respond(refused(404, "not_found", "there is nothing here"));
    }

    // The answer with what shows the page that it is ours.
    static Respond proven(Respond respond, const std::string& proof) {
        return [respond = std::move(respond), proof](HttpResponse response) mutable {
            response.more_headers += cat("X-Holdfast-Proof: ", proof, "\r\n");
            respond(std::move(response));
        };
    }

    static HttpResponse unknown() {
        return refused(
            401, "session",
            "this page is not known here, or its link was used; open it with: holdfast memory open");
    }

    HttpResponse prove(const HttpRequest& request) {
        const auto object = json::parse_object(request.body);
        const auto proof =
            object ? sessions_->prove(json::text_field(*object, "id"), json::text_field(*object, "nonce"))
                   : std::nullopt;
        return proof ? as_json({{"result", {{"nonce", proof->nonce}, {"proof", proof->mac}}}}) : unknown();
    }

    static HttpResponse page(const HttpRequest& request) {
        const auto pages = viewer_pages();
        const auto found = std::ranges::find(pages, std::string_view(request.path), &Page::path);
        if (found == pages.end())
            return {.status = 404, .content_type = "text/plain", .body = "there is nothing here\n"};
        if (request.method != "GET")
            return {.status = 405, .content_type = "text/plain", .body = "this wants GET\n"};
        return {.content_type = std::string(found->content_type), .body = std::string(found->text)};
    }

    void call(const HttpRequest& request, Respond respond) {
        auto object =
            json::parse_object(request.body, {.depth = 64, .half_pairs = json::HalfPairs::replaced});
        const auto method = object ? json::text_field(*object, "method") : std::string();
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
    std::string new_download() {
        auto word = sys::random_token();
        downloads_.push_back({word, monotonic_ms() + download_ms});
        if (downloads_.size() > most_downloads)
            downloads_.pop_front();
        return word;
    }

    bool send_export(const HttpRequest& request, Respond respond) {
        const auto word = std::string_view(request.path).substr(std::string_view("/export/").size());
        const auto now = monotonic_ms();
        const auto found = std::ranges::find_if(downloads_, [&](const Download& download) {
            return download.until_ms > now && base::same_secret(word, download.word);
        });
        if (request.method != "GET" || found == downloads_.end()) {
            respond({.status = 403,
                     .content_type = "text/plain",
                     .body = "this link is used up; ask for the export again\n"});
            return false;
        }
        if (!request.head_only)
            downloads_.erase(found);
        respond({.content_type = "application/x-ndjson",
                 .more_headers = "Content-Disposition: attachment; filename=\"holdfast-memory.jsonl\"\r\n",
                 .pieces = std::make_unique<ExportPieces>(desk_.service())});
        return true;
    }

    struct Download {
        std::string word;
        std::int64_t until_ms = 0;
    };
    OwnerDesk& desk_;
    std::shared_ptr<Sessions> sessions_; // before port_ is set, and then for good
    std::atomic<std::uint16_t> port_ = 0;
    std::deque<Download> downloads_; // on the server's thread
    LiveClock clock_;
    std::unique_ptr<HttpServer> server_; // goes first
};

} // namespace

void say_viewer_address(const std::string& address, const std::string& remark) {
    std::fprintf(stderr, "memory: viewer at %s (open it with: holdfast memory open)%s%s%s\n", address.c_str(),
                 remark.empty() ? "" : " (", remark.c_str(), remark.empty() ? "" : ")");
}

std::unique_ptr<Companion> start_viewer(OwnerDesk& desk, std::uint16_t port) {
    return std::make_unique<Viewer>(desk, port);
}

} // namespace holdfast::memory

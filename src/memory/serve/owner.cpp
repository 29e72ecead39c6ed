#include "memory/serve/owner.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "memory/transfer/records.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace holdfast::memory {

using base::cat;

Owner::Owner(const RunOptions& options, HomeSlot& slot, StartReport& report, LedgerFiles files, int cancel_fd)
    : options_(options)
    , slot_(slot)
    , report_(report)
    , own_files_(std::move(files))
    , cancel_fd_(cancel_fd)
    , wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Owner::~Owner() = default;

void Owner::wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

Result<void> Owner::start() {
    if (!wake_)
        return fail(Errc::io, "there are no descriptors left for this process");
    // Before the store is opened: its syncs would hold up everything else in the folder, and with it the
    // first answer.
    listen();
    check_at_ms_ = monotonic_ms() + check_every_ms;
    ServiceOptions options;
    options.home = options_.home;
    options.agent = options_.agent;
    options.become_owner = [this](const OnProgress& progress) {
        auto epoch = slot_.take(progress);
        wake(); // to listen for others
        return epoch;
    };
    options.on_progress = [this](const Progress& progress) {
        if (!report_.tell(progress))
            return;
        slot_.tell(progress);
        const std::lock_guard lock(news_mutex_);
        state_changed_ = true;
        wake();
    };
    options.host_embeddings = host_embeddings_;
    options.save_rows = save_unsaved;
    options.bring_back_rows = bring_back_rows;
    options.on_fenced = [this] {
        fenced_ = true;
        wake();
    };
    auto service = Service::start(std::move(options));
    if (!service)
        return std::unexpected(std::move(service.error()));
    service_ = std::move(*service);
    contract_ = std::make_unique<Contract>(*service_, host_calls_, *host_embeddings_);
    contract_->on_shutdown([this](const Peer& peer) {
        const std::lock_guard lock(news_mutex_);
        shutdowns_.insert(&peer);
        wake();
    });
    desk_ = std::make_unique<OwnerDesk>(*service_, *contract_, wake_.get());
    desk_->touch();

    auto ledger = Ledger::open(std::move(own_files_));
    if (!ledger)
        return std::unexpected(std::move(ledger.error()));
    Client own;
    own.own = true;
    own.request = attach_request(options_);
    ledger->limit_lines(options_.max_line);
    own.protocol = protocol_named(options_.protocol);
    if (own.protocol == nullptr)
        return fail(Errc::invalid_argument, cat("there is no protocol \"", options_.protocol, "\""));
    sys::Fd in(::fcntl(options_.in, F_DUPFD_CLOEXEC, 3));
    sys::Fd out(in ? ::fcntl(options_.out, F_DUPFD_CLOEXEC, 3) : -1);
    if ((!in || !out) && errno == EMFILE)
        return sys::fail_sys("duplicate the descriptors of the client");
    own.stream = std::make_shared<Stream>(std::move(in), std::move(out), std::move(*ledger), options_.agent,
                                          wake_.get());
    clients_.push_back(std::move(own));
    clients_.back().stream->take_over(*clients_.back().protocol);
    last_seen_ms_ = monotonic_ms();
    return {};
}

Protocol* Owner::protocol_named(const std::string& name) {
    if (name == "rpc")
        return contract_.get();
    if (const auto known = protocols_.find(name); known != protocols_.end())
        return known->second.get();
    for (const auto& offered : options_.protocols)
        if (offered.name == name)
            return (protocols_[name] = offered.make(*service_, *contract_)).get();
    return nullptr;
}

std::shared_ptr<std::atomic<bool>> Owner::barrier() {
    auto passed = std::make_shared<std::atomic<bool>>(service_->pending() == 0);
    if (*passed)
        return passed; // nothing was asked: no need to wait for a store that is still being opened
    service_->submit([](WriteContext&) -> Result<void> { return {}; },
                     [this, passed](Result<void>) {
                         *passed = true;
                         wake();
                     });
    return passed;
}

RunEnd Owner::run() {
    if (auto started = start(); !started)
        return {1, false, std::move(started.error().message)};
    while (turn())
        wait();
    return close();
}

bool Owner::turn() {
    housekeeping();
    for (auto& client : clients_)
        step(client);
    for (auto client = clients_.begin(); client != clients_.end();)
        client = client->gone ? clients_.erase(client) : std::next(client);
    std::erase_if(guests_, [](const Guest& guest) { return guest.gone; });
    if (!leaving_ && own_done_ && !wanted())
        begin_leaving(drain_bound.count(), "");
    if (!leaving_)
        return true;
    if (monotonic_ms() >= leave_until_ms_)
        return false;
    // Our own client has its answers first; what others have not read yet stays in their ledgers.
    return !(own_done_ && all_settled() && *leave_committed_ && !somebody_is_ending());
}

// Whether there is a reason to stay although our own client is gone. Attached clients are none: one of their
// processes takes over.
bool Owner::wanted() const {
    if (desk_->holds() > 0 || somebody_is_ending())
        return true;
    if (!options_.daemon || shutdown_asked_)
        return false;
    if (!options_.idle || clients_.size() > 1)
        return true;
    const auto since = std::max(last_seen_ms_, desk_->last_touch_ms());
    return monotonic_ms() - since < options_.idle->count();
}

// An attached client that is on its way out is seen out here: the next owner would not know that it had asked
// to go.
bool Owner::somebody_is_ending() const {
    return std::ranges::any_of(clients_, [&](const Client& client) {
        return !client.own && !client.left && client.stage != Stage::resting &&
               (client.stage != Stage::serving || client.stream->ending());
    });
}

bool Owner::all_settled() const {
    return std::ranges::all_of(clients_, [](const Client& client) { return client.stream->settled(); });
}

void Owner::begin_leaving(std::int64_t at_most_ms, std::string reason) {
    if (leaving_)
        return;
    leaving_ = true;
    leave_reason_ = std::move(reason);
    leave_until_ms_ = monotonic_ms() + at_most_ms;
    companion_.reset();
    slot_.draining();
    listener_.reset(); // who waits in its queue looks for the next owner
    guests_.clear();
    if (!slot_.owned()) { // a wait for the home has nothing to finish
        const std::uint64_t one = 1;
        (void)!::write(cancel_fd_, &one, sizeof one);
    }
    for (auto& client : clients_) {
        // Others go on elsewhere: their streams rest where they are.
        client.left = !client.own && client.stage == Stage::serving && !client.stream->ending();
        client.left ? client.stream->leave_lines() : client.stream->stop_reading();
    }
    leave_committed_ = barrier();
}

// Asked every other second. A watch of the kernel's would tell at once, but closing one takes it tens of
// milliseconds, and with them every end of an owner and every takeover. Nothing depends on the haste: what an
// owner that was replaced tries to write is refused by the epoch in the store.
void Owner::check_ownership() {
    check_at_ms_ = monotonic_ms() + check_every_ms;
    const bool fenced = fenced_.exchange(false);
    const bool in_place = !service_->is_open() || service_->store().in_place();
    if (service_->is_open())
        (void)service_->store().has_its_log(); // if not, the writer says what became of it, and fences
    if (lost_ || (!fenced && in_place && slot_.still_mine()))
        return;
    lost_ = true;
    service_->fence();
    const auto log_loss = service_->is_open() ? service_->store().log_loss() : std::string();
    begin_leaving(drain_bound.count(),
                  !log_loss.empty() ? cat(log_loss, ". This process leaves")
                  : in_place
                      ? cat("the home ", options_.home, " belongs to another process by now; this one leaves")
                      : cat("the database in the home ", options_.home,
                            " was moved, replaced or removed; this process leaves"));
}

void Owner::housekeeping() {
    if (monotonic_ms() >= check_at_ms_ || fenced_)
        check_ownership();
    bool state_changed = false;
    std::set<const Peer*> shutdowns;
    {
        const std::lock_guard lock(news_mutex_);
        state_changed = std::exchange(state_changed_, false);
        shutdowns.swap(shutdowns_);
    }
    if (!shutdowns.empty()) {
        shutdown_asked_ = true;
        for (auto& client : clients_)
            if (shutdowns.contains(client.stream.get()) || client.request.stay)
                client.stream->stop_reading();
    }
    if (leaving_)
        return;
    listen();
    if (desk_->take_address(viewer_address_)) {
        slot_.set_address(viewer_address_);
        report_.tell_address(viewer_address_);
        for (const auto& client : clients_)
            tell_viewer(client);
    }
    if (state_changed)
        tell_attached();
    const auto wish =
        std::ranges::find_if(clients_, [](const Client& client) { return client.request.viewer; });
    if (wish == clients_.end())
        companion_.reset();
    else if (!companion_ && options_.companion && slot_.owned())
        companion_ = options_.companion(*desk_, wish->request.port);
}

void Owner::listen() {
    if (listener_ || !slot_.owned() || monotonic_ms() < listen_at_ms_)
        return;
    auto listener = listen_in(options_.home);
    if (listener) {
        listener_ = std::move(*listener);
        return;
    }
    listen_at_ms_ = monotonic_ms() + check_every_ms;
    if (!std::exchange(listening_failed_, true))
        std::fprintf(stderr, "holdfast-memory: further processes will wait instead of sharing: %s\n",
                     base::printable(listener.error().message).c_str());
}

void Owner::tell_attached() {
    const auto progress = service_->progress();
    const auto text = cat("state ", name_of(progress.phase), " ", progress.done, " ", progress.total, " ",
                          progress.detail.substr(0, 1000));
    for (const auto& client : clients_)
        if (client.connection)
            (void)send_packet(client.connection.get(), text); // never waits: the connection does not block
}

int Owner::next_timeout() const {
    if (std::ranges::any_of(clients_, [](const Client& client) { return client.stream->has_lines(); }))
        return 0;
    std::int64_t timeout = -1;
    const auto now = monotonic_ms();
    const auto within = [&](std::int64_t moment) {
        const auto left = std::max<std::int64_t>(0, moment - now);
        timeout = timeout < 0 ? left : std::min(timeout, left);
    };
    if (leaving_)
        within(leave_until_ms_);
    else if (slot_.owned())
        within(check_at_ms_);
    for (const auto& client : clients_)
        if (client.stage == Stage::flushing)
            within(client.flush_until_ms);
    for (const auto& guest : guests_)
        within(guest.until_ms);
    if (listener_ && accept_at_ms_ > now)
        within(accept_at_ms_);
    if (own_done_ && options_.daemon && options_.idle)
        within(std::max(last_seen_ms_, desk_->last_touch_ms()) + options_.idle->count());
    return static_cast<int>(std::min<std::int64_t>(timeout, 3'600'000));
}

void Owner::wait() {
    enum : std::size_t { signals, woken, guests_at_door, fixed };
    std::vector<pollfd> fds(fixed);
    fds[signals] = {leaving_ ? -1 : options_.signal_fd, POLLIN, 0};
    fds[woken] = {wake_.get(), POLLIN, 0};
    fds[guests_at_door] = {door_is_open() ? listener_.get() : -1, POLLIN, 0};
    for (const auto& guest : guests_)
        fds.push_back({guest.connection.get(), POLLIN, 0});
    const std::size_t clients_at = fds.size();
    for (const auto& client : clients_) {
        fds.push_back({client.connection.get(), POLLIN, 0});
        fds.push_back({client.stream->wants_input() ? client.stream->in() : -1, POLLIN, 0});
        fds.push_back({client.stream->wants_output() ? client.stream->out() : -1, POLLOUT, 0});
    }
    const int n = ::poll(fds.data(), fds.size(), next_timeout());
    if (n < 0)
        return;
    // Only who has said nothing by now is late: we may have been busy ourselves.
    std::size_t at = fixed;
    for (auto& guest : guests_)
        if (fds[at++].revents == 0 && monotonic_ms() >= guest.until_ms)
            guest.gone = true;
    if (n == 0)
        return;
    if (fds[woken].revents != 0) {
        std::uint64_t count = 0;
        (void)!::read(wake_.get(), &count, sizeof count);
    }
    // First whether the home is still ours: one that was stopped and replaced reads nothing more for its
    // clients.
    if (monotonic_ms() >= check_at_ms_)
        check_ownership();
    if (fds[signals].revents != 0) {
        signalfd_siginfo info{};
        (void)!::read(options_.signal_fd, &info, sizeof info);
        stopped_ = true;
        begin_leaving(drain_bound.count(), "");
    }
    // New clients go to the end of the list, behind those that were waited for. Leaving drops all guests.
    at = fixed;
    for (auto& guest : guests_)
        if (fds[at++].revents != 0)
            hear(guest);
    at = clients_at;
    for (auto client = clients_.begin(); at < fds.size(); ++client, at += 3) {
        if (fds[at].revents != 0)
            hear(*client);
        if (!client->gone && fds[at + 1].revents != 0 && client->stream->wants_input())
            client->stream->readable(*client->protocol);
        if (!client->gone && fds[at + 2].revents != 0)
            client->stream->writable();
    }
    if (fds[guests_at_door].revents != 0 && door_is_open())
        accept_guests();
}

} // namespace holdfast::memory

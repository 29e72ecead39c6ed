#include "rpc/in_flight.hpp"

namespace holdfast::rpc {

void InFlight::add(const std::shared_ptr<PendingRequest>& request, const Connection* from, std::string raw_id,
                   base::Moment due) {
    const std::lock_guard lock(mutex_);
    const auto number = ++last_;
    request->on_over([self = weak_from_this(), number] {
        if (const auto table = self.lock())
            table->remove(number);
    });
    entries_.emplace(number, Entry{request, from, std::move(raw_id)});
    deadlines_.add(due, number);
}

void InFlight::remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    entries_.erase(number);
    deadlines_.forget(number);
}

// A client that gives an id twice means the newer one.
std::shared_ptr<PendingRequest> InFlight::find(const Connection* from, std::string_view raw_id) {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
        if (entry->second.from == from && entry->second.raw_id == raw_id && !raw_id.empty())
            return entry->second.request.lock();
    return nullptr;
}

std::shared_ptr<PendingRequest> InFlight::take_due(base::Moment now) {
    const std::lock_guard lock(mutex_);
    while (const auto number = deadlines_.take_due(now))
        if (const auto entry = entries_.find(number); entry != entries_.end())
            if (auto request = entry->second.request.lock())
                return request;
    return nullptr;
}

base::Moment InFlight::next_deadline() {
    const std::lock_guard lock(mutex_);
    return deadlines_.next();
}

void InFlight::forget(const Connection* from) {
    const std::lock_guard lock(mutex_);
    for (auto& [number, entry] : entries_)
        if (entry.from == from)
            entry.raw_id.clear();
}

std::size_t InFlight::size() {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

} // namespace holdfast::rpc

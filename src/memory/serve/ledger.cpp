// The input side and the books; the output side is in ledger_out.cpp.
#include "memory/serve/ledger_shared.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace holdfast::memory {

namespace {

bool blank(std::string_view line) {
    return line.find_first_not_of(" \t\r\v\f") == line.npos;
}

} // namespace

Ledger::Ledger(LedgerFiles files, void* mapped) noexcept
    : files_(std::move(files))
    , mapped_(mapped)
    , shared_(static_cast<Shared*>(mapped)) {}

Ledger::Ledger(Ledger&& other) noexcept
    : files_(std::move(other.files_))
    , mapped_(std::exchange(other.mapped_, nullptr))
    , shared_(std::exchange(other.shared_, nullptr))
    , clean_to_(other.clean_to_)
    , scanned_(other.scanned_)
    , after_line_(other.after_line_)
    , line_in_hand_(other.line_in_hand_)
    , line_limit_(other.line_limit_)
    , in_flight_(other.in_flight_)
    , free_(std::move(other.free_))
    , sent_(other.sent_)
    , given_back_(other.given_back_)
    , not_a_pipe_(other.not_a_pipe_) {}

Ledger::~Ledger() {
    if (mapped_ != nullptr)
        ::munmap(mapped_, ledger_bytes);
}

char* Ledger::buffer() const noexcept {
    return static_cast<char*>(mapped_) + buffer_offset;
}

Ledger::Slot* Ledger::slot(std::uint32_t index) const noexcept {
    return reinterpret_cast<Slot*>(static_cast<char*>(mapped_) + slots_offset) + index;
}

Result<Ledger> Ledger::open(LedgerFiles files) {
    struct stat info{};
    if (::fstat(files.state.get(), &info) != 0 || info.st_size != static_cast<off_t>(ledger_bytes) ||
        !files.sealed())
        return fail(Errc::protocol, "what came with a client is not its shared memory");
    void* mapped = ::mmap(nullptr, ledger_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files.state.get(), 0);
    if (mapped == MAP_FAILED)
        return sys::fail_sys("map the shared memory of a client");
    Ledger ledger(std::move(files), mapped);
    if (auto recovered = ledger.recover(); !recovered)
        return std::unexpected(std::move(recovered.error()));
    return ledger;
}

Result<void> Ledger::recover() {
    const auto broken = [](const char* what) {
        return fail(Errc::protocol, base::cat("the shared memory of a client is broken: ", what));
    };
    if (shared_->version == 0)
        shared_->version = Shared::current_version;
    if (shared_->version != Shared::current_version)
        return fail(Errc::protocol,
                    base::cat("a client has shared memory of version ", shared_->version.load(),
                              "; this is version ", Shared::current_version));
    InputWord input(shared_->input);
    const std::uint32_t limit = shared_->read_limit;
    if (input.head > input.tail || input.tail > buffer_bytes || limit > buffer_bytes)
        return broken("positions");
    // A read whose reader died before it noted the amount: all that is not 0xFF came.
    if (limit > input.tail) {
        std::uint32_t end = limit;
        while (end > input.tail && static_cast<unsigned char>(buffer()[end - 1]) == 0xFF)
            --end;
        input.tail = end;
        shared_->input = input.word();
        shared_->read_limit = 0;
    }
    clean_to_ = input.tail;
    // A request that was noted while its line was not yet marked as read: the line is still there.
    const std::uint32_t opening = shared_->opening;
    const std::uint32_t used = shared_->slots_used;
    if (used > slot_count)
        return broken("requests");
    if (opening != 0 && opening <= used && slot(opening - 1)->line == input.line)
        clear_slots(opening - 1);
    shared_->opening = 0;
    const std::uint64_t staged = shared_->out_end;
    for (std::uint32_t i = 0; i < used;) {
        const std::uint32_t length = slot(i)->length;
        const std::uint32_t count = length == 0 ? 1 : slots_for(length);
        if (length > max_id || i + count > used)
            return broken("a request");
        if (length != 0 && slot(i)->answer_at != 0 && slot(i)->answer_at - 1 < staged)
            clear_slots(i); // its answer is in the outbox
        if (slot(i)->length != 0)
            ++in_flight_;
        else
            for (std::uint32_t k = i; k < i + count; ++k)
                free_.push_back(k);
        i += count;
    }
    const auto position = ::lseek(files_.outbox.get(), 0, SEEK_CUR);
    if (position < 0 || static_cast<std::uint64_t>(position) > staged)
        return broken("answers");
    sent_ = static_cast<std::uint64_t>(position);
    given_back_ = sent_ & ~std::uint64_t{4095};
    return {};
}

// Starts at the front again when nothing is left, or when little is left far from it. What remains is copied
// to where nothing is in use, and becomes the input by one store.
void Ledger::make_room() {
    InputWord input(shared_->input);
    const std::uint32_t left = input.tail - input.head;
    if (input.head == 0 || (left > 0 && (input.head < compact_after || left > input.head)))
        return;
    const std::uint32_t dirty_to = input.tail;
    std::memcpy(buffer(), buffer() + input.head, left);
    input.head = 0;
    input.tail = left;
    shared_->input = input.word();
    std::memset(buffer() + left, 0xFF, dirty_to - left);
    if (dirty_to > give_back_above) { // after a long line the pages go back
        ::madvise(buffer() + give_back_above, buffer_bytes - give_back_above, MADV_REMOVE);
        clean_to_ = std::min<std::uint32_t>(clean_to_, give_back_above);
    }
}

void Ledger::limit_lines(std::size_t bytes) noexcept {
    line_limit_ = std::clamp(bytes, least_line, most_line);
}

ssize_t Ledger::fill(int in) {
    make_room();
    InputWord input(shared_->input);
    const std::uint32_t limit = std::min<std::uint32_t>(input.tail + read_chunk, buffer_bytes);
    clean_to_ = std::max(clean_to_, input.tail);
    if (clean_to_ < limit) {
        std::memset(buffer() + clean_to_, 0xFF, limit - clean_to_);
        clean_to_ = limit;
    }
    shared_->read_limit = limit;
    const auto n = ::read(in, buffer() + input.tail, limit - input.tail);
    const int error = errno;
    if (n > 0) {
        input.tail += static_cast<std::uint32_t>(n);
        shared_->input = input.word();
    }
    shared_->read_limit = 0;
    errno = error;
    return n;
}

Ledger::Line Ledger::next(bool at_end) {
    used();
    for (;;) {
        InputWord input(shared_->input);
        const std::string_view unread(buffer() + input.head, input.tail - input.head);
        auto end = unread.find('\n', scanned_);
        const bool whole = end != unread.npos;
        if (!whole && !input.skipping && unread.size() > line_limit_) {
            input.skipping = true;
            input.head = input.tail;
            input.line = (input.line + 1) & InputWord::line_mask;
            after_line_ = input.word();
            line_in_hand_ = true;
            return {Line::Kind::oversize, unread.substr(0, 256)};
        }
        if (!whole && input.skipping) {
            input.head = input.tail;
            if (at_end)
                input.skipping = false;
            shared_->input = input.word();
            scanned_ = 0;
            return {};
        }
        if (!whole && (!at_end || unread.empty())) {
            scanned_ = static_cast<std::uint32_t>(unread.size());
            return {};
        }
        if (!whole)
            end = unread.size();
        scanned_ = 0;
        const bool was_skipping = input.skipping;
        input.skipping = false;
        input.head += static_cast<std::uint32_t>(std::min(end + 1, unread.size()));
        const auto line = unread.substr(0, end);
        if (was_skipping || blank(line)) {
            shared_->input = input.word();
            continue;
        }
        input.line = (input.line + 1) & InputWord::line_mask;
        after_line_ = input.word();
        line_in_hand_ = true;
        if (line.size() > line_limit_)
            return {Line::Kind::oversize, line.substr(0, 256)};
        return {Line::Kind::message, line.back() == '\r' ? line.substr(0, line.size() - 1) : line};
    }
}

void Ledger::used() {
    if (std::exchange(line_in_hand_, false)) {
        shared_->input = after_line_;
        scanned_ = 0;
    }
}

std::uint32_t Ledger::begin(std::string_view raw_id) {
    if (raw_id.size() > max_id)
        return 0;
    const std::uint32_t count = slots_for(static_cast<std::uint32_t>(raw_id.size()));
    std::uint32_t at = 0;
    if (count == 1 && !free_.empty()) {
        at = free_.back();
        free_.pop_back();
    } else {
        at = shared_->slots_used;
        if (at + count > slot_count)
            return 0;
        slot(at)->length = 0;
    }
    Slot* mine = slot(at);
    mine->answer_at = 0;
    mine->line = InputWord(shared_->input).line;
    std::memcpy(mine->id, raw_id.data(), raw_id.size());
    if (line_in_hand_)
        shared_->opening = at + 1;
    mine->length = static_cast<std::uint32_t>(raw_id.size());
    if (at >= shared_->slots_used)
        shared_->slots_used = at + count; // from here on it counts
    used();
    shared_->opening = 0;
    ++in_flight_;
    return at + 1;
}

std::vector<Ledger::Lost> Ledger::lost() const {
    std::vector<Lost> all;
    const std::uint32_t used = shared_->slots_used;
    for (std::uint32_t i = 0; i < used;) {
        const std::uint32_t length = slot(i)->length;
        if (length != 0)
            all.push_back({i + 1, std::string(slot(i)->id, length)});
        i += length == 0 ? 1 : slots_for(length);
    }
    return all;
}

Ledger::Seen Ledger::look_into(const void* mapped) noexcept {
    const auto* shared = static_cast<const Shared*>(mapped);
    const auto* slots = reinterpret_cast<const Slot*>(static_cast<const char*>(mapped) + slots_offset);
    Seen seen{false, shared->out_end};
    const std::uint32_t used = std::min<std::uint32_t>(shared->slots_used, slot_count);
    for (std::uint32_t i = 0; i < used && !seen.in_flight;) {
        const std::uint32_t length = slots[i].length;
        seen.in_flight = length != 0 && (slots[i].answer_at == 0 || slots[i].answer_at - 1 >= seen.staged);
        i += length == 0 || length > max_id ? 1 : slots_for(length);
    }
    return seen;
}

bool Ledger::remember(std::string_view note) {
    if (note.size() > max_note)
        return false;
    constexpr std::uint64_t second = std::uint64_t{1} << 32;
    const std::uint64_t other = (shared_->remembered & second) ^ second;
    std::memcpy(static_cast<char*>(mapped_) + notes_offset + (other != 0 ? max_note : 0), note.data(),
                note.size());
    shared_->remembered = other | note.size();
    return true;
}

std::string Ledger::remembered() const {
    const std::uint64_t word = shared_->remembered;
    const auto length = std::min<std::uint64_t>(word & 0xFFFFFFFF, max_note);
    return {static_cast<const char*>(mapped_) + notes_offset + ((word >> 32) != 0 ? max_note : 0), length};
}

// The head last: as long as it has its length, the others are known to belong to it.
void Ledger::clear_slots(std::uint32_t at) {
    for (std::uint32_t i = at + slots_for(slot(at)->length); i-- > at;)
        slot(i)->length = 0;
}

void Ledger::free_slot(std::uint32_t ticket) {
    const std::uint32_t at = ticket - 1;
    const std::uint32_t count = slots_for(slot(at)->length);
    clear_slots(at);
    for (std::uint32_t i = at; i < at + count; ++i)
        free_.push_back(i);
    if (--in_flight_ > 0)
        return;
    // Single slots are used again one by one, rows of them for long ids only from the front.
    free_.clear();
    shared_->slots_used = 0;
}

bool Ledger::has_room() const noexcept {
    return in_flight_ < max_in_flight && shared_->slots_used + slots_for(max_id) <= slot_count;
}

void Ledger::drop(std::uint32_t ticket) {
    if (ticket != 0)
        free_slot(ticket);
}

} // namespace holdfast::memory

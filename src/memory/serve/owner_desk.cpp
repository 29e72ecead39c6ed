#include "memory/serve/owner_desk.hpp"

#include "memory/ids/ids.hpp"

#include <unistd.h>

namespace holdfast::memory {

Hold::~Hold() {
    if (desk_ != nullptr)
        desk_->let_go();
}

Hold OwnerDesk::hold() {
    ++holds_;
    touch();
    return Hold(*this);
}

void OwnerDesk::let_go() noexcept {
    touch();
    if (--holds_ == 0)
        wake();
}

void OwnerDesk::touch() noexcept {
    touched_ms_ = monotonic_ms();
}

void OwnerDesk::wake() const noexcept {
    const std::uint64_t one = 1;
    (void)!::write(wake_fd_, &one, sizeof one);
}

void OwnerDesk::set_address(std::string address) {
    {
        const std::lock_guard lock(address_mutex_);
        address_ = std::move(address);
        address_changed_ = true;
    }
    wake();
}

bool OwnerDesk::take_address(std::string& address) {
    const std::lock_guard lock(address_mutex_);
    address = address_;
    return std::exchange(address_changed_, false);
}

} // namespace holdfast::memory

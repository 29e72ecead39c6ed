#include "ending/by_identity.hpp"

#include "ending/by_children.hpp"
#include "sys/proc.hpp"

namespace holdfast::ending {

void ByIdentity::find(const Meet& meet) {
    for (std::size_t at = 0; at < identities_.size(); ++at) {
        if (identities_[at].pid <= 0)
            continue;
        auto process = sys::open_same(identities_[at]);
        if (!process)
            continue;
        // Hold the whole tree before the first signal. Its children may not be inspected either, so once
        // their parent has ended nothing shows whose they are.
        for (sys::PidFd& one : hold_tree(std::move(*process)))
            meet({.process = std::move(one), .of = at});
    }
}

} // namespace holdfast::ending

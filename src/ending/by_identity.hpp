// Finds the processes that records name.
#pragma once

#include "base/identity.hpp"
#include "ending/finder.hpp"

#include <vector>

namespace holdfast::ending {

// Finds each of these that still lives, with its tree. Found::of is the index of the identity. Such a process
// may be one that only root may inspect (not dumpable). Its identity is proof enough.
class ByIdentity : public Finder {
public:
    explicit ByIdentity(std::vector<base::Identity> identities)
        : identities_(std::move(identities)) {}
    void find(const Meet& meet) override;

private:
    std::vector<base::Identity> identities_; // pid 0: none
};

} // namespace holdfast::ending

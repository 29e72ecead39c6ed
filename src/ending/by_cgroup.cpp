#include "ending/by_cgroup.hpp"

#include "ending/ender.hpp"
#include "sys/cgroup.hpp"

namespace holdfast::ending {

namespace {

constexpr base::Millis clearing_takes_at_most{2000};

class CgroupMembers : public Finder {
public:
    CgroupMembers(const sys::LeftCgroup& cgroup, const std::function<bool(pid_t)>& spared)
        : cgroup_(cgroup)
        , spared_(spared) {}

    void find(const Meet& meet) override {
        for (const pid_t pid : cgroup_.members()) {
            auto process = sys::PidFd::open(pid);
            if (!process || !cgroup_.has(pid)) // pidfd first, then: is this number still one of those inside?
                continue;
            if (spared_ && spared_(pid))
                cgroup_.let_out(pid);
            else
                meet({.process = std::move(*process)});
        }
    }
    Left left() override { return cgroup_.members().empty() ? Left::nobody : Left::unclear; }

private:
    const sys::LeftCgroup& cgroup_;
    const std::function<bool(pid_t)>& spared_;
};

} // namespace

ClearedCgroup clear_cgroup(const std::string& place, const std::string& id,
                           const std::function<bool(pid_t)>& spared) {
    ClearedCgroup out;
    const auto cgroup = sys::LeftCgroup::find(place, id);
    if (!cgroup)
        return out;
    std::vector<pid_t> inside = cgroup->members();
    if (!spared && cgroup->kill()) {
        out.all = cgroup->remove(clearing_takes_at_most);
        out.ended = std::move(inside);
        return out;
    }
    // One by one, because some are to stay, the kernel is older than 5.14, or cgroup.kill is not ours to
    // write.
    CgroupMembers members(*cgroup, spared);
    Ender ender(
        {.stages = ask_then_kill(base::Millis{0}, true), .patience = clearing_takes_at_most, .trees = false});
    ender.find_by(members);
    for (const Member& member : ender.finish().members)
        if (member.fate == Fate::ended || member.fate == Fate::killed)
            out.ended.push_back(member.pid);
    out.all = cgroup->remove(base::Millis{20});
    return out;
}

} // namespace holdfast::ending

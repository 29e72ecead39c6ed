// Each finder shows those who are meant, and nobody else.
#include "ending/by_children.hpp"
#include "ending/by_identity.hpp"
#include "ending/by_mark.hpp"
#include "ending/fixture.hpp"
#include "sys/proc.hpp"

#include <set>

namespace holdfast::ending_test {
namespace {

std::set<std::pair<pid_t, std::size_t>> found_by(ending::Finder& finder) {
    std::set<std::pair<pid_t, std::size_t>> out;
    finder.find([&](ending::Found found) { out.emplace(found.process.pid(), found.of); });
    return out;
}

class FindersTest : public EndingTest {
protected:
    [[nodiscard]] Child start_marked(const std::string& mark) const {
        harness::SpawnSpec spec;
        spec.argv = {"/bin/sleep", "3600"};
        spec.env = {home.mark().env(), std::string(ending::mark_variable) + "=" + mark};
        return Child::spawn(spec).value();
    }
};

TEST_F(FindersTest, ChildrenAreHeldWithTheirsAndWithoutTheKnown) {
    Animal animal = start("launcher");
    ASSERT_EQ(animal.tree.size(), 2U);
    const pid_t server = animal.tree.back().pid();
    const sys::PidFd parent = held(animal.child);
    ASSERT_EQ(ending::hold_children(parent).size(), 1U);
    EXPECT_EQ(ending::hold_children(parent)[0].pid(), server);
    EXPECT_TRUE(ending::hold_children(parent, [&](pid_t pid) { return pid == server; }).empty());
    EXPECT_EQ(ending::hold_tree(held(animal.child)).size(), 2U);
    ASSERT_TRUE(animal.child.kill().has_value());
    EXPECT_TRUE(ending::hold_children(parent).empty()) << "its number may be another's now";
    (void)animal.tree.back().signal(SIGKILL);
}

// Not dumpable: nothing but its record tells of it, and of its child.
TEST_F(FindersTest, TheNamedProcessIsFoundWithItsTreeAndNoOtherOfItsNumber) {
    Animal animal = start("undumpable", {"--child"});
    ASSERT_EQ(animal.tree.size(), 2U);
    const base::Identity named = sys::identify(animal.tree.front()).value();
    base::Identity another = named;
    another.start_ticks += 1;
    another.pidfd_inode += another.pidfd_inode ? 1U : 0U;
    ending::ByIdentity finder({another, {}, named});
    const std::set<std::pair<pid_t, std::size_t>> expected{{animal.tree[0].pid(), 2},
                                                           {animal.tree[1].pid(), 2}};
    EXPECT_EQ(found_by(finder), expected);
}

TEST_F(FindersTest, TheMarkSaysWhoseAProcessIs) {
    const Child first = start_marked("0123456789ab");
    const Child second = start_marked("ba9876543210");
    const Child stranger = start_marked("aaaaaaaaaaaa");
    ending::ByMark finder(home.dir().file("helpers"),
                          {{.id = "ba9876543210", .spare = {}, .cgroup_place = {}},
                           {.id = "0123456789ab", .spare = {}, .cgroup_place = {}}});
    const std::set<std::pair<pid_t, std::size_t>> expected{{first.pid(), 1}, {second.pid(), 0}};
    EXPECT_EQ(found_by(finder), expected);
    EXPECT_NE(finder.left(), ending::Left::hidden) << "nobody holds a life";
    EXPECT_TRUE(stranger.alive());
}

} // namespace
} // namespace holdfast::ending_test

// The pages in a real browser (Debian's Chromium), used by mouse and by keys.
#include "node_client.hpp"

namespace holdfast::harness {

namespace {

class ViewerPages : public NodeClient {};

TEST_F(ViewerPages, in_a_browser) {
    expect_passes({"viewer.mjs", program("holdfast"), file("memory"), file("browser")});
}

TEST_F(ViewerPages, with_another_program_on_the_port_of_a_dead_owner) {
    expect_passes({"squatter.mjs", program("holdfast"), file("memory"), file("browser")});
}

} // namespace

} // namespace holdfast::harness

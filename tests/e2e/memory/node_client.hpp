// A script of ours under node, with the packages of the lock file beside it.
#pragma once

#include "face.hpp"

#include <filesystem>

namespace holdfast::harness {

class NodeClient : public MemoryFace {
protected:
    static void SetUpTestSuite() {
        namespace fs = std::filesystem;
        const fs::path from = fs::path(HOLDFAST_SOURCE_DIR) / "tests/e2e/memory";
        installed = fs::path(bin_dir()) / "../e2e/memory";
        fs::create_directories(installed);
        for (const auto& entry : fs::directory_iterator(from))
            if (entry.path().extension() == ".json" || entry.path().extension() == ".mjs")
                fs::copy_file(entry.path(), installed / entry.path().filename(),
                              fs::copy_options::overwrite_existing);
        const auto stamp = installed / "node_modules/.package-lock.json";
        if (fs::exists(stamp) && fs::last_write_time(stamp) > fs::last_write_time(from / "package-lock.json"))
            return;
        SpawnSpec spec;
        spec.argv = {"npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"};
        spec.cwd = installed.string();
        const auto done = run_to_end(spec, Deadline::in(480s));
        install_error = !done                         ? done.error().message
                        : done->status.exited_with(0) ? ""
                                                      : done->out + done->err;
    }
    void SetUp() override { ASSERT_EQ(install_error, "") << "npm ci failed"; }

    // node SCRIPT WORDS…: it asserts for itself, and says "passed" when all held.
    void expect_passes(std::vector<std::string> words) const {
        auto spec = home.command({});
        words.insert(words.begin(), "node");
        spec.argv = words;
        spec.cwd = installed.string();
        const auto done = run_to_end(spec, Deadline::in(200s));
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_TRUE(done->status.exited_with(0)) << done->out.substr(0, 2000) << done->err.substr(0, 4000);
        EXPECT_TRUE(done->out.ends_with("passed\n")) << done->out.substr(0, 2000);
    }

    inline static std::filesystem::path installed;
    inline static std::string install_error;
};

} // namespace holdfast::harness

// A private home with `holdfast memory …` in it.
#pragma once

#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"

#include "json/json.hpp"
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace holdfast::harness {

using namespace std::chrono_literals;

inline constexpr std::chrono::seconds patience{30}; // a busy machine is not a failure

class MemoryFace : public testing::Test {
protected:
    // holdfast memory WORDS…, to its end.
    Finished memory(std::vector<std::string> words, std::string_view input = {}) const {
        words.insert(words.begin(), "memory");
        auto done = run_to_end(home.command(words), Deadline::in(patience), input);
        EXPECT_TRUE(done) << done.error().message;
        return done ? std::move(*done) : Finished{};
    }
    boost::json::value as_json(std::vector<std::string> words) const {
        words.emplace_back("--json");
        const auto done = memory(std::move(words));
        boost::system::error_code failed;
        auto value = boost::json::parse(done.out, failed);
        EXPECT_FALSE(failed) << done.out << done.err;
        return value;
    }
    // A process that owns the home until the test ends.
    void start_daemon(std::vector<std::string> options = {"--no-viewer"}) {
        options.insert(options.begin(), {"memory", "daemon"});
        auto spec = home.command(options);
        spec.err = Stdio::pipe;
        auto child = Child::spawn(spec);
        ASSERT_TRUE(child) << child.error().message;
        daemon = std::move(*child);
        ASSERT_TRUE(eventually(Deadline::in(patience), [&] {
            const auto done = memory({"status", "--json"});
            return done.status.exited_with(0) && done.out.find("\"phase\":\"ready\"") != std::string::npos;
        }));
    }
    [[nodiscard]] std::string file(const std::string& name) const { return home.dir().file(name); }
    std::string write(const std::string& name, const std::string& content) const {
        EXPECT_TRUE(write_file(file(name), content));
        return file(name);
    }
    std::vector<std::string> exported() const {
        const auto done = memory({"export"});
        EXPECT_TRUE(done.status.exited_with(0)) << done.err;
        std::vector<std::string> lines;
        std::istringstream in(done.out);
        for (std::string line; std::getline(in, line);)
            lines.push_back(line);
        return lines;
    }

    HoldfastHome home;
    Child daemon;
};

} // namespace holdfast::harness

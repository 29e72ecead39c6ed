// Clients that write turns through whatever happens to their processes, as a careful host would: a request
// that was answered "try again" is sent again; a process that died is started again, and what it had not
// answered is sent again. Every client checks its own stream: each line whole, each request answered exactly
// once, never silence.
#pragma once

#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace holdfast::test {

// The processes that may be killed, by their numbers. Whoever kills holds the mutex, and a process is taken
// out before it is reaped, so a number in here is always ours.
class Victims {
public:
    void add(int pid) {
        const std::lock_guard lock(mutex_);
        living_.insert(pid);
    }
    void remove(int pid) {
        const std::lock_guard lock(mutex_);
        living_.erase(pid);
    }
    bool signal(int pid, int signal) {
        const std::lock_guard lock(mutex_);
        if (!living_.contains(pid))
            return false;
        if (signal == SIGKILL)
            living_.erase(pid); // a second one would hit a corpse
        return ::kill(pid, signal) == 0;
    }

private:
    std::mutex mutex_;
    std::set<int> living_;
};

inline std::string storm_text(int client, int turn) {
    std::string text = "client " + std::to_string(client) + " turn " + std::to_string(turn);
    if (turn % 7 == 3)
        text +=
            std::string(30'000, '.'); // so long that a line is read, and an answer written, in several pieces
    return text;
}

class StormClient {
public:
    StormClient(std::string home, int number, int turns, Victims& victims)
        : home_(std::move(home))
        , number_(number)
        , victims_(victims) {
        for (int turn = 0; turn < turns; ++turn)
            to_send_.push_back(turn);
    }

    // Until every turn is answered with a result, or something is wrong (then a failure was added).
    void run() {
        start();
        while (!to_send_.empty() || !waiting_.empty()) {
            fill();
            const auto line = memory_->line();
            if (!line && !died())
                return;
            if (line && !take(*line))
                return;
        }
        stop();
    }

    std::map<int, std::string> stored; // turn -> trace id, as answered
    std::atomic<int> answered = 0;
    std::atomic<int> unanswered = 0; // requests that were sent to the process that lives now
    int tries_again = 0;
    int deaths = 0;

private:
    static constexpr int a_list = -1; // a request with a long answer instead of a turn

    void start() {
        memory_ = std::make_unique<MemoryProcess>(home_);
        victims_.add(memory_->pid());
    }
    void stop() {
        victims_.remove(memory_->pid());
        memory_->close_input();
        EXPECT_EQ(memory_->wait(), 0) << "client " << number_;
        memory_.reset();
    }
    void send(int turn) {
        namespace json = boost::json; // not ours: a second opinion
        const auto id = next_id_++;
        waiting_[id] = turn;
        ++unanswered;
        json::object request{{"jsonrpc", "2.0"}, {"id", id}};
        if (turn == a_list) {
            request["method"] = "memory.list_traces";
            request["params"] = {{"limit", 20}};
        } else {
            request["method"] = "turn.end";
            request["params"] = {{"agent", "a"},
                                 {"sessionId", "s"},
                                 {"episodeId", "e"},
                                 {"userText", storm_text(number_, turn)},
                                 {"agentText", "t"},
                                 {"toolCalls", json::array()},
                                 {"ts", std::int64_t{number_} * 1'000'000 + turn}};
        }
        memory_->write(json::serialize(request) + "\n");
    }
    void fill() {
        while (waiting_.size() < 4 && !to_send_.empty()) {
            send(to_send_.front());
            if (to_send_.front() % 10 == 9)
                send(a_list);
            to_send_.pop_front();
        }
    }
    bool died() {
        victims_.remove(memory_->pid());
        const int status = memory_->wait_briefly();
        if (status != -SIGKILL) {
            ADD_FAILURE() << "client " << number_ << ": silence; its process ended with " << status << ", "
                          << waiting_.size() << " requests wait";
            return false;
        }
        ++deaths;
        for (const auto& [id, turn] : waiting_)
            if (turn != a_list)
                to_send_.push_front(turn);
        waiting_.clear();
        unanswered = 0;
        start();
        return true;
    }
    bool take(const std::string& line) {
        namespace json = boost::json; // not ours: a second opinion
        boost::system::error_code torn;
        const auto parsed = json::parse(line, torn);
        if (torn || !parsed.is_object()) {
            ADD_FAILURE() << "client " << number_ << ": a torn line: " << line.substr(0, 300);
            return false;
        }
        const auto& answer = parsed.as_object();
        const auto* id = answer.if_contains("id");
        const auto request = id != nullptr && id->is_int64() ? waiting_.find(id->as_int64()) : waiting_.end();
        if (request == waiting_.end()) {
            ADD_FAILURE() << "client " << number_
                          << ": answered twice, or nothing of ours: " << line.substr(0, 300);
            return false;
        }
        const int turn = request->second;
        waiting_.erase(request);
        --unanswered;
        if (const auto* error = answer.if_contains("error")) {
            if (error->at("data").at("code") != "transport_closed") {
                ADD_FAILURE() << "client " << number_ << ": " << line.substr(0, 300);
                return false;
            }
            ++tries_again;
            if (turn != a_list)
                to_send_.push_front(turn);
            return true;
        }
        if (turn != a_list) {
            stored[turn] = std::string(answer.at("result").at("traceId").as_string());
            ++answered;
        }
        return true;
    }

    std::string home_;
    int number_;
    Victims& victims_;
    std::unique_ptr<MemoryProcess> memory_;
    std::deque<int> to_send_;
    std::map<std::int64_t, int> waiting_;
    std::int64_t next_id_ = 1;
};

inline void prepare_storm(const std::string& home) {
    MemoryProcess memory(home);
    prepare(memory);
    memory.close_input();
    ASSERT_EQ(memory.wait(), 0);
}

// Every turn that was answered is there once, under the id that was told; nothing is there twice.
inline void expect_all_kept(const std::string& home,
                            const std::vector<std::unique_ptr<StormClient>>& clients) {
    MemoryProcess memory(home);
    const auto timeline = memory.call("memory.timeline", {{"episodeId", "e"}});
    ASSERT_TRUE(timeline.contains("result"));
    std::map<std::string, std::set<std::string>> found; // text -> ids
    for (const auto& trace : timeline.at("result").at("traces").as_array()) {
        auto& ids = found[std::string(trace.at("userText").as_string())];
        EXPECT_TRUE(ids.empty()) << "stored twice: " << trace.at("userText").as_string().subview(0, 40);
        ids.insert(std::string(trace.at("id").as_string()));
    }
    for (std::size_t client = 0; client < clients.size(); ++client)
        for (const auto& [turn, id] : clients[client]->stored)
            EXPECT_TRUE(found[storm_text(static_cast<int>(client), turn)].contains(id))
                << "client " << client << " turn " << turn << " was answered and is not there";
    memory.close_input();
    EXPECT_EQ(memory.wait(), 0);
}

} // namespace holdfast::test

// The books of a client's streams survive SIGKILL between any two instructions. A process serves two pipes by
// the ledger and is killed at random moments; the next one goes on. Every line is answered exactly once,
// nothing is torn.
#include "memory/serve/ledger.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <map>
#include <random>
#include <thread>

namespace holdfast::memory {
namespace {

// What a line of this number is filled with; some are far longer than a pipe.
std::string padding(int number) {
    return std::string(number % 50 == 7 ? 150'000 : static_cast<std::size_t>(number * 37 % 900),
                       static_cast<char>('a' + number % 26));
}

// Serves until the input ends and everything is answered and sent. A few answers are always held back, so
// that requests are in flight at any moment.
[[noreturn]] void serve(const LedgerFiles& files, int in, int out) {
    auto copies = files.duplicate();
    auto ledger = Ledger::open(std::move(*copies));
    if (!ledger)
        ::_exit(3);
    for (const auto& lost : ledger->lost())
        if (!ledger->stage(lost.ticket, "lost " + lost.raw_id))
            ::_exit(4);
    std::deque<std::pair<std::uint32_t, std::string>> held_back;
    const auto answer_one = [&] {
        if (!ledger->stage(held_back.front().first, held_back.front().second))
            ::_exit(4);
        held_back.pop_front();
    };
    bool ended = false;
    bool first = true; // what was read ahead by the one before us
    while (!ended || ledger->unsent() > 0) {
        if (!first) {
            pollfd ready[2] = {{ended || ledger->unsent() > 1'000'000 ? -1 : in, POLLIN, 0},
                               {ledger->unsent() > 0 ? out : -1, POLLOUT, 0}};
            ::poll(ready, 2, -1);
            if ((ready[0].revents & (POLLIN | POLLHUP)) != 0)
                ended = ledger->fill(in) == 0;
        }
        first = false;
        for (;;) {
            const auto line = ledger->next(ended);
            if (line.kind == Ledger::Line::Kind::none)
                break;
            const auto number = line.text.substr(0, line.text.find(' '));
            std::string answer = "ok ";
            answer += line.text;
            const auto ticket = ledger->begin(number);
            held_back.emplace_back(ticket, std::move(answer));
            if (held_back.size() > 4)
                answer_one();
        }
        while (ended && !held_back.empty())
            answer_one();
        (void)ledger->pump(out);
    }
    ::_exit(0);
}

TEST(MemoryLedger, killed_between_any_two_instructions_every_line_is_answered_once_and_none_is_torn) {
    const char* wanted = std::getenv("HOLDFAST_KILLS");
    const int kills = wanted != nullptr ? std::atoi(wanted) : 300;
    auto files = LedgerFiles::make();
    ASSERT_TRUE(files);
    int in[2];
    int out[2];
    ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
    std::atomic<bool> stop = false;
    int sent = 0;
    std::thread writer([&] {
        for (; !stop; ++sent) {
            const auto line = std::to_string(sent) + " " + padding(sent) + "\n";
            for (std::size_t done = 0; done < line.size();) {
                const auto n = ::write(in[1], line.data() + done, line.size() - done);
                if (n <= 0)
                    return;
                done += static_cast<std::size_t>(n);
            }
        }
        ::close(in[1]);
    });
    std::map<int, int> answers;
    int lost = 0;
    int wrong = 0;
    std::thread reader([&] {
        std::string text;
        std::vector<char> chunk(65536);
        for (ssize_t n = 0; (n = ::read(out[0], chunk.data(), chunk.size())) > 0;) {
            text.append(chunk.data(), static_cast<std::size_t>(n));
            for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
                const auto line = text.substr(0, end);
                const bool ok = line.starts_with("ok ");
                const int number = std::atoi(line.c_str() + (ok ? 3 : 5));
                ++answers[number];
                if (ok ? line != "ok " + std::to_string(number) + " " + padding(number)
                       : line != "lost " + std::to_string(number)) {
                    ++wrong;
                    ADD_FAILURE() << "torn: " << line.substr(0, 100);
                }
                lost += ok ? 0 : 1;
            }
        }
    });
    std::mt19937 random(3);
    for (int round = 0; round <= kills; ++round) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::close(in[1]); // or the end of the input would never come
            serve(*files, in[0], out[1]);
        }
        int status = 0;
        if (round == kills) {
            stop = true;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
            break;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 4000));
        ::kill(child, SIGKILL);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
    }
    writer.join();
    ::close(out[1]);
    reader.join();
    ::close(in[0]);
    ::close(out[0]);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(answers.size(), static_cast<std::size_t>(sent));
    for (const auto& [number, times] : answers)
        EXPECT_EQ(times, 1) << "line " << number;
    EXPECT_GT(lost, 0) << "negative control: nothing was in flight at any kill";
    std::printf("%d lines, %d of them in flight at one of %d kills\n", sent, lost, kills);
}

TEST(MemoryLedger, a_long_line_is_refused_once_skipped_and_its_memory_given_back) {
    auto files = LedgerFiles::make();
    ASSERT_TRUE(files);
    auto ledger = Ledger::open(std::move(*files->duplicate()));
    ASSERT_TRUE(ledger);
    int in[2];
    ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
    std::thread writer([&] {
        const std::string piece(1 << 20, 'x');
        for (int i = 0; i < 40; ++i)
            (void)!::write(in[1], piece.data(), piece.size());
        (void)!::write(in[1], "\nnext\n", 6);
        ::close(in[1]);
    });
    int oversize = 0;
    std::vector<std::string> lines;
    for (bool ended = false; !ended;) {
        ended = ledger->fill(in[0]) == 0;
        for (auto line = ledger->next(ended); line.kind != Ledger::Line::Kind::none;
             line = ledger->next(ended))
            if (line.kind == Ledger::Line::Kind::oversize)
                ++oversize;
            else
                lines.emplace_back(line.text);
    }
    writer.join();
    ::close(in[0]);
    EXPECT_EQ(oversize, 1);
    EXPECT_EQ(lines, std::vector<std::string>{"next"});
    struct stat info{};
    ASSERT_EQ(::fstat(files->state.get(), &info), 0);
    EXPECT_LT(info.st_blocks * 512, 2 << 20) << "bytes of memory kept";
}

TEST(MemoryLedger, there_is_room_for_every_id_when_it_says_so) {
    auto files = LedgerFiles::make();
    ASSERT_TRUE(files);
    auto ledger = Ledger::open(std::move(*files->duplicate()));
    ASSERT_TRUE(ledger);
    EXPECT_EQ(ledger->begin(std::string(Ledger::max_id + 1, '1')), 0U);
    std::mt19937 random(7);
    std::deque<std::pair<std::uint32_t, std::string>> in_flight;
    std::size_t waited = 0;
    for (int i = 0; i < 100'000; ++i) {
        auto id = std::to_string(i);
        id.append(i % 3 == 0 ? 0 : random() % 300, 'x');
        if (i % 100 == 0)
            id.resize(Ledger::max_id, 'x');
        for (; !ledger->has_room(); in_flight.pop_front(), ++waited) { // as long as all of them, if need be
            ASSERT_FALSE(in_flight.empty());
            ASSERT_TRUE(ledger->stage(in_flight.front().first, "answer"));
        }
        const auto ticket = ledger->begin(id);
        ASSERT_NE(ticket, 0U) << i;
        in_flight.emplace_back(ticket, std::move(id));
        if (in_flight.size() > 200) {
            ASSERT_TRUE(ledger->stage(in_flight.front().first, "answer"));
            in_flight.pop_front();
        }
    }
    EXPECT_GT(waited, 0U) << "negative control: there always was room";
    // The next one knows exactly those that are left.
    std::map<std::string, int> left;
    for (const auto& [ticket, id] : in_flight)
        ++left[id];
    auto next = Ledger::open(std::move(*files));
    ASSERT_TRUE(next);
    for (const auto& lost : next->lost())
        --left[lost.raw_id];
    for (const auto& [id, difference] : left)
        EXPECT_EQ(difference, 0) << id.substr(0, 20);
}

TEST(MemoryLedger, what_is_no_ledger_is_refused) {
    LedgerFiles files;
    files.state = sys::Fd(::memfd_create("other", MFD_CLOEXEC));
    files.outbox = sys::Fd(::memfd_create("other", MFD_CLOEXEC));
    const auto opened = Ledger::open(std::move(files));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::protocol);
}

} // namespace
} // namespace holdfast::memory

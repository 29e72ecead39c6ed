// Both framings: in any pieces, with any noise, within bounds.
#include "rpc/framing.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace holdfast::rpc;
using holdfast::base::cat;

namespace {

// Everything a reader makes of the bytes, as text: "m:..." a message, "o:..." oversize, "n:..." noise.
std::vector<std::string> read_all(FrameReader& reader, std::string_view bytes, std::size_t piece,
                                  bool finish = true) {
    std::vector<std::string> seen;
    const auto note = [&seen](const Frame& frame) {
        constexpr char letters[] = {'m', 'o', 'n'};
        seen.push_back(cat(letters[static_cast<std::size_t>(frame.kind)], ':', frame.text));
    };
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        const std::string copy(
            bytes.substr(at, piece)); // so that a view kept too long is a read of freed memory
        reader.feed(copy);
        while (const auto frame = reader.next())
            note(*frame);
    }
    if (finish)
        while (const auto frame = reader.finish())
            note(*frame);
    return seen;
}

std::vector<std::string> read_all(Framing framing, std::string_view bytes, std::size_t piece,
                                  std::size_t limit = 1000) {
    FrameReader reader(framing, limit);
    return read_all(reader, bytes, piece);
}

using Strings = std::vector<std::string>;

TEST(NewlineFraming, LinesComeOutWholeInAnyPieces) {
    const std::string bytes = "{\"a\":1}\n\n  \r\n{\"b\":2}\r\nlast";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece)
        EXPECT_EQ(read_all(Framing::newline, bytes, piece), (Strings{"m:{\"a\":1}", "m:{\"b\":2}", "m:last"}))
            << piece;
}

TEST(NewlineFraming, ALineOverTheLimitIsSkippedReportedOnceAndHarmsNothing) {
    const std::string bytes = cat("before\n", std::string(5000, 'x'), "\nafter\n");
    for (const std::size_t piece : {1UL, 7UL, 999UL, 1000UL, 1001UL, 100000UL}) {
        const auto seen = read_all(Framing::newline, bytes, piece);
        ASSERT_EQ(seen.size(), 3U) << piece;
        EXPECT_EQ(seen[0], "m:before");
        EXPECT_EQ(seen[1].substr(0, 10), "o:xxxxxxxx");
        EXPECT_LE(seen[1].size(), 258U);
        EXPECT_EQ(seen[2], "m:after");
    }
}

TEST(NewlineFraming, ExactlyTheLimitIsFine) {
    const std::string line(1000, 'y');
    for (const std::size_t piece : {1UL, 500UL, 5000UL}) {
        EXPECT_EQ(read_all(Framing::newline, cat(line, '\n'), piece), (Strings{cat("m:", line)}));
        EXPECT_EQ(read_all(Framing::newline, cat(line, "y\nz\n"), piece).size(), 2U);
    }
}

TEST(NewlineFraming, SixtyFourMebibytesInOneLineCostNoMemory) {
    FrameReader reader(Framing::newline, std::size_t{1} << 20);
    const std::string chunk(std::size_t{64} << 10, 'x');
    std::size_t oversize = 0;
    for (int i = 0; i < 1024; ++i) {
        reader.feed(chunk);
        while (const auto frame = reader.next())
            oversize += frame->kind == Frame::Kind::oversize;
        ASSERT_LE(reader.capacity(), std::size_t{2} << 20);
    }
    EXPECT_EQ(oversize, 1U);
    EXPECT_LT(reader.capacity(), std::size_t{1} << 19) << "given back once it is skipped";
    EXPECT_EQ(read_all(reader, "\nnext\n", 100), Strings{"m:next"});
}

TEST(NewlineFraming, LargeMessagesGiveTheirMemoryBack) {
    FrameReader reader(Framing::newline, std::size_t{16} << 20);
    const std::string line = cat(std::string(std::size_t{8} << 20, 'x'), '\n');
    EXPECT_EQ(read_all(reader, line, 65536, false).size(), 1U);
    EXPECT_EQ(read_all(reader, "small\n", 2, false), Strings{"m:small"});
    EXPECT_LT(reader.capacity(), std::size_t{1} << 19);
}

TEST(NewlineFraming, BinaryGoesThroughAsItIs) {
    std::string bytes;
    for (int i = 1; i < 256; ++i)
        if (i != '\n')
            bytes += static_cast<char>(i);
    const std::string zero("a\0b", 3);
    EXPECT_EQ(read_all(Framing::newline, cat(bytes, '\n', zero, '\n'), 3),
              (Strings{cat("m:", bytes), cat("m:", zero)}));
}

std::string framed(std::string_view body) {
    std::string out;
    append_frame(out, Framing::content_length, body);
    return out;
}

TEST(ContentLength, BodiesComeOutWholeInAnyPieces) {
    const std::string bytes = framed("{\"a\":\n1}") +
                              "content-length:  3 \r\nContent-Type: x; charset=utf-8\r\n\r\nabc" +
                              "CONTENT-LENGTH: 2\n\nxy" + framed("") + framed("end");
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece)
        EXPECT_EQ(read_all(Framing::content_length, bytes, piece),
                  (Strings{"m:{\"a\":\n1}", "m:abc", "m:xy", "m:end"}))
            << piece;
}

TEST(ContentLength, TextBetweenMessagesIsNoiseAndTheNextMessageIsFound) {
    const std::string bytes = "starting up\n\n" + framed("one") + "log without newline" + framed("two") +
                              "Content-Length: nonsense\r\n\r\n" + framed("three") + "null\n[1]\n" +
                              framed("four");
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece)
        EXPECT_EQ(read_all(Framing::content_length, bytes, piece),
                  (Strings{"n:starting up", "m:one", "n:log without newlineContent-Length: 3\r", "m:two",
                           "n:Content-Length: nonsense\r", "m:three", "n:null", "n:[1]", "m:four"}))
            << piece;
}

TEST(ContentLength, ABodyOverTheLimitIsSkippedAndReportedOnce) {
    const std::string bytes = framed(std::string(5000, 'x')) + framed("after");
    for (const std::size_t piece : {1UL, 100UL, 100000UL}) {
        const auto seen = read_all(Framing::content_length, bytes, piece);
        ASSERT_EQ(seen.size(), 2U) << piece;
        EXPECT_EQ(seen[0].substr(0, 2), "o:");
        EXPECT_EQ(seen[1], "m:after");
    }
}

TEST(ContentLength, ALengthThatCannotBeMeantIsNotBelieved) {
    const std::string bytes = "Content-Length: 99999999999999999999999\r\n\r\n" + framed("fine");
    EXPECT_EQ(read_all(Framing::content_length, bytes, 5).back(), "m:fine");
}

TEST(ContentLength, AHeaderLineWithoutEndIsBounded) {
    FrameReader reader(Framing::content_length, std::size_t{1} << 20);
    const std::string chunk(4096, 'h');
    std::size_t noise = 0;
    for (int i = 0; i < 1000; ++i) {
        reader.feed(chunk);
        while (const auto frame = reader.next())
            noise += frame->kind == Frame::Kind::noise;
        ASSERT_LE(reader.capacity(), 32768U);
    }
    EXPECT_EQ(noise, 1U);
    EXPECT_EQ(read_all(reader, cat("\n", framed("ok")), 3), Strings{"m:ok"});
}

TEST(ContentLength, AnEndInTheMiddleIsNoise) {
    EXPECT_EQ(read_all(Framing::content_length, "Content-Length: 10\r\n\r\nhalf", 3), Strings{"n:half"});
}

TEST(AppendFrame, AMessageNeverBreaksItsLine) {
    std::string out;
    append_frame(out, Framing::newline, "{\n \"a\":\r\n1}");
    EXPECT_EQ(out, "{  \"a\":  1}\n");
}

} // namespace

// The published examples: FIPS 180-4 (as NIST gives them with it) and RFC 4231.
#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::base {

namespace {

std::string sha256(std::string_view text) {
    Sha256 hash;
    hash.add(text);
    return hex(hash.digest());
}

TEST(Sha256, GivesThePublishedDigests) {
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                     "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsTheSameInAnyPieces) {
    std::string text;
    for (int i = 0; i < 200; ++i)
        text += static_cast<char>(i * 7);
    for (std::size_t length = 0; length <= text.size(); ++length) {
        const auto part = std::string_view(text).substr(0, length);
        Sha256 hash;
        for (std::size_t at = 0; at < length; at += 1 + at % 13)
            hash.add(part.substr(at, 1 + at % 13));
        EXPECT_EQ(hex(hash.digest()), sha256(part)) << length;
    }
}

TEST(HmacSha256, GivesThePublishedCodes) {
    const auto mac = [](std::string_view key, std::string_view text) {
        return hex(hmac_sha256(key, {text}));
    };
    EXPECT_EQ(mac(std::string(20, '\x0b'), "Hi There"),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(mac("Jefe", "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(mac(std::string(20, '\xaa'), std::string(50, '\xdd')),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    EXPECT_EQ(mac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EXPECT_EQ(
        mac(std::string(131, '\xaa'),
            "This is a test using a larger than block-size key and a larger than block-size data. The key "
            "needs to be hashed before being used by the HMAC algorithm."),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
    EXPECT_EQ(hmac_sha256("Jefe", {"what do ya ", "", "want for nothing?"}),
              hmac_sha256("Jefe", {"what do ya want for nothing?"}));
}

TEST(SameSecret, ComparesTheWholeText) {
    EXPECT_TRUE(same_secret("abc", "abc"));
    EXPECT_FALSE(same_secret("abd", "abc"));
    EXPECT_FALSE(same_secret("xbc", "abc"));
    EXPECT_FALSE(same_secret("ab", "abc"));
    EXPECT_FALSE(same_secret("", "abc"));
}

} // namespace

} // namespace holdfast::base

// Secrets out of text and out of JSON, and nothing else.
#include "memory/text/cleaner.hpp"
#include "memory/text/redact.hpp"

#include <gtest/gtest.h>

namespace holdfast::memory {
namespace {

struct Secret {
    const char* text;
    const char* gone; // must not be there any more
};

TEST(MemoryRedact, secrets_go_and_the_rest_stays) {
    constexpr Secret secrets[] = {
        {"my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123 ok", "abcdefghijklmnop"},
        {"token ghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"},
        {"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"},
        {"Authorization: Bearer abcdefghijklmnopqrstu.vwx", "abcdefghijklmnop"},
        {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3.SflKxwRJSMeKKF2QT4", "SflKxw"},
        {"password = hunter2-and-more", "hunter2"},
        {"{\"api_key\": \"a1b2c3d4e5f6\"}", "a1b2c3"},
        {"DB_PASSWORD=Tr0ub4dor&3", "Tr0ub4dor"},
        {"postgres://bob:s3cr3t@db.example/x", "s3cr3t"},
        {"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"},
        {"-----BEGIN PRIVATE KEY-----\nMIIEow and cut", "MIIEow"},
        {"SG.aBcDeFgHiJkLmNoPqRsTuV.aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg", "aBcDeFg"},
        {"line\nghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"},
        {R"(a line\nghp_0123456789abcdefghijABCDEFGHIJ012345)",
         "0123456789abcdefghij"}, // \n as it is written
        {R"(curl -d '{\"password\": \"hunter2hunter2\"}')", "hunter2"},
        {R"({\\\"api_key\\\":\\\"a1b2c3d4e5f6\\\"})", "a1b2c3"},
        {"api_key\t=\tabcd1234efgh", "abcd1234"},
        {R"({"SecretAccessKey":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"})", "wJalr"},
        {R"({"secretKey":"zK8sQ2mN5pR7tV9x"})", "zK8s"},
        {"privateKey: zK8sQ2mN5pR7tV9x", "zK8s"},
        {"Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcj"},
        {R"("Authorization": "token 0123456789abcdef")", "0123456789"},
        {"DefaultEndpointsProtocol=https;AccountKey=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==;x=y", "Zm9vYmFy"},
        {"Server=db;Uid=app;Pwd=s3cretPass;", "s3cretPass"},
        {"API Key = 9f8e7d6c5b4a39281706", "9f8e7d"},
        {"signing_key=abcd1234efgh5678", "abcd1234"},
        {"encryption_key: abcd1234efgh5678", "abcd1234"},
        {"hvs.CAESIJ1234567890abcdefghijklmnop", "CAESIJ"},
        {"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", "a1B2c3"},
        {"xai-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "a1B2c3"},
        {"nvapi-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "a1B2c3"},
        {"r8_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "a1B2c3"},
        {"pplx-a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6", "a1b2c3"},
        {"dckr_pat_a1B2c3D4e5F6g7H8i9J0k1L2m3N", "a1B2c3"},
        {"lin_api_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "a1B2c3"},
        {"whsec_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6", "a1B2c3"},
        {"rk_test_a1B2c3D4e5F6g7H8", "a1B2c3"},
        {"xoxr-123456789012-abcdefABCDEF", "123456789012"},
        {"AGE-SECRET-KEY-1QQPQYRQZDJ7S6XHZ5MKL5PQYRQZDJ7S6XHZ5MKL5PQYRQZDJ7S6XHZ5MKL5", "QQPQY"},
        {"https://hooks.slack.com/services/T00000000/B00000000/abcdefABCDEF123456789012", "abcdefABCDEF"},
        {"bot 123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "AAabcdef"},
        {R"(password="a1;Kq2,pPzz9")", "Kq2"},
        {R"({"password":"hunter2"})", "hunter2"},
        {R"({"passwd":"4839201748"})", "4839201748"},
        {R"({"passphrase":"correct horse battery staple"})", "horse"},
        {"DB_PASSWORD=letmein", "letmein"},
        {"host=db user=bob password=letmein dbname=x", "letmein"},
        {"db:\n  password: letmein\n  user: bob", "letmein"},
        {"SMTP_PASS=s3cr3tZ9x", "s3cr3t"},
        {R"({"password": 12345678, "user":"x"})", "12345678"},
        {"<password>letmein</password>", "letmein"},
        {"tool --password s3cr3tZ9x run", "s3cr3t"},
        {"machine api.example.org login bob password s3cr3tZ9x", "s3cr3t"},
        {"Authorization: 0123456789abcdef0123456789abcdef", "0123456789"},
        {"SECRET_KEY_BASE=0123456789abcdef0123456789abcdef", "0123456789"},
        {"postgres://u:ab/cd9!x@db.example/x", "cd9"},
        {"Cookie: sessionid=8f14e45fceea167a5a36dedd4bea2543; theme=dark", "8f14e45f"},
        {"Set-Cookie: connect.sid=s%3Aj8f14e45fceea167a5a36ded.abcDEF; HttpOnly", "8f14e45f"},
        {"https://x.blob.core.windows.net/c/b?sv=2020-08-04&sig=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA%3D%3D",
         "Zm9v"},
        {"https://maps.example.org/x?key=abcDEF123456xyzABC90qq", "abcDEF"},
        {"key-3ax6xnjp29jd6fds4gc373sgvjxteol0", "3ax6"},
        {"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "ZnCjm1"},
        {"Passwort: hunter2!x9", "hunter2"},
        {"contraseña: hunter2!x9", "hunter2"},
        {"mot de passe : hunter2!x9", "hunter2"},
        {"我的密码：hunter2!x9", "hunter2"},
        {"Пароль: hunter2!x9", "hunter2"},
        {"password＝s3cr3tZ9x", "s3cr3t"},
    };
    for (const auto& secret : secrets) {
        const auto clean = redact(secret.text);
        EXPECT_EQ(clean.count, 1U) << secret.text;
        EXPECT_EQ(clean.text.find(secret.gone), std::string::npos) << clean.text;
        EXPECT_NE(clean.text.find("[redacted:"), std::string::npos) << clean.text;
    }
    for (const char* kept : {"commit 3f786850e387550fdab836ed7e6dc881de23001b",
                             "the password is short",
                             "sk-8",
                             "token: next",
                             "a secret: nothing",
                             "https://example.org/a:b@c",
                             "monkey = 12345678a",
                             "token = next_token()",
                             "token: refresh_token",
                             "What is the password: required?",
                             "password = read_password_1(prompt)",
                             "The secret: persistence_pays_off",
                             "PASSWORD=$DB_PASSWORD_1",
                             "token = the_token_of_the_session_that_was_opened",
                             "SG.short.part",
                             "ASIA-PACIFIC-SOUTHEAST-REGION",
                             "ASIAN_MARKETS_Q3_REPORT.pdf",
                             "ring bearer responsibilities",
                             "the bearer authentication/authorization flow",
                             "hf_run_pid_files_leftovers_crash_test",
                             "sk-learn-pipeline-with-custom-transformers",
                             "npm_config_registry_for_the_internal_mirror",
                             "private_key: ~/.ssh/id_ed25519",
                             "credentials: ~/.aws/credentials",
                             "credentials: /home/ada/keys/1.json",
                             "token: user@example.com",
                             "password: ********",
                             "PWD=/home/ada/work1",
                             R"("password": "required")",
                             R"(password="$DB_PASSWORD")",
                             R"({"password":"<your password>","pwd":"${DB_PWD}"})",
                             "Authorization: Bearer $TOKEN_OF_THE_APP",
                             "the monkey key: banana1234",
                             "basic understanding1 of things",
                             "12:30 is 1794889764822:next",
                             "let secret = process.env.SECRET_1;",
                             "login(password=self.password2)",
                             "connect(user=name, password=word)",
                             "const apiKey = config.apiKeyV2;",
                             "password: str = Field(min_length=8)",
                             "  password: string;",
                             "  password: SecretStr",
                             "Password: required",
                             "the password: short and long ones",
                             "https://example.org:8080/a@b",
                             "https://example.org/?key=value&sig=none",
                             "sessionid=8f14e45fceea167a5a36dedd4bea2543",
                             "the cookie recipe: flour=200g",
                             "Authorization: AWS4-HMAC-SHA256 Credential=x",
                             "fail=2 first_pass=3 bypass=yes",
                             "--password-file /etc/passwords1",
                             "la contraseña es secreta",
                             "密码：必须填写",
                             R"({"password":"Your password must have at least eight characters."})",
                             "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"})
        EXPECT_EQ(redact(kept).text, kept);
    EXPECT_EQ(redact(redact("password=abc12345x").text).count, 0U); // again changes nothing
}

// Each by the document that is named beside it in src/memory/text/command_secrets.cpp.
TEST(MemoryRedact, passwords_on_command_lines_go) {
    constexpr Secret secrets[] = {
        {"curl -u ada:s3cretPw https://example.org", "s3cretPw"},
        {"curl -u user:pw https://example.org", ":pw"},
        {"curl -uada:s3cretPw https://example.org", "s3cretPw"},
        {"curl -sSu ada:s3cretPw https://example.org", "s3cretPw"},
        {"curl --user ada:s3cretPw https://example.org", "s3cretPw"},
        {"curl --user=ada:s3cretPw https://example.org", "s3cretPw"},
        {"curl -x proxy:80 -U 'ada:two words' https://example.org", "two words"},
        {"/usr/bin/curl https://example.org -u \"ada:hunter\"", "hunter"},
        {"curl https://example.org \\\n  -u ada:hunter \\\n  -o x", "hunter"},
        {R"({"command":"curl -u \"ada:hunter\" https://example.org"})", "hunter"},
        {R"(["curl","-u","ada:hunter","https://example.org"])", "hunter"},
        {"mysql -pPW shop", "-pPW"},
        {"mysql -u root -phunter shop", "hunter"},
        {"mysqldump -uroot -p'two words' shop > x.sql", "two words"},
        {"sudo mariadb -phunter", "hunter"},
        {"sshpass -p hunter ssh ada@example.org", "hunter"},
        {"sshpass -phunter ssh -p 22 ada@example.org", "hunter"},
        {"docker login -u ada -p hunter registry.example.org", "hunter"},
        {"podman login --username ada -p \"hunter\"", "hunter"},
        {"echo x | sudo docker --debug login -p hunter", "hunter"},
        {"redis-cli -h db -a hunter PING", "hunter"},
        {"mongosh -u ada -p hunter db", "hunter"},
        {"ldapsearch -D cn=admin -w hunter -b dc=org", "hunter"},
        {"smbclient //srv/share -U ada%hunter", "hunter"},
        {"7z a -phunter x.7z y", "hunter"},
        {"zip -P hunter x.zip y", "hunter"},
        {"openssl rsa -in key.pem -passin pass:hunter", "hunter"},
        {"http -a ada:hunter example.org", "hunter"},
        {"curl -H 'Content-Type: application/json; charset=utf-8' -u ada:s3cretPw https://x", "s3cretPw"},
        {"curl -d 'a|b' -u ada:s3cretPw https://x", "s3cretPw"},
        {"curl \"https://x/?a=1&&b=2\" -u ada:s3cretPw", "s3cretPw"},
        {R"(curl -d "a\nb" -u ada:s3cretPw https://x)", "s3cretPw"},
        {"curl -d '{\n  \"a\": 1\n}' -u ada:s3cretPw https://x", "s3cretPw"},
        {R"(["curl","-d","a|b","-u","ada:s3cretPw"])", "s3cretPw"},
        {"curl -E cert.pem:s3cretPw https://x", "s3cretPw"},
        {"curl.exe -u ada:s3cretPw https://x", "s3cretPw"},
        {"mysql -e 'select 1;' -phunter", "hunter"},
        {"mysqlpump -phunter", "hunter"},
        {"sshpass -P assword -p hunter ssh x", "hunter"},
        {"sshpass -vp hunter ssh x", "hunter"},
        {"SSHPASS=hunter sshpass -e ssh x", "hunter"},
        {"docker login --password hunter", "hunter"},
        {"wget --user ada --password hunter https://x", "hunter"},
        {"pass : hunter", "hunter"},
        {"password: |\n  hunter\nuser: ada", "hunter"},
        {"client-key-data: >-\n  LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "LS0tLS1C"},
        {"client-key-data:\n  LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "LS0tLS1C"},
        {"pass: hunter", "hunter"},
        {"user: ada\npass: hunter\nhost: db", "hunter"},
        {"  - pass: hunter\n", "hunter"},
        {"login ada, pass: hunter2x9", "hunter2x9"},
        {"user=ada pass=hunter db=x", "hunter"},
        {R"({"user":"ada","pass":"hunter"})", "hunter"},
        {"    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "LS0tLS1C"},
        {R"("client-key-data": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo")", "LS0tLS1C"},
    };
    for (const auto& secret : secrets) {
        const auto clean = redact(secret.text);
        EXPECT_EQ(clean.count, 1U) << secret.text << " gave " << clean.text;
        EXPECT_EQ(clean.text.find(secret.gone), std::string::npos) << clean.text;
        EXPECT_EQ(redact(clean.text).count, 0U) << clean.text;
    }
    EXPECT_EQ(redact("curl -u ada:hunter -o x https://example.org").text,
              "curl -u ada:[redacted:password] -o x https://example.org");
    EXPECT_EQ(redact(R"(["sshpass","-p","hunter","ssh"])").text,
              R"(["sshpass","-p","[redacted:password]","ssh"])");
    for (const char* kept : {"curl -u ada https://example.org",
                             "curl -u \"$USER:$PASS\" https://example.org",
                             "curl -u ada:$token https://example.org",
                             "curl -u ada:${TOKEN} https://example.org",
                             "curl -u <user>:<password> https://example.org",
                             "curl -u user:password https://example.org",
                             "curl -o out:put -L https://example.org:8080/a",
                             "curl --url https://example.org",
                             "curl is fine; wget -u ada:x",
                             "curl x && ps -u ada:x",
                             "curl x\nsort -u ada:x",
                             "curl 'x' && ps -u ada:x",
                             "curl 'a b' x; ps -u ada:x",
                             "it's curl; isn't ps -u ada:x",
                             "sshpass -P assword ssh -p hunter x",
                             "sshpass is installed",
                             R"({"sshpass":"installed"})",
                             "password: >-\nuser: ada",
                             "public-key-data: x\ntoken:\n  a",
                             "mysql -p shop",
                             "mysql -u root -p",
                             "mysql -P 3306 -h db",
                             "mysql -port 3306",
                             "mysql --print-defaults",
                             "use mysql to store data, and docker -p 8080:80 to publish",
                             "docker run -p 8080:80 nginx",
                             "docker run -p 8080:80 nginx login -p 90",
                             "docker compose -p shop up",
                             "docker login -u ada --password-stdin",
                             "ssh -p 2222 ada@example.org",
                             "sshpass -f file ssh -p 22 ada@example.org",
                             "sshpass -p $PW ssh x",
                             "sshpass -e ssh -p 22 x",
                             "mkdir -p a/b/c",
                             "redis-cli -a $REDIS_PASSWORD PING",
                             "tar -p x",
                             "cp -pr a b",
                             "zip -r x.zip y -p",
                             "openssl rsa -in key.pem -passin env:KEY -passin file:x",
                             "python -u script:main",
                             "smbclient //srv/share -U ada",
                             "the mysql client asks when -p has nothing behind it",
                             "pass: 12",
                             "pass: 128 fail: 3",
                             "tests pass: all 12345678x of them",
                             "first pass: done123456!",
                             "pass=12 fail=3",
                             "boarding pass: K4J99X12Q",
                             "the ski pass: A1B2C3D4E5",
                             R"({"pass":17,"fail":2})",
                             R"({"pass":"passed"})",
                             R"({"pass":true})",
                             "pass: failed",
                             "pass: string",
                             "pass: $DB_PASS",
                             "compass: north1234",
                             "if ok:\n    pass",
                             "low-pass: 440.5/12",
                             "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
                             "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="})
        EXPECT_EQ(redact(kept).text, kept);
}

// They stand between the letters of a secret that somebody copied from a page, or hides.
TEST(MemoryRedact, letters_that_are_not_seen_hide_no_secret) {
    for (const std::string hidden :
         {"\u200b", "\u200c", "\u200d",     "\u2060",     "\ufeff",     "\u00ad",    "\u202e", "\u180e",
          "\ufe0f", "\u034f", "\u061c",     "\u115f",     "\u17b4",     "\u180b",    "\u2061", "\u3164",
          "\uffa0", "\ufff0", "\U0001bca0", "\U0001d173", "\U000e0041", "\U000e0100"}) {
        for (const auto& [text, clean] :
             {std::pair<std::string, std::string>{"token gh|p_0123456789abc|defghijABC|DEFGHIJ012345 ok",
                                                  "token [redacted:github-token] ok"},
              {"pass|word = hunt|er2-and-more", "pass|word = [redacted:secret]"},
              {"|a|b AKIA|IOSFODNN7EX|AMPLE| c|", "|a|b [redacted:aws-key]| c|"},
              {"postgres://bob:s3|cr3t@db.example/x", "postgres://bob:[redacted:password]@db.example/x"},
              {"sshpass -p hun|ter x; |sshpass -p h|unter2 y",
               "sshpass -p [redacted:password] x; |sshpass -p [redacted:password] y"},
              {"-----BEGIN PRIV|ATE KEY-----\nMII|Eow", "[redacted:private-key]"}}) {
            const auto with = [&](std::string written) {
                for (auto at = written.find('|'); at != written.npos;
                     at = written.find('|', at + hidden.size()))
                    written.replace(at, 1, hidden);
                return written;
            };
            EXPECT_EQ(redact(with(text)).text, with(clean));
        }
    }
    for (const char* kept : {"👩\u200d👩\u200d👧 and ❤\ufe0f", "می\u200cخواهم password", "soft\u00adhyphen",
                             "\ufeffBOM first", "\u200e\u200f\u202a\u202c", "token: ne\u200bxt"})
        EXPECT_EQ(redact(kept).text, kept);
}

std::string cleaned(std::string_view text) {
    return Cleaner(true).json(boost::json::parse(text));
}

// Strings are cleaned as they are, not as JSON writes them: what is around them stays what it was.
TEST(MemoryRedact, json_stays_json_and_every_string_in_it_is_cleaned) {
    EXPECT_EQ(
        cleaned(
            R"([{"name":"bash","output":"HOME=/root\nghp_0123456789abcdefghijABCDEFGHIJ012345\n\tAKIAIOSFODNN7EXAMPLE"}])"),
        R"([{"name":"bash","output":"HOME=/root\n[redacted:github-token]\n\t[redacted:aws-key]"}])");
    EXPECT_EQ(cleaned(R"({"command":"curl -d '{\"password\": \"hunter2hunter2\"}'","n":[1,null,true]})"),
              R"({"command":"curl -d '{\"password\": \"[redacted:secret]\"}'","n":[1,null,true]})");
    // A key that was cut off takes its own string with it, and nothing else.
    EXPECT_EQ(
        cleaned(R"([{"output":"-----BEGIN RSA PRIVATE KEY-----\nMIIEow"},{"name":"second","output":"ok"}])"),
        R"([{"output":"[redacted:private-key]"},{"name":"second","output":"ok"}])");
    EXPECT_EQ(cleaned(R"({"output":"{\"key\":\"-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\",\"ok\":true}"})"),
              R"({"output":"{\"key\":\"[redacted:private-key]\",\"ok\":true}"})");
}

TEST(MemoryRedact, a_member_is_judged_by_its_name) {
    EXPECT_EQ(cleaned(R"({"api_key":"abc\"def 1234567"})"), R"({"api_key":"abc\"def 1234567"})"); // prose
    EXPECT_EQ(cleaned(R"({"password":"correct horse battery staple"})"),
              R"({"password":"[redacted:secret]"})");
    EXPECT_EQ(
        cleaned(
            R"({"Credentials":{"AccessKeyId":"ASIAIOSFODNN7EXAMPLE","SecretAccessKey":"wJalr/K7MDENG+bPx"}})"),
        R"({"Credentials":{"AccessKeyId":"[redacted:aws-key]","SecretAccessKey":"[redacted:secret]"}})");
    EXPECT_EQ(cleaned(R"({"password":"abc\"def{1234567"})"), R"({"password":"[redacted:secret]"})");
    EXPECT_EQ(cleaned(R"({"API_KEY":["a1b2c3d4e5"],"page":"a1b2c3d4e5"})"),
              R"({"API_KEY":["[redacted:secret]"],"page":"a1b2c3d4e5"})");
    for (const char* kept :
         {R"({"token":"refresh_token","password":"required"})", R"x({"secret":"get_secret_1()"})x"})
        EXPECT_EQ(cleaned(kept), kept);
    EXPECT_EQ(cleaned(R"({"password":12345678,"page":12345678})"),
              R"({"password":"[redacted:secret]","page":12345678})");
    EXPECT_EQ(redact(R"({\"password\": 12345678})").text, R"({\"password\": \"[redacted:secret]\"})");
    EXPECT_EQ(cleaned(R"({"AKIAIOSFODNN7EXAMPLE":1})"), R"({"[redacted:aws-key]":1})");
    const auto once = cleaned(R"({"password":"hunter2hunter2"})");
    EXPECT_EQ(cleaned(once), once);
    EXPECT_EQ(Cleaner(false).json(boost::json::parse(R"({"password":"hunter2hunter2"})")),
              R"({"password":"hunter2hunter2"})");
}

// Were it with the square of the length, these would take hours, and the test's time would be over.
TEST(MemoryRedact, the_time_grows_with_the_length_and_no_faster) {
    constexpr std::size_t length = 1'000'000;
    for (const char* piece : {".",
                              "a.",
                              "a=",
                              "a.b=",
                              "token=/a/",
                              "key=x&",
                              "?key=a=",
                              "Cookie: a=a=",
                              "://a:b",
                              "<key>",
                              "password:\"",
                              "password: '",
                              "bearer bearer=",
                              "eyJaaaaaaaa.",
                              "SG.aaaaaaaaaaaaaaaaa.",
                              "--password ",
                              "-----BEGIN ",
                              "\\\"",
                              "Authorization: ",
                              "12345678:",
                              "api key ",
                              "curl -u ",
                              "curl -u a:,",
                              "-pa,",
                              "-p'a",
                              "sshpass -p\"",
                              "docker login ",
                              "pass: ",
                              "\u200b",
                              "a\u200b",
                              "\u200bpassword:\u200b",
                              "client-key-data: "}) {
        std::string text = std::string_view(piece) == "a=" ? "Cookie: " : piece[0] == '-' ? "mysql " : "";
        while (text.size() < length)
            text += piece;
        EXPECT_LE(redact(text).text.size(), text.size() * 8) << piece;
    }
}

} // namespace
} // namespace holdfast::memory

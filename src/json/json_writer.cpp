#include "json/json_writer.hpp"

#include "json/json.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::json {

namespace {
constexpr std::size_t usual_length = 2048;
}

JsonWriter::JsonWriter() {
    text_.reserve(usual_length);
}

void JsonWriter::open() {
    text_ += '{';
}

void JsonWriter::open(std::string_view key) {
    name(key);
    open();
}

void JsonWriter::close() {
    text_ += '}';
}

void JsonWriter::field(std::string_view key, std::string_view value) {
    name(key);
    string(value);
}

void JsonWriter::field(std::string_view key, const std::vector<std::string>& values) {
    name(key);
    text_ += '[';
    for (const std::string& value : values) {
        separate();
        string(value);
    }
    text_ += ']';
}

std::string JsonWriter::take() && {
    return std::move(text_);
}

void JsonWriter::separate() {
    if (const char last = text_.back(); last != '{' && last != '[')
        text_ += ',';
}

void JsonWriter::name(std::string_view key) {
    separate();
    text_ += '"';
    text_ += key;
    text_ += "\":";
}

void JsonWriter::string(std::string_view value) {
    const auto is_plain = [](char byte) {
        return static_cast<unsigned char>(byte) >= 0x20 && byte != '"' && byte != '\\';
    };
    if (std::ranges::all_of(value, is_plain)) {
        text_ += '"';
        text_ += value;
        text_ += '"';
    } else {
        text_ += json::serialize(json::string(value.data(), value.size()));
    }
}

} // namespace holdfast::json

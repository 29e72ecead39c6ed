#include "capi/support.hpp"

#include "base/text.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace holdfast::capi {

namespace {

thread_local std::string message_here;
thread_local int errno_here = 0;

constexpr std::string_view text_kind = "a text";
constexpr std::string_view number_kind = "a number";
constexpr std::string_view flag_kind = "a number, 0 or 1";
constexpr std::string_view list_kind = "a list";

} // namespace

hf_error failed(const Error& error) noexcept {
    try {
        message_here = error.message;
    } catch (const std::bad_alloc&) {
        message_here.clear();
    }
    errno_here = error.sys;
    return static_cast<hf_error>(error.code);
}

hf_error failed(Errc code, const char* message) noexcept {
    return failed(Error{code, message, 0});
}

std::string last_message() {
    return message_here;
}

char* copy_out(std::string_view text) {
    auto* out = static_cast<char*>(std::malloc(text.size() + 1));
    if (out == nullptr)
        throw std::bad_alloc();
    std::memcpy(out, text.data(), text.size());
    out[text.size()] = '\0';
    return out;
}

void OptionReader::know(std::string_view name, std::string_view kind) {
    known_.emplace(name, kind);
}

void OptionReader::text(std::string_view name, std::string& target) {
    know(name, text_kind);
    if (options_ == nullptr)
        return;
    if (const auto at = options_->texts.find(name); at != options_->texts.end())
        target = at->second;
}

bool OptionReader::list(std::string_view name, std::vector<std::string>& target) {
    know(name, list_kind);
    if (options_ == nullptr)
        return false;
    const auto at = options_->lists.find(name);
    if (at == options_->lists.end())
        return false;
    target = at->second;
    return true;
}

std::optional<double> OptionReader::number_of(std::string_view name) {
    know(name, number_kind);
    if (options_ == nullptr)
        return std::nullopt;
    const auto at = options_->numbers.find(name);
    if (at == options_->numbers.end())
        return std::nullopt;
    if (!std::isfinite(at->second) || at->second < 0 || at->second > 9e15) {
        complain(name, "a number out of range");
        return std::nullopt;
    }
    return at->second;
}

void OptionReader::millis(std::string_view name, Millis& target) {
    if (const auto given = number_of(name))
        target = Millis{static_cast<Millis::rep>(*given)};
}

void OptionReader::flag(std::string_view name, bool& target) {
    know(name, flag_kind);
    if (const auto given = number_of(name))
        target = *given != 0;
}

bool OptionReader::has(std::string_view name) const {
    return options_ != nullptr && (options_->texts.contains(name) || options_->numbers.contains(name) ||
                                   options_->lists.contains(name));
}

void OptionReader::complain(std::string_view name, std::string_view given) {
    if (complaint_.empty())
        complaint_ = base::cat("the option ", name, " cannot be \"", given, "\"");
}

Result<void> OptionReader::finish() const {
    if (!complaint_.empty())
        return fail(Errc::invalid_argument, complaint_);
    if (options_ == nullptr)
        return {};
    std::string wrong;
    const auto check = [&](const auto& given, std::string_view kind) {
        for (const auto& [name, value] : given) {
            if (!wrong.empty())
                return;
            const auto at = known_.find(name);
            if (at == known_.end())
                wrong = base::cat("there is no option \"", name, "\" here");
            else if (!at->second.starts_with(kind)) // a flag is a number
                wrong = base::cat("the option ", name, " takes ", at->second, ", not ", kind);
        }
    };
    check(options_->texts, text_kind);
    check(options_->numbers, number_kind);
    check(options_->lists, list_kind);
    if (!wrong.empty())
        return fail(Errc::invalid_argument, wrong);
    return {};
}

Result<StopOptions> read_stop(const hf_options* options) {
    StopOptions how;
    OptionReader read(options);
    read.millis("grace", how.grace);
    read.millis("patience", how.patience);
    read.flag("now", how.now);
    if (auto understood = read.finish(); !understood)
        return std::unexpected(understood.error());
    return how;
}

} // namespace holdfast::capi

using namespace holdfast;
using namespace holdfast::capi;

extern "C" {

int hf_abi_version(void) {
    return HF_ABI_VERSION;
}
const char* hf_version(void) {
    return HOLDFAST_VERSION;
}

const char* hf_error_name(hf_error error) {
    return error == HF_OK ? "ok" : name_of(static_cast<Errc>(error)).data(); // the names are literals
}

const char* hf_last_message(void) {
    return message_here.c_str();
}
int hf_last_errno(void) {
    return errno_here;
}
void hf_free(void* text) {
    std::free(text);
}

void hf_set_message(const char* message) {
    static_cast<void>(guarded([&] {
        message_here = view(message);
        return HF_OK;
    }));
}

hf_options* hf_options_new(void) {
    return new (std::nothrow) hf_options;
}
void hf_options_free(hf_options* options) {
    delete options;
}

hf_error hf_options_text(hf_options* options, const char* name, const char* value) {
    return guarded([&] {
        options->texts[std::string(view(name))] = view(value);
        return HF_OK;
    });
}

hf_error hf_options_number(hf_options* options, const char* name, double value) {
    return guarded([&] {
        options->numbers[std::string(view(name))] = value;
        return HF_OK;
    });
}

hf_error hf_options_add(hf_options* options, const char* name, const char* value) {
    return guarded([&] {
        auto& list = options->lists[std::string(view(name))];
        if (value != nullptr)
            list.emplace_back(value);
        return HF_OK;
    });
}

} // extern "C"

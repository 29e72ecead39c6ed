// Answers in memory of the caller: one call for a request and all that is to be known of its reply.
#include "capi/handles.hpp"
#include "capi/support.hpp"

#include <cstdlib>
#include <cstring>

using namespace holdfast;
using namespace holdfast::capi;

namespace {

char* put(char* at, std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    at[text.size()] = '\0';
    return at;
}

hf_error fill(const Result<Reply>& result, hf_answer& out) {
    if (!result)
        return failed(result.error());
    const std::string_view json = result->error ? result->error->data : result->json;
    const std::string_view message = result->error ? std::string_view(result->error->message) : "";
    out.generation = result->generation;
    out.is_error = result->error ? 1 : 0;
    out.error_code = result->error ? result->error->code : 0;
    out.json_size = json.size();
    if (json.size() + message.size() + 2 <= out.room_size) {
        out.json = put(out.room, json);
        out.message = put(out.room + json.size() + 1, message);
        return HF_OK;
    }
    std::unique_ptr<char, decltype(&std::free)> first(copy_out(json), &std::free);
    out.message = copy_out(message);
    out.json = first.release();
    out.allocated = 1;
    return HF_OK;
}

bool clear(hf_answer* out) {
    if (out == nullptr || out->size < sizeof(hf_answer))
        return false;
    *out = {.size = out->size,
            .room = out->room,
            .room_size = out->room != nullptr ? out->room_size : 0,
            .json = nullptr,
            .json_size = 0,
            .message = nullptr,
            .is_error = 0,
            .error_code = 0,
            .generation = 0,
            .allocated = 0,
            .call = nullptr};
    return true;
}

hf_error no_answer() {
    return failed(Errc::invalid_argument,
                  "the size of the answer is not that of an hf_answer of this library");
}

} // namespace

extern "C" {

hf_error hf_hold_request_into(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                              unsigned flags, uint64_t only, int64_t wait_ms, hf_answer* answer) {
    return guarded([&] {
        if (!clear(answer))
            return no_answer();
        const RequestOptions options = request_options(timeout_ms, flags, only);
        if (wait_ms < 0)
            return fill(hold->hold.request(view(method), view(params), options), *answer);
        auto call = hold->hold.start_and_wait(view(method), view(params), options, timeout(wait_ms));
        if (!call)
            return failed(call.error());
        if (call->done())
            return fill(call->wait(Millis{0}), *answer);
        answer->call = new hf_call{std::move(*call)};
        return HF_OK;
    });
}

hf_error hf_reply_into(hf_reply* reply, hf_answer* answer) {
    return guarded([&] {
        const std::unique_ptr<hf_reply> taken(reply);
        return clear(answer) ? fill(std::move(taken->reply), *answer) : no_answer();
    });
}

} // extern "C"

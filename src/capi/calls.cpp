// Requests both ways, notifications and sessions for C.
#include "capi/border.h"
#include "capi/handles.hpp"
#include "capi/support.hpp"

using namespace holdfast;
using namespace holdfast::capi;

namespace {

hf_error give_reply(Result<Reply> result, hf_reply** out) {
    if (!result)
        return failed(result.error());
    *out = new hf_reply{std::move(*result)};
    return HF_OK;
}

hf_error no_callback() {
    return failed(Errc::invalid_argument, "there is no callback");
}

hf_error give_registration(Result<Registration> result, hf_registration** out) {
    if (!result)
        return failed(result.error());
    *out = new hf_registration{std::move(*result)};
    return HF_OK;
}

} // namespace

extern "C" {

hf_error hf_hold_request(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                         unsigned flags, uint64_t only, hf_reply** out) {
    return guarded([&] {
        return give_reply(
            hold->hold.request(view(method), view(params), request_options(timeout_ms, flags, only)), out);
    });
}

hf_error hf_hold_start(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                       unsigned flags, uint64_t only, hf_call** out) {
    return guarded([&] {
        auto call = hold->hold.start(view(method), view(params), request_options(timeout_ms, flags, only));
        if (!call)
            return failed(call.error());
        *out = new hf_call{std::move(*call)};
        return HF_OK;
    });
}

hf_error hf_hold_start_and_wait(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                                unsigned flags, uint64_t only, int64_t wait_ms, hf_call** out) {
    return guarded([&] {
        auto call = hold->hold.start_and_wait(view(method), view(params),
                                              request_options(timeout_ms, flags, only), timeout(wait_ms));
        if (!call)
            return failed(call.error());
        *out = new hf_call{std::move(*call)};
        return HF_OK;
    });
}

hf_error hf_hold_start_with(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                            unsigned flags, uint64_t only, hf_answered answered, void* user,
                            hf_release release, hf_call** out) {
    return guarded([&] {
        const User kept(user, release);
        if (answered == nullptr)
            return no_callback();
        auto call = hold->hold.start(
            view(method), view(params), request_options(timeout_ms, flags, only),
            [kept, answered](Result<Reply> result) {
                if (result)
                    border_answered(answered, kept.get(), HF_OK, "", new hf_reply{std::move(*result)});
                else
                    border_answered(answered, kept.get(), static_cast<hf_error>(result.error().code),
                                    result.error().message.c_str(), nullptr);
            });
        if (!call)
            return failed(call.error());
        if (out != nullptr)
            *out = new hf_call{std::move(*call)};
        return HF_OK;
    });
}

hf_error hf_hold_notify(hf_hold* hold, const char* method, const char* params) {
    return guarded([&] {
        auto sent = hold->hold.notify(view(method), view(params));
        return sent ? HF_OK : failed(sent.error());
    });
}

hf_error hf_call_wait(hf_call* call, int64_t timeout_ms, hf_reply** out) {
    return guarded([&] { return give_reply(call->call.wait(timeout(timeout_ms)), out); });
}

int hf_call_done(const hf_call* call) {
    return call->call.done() ? 1 : 0;
}
int hf_call_wait_done(hf_call* call, int64_t timeout_ms) {
    return call->call.wait_done(timeout(timeout_ms)) ? 1 : 0;
}
void hf_call_cancel(hf_call* call) {
    call->call.cancel();
}
void hf_call_free(hf_call* call) {
    delete call;
}

const char* hf_reply_json(const hf_reply* reply) {
    return reply->reply.error ? reply->reply.error->data.c_str() : reply->reply.json.c_str();
}
int hf_reply_is_error(const hf_reply* reply) {
    return reply->reply.error ? 1 : 0;
}
int hf_reply_error_code(const hf_reply* reply) {
    return reply->reply.error ? reply->reply.error->code : 0;
}
const char* hf_reply_error_message(const hf_reply* reply) {
    return reply->reply.error ? reply->reply.error->message.c_str() : "";
}
uint64_t hf_reply_generation(const hf_reply* reply) {
    return reply->reply.generation;
}
void hf_reply_free(hf_reply* reply) {
    delete reply;
}

hf_error hf_hold_subscribe(hf_hold* hold, const char* method, hf_notified notified, void* user,
                           hf_release release, hf_registration** out) {
    return guarded([&] {
        const User kept(user, release);
        if (notified == nullptr)
            return no_callback();
        return give_registration(
            hold->hold.subscribe(view(method),
                                 [kept, notified](std::string_view name, std::string_view params) {
                                     // Views need not end with a zero byte.
                                     border_notified(notified, kept.get(), std::string(name).c_str(),
                                                     std::string(params).c_str());
                                 }),
            out);
    });
}

hf_error hf_hold_serve(hf_hold* hold, const char* method, hf_served served, void* user, hf_release release,
                       hf_registration** out) {
    return guarded([&] {
        const User kept(user, release);
        if (served == nullptr)
            return no_callback();
        return give_registration(hold->hold.serve(view(method),
                                                  [kept, served](IncomingRequest request) {
                                                      std::string name(request.method());
                                                      std::string params(request.params());
                                                      border_served(served, kept.get(),
                                                                    new hf_request{std::move(request),
                                                                                   std::move(name),
                                                                                   std::move(params)});
                                                  }),
                                 out);
    });
}

void hf_registration_detach(hf_registration* registration) {
    registration->registration.detach();
}
void hf_registration_free(hf_registration* registration) {
    delete registration;
}

const char* hf_request_method(const hf_request* request) {
    return request->method.c_str();
}
const char* hf_request_params(const hf_request* request) {
    return request->params.c_str();
}

hf_error hf_request_reply(hf_request* request, const char* result_json) {
    return guarded([&] {
        auto sent = request->request.reply(result_json != nullptr ? result_json : "null");
        return sent ? HF_OK : failed(sent.error());
    });
}

hf_error hf_request_reply_error(hf_request* request, int code, const char* message, const char* data_json) {
    return guarded([&] {
        auto sent = request->request.reply_error(code, view(message), view(data_json));
        return sent ? HF_OK : failed(sent.error());
    });
}

void hf_request_free(hf_request* request) {
    delete request;
}

hf_error hf_hold_session(hf_hold* hold, hf_session_open open, void* user, hf_release release,
                         hf_session** out) {
    return guarded([&] {
        const User kept(user, release);
        auto made = std::make_unique<hf_session>();
        made->own.emplace(hold->hold.session([kept, open](Session& on) -> Result<void> {
            if (open == nullptr)
                return {};
            hf_session inside;
            inside.session = &on;
            hf_set_message("");
            const hf_error error = border_open(open, kept.get(), &inside);
            if (error == HF_OK)
                return {};
            std::string words = last_message();
            if (words.empty())
                words = "the session could not be opened";
            return fail(static_cast<Errc>(error), std::move(words));
        }));
        made->session = &*made->own;
        *out = made.release();
        return HF_OK;
    });
}

hf_error hf_session_request(hf_session* session, const char* method, const char* params, int64_t timeout_ms,
                            unsigned flags, uint64_t only, hf_reply** out) {
    return guarded([&] {
        return give_reply(
            session->session->request(view(method), view(params), request_options(timeout_ms, flags, only)),
            out);
    });
}

uint64_t hf_session_open_on(const hf_session* session) {
    return session->session->open_on();
}
void hf_session_free(hf_session* session) {
    delete session;
}

} // extern "C"

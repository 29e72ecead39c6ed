#include "capi/border.h"

void border_release(hf_release release, void* user) {
    release(user);
}

void border_answered(hf_answered answered, void* user, hf_error error, const char* message, hf_reply* reply) {
    answered(user, error, message, reply);
}

void border_notified(hf_notified notified, void* user, const char* method, const char* params) {
    notified(user, method, params);
}

void border_served(hf_served served, void* user, hf_request* request) {
    served(user, request);
}

hf_error border_open(hf_session_open open, void* user, hf_session* inside) {
    return open(user, inside);
}

int border_decide(hf_after_restart decide, void* user, const char* entry_json) {
    return decide(user, entry_json);
}

void border_fired(hf_watch_fired fired, void* user, int why) {
    fired(user, why);
}

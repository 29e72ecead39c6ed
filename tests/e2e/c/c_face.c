/* The C face used from C: compiled as C99 without a warning, linked against the shared library alone. Exits
 * with 0 when all is as it should be; the first thing that is not is said on stderr. c_face HELPER-COMMAND...
 */
#include <holdfast.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%d: not so: %s (%s)\n", __LINE__, #condition, hf_last_message());               \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct seen {
    int pipe[2]; /* a byte for each callback, so that waiting for one is a read */
};

static void tell(void* user, char what) {
    struct seen* seen = user;
    EXPECT(write(seen->pipe[1], &what, 1) == 1);
}

static char hear(struct seen* seen) {
    char what = 0;
    EXPECT(read(seen->pipe[0], &what, 1) == 1);
    return what;
}

/* One call for a request and its whole answer, with and without room for its texts. */
static void answers_in_our_memory(hf_hold* hold) {
    char room[64];
    hf_answer answer = {.size = sizeof answer, .room = room, .room_size = sizeof room};
    EXPECT(hf_hold_request_into(hold, "echo", "{\"a\":1}", 10000, 0, 0, -1, &answer) == HF_OK);
    EXPECT(answer.json == room && !answer.allocated && strcmp(answer.json, "{\"a\":1}") == 0);
    EXPECT(answer.json_size == 7 && answer.generation == 1 && !answer.is_error && answer.call == NULL);
    EXPECT(strcmp(answer.message, "") == 0);
    EXPECT(hf_hold_request_into(hold, "fail", NULL, 10000, 0, 0, 10000, &answer) == HF_OK);
    EXPECT(answer.is_error && answer.error_code == -7 && strcmp(answer.message, "as asked") == 0);
    EXPECT(strcmp(answer.json, "[1]") == 0);
    /* Two texts and two zero bytes must fit. */
    answer.room_size = 8;
    EXPECT(hf_hold_request_into(hold, "echo", "{\"a\":1}", 10000, 0, 0, -1, &answer) == HF_OK);
    EXPECT(answer.allocated && answer.json != room && strcmp(answer.json, "{\"a\":1}") == 0);
    hf_free(answer.json);
    hf_free(answer.message);
    answer.room_size = 9;
    EXPECT(hf_hold_request_into(hold, "echo", "{\"a\":1}", 10000, 0, 0, -1, &answer) == HF_OK);
    EXPECT(!answer.allocated && answer.json == room);
    /* No answer in time is a call that goes on. */
    EXPECT(hf_hold_request_into(hold, "sleep", "{\"ms\":200}", 60000, 0, 0, 1, &answer) == HF_OK);
    EXPECT(answer.call != NULL && answer.json == NULL);
    hf_call* call = answer.call;
    hf_reply* reply = NULL;
    EXPECT(hf_call_wait(call, -1, &reply) == HF_OK);
    hf_call_free(call);
    EXPECT(hf_reply_into(reply, &answer) == HF_OK && answer.json != NULL && answer.call == NULL);
    EXPECT(hf_hold_request_into(hold, "sleep", "{\"ms\":5000}", 50, 0, 0, -1, &answer) == HF_TIMED_OUT);
    EXPECT(answer.json == NULL);
    answer.size = sizeof answer - 1; /* of an older header */
    EXPECT(hf_hold_request_into(hold, "echo", NULL, 50, 0, 0, -1, &answer) == HF_INVALID_ARGUMENT);
}

static void on_answer(void* user, hf_error error, const char* message, hf_reply* reply) {
    EXPECT(error == HF_OK && strcmp(message, "") == 0);
    EXPECT(strcmp(hf_reply_json(reply), "[1]") == 0);
    hf_reply_free(reply);
    tell(user, 'a');
}

static void on_note(void* user, const char* method, const char* params) {
    EXPECT(strcmp(method, "note") == 0 && strcmp(params, "{\"i\":0}") == 0);
    tell(user, 'n');
}

static void on_request(void* user, hf_request* request) {
    (void)user;
    EXPECT(strcmp(hf_request_method(request), "host.llm.complete") == 0);
    EXPECT(hf_request_reply(request, "not json") == HF_INVALID_ARGUMENT);
    EXPECT(hf_request_reply(request, "{\"text\":\"hi\"}") == HF_OK);
    EXPECT(hf_request_reply(request, "1") == HF_CLOSED);
    hf_request_free(request);
}

static void on_release(void* user) {
    tell(user, 'r');
}

static hf_error on_open(void* user, hf_session* inside) {
    hf_reply* reply = NULL;
    EXPECT(hf_session_request(inside, "echo", "[\"open\"]", 5000, 0, 0, &reply) == HF_OK);
    hf_reply_free(reply);
    tell(user, 'o');
    return HF_OK;
}

static hf_error on_refuse(void* user, hf_session* inside) {
    (void)user;
    (void)inside;
    hf_set_message("no account");
    return HF_PROTOCOL;
}

struct beside {
    hf_hold* hold;
    pthread_barrier_t start;
};

/* Uses a hold that another thread releases. */
static void* use(void* argument) {
    struct beside* beside = argument;
    pthread_barrier_wait(&beside->start);
    for (int i = 0; i < 3; ++i) {
        char* json = NULL;
        hf_reply* reply = NULL;
        EXPECT(hf_hold_status(beside->hold, &json) == HF_OK);
        hf_free(json);
        const hf_error asked = hf_hold_request(beside->hold, "echo", "[1]", 10000, 0, 0, &reply);
        EXPECT(asked == HF_OK || asked == HF_CLOSED);
        hf_reply_free(reply);
        const hf_error waited = hf_hold_wait_ready(beside->hold, 0, NULL);
        EXPECT(waited == HF_OK || waited == HF_CLOSED);
    }
    return NULL;
}

/* An option that is given as another kind than it takes is said, and not passed over. */
static void options_of_another_kind(hf_supervisor* supervisor, const char* command) {
    for (int kind = 0; kind < 3; ++kind) {
        hf_options* spec = hf_options_new();
        hf_hold* none = NULL;
        EXPECT(hf_options_add(spec, "command", command) == HF_OK);
        EXPECT((kind == 0   ? hf_options_number(spec, "key", 1)
                : kind == 1 ? hf_options_text(spec, "linger", "1")
                            : hf_options_add(spec, "stop_plan", "kill")) == HF_OK);
        EXPECT(hf_supervisor_hold(supervisor, spec, &none) == HF_INVALID_ARGUMENT && none == NULL);
        EXPECT(strstr(hf_last_message(), kind == 0   ? "the option key takes a text"
                                         : kind == 1 ? "the option linger takes a number"
                                                     : "the option stop_plan takes a text") != NULL);
        hf_options_free(spec);
    }
}

static void release_beside_use(hf_supervisor* supervisor, const hf_options* spec) {
    for (int i = 0; i < 1000; ++i) {
        struct beside beside;
        beside.hold = NULL;
        pthread_t thread;
        EXPECT(hf_supervisor_hold(supervisor, spec, &beside.hold) == HF_OK);
        EXPECT(pthread_barrier_init(&beside.start, NULL, 2) == 0);
        EXPECT(pthread_create(&thread, NULL, use, &beside) == 0);
        pthread_barrier_wait(&beside.start);
        hf_hold_release(beside.hold);
        EXPECT(pthread_join(thread, NULL) == 0);
        pthread_barrier_destroy(&beside.start);
        hf_hold_free(beside.hold);
    }
}

int main(int argc, char** argv) {
    struct seen seen;
    EXPECT(pipe(seen.pipe) == 0);
    EXPECT(hf_abi_version() == HF_ABI_VERSION);
    EXPECT(strlen(hf_version()) > 0);
    EXPECT(strcmp(hf_error_name(HF_TIMED_OUT), "timed_out") == 0);

    hf_supervisor* supervisor = NULL;
    EXPECT(hf_supervisor_new(NULL, &supervisor) == HF_OK);
    hf_options* spec = hf_options_new();
    for (int i = 1; i < argc; ++i)
        EXPECT(hf_options_add(spec, "command", argv[i]) == HF_OK);
    EXPECT(hf_options_text(spec, "stop_plan", "eof:500ms,term:500ms,kill") == HF_OK);
    EXPECT(hf_options_number(spec, "linger", 0) == HF_OK);
    hf_hold* hold = NULL;
    EXPECT(hf_supervisor_hold(supervisor, spec, &hold) == HF_OK);
    release_beside_use(supervisor, spec);

    uint64_t generation = 0;
    EXPECT(hf_hold_wait_ready(hold, 10000, &generation) == HF_OK && generation == 1);
    hf_reply* reply = NULL;
    EXPECT(hf_hold_request(hold, "echo", "{\"a\":1}", 10000, 0, 0, &reply) == HF_OK);
    EXPECT(strcmp(hf_reply_json(reply), "{\"a\":1}") == 0 && !hf_reply_is_error(reply));
    EXPECT(hf_reply_generation(reply) == 1);
    hf_reply_free(reply);
    EXPECT(hf_hold_request(hold, "fail", NULL, 10000, 0, 0, &reply) == HF_OK && hf_reply_is_error(reply));
    EXPECT(hf_reply_error_code(reply) == -7 && strcmp(hf_reply_error_message(reply), "as asked") == 0);
    EXPECT(strcmp(hf_reply_json(reply), "[1]") == 0);
    hf_reply_free(reply);
    EXPECT(hf_hold_request(hold, "deep", "{\"levels\":2000}", 60000, 0, 0, &reply) == HF_PROTOCOL);
    EXPECT(strstr(hf_last_message(), "nested deeper than 1024 levels") != NULL);
    EXPECT(hf_hold_request(hold, "sleep", "{\"ms\":5000}", 50, 0, 0, &reply) == HF_TIMED_OUT);
    EXPECT(hf_hold_request(hold, "echo", "not json", 50, 0, 0, &reply) == HF_INVALID_ARGUMENT);

    answers_in_our_memory(hold);

    hf_call* call = NULL;
    EXPECT(hf_hold_start(hold, "sleep", "{\"ms\":3600000}", -1, 0, 0, &call) == HF_OK && !hf_call_done(call));
    EXPECT(hf_call_wait(call, 10, &reply) == HF_TIMED_OUT);
    hf_call_cancel(call);
    EXPECT(hf_call_wait(call, 5000, &reply) == HF_CANCELLED && hf_call_done(call));
    hf_call_free(call);

    EXPECT(hf_hold_start_with(hold, "echo", "[1]", 5000, 0, 0, on_answer, &seen, on_release, NULL) == HF_OK);
    EXPECT(hear(&seen) == 'a' && hear(&seen) == 'r');
    hf_registration* note = NULL;
    EXPECT(hf_hold_subscribe(hold, "note", on_note, &seen, on_release, &note) == HF_OK);
    EXPECT(hf_hold_request(hold, "notify", "{\"count\":1}", 5000, 0, 0, &reply) == HF_OK);
    hf_reply_free(reply);
    EXPECT(hear(&seen) == 'n');
    hf_registration_free(note);
    EXPECT(hear(&seen) == 'r');
    /* Detached, it goes on after it was freed, and ends with its hold. */
    hf_hold* second = NULL;
    EXPECT(hf_supervisor_hold(supervisor, spec, &second) == HF_OK);
    EXPECT(hf_hold_subscribe(second, "note", on_note, &seen, on_release, &note) == HF_OK);
    hf_registration_detach(note);
    hf_registration_free(note);
    EXPECT(hf_hold_request(hold, "notify", "{\"count\":1}", 5000, 0, 0, &reply) == HF_OK);
    hf_reply_free(reply);
    EXPECT(hear(&seen) == 'n');
    hf_hold_free(second);
    EXPECT(hear(&seen) == 'r');
    /* Without a callback nothing is taken, and what came with it is released. */
    EXPECT(hf_hold_start_with(hold, "echo", NULL, 5000, 0, 0, NULL, &seen, on_release, NULL) ==
           HF_INVALID_ARGUMENT);
    EXPECT(hear(&seen) == 'r');
    EXPECT(hf_hold_subscribe(hold, "note", NULL, &seen, on_release, &note) == HF_INVALID_ARGUMENT);
    EXPECT(hear(&seen) == 'r');
    EXPECT(hf_hold_serve(hold, "note", NULL, &seen, on_release, &note) == HF_INVALID_ARGUMENT);
    EXPECT(hear(&seen) == 'r');
    hf_registration* served = NULL;
    EXPECT(hf_hold_serve(hold, "host.llm.complete", on_request, &seen, NULL, &served) == HF_OK);
    EXPECT(hf_hold_request(hold, "ask", "{\"what\":\"host.llm.complete\"}", 5000, 0, 0, &reply) == HF_OK);
    EXPECT(strcmp(hf_reply_json(reply), "{\"answer\":{\"text\":\"hi\"}}") == 0);
    hf_reply_free(reply);
    hf_registration_free(served);

    hf_session* session = NULL;
    EXPECT(hf_hold_session(hold, on_open, &seen, on_release, &session) == HF_OK &&
           hf_session_open_on(session) == 0);
    EXPECT(hf_session_request(session, "echo", "[2]", 5000, HF_IDEMPOTENT, 0, &reply) == HF_OK);
    hf_reply_free(reply);
    EXPECT(hear(&seen) == 'o' && hf_session_open_on(session) == 1);
    hf_session_free(session);
    EXPECT(hear(&seen) == 'r');
    EXPECT(hf_hold_session(hold, on_refuse, NULL, NULL, &session) == HF_OK);
    EXPECT(hf_session_request(session, "echo", "[2]", 5000, 0, 0, &reply) == HF_PROTOCOL);
    EXPECT(strcmp(hf_last_message(), "no account") == 0);
    hf_session_free(session);

    char* json = NULL;
    EXPECT(hf_hold_status(hold, &json) == HF_OK && strstr(json, "\"state\":\"ready\"") != NULL);
    hf_free(json);
    EXPECT(hf_hold_replace(hold, 1, 10000, &generation) == HF_OK && generation == 2);
    EXPECT(hf_options_text(spec, "no_such_thing", "x") == HF_OK);
    hf_hold* none = NULL;
    EXPECT(hf_supervisor_hold(supervisor, spec, &none) == HF_INVALID_ARGUMENT && none == NULL);
    EXPECT(strstr(hf_last_message(), "no_such_thing") != NULL);
    hf_options_free(spec);
    options_of_another_kind(supervisor, argv[1]);
    hf_hold_release(hold);
    EXPECT(hf_hold_request(hold, "echo", NULL, 1000, 0, 0, &reply) == HF_CLOSED);
    hf_hold_free(hold);
    EXPECT(hf_supervisor_shutdown(supervisor, 10000) == HF_OK);
    EXPECT(hf_supervisor_status(supervisor, &json) == HF_OK && strstr(json, "\"state\":\"closed\"") != NULL);
    hf_free(json);
    hf_supervisor_free(supervisor);
    return 0;
}

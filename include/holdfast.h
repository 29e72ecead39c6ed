/* Holdfast for C, and for every language that can call C.
 *
 * Results: functions that can fail return an hf_error; HF_OK is 0. On failure every out parameter is left as
 * it was, and hf_last_message() says in one sentence what happened, until the next call on this thread.
 *
 * Objects: opaque. What a function gives in an out parameter of a pointer type belongs to the caller, who
 * ends it with the type's _free function (NULL is fine). Freeing is never needed twice and never waits,
 * except where it says so.
 *
 * Text: in, UTF-8, ended by a zero byte, copied if kept; NULL means "not given". Out (char**), ended with
 * hf_free(). JSON in: any valid text. JSON out: one object or list, compact.
 *
 * Times: milliseconds. A negative timeout waits for ever.
 *
 * Options: an hf_options is a bag of named values, so that new ones need no new functions. A name that a
 * function does not know is refused with HF_INVALID_ARGUMENT. NULL means all defaults. It can be used many
 * times.
 *
 * Threads: every function may be called from any thread at any time, except that an object must not be freed
 * while another thread uses it. (hf_hold_release may be called then: whoever waits is told HF_CLOSED, and
 * when all have come back the hold can be freed.) An hf_options is used by one thread at a time.
 *
 * Callbacks: run on threads of the library unless it says otherwise, and may run before the function that
 * takes them has returned. Each comes with a `user` pointer and a `release` function (may be NULL) that is
 * called exactly once, when the callback can no longer be running or be called; also when the function that
 * took them fails. They may call anything here, except end their own thread. How many may take their time at
 * once is said at the top of holdfast/supervisor.hpp; at that bound the next waits for one to return.
 *
 * fork(): in the child of a fork objects made before it are inert: functions fail with HF_CLOSED, freeing
 * does nothing, and the parent notices nothing.
 *
 * Versions: symbols are only ever added, under new version nodes. hf_abi_version() tells what is loaded.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_ABI_VERSION 1
#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* The numbers are fixed; new ones are added at the end. */
typedef enum hf_error {
    HF_OK = 0,
    HF_INVALID_ARGUMENT = 1,
    HF_HELD = 2,
    HF_TIMED_OUT = 3,
    HF_ORPHANED = 4,
    HF_SUPERSEDED = 5,
    HF_TOO_MANY_TAKEOVERS = 6,
    HF_NOT_PERMITTED = 7,
    HF_UNREACHABLE = 8,
    HF_LOST = 9,
    HF_NO_SPACE = 10,
    HF_IO = 11,
    HF_NOT_FOUND = 12,
    HF_UNSAFE_DIRECTORY = 13,
    HF_SURVIVORS = 14,
    HF_CANNOT_START = 15,
    HF_UNSUPPORTED = 16,
    HF_GAVE_UP = 17,
    HF_CLOSED = 18,
    HF_OVERFLOW = 19,
    HF_PROTOCOL = 20,
    HF_CANCELLED = 21,
    HF_CANNOT_CREATE = 22
} hf_error;

/* ---- the library ---- */

HF_API int hf_abi_version(void);
HF_API const char* hf_version(void);              /* e.g. "0.1.0"; static */
HF_API const char* hf_error_name(hf_error error); /* e.g. "timed_out"; static */
HF_API const char* hf_last_message(void); /* of the last failure on this thread; "" when there was none */
HF_API int hf_last_errno(void);           /* the errno behind it, or 0 */
HF_API void hf_free(void* text);          /* text given out by this library */

typedef struct hf_options hf_options;
HF_API hf_options* hf_options_new(void);
HF_API void hf_options_free(hf_options* options);
/* Sets, or replaces. */
HF_API hf_error hf_options_text(hf_options* options, const char* name, const char* value);
HF_API hf_error hf_options_number(hf_options* options, const char* name, double value);
/* Adds one more to a list of texts; with NULL the list is there, and empty. */
HF_API hf_error hf_options_add(hf_options* options, const char* name, const char* value);

typedef void (*hf_release)(void* user);

/* ---- supervisor: one helper per key, alive as long as somebody holds it ---- */

typedef struct hf_supervisor hf_supervisor;
typedef struct hf_hold hf_hold;
typedef struct hf_reply hf_reply;
typedef struct hf_call hf_call;
typedef struct hf_registration hf_registration;
typedef struct hf_request hf_request;
typedef struct hf_session hf_session;

/* Options: text profile, keeper_program. */
HF_API hf_error hf_supervisor_new(const hf_options* options, hf_supervisor** out);
/* Ends all its helpers and waits until nothing is left (bounded by their stop plans), and a second for
 * callbacks that run. Holds become HF_CLOSED. */
HF_API void hf_supervisor_free(hf_supervisor* supervisor);
HF_API hf_error hf_supervisor_shutdown(hf_supervisor* supervisor, int64_t timeout_ms);
/* A list of {"key", "state", "generation", "holds", "pid", "in_flight", "waiting", "progress", "failure",
 * "noise", "dropped_notifications", "starts"}. */
HF_API hf_error hf_supervisor_status(hf_supervisor* supervisor, char** json);

/* Returns at once; the helper starts by itself.
 * The key: list command (needed), text directory, list environment (all of it; absent: a copy of the
 * host's, made by the hold that starts it), list extra_environment, text framing ("newline",
 * "content-length"), text cancel ("silent", "lsp", "mcp"), text key. How it is treated: text label, ready_by
 * ("start", "notify", "health"), health_method, health_params, stop_plan, containment, errors ("inherit",
 * "discard", "log"); numbers in ms: health_every, health_within,
 * health_while_starting, stall, linger, serve_within, respawn_first, respawn_initial, respawn_max,
 * respawn_reset_after_held, respawn_window, respawn_cool_down; numbers: health_misses, respawn_factor,
 * respawn_jitter, respawn_max_failures, max_message, max_in_flight, max_unsent_bytes, max_waiting,
 * max_requests, max_notifications. Their meaning and defaults are in holdfast/supervisor.hpp. */
HF_API hf_error hf_supervisor_hold(hf_supervisor* supervisor, const hf_options* options, hf_hold** out);

/* Lets go. Requests that were sent are answered or failed. Does not wait for the helper's end. */
HF_API void hf_hold_free(hf_hold* hold);
/* The same without ending the object: everything on it is HF_CLOSED from now on, and whoever waits on it is
 * told so. Also while others use it. */
HF_API void hf_hold_release(hf_hold* hold);
/* Waits until the helper is ready. `generation` may be NULL. Errors: HF_TIMED_OUT, HF_GAVE_UP, HF_CLOSED. */
HF_API hf_error hf_hold_wait_ready(hf_hold* hold, int64_t timeout_ms, uint64_t* generation);
/* One object as in hf_supervisor_status. */
HF_API hf_error hf_hold_status(hf_hold* hold, char** json);
/* Sees to it that another generation than `seen` is there, and waits for it. One that is still being started
 * is replaced, too. */
HF_API hf_error hf_hold_replace(hf_hold* hold, uint64_t seen, int64_t timeout_ms, uint64_t* generation);
/* After giving up, or during a pause: try again now. */
HF_API hf_error hf_hold_retry(hf_hold* hold);

/* Flags of requests. */
#define HF_IDEMPOTENT                                                                                        \
    1u /* may be sent again, to the next generation, when the transport closes before the answer */

#define HF_PASSED_ON                                                                                         \
    2u /* hf_hold_start_with: `answered` does nothing but pass the answer on (to an event loop) and never    \
          waits; it is called by a thread on which no other code of the host runs */

/* `params` is JSON text of an object or a list, or NULL. `only` is 0, or the one generation it may go to
 * (it is waited for while it starts; HF_SUPERSEDED when it is gone). An error that the helper answered is
 * HF_OK with a reply that says so. */
HF_API hf_error hf_hold_request(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                                unsigned flags, uint64_t only, hf_reply** out);
/* The same without waiting for the answer. */
HF_API hf_error hf_hold_start(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                              unsigned flags, uint64_t only, hf_call** out);
/* The same, answered by a callback, exactly once unless this fails; also when the supervisor is freed
 * meanwhile, then perhaps after that. `reply` is NULL when `error` is not HF_OK, and is the callback's to
 * free. `out` may be NULL. */
typedef void (*hf_answered)(void* user, hf_error error, const char* message, hf_reply* reply);
HF_API hf_error hf_hold_start_with(hf_hold* hold, const char* method, const char* params, int64_t timeout_ms,
                                   unsigned flags, uint64_t only, hf_answered answered, void* user,
                                   hf_release release, hf_call** out);
/* Between the two: waits at most wait_ms for the answer, and gives the call in any case. Quicker than both.
 */
HF_API hf_error hf_hold_start_and_wait(hf_hold* hold, const char* method, const char* params,
                                       int64_t timeout_ms, unsigned flags, uint64_t only, int64_t wait_ms,
                                       hf_call** out);
HF_API hf_error hf_hold_notify(hf_hold* hold, const char* method, const char* params);

/* HF_TIMED_OUT: no answer yet, the call goes on. The answer is given once. */
HF_API hf_error hf_call_wait(hf_call* call, int64_t timeout_ms, hf_reply** out);
HF_API int hf_call_done(const hf_call* call);
/* Waits until it is done, and takes nothing: 1, or 0 when it is not after timeout_ms. In the child of a fork
 * 1 at once: hf_call_wait() says HF_CLOSED there. */
HF_API int hf_call_wait_done(hf_call* call, int64_t timeout_ms);
HF_API void hf_call_cancel(hf_call* call);
HF_API void hf_call_free(hf_call* call); /* does not cancel it */

HF_API const char*
hf_reply_json(const hf_reply* reply); /* the result, or the error's data; "" when there is none */
HF_API int hf_reply_is_error(const hf_reply* reply);
HF_API int hf_reply_error_code(const hf_reply* reply);
HF_API const char* hf_reply_error_message(const hf_reply* reply);
HF_API uint64_t hf_reply_generation(const hf_reply* reply);
HF_API void hf_reply_free(hf_reply* reply);

/* An answer in memory of the caller. The texts end with a zero byte. They lie in `room` when they fit there;
 * otherwise `allocated` is 1, and both are the caller's to hf_free(). */
typedef struct hf_answer {
    size_t size;         /* set by the caller: sizeof(hf_answer) */
    char* room;          /* set by the caller, with its size; or NULL and 0 */
    size_t room_size;    /* what is set by the caller is not changed */
    char* json;          /* the result, or the error's data; "" when there is none */
    size_t json_size;    /* without the zero byte */
    char* message;       /* of the helper's error, or "" */
    int is_error;        /* the helper answered with an error */
    int error_code;      /* its number */
    uint64_t generation; /* that answered */
    int allocated;
    hf_call* call; /* not NULL: there is no answer yet, and the call is the caller's */
} hf_answer;
/* hf_hold_request and all that is to be known of its reply, in one. With wait_ms not negative it waits that
 * long at most; when there is no answer yet, it is HF_OK with `call`. */
HF_API hf_error hf_hold_request_into(hf_hold* hold, const char* method, const char* params,
                                     int64_t timeout_ms, unsigned flags, uint64_t only, int64_t wait_ms,
                                     hf_answer* answer);
/* The same of a reply, which is freed in any case. */
HF_API hf_error hf_reply_into(hf_reply* reply, hf_answer* answer);

/* Notifications of a method, or of all with "*". They go on after a respawn. The texts are valid during the
 * call. */
typedef void (*hf_notified)(void* user, const char* method, const char* params);
HF_API hf_error hf_hold_subscribe(hf_hold* hold, const char* method, hf_notified notified, void* user,
                                  hf_release release, hf_registration** out);
/* Requests of the helper: the newest hold that serves a method (or "*") is asked. The request is the
 * callback's: it replies once, then or later, from any thread, and frees it; freed without a reply, the
 * helper gets an error. */
typedef void (*hf_served)(void* user, hf_request* request);
HF_API hf_error hf_hold_serve(hf_hold* hold, const char* method, hf_served served, void* user,
                              hf_release release, hf_registration** out);
HF_API void hf_registration_free(hf_registration* registration); /* ends it */
/* From now on it lives as long as its hold, also after it was freed. */
HF_API void hf_registration_detach(hf_registration* registration);

HF_API const char* hf_request_method(const hf_request* request);
HF_API const char* hf_request_params(const hf_request* request); /* "" when there are none */
HF_API hf_error hf_request_reply(hf_request* request, const char* result_json);
HF_API hf_error hf_request_reply_error(hf_request* request, int code, const char* message,
                                       const char* data_json);
HF_API void hf_request_free(hf_request* request);

/* Requests that need to be opened on each new generation first. `open` runs on the thread of the request that
 * needs it; `inside` is valid during the call, for any thread, and its requests go to that generation only.
 * The session itself may be asked by the thread of `open` too; on another thread that would wait for the
 * opening to end. It returns HF_OK or an error, which is the request's; hf_set_message() gives its words. */
typedef hf_error (*hf_session_open)(void* user, hf_session* inside);
HF_API hf_error hf_hold_session(hf_hold* hold, hf_session_open open, void* user, hf_release release,
                                hf_session** out);
HF_API hf_error hf_session_request(hf_session* session, const char* method, const char* params,
                                   int64_t timeout_ms, unsigned flags, uint64_t only, hf_reply** out);
HF_API uint64_t hf_session_open_on(const hf_session* session);
HF_API void hf_session_free(hf_session* session);
HF_API void hf_set_message(const char* message);

/* ---- slots: a name that at most one process owns ---- */

typedef struct hf_slot hf_slot;

/* Options: text directory, name (both needed), if_held ("refuse", "wait", "replace", "attach"), address,
 * session; list argv; numbers wait, grace, stall (ms), cancel_fd. Under attach to a living owner `*out`
 * becomes NULL and `*attached` its description; otherwise `*attached` becomes NULL. `attached` may be NULL.
 */
HF_API hf_error hf_slot_acquire(const hf_options* options, hf_slot** out, char** attached);
HF_API void hf_slot_free(hf_slot* slot); /* releases it */
HF_API uint64_t hf_slot_epoch(const hf_slot* slot);
HF_API hf_error hf_slot_progress(hf_slot* slot, uint64_t done, uint64_t total, const char* status);
HF_API hf_error hf_slot_extend_patience(hf_slot* slot, int64_t more_ms);
HF_API hf_error hf_slot_set_status(hf_slot* slot, const char* status);
HF_API hf_error hf_slot_set_address(hf_slot* slot, const char* address);
HF_API hf_error hf_slot_set_phase(hf_slot* slot, const char* phase); /* "starting", "ready", "draining" */
HF_API int hf_slot_life_fd(const hf_slot* slot); /* the library's; -1 when there is none */
HF_API int hf_slot_watch_fd(hf_slot* slot);      /* the library's */
HF_API hf_error hf_slot_still_mine(hf_slot* slot);
/* A slot as JSON, as `holdfast status --json` shows it. They take, write and remove nothing. */
HF_API hf_error hf_slot_query(const char* directory, const char* name, char** json);
HF_API hf_error hf_slot_list(const char* directory, char** json);
/* Options: numbers grace, patience (ms), now (0 or 1). `was_running` may be NULL. A newer owner than the one
 * found at the call is left alone, and is no error. */
HF_API hf_error hf_slot_stop(const char* directory, const char* name, const hf_options* options,
                             int* was_running);
HF_API hf_error
hf_slot_wait(const char* directory, const char* name, const char* what, int64_t timeout_ms, int cancel_fd,
             char** json); /* what: "ready" or "free"; cancel_fd: -1, or readable to give up */

/* ---- registry: helpers that a host starts itself ---- */

typedef struct hf_registry hf_registry;

/* Options: text host (needed), profile, directory, events_directory; numbers max_entries, ttl (ms), reap (0
 * or 1). */
HF_API hf_error hf_registry_open(const hf_options* options, hf_registry** out);
HF_API void hf_registry_free(hf_registry* registry); /* ends nothing */
/* Options: text label, session, task; list argv. An entry as JSON: {"id", "label", "session", "task", "argv",
 * "pid", "alive", "adopted", "age_ms", "ended_ago_ms", "exit_status", "host", "host_pid"}. `json` may be
 * NULL. */
HF_API hf_error hf_registry_register(hf_registry* registry, int pid, const hf_options* options, char** json);
HF_API hf_error hf_registry_register_pidfd(hf_registry* registry, int pidfd, const hf_options* options,
                                           char** json);
/* Lists of entries. by: "all", "session", "task", "survey" (all hosts of the profile); value: the session or
 * task. */
HF_API hf_error hf_registry_find(hf_registry* registry, const char* by, const char* value, char** json);
HF_API hf_error hf_registry_get(hf_registry* registry, const char* id, char** json);
HF_API int hf_registry_has_active(hf_registry* registry, const char* session);
/* what: "id", "session" (an empty one is an invalid argument) or "all". Options: numbers grace, patience
 * (ms), now. The report: {"ended": [...], "survivors": [{"pid","command"}]}. `json` may be NULL. */
HF_API hf_error hf_registry_end(hf_registry* registry, const char* what, const char* value,
                                const hf_options* options, char** json);
HF_API int hf_registry_forget(hf_registry* registry, const char* id);
/* policy: "adopt", "reap" or "leave" for all, or NULL: then `decide` returns 0 (adopt), 1 (reap) or 2 (leave)
 * for each, on this thread. The report: {"adopted", "ended", "finished", "left", "survivors"}. */
typedef int (*hf_after_restart)(void* user, const char* entry_json);
HF_API hf_error hf_registry_after_restart(hf_registry* registry, const char* policy, hf_after_restart decide,
                                          void* user, const hf_options* options, char** json);
HF_API int hf_registry_poll_fd(const hf_registry* registry); /* the library's */
HF_API hf_error hf_registry_collect(hf_registry* registry, char** json);
HF_API size_t hf_registry_expire(hf_registry* registry, int64_t now_ms);
HF_API int64_t hf_registry_clock_ms(void);

/* ---- parent watch: for workers ---- */

typedef struct hf_parent_watch hf_parent_watch;
#define HF_NOT_FIRED 0
#define HF_PARENT_GONE 1
#define HF_IDLE 2

/* Options: numbers idle (ms), init_is_parent (0 or 1), fallback_signal. With `fired` a thread calls it once,
 * when it fires. */
typedef void (*hf_watch_fired)(void* user, int why);
HF_API hf_error hf_parent_watch_new(const hf_options* options, hf_watch_fired fired, void* user,
                                    hf_release release, hf_parent_watch** out);
HF_API void hf_parent_watch_free(hf_parent_watch* watch);
HF_API int hf_parent_watch_fd(const hf_parent_watch* watch); /* the library's */
HF_API int hf_parent_watch_fired(const hf_parent_watch* watch);
HF_API void hf_parent_watch_touch(const hf_parent_watch* watch);
/* For HOLDFAST_PARENT in the environment of workers. */
HF_API hf_error hf_describe_self(char** text);

#ifdef __cplusplus
}
#endif
#endif

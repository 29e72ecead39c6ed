/* A helper that speaks JSON-RPC on stdio, for the tests of the supervisor. It answers what it is asked, in
 * the order in which the answers are due, and misbehaves on demand. It reads only messages as our own side
 * writes them, by looking for the members it needs: a second JSON reader that shares no line with the
 * product's.
 *
 *   --framing=content-length    instead of lines
 *   --counter=PATH              counts its starts there, one byte each
 *   --die-first=N               exits with 3 at its first N starts (by --counter), before it says anything
 *   --die-after-ms=N            and later: so long after its start
 *   --start-ms=N                health says starting, with progress that moves, for so long
 *   --start-until=PATH          ... until there is such a file
 *   --stall                     ... with progress that does not move, for ever
 *   --ask-at-start              asks the host for "host.start" first, and reads nothing else before the
 * answer
 *   --notify                    says its progress and READY=1 by sd_notify too
 *   --ignore-eof                lives on after the end of stdin
 *   --close-output              closes its stdout after the first request, and lives
 *   --daemon                    leaves a process in a session of its own
 *   --exclusive=PATH            locks PATH; when another one has it, adds a byte to PATH.overlap
 *
 * Methods: echo, pid, starts, sleep {ms}, exit {code}, crash, noise, big {bytes}, deep {levels, last: the id
 * behind the result}, hang, deaf (reads no more, lives), close-input (closes its stdin, and lives on under
 * --ignore-eof), mutter {ms} (answers nothing for so long, but says something now and then), ask {what} (asks
 * the host, answers with what it said), ask-alone {what} (the same, and does nothing else until then), pester
 * {count} (asks so often and reads no more), notify {method,count}, count (requests so far), cancelled (what
 * it was told to cancel, as it was told), health. */
#define _GNU_SOURCE
#include "zoo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct pending {
    struct pending* next;
    long long due;
    char id[64];
    char* result;
};

static struct pending* pending;
static long long born;
static long starts;
static long requests;
static long asked;
static int framed;
static char* ask_waiting[4096]; /* ids of requests that wait for answer srv-N */
static long alone = -1;         /* the srv-N whose answer is waited for, and nothing else done */
static char* put_off;           /* what came meanwhile, one message a line */
static char* cancelled;

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void put(const char* bytes, size_t size) {
    while (size > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            _exit(0); /* the host is gone */
        bytes += n;
        size -= (size_t)n;
    }
}

static void say(const char* message) {
    size_t size = strlen(message);
    char* whole = NULL;
    int n = framed ? asprintf(&whole, "Content-Length: %zu\r\n\r\n%s", size, message)
                   : asprintf(&whole, "%s\n", message);
    if (n < 0)
        zoo_fail("no memory");
    put(whole, (size_t)n);
    free(whole);
}

static void answer(const char* id, const char* result) {
    char* message = NULL;
    if (asprintf(&message, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", id, result) < 0)
        zoo_fail("no memory");
    say(message);
    free(message);
}

/* The raw text behind "name": in a message, up to the end of a number, string or balanced object. */
static char* member(const char* text, const char* name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char* at = strstr(text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    const char* end = at;
    int depth = 0;
    int in_string = 0;
    for (; *end; ++end) {
        if (in_string) {
            if (*end == '\\' && end[1])
                ++end;
            else if (*end == '"')
                in_string = 0;
            continue;
        }
        if (*end == '"')
            in_string = 1;
        else if (*end == '{' || *end == '[')
            ++depth;
        else if (*end == '}' || *end == ']') {
            if (depth == 0)
                break;
            --depth;
        } else if (*end == ',' && depth == 0)
            break;
    }
    return strndup(at, (size_t)(end - at));
}

static long number(const char* text, const char* name, long otherwise) {
    char* raw = member(text, name);
    long value = raw ? atol(raw) : otherwise;
    free(raw);
    return value;
}

static void later(const char* id, const char* result, long ms) {
    struct pending* one = calloc(1, sizeof *one);
    one->due = now_ms() + ms;
    snprintf(one->id, sizeof one->id, "%s", id);
    one->result = strdup(result);
    struct pending** at = &pending;
    while (*at && (*at)->due <= one->due)
        at = &(*at)->next;
    one->next = *at;
    *at = one;
}

static void answer_due(void) {
    while (pending && pending->due <= now_ms()) {
        struct pending* one = pending;
        pending = one->next;
        answer(one->id, one->result);
        free(one->result);
        free(one);
    }
}

static void make_noise(void) {
    static const char* const lines[] = {
        "null\n", "[1,2,3]\n",    "\"text\"\n",         "Listening on port 8080\n",
        "\n\n",   "{\"half\":\n", "\x01\x02\xff\xfe\n", "{\"jsonrpc\":\"2.0\",\"id\":999999,\"result\":1}\n",
        "{}\n",   "42\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        put(lines[i], strlen(lines[i]));
}

static bool is_starting(void) {
    const char* until = zoo_text("start-until", NULL);
    return zoo_flag("stall") || now_ms() - born < zoo_number("start-ms", 0) ||
           (until && access(until, F_OK) != 0);
}

static void health(const char* id) {
    long age = (long)(now_ms() - born);
    char text[128];
    if (zoo_flag("stall"))
        snprintf(text, sizeof text, "{\"phase\":\"starting\",\"progress\":7,\"uptimeMs\":%ld}", age);
    else if (is_starting())
        snprintf(text, sizeof text, "{\"phase\":\"starting\",\"progress\":%ld,\"uptimeMs\":%ld}", age / 20,
                 age);
    else
        snprintf(text, sizeof text, "{\"phase\":\"ready\",\"ok\":true}");
    answer(id, text);
}

static void big(const char* id, long bytes) {
    char* text = malloc((size_t)bytes + 3);
    memset(text, 'x', (size_t)bytes + 2);
    text[0] = text[bytes + 1] = '"';
    text[bytes + 2] = 0;
    answer(id, text);
    free(text);
}

/* As many lists in each other as `levels` says; the id before the result, or behind it. */
static void deep(const char* id, long levels, int id_last) {
    const size_t n = (size_t)levels;
    char* text = malloc(2 * n + 1);
    memset(text, '[', n);
    memset(text + n, ']', n);
    text[2 * n] = 0;
    char* message = NULL;
    const int made = id_last ? asprintf(&message, "{\"jsonrpc\":\"2.0\",\"result\":%s,\"id\":%s}", text, id)
                             : asprintf(&message, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", id, text);
    if (made < 0)
        zoo_fail("no memory");
    say(message);
    free(message);
    free(text);
}

/* Asks the host for `what`; the answer belongs to the request `id`, or to nobody. */
static long ask(const char* what, const char* id) {
    char* message = NULL;
    long n = asked++ % 4096;
    ask_waiting[n] = id ? strdup(id) : NULL;
    if (asprintf(&message, "{\"jsonrpc\":\"2.0\",\"id\":\"srv-%ld\",\"method\":%s,\"params\":{\"n\":%ld}}", n,
                 what ? what : "\"host.echo\"", n) < 0)
        zoo_fail("no memory");
    say(message);
    free(message);
    return n;
}

static void mutter(long ms) {
    for (long long end = now_ms() + ms; now_ms() < end;) {
        say("{\"jsonrpc\":\"2.0\",\"method\":\"busy\"}");
        poll(NULL, 0, 20);
    }
}

static void note_cancelled(const char* method, const char* params) {
    char* more = NULL;
    if (asprintf(&more, "%s%s\"%s %s\"", cancelled ? cancelled : "", cancelled ? "," : "", method,
                 strpbrk(params, "0123456789") ? strpbrk(params, "0123456789") : "?") < 0)
        zoo_fail("no memory");
    for (char* brace = more; (brace = strchr(brace, '}')) != NULL;)
        memmove(brace, brace + 1, strlen(brace));
    free(cancelled);
    cancelled = more;
}

static void handle(const char* text);

/* While it waits for one answer it does nothing else: everything else comes after it. */
static bool is_put_off(const char* text) {
    char* more = NULL;
    char key[64];
    if (alone < 0)
        return false;
    snprintf(key, sizeof key, "\"id\":\"srv-%ld\"", alone);
    if (strstr(text, key) && !strstr(text, "\"method\":")) {
        alone = -1;
        return false;
    }
    if (asprintf(&more, "%s%s\n", put_off ? put_off : "", text) < 0)
        zoo_fail("no memory");
    free(put_off);
    put_off = more;
    return true;
}

static void handle_put_off(void) {
    char* lines = put_off;
    put_off = NULL;
    for (char* line = lines; line && *line;) {
        char* end = strchr(line, '\n');
        *end = 0;
        if (!is_put_off(line))
            handle(line);
        line = end + 1;
    }
    free(lines);
}

static void handle(const char* text) {
    char* id = member(text, "id");
    char* quoted = member(text, "method");
    char* params = member(text, "params");
    char method[128] = "";
    if (quoted && strlen(quoted) >= 2)
        snprintf(method, sizeof method, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    if (!quoted && id && strncmp(id, "\"srv-", 5) == 0) { /* the host answered what we asked */
        long n = atol(id + 5);
        char* result = member(text, "result");
        char* error = member(text, "error");
        if (n < 4096 && ask_waiting[n]) {
            char* said = NULL;
            if (asprintf(&said, "{\"%s\":%s}", result ? "answer" : "refused",
                         result  ? result
                         : error ? error
                                 : "null") < 0)
                zoo_fail("no memory");
            answer(ask_waiting[n], said);
            free(said);
            free(ask_waiting[n]);
            ask_waiting[n] = NULL;
        }
        free(result);
        free(error);
    } else if (id && strcmp(method, "echo") == 0) {
        answer(id, params ? params : "null");
    } else if (id && strcmp(method, "pid") == 0) {
        char pid[32];
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        answer(id, pid);
    } else if (id && strcmp(method, "starts") == 0) {
        char text_of[32];
        snprintf(text_of, sizeof text_of, "%ld", starts);
        answer(id, text_of);
    } else if (id && strcmp(method, "count") == 0) {
        char text_of[32];
        snprintf(text_of, sizeof text_of, "%ld", requests);
        answer(id, text_of);
    } else if (id && strcmp(method, "sleep") == 0) {
        later(id, "\"slept\"", number(text, "ms", 0));
    } else if (strcmp(method, "exit") == 0) {
        _exit((int)number(text, "code", 0));
    } else if (strcmp(method, "crash") == 0) {
        raise(SIGKILL);
    } else if (id && strcmp(method, "noise") == 0) {
        make_noise();
        answer(id, "\"after the noise\"");
    } else if (id && strcmp(method, "big") == 0) {
        big(id, number(text, "bytes", 1));
    } else if (id && strcmp(method, "deep") == 0) {
        deep(id, number(text, "levels", 1), number(text, "last", 0) != 0);
    } else if (strcmp(method, "hang") == 0) {
        for (;;)
            pause();
    } else if (id && strcmp(method, "close-input") == 0) {
        close(STDIN_FILENO);
        answer(id, "true");
    } else if (strcmp(method, "deaf") == 0) {
        if (id)
            answer(id, "true");
        for (;;)
            pause();
    } else if (id && strcmp(method, "ask") == 0) {
        char* what = member(text, "what");
        ask(what, id);
        free(what);
    } else if (id && strcmp(method, "ask-alone") == 0) {
        char* what = member(text, "what");
        alone = ask(what, id);
        free(what);
    } else if (id && strcmp(method, "mutter") == 0) {
        mutter(number(text, "ms", 0));
        answer(id, "\"done\"");
    } else if (strcmp(method, "$/cancelRequest") == 0 || strcmp(method, "notifications/cancelled") == 0) {
        note_cancelled(method, params ? params : "");
    } else if (id && strcmp(method, "cancelled") == 0) {
        char* said = NULL;
        if (asprintf(&said, "[%s]", cancelled ? cancelled : "") < 0)
            zoo_fail("no memory");
        answer(id, said);
        free(said);
    } else if (strcmp(method, "pester") == 0) {
        long count = number(text, "count", 1);
        for (long i = 0; i < count; ++i) {
            char message[128];
            snprintf(message, sizeof message,
                     "{\"jsonrpc\":\"2.0\",\"id\":\"pester-%ld\",\"method\":\"host.echo\"}", i);
            say(message);
        }
        for (;;)
            pause();
    } else if (id && strcmp(method, "notify") == 0) {
        char* what = member(text, "what");
        long count = number(text, "count", 1);
        for (long i = 0; i < count; ++i) {
            char* message = NULL;
            if (asprintf(&message, "{\"jsonrpc\":\"2.0\",\"method\":%s,\"params\":{\"i\":%ld}}",
                         what ? what : "\"note\"", i) < 0)
                zoo_fail("no memory");
            say(message);
            free(message);
        }
        free(what);
        answer(id, "true");
    } else if (id && strcmp(method, "health") == 0) {
        health(id);
    } else if (id && strcmp(method, "fail") == 0) {
        char* message = NULL;
        if (asprintf(&message,
                     "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-7,\"message\":\"as "
                     "asked\",\"data\":[1]}}",
                     id) < 0)
            zoo_fail("no memory");
        say(message);
        free(message);
    } else if (id) {
        char* message = NULL;
        if (asprintf(
                &message,
                "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"unknown method\"}}",
                id) < 0)
            zoo_fail("no memory");
        say(message);
        free(message);
    }
    ++requests;
    free(id);
    free(quoted);
    free(params);
}

static void tell_notify(const char* text) {
    const char* where = getenv("NOTIFY_SOCKET");
    if (!where || strlen(where) >= sizeof((struct sockaddr_un*)0)->sun_path)
        return;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path, where, strlen(where));
    if (to.sun_path[0] == '@')
        to.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr*)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(where)));
    close(fd);
}

/* Takes whole messages out of the buffer; returns how much is left. */
static size_t take_messages(char* buffer, size_t size) {
    size_t at = 0;
    for (;;) {
        if (framed) {
            char* end = memmem(buffer + at, size - at, "\r\n\r\n", 4);
            if (!end)
                break;
            char* header = memmem(buffer + at, (size_t)(end - buffer) - at, "Content-Length: ", 16);
            size_t length = header ? strtoul(header + 16, NULL, 10) : 0;
            size_t from = (size_t)(end - buffer) + 4;
            if (size - from < length)
                break;
            char* message = strndup(buffer + from, length);
            if (!is_put_off(message))
                handle(message);
            free(message);
            at = from + length;
        } else {
            char* end = memchr(buffer + at, '\n', size - at);
            if (!end)
                break;
            *end = 0;
            if (!is_put_off(buffer + at))
                handle(buffer + at);
            at = (size_t)(end - buffer) + 1;
        }
    }
    memmove(buffer, buffer + at, size - at);
    return size - at;
}

static void count_start(void) {
    const char* path = zoo_text("counter", NULL);
    if (!path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1)
        zoo_fail("cannot count my start");
    starts = (long)lseek(fd, 0, SEEK_END);
    close(fd);
}

/* The kernel's answer to "is there another one of us now": the lock goes with the process. */
static void note_overlap(void) {
    const char* path = zoo_text("exclusive", NULL);
    if (!path)
        return;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        zoo_fail("cannot open the exclusive file");
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return; /* kept until the end */
    char name[4096];
    snprintf(name, sizeof name, "%s.overlap", path);
    int note = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (note < 0 || write(note, "x", 1) != 1)
        zoo_fail("cannot note the overlap");
    close(note);
}

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    born = now_ms();
    note_overlap();
    framed = strcmp(zoo_text("framing", ""), "content-length") == 0;
    count_start();
    if (starts > 0 && starts <= zoo_number("die-first", 0))
        return 3;
    if (zoo_flag("daemon") && zoo_fork() == 0) {
        setsid();
        zoo_idle();
    }
    long die_after = zoo_number("die-after-ms", 0);
    bool notifies = zoo_flag("notify");
    bool said_ready = false;
    long said_progress = -1;

    if (zoo_flag("ask-at-start"))
        alone = ask("\"host.start\"", NULL);

    size_t room = 1 << 16;
    size_t size = 0;
    char* buffer = malloc(room);
    bool open_input = true;
    while (open_input || pending || zoo_flag("ignore-eof")) {
        long age = (long)(now_ms() - born);
        if (die_after && age >= die_after)
            return 4;
        if (notifies && !said_ready) {
            if (!is_starting()) {
                tell_notify("READY=1");
                said_ready = true;
            } else if (age / 50 != said_progress && !zoo_flag("stall")) {
                char text[64];
                said_progress = age / 50;
                snprintf(text, sizeof text, "HOLDFAST_PROGRESS=%ld/100", said_progress + 1);
                tell_notify(text);
            }
        }
        int wait = notifies && !said_ready ? 10 : die_after ? 5 : -1;
        if (pending) {
            long long left = pending->due - now_ms();
            int due = left < 0 ? 0 : (int)left;
            wait = wait < 0 || due < wait ? due : wait;
        }
        struct pollfd in = {.fd = open_input ? STDIN_FILENO : -1, .events = POLLIN};
        poll(&in, 1, wait);
        answer_due();
        if (!in.revents)
            continue;
        if (size == room)
            buffer = realloc(buffer, room *= 2);
        ssize_t n = read(STDIN_FILENO, buffer + size, room - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            open_input = false;
            continue;
        }
        size = take_messages(buffer, size + (size_t)n);
        if (alone < 0)
            handle_put_off();
        if (zoo_flag("close-output"))
            close(STDOUT_FILENO);
    }
    free(buffer);
    return 0;
}

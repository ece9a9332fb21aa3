/* A streaming server on 127.0.0.1 whose schedule is known to the microsecond, to measure clients with.
 *
 *   cc -O2 -o sse_server sse_server.c && ./sse_server TRUTH     prints its port, then serves until its input closes
 *
 * POST anything; the body's "model" says the schedule and its "user" names the stream:
 *   {"model": "n=250 us=13600 k=1 ttft=20000 stall=0", "user": "17", ...}
 *   n chunks, one each `us` microseconds after the last one was due, the first after `ttft`; each carries 1 to k tokens
 *   (k = 1: always one); with stall=N every Nth chunk, and all after it, come 5 intervals late.
 * Chunks look like vLLM's, with the tokens so far in "usage". When a stream ends, TRUTH gets one line:
 *   NAME then "stamp:tokens" for each chunk: CLOCK_MONOTONIC nanoseconds just before its write, and its tokens.
 *
 * One thread sleeps until 60 us before a chunk is due and spins from there: a sleep alone comes 50 to 100 us late.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define STREAMS 512
#define CHUNKS 20000
#define SPIN_NS 60000

typedef long long ns_t;

struct stream {
    int fd, on, stuck;           /* stuck: the client does not read, so a chunk waits half written */
    long sent, wanted, most, stall, tokens;
    ns_t due, interval;
    unsigned seed;
    char name[64], in[1 << 16], out[2048];
    long in_bytes, out_bytes;
    ns_t *stamps;
    unsigned char *carried;
} streams[STREAMS];

static FILE *truth;

static ns_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long asked(const char *text, const char *key, long otherwise) {
    const char *found = strstr(text, key);
    return found ? atol(found + strlen(key)) : otherwise;
}

static int flush_out(struct stream *s) { /* 1: all written, 0: the client does not read, -1: gone */
    while (s->out_bytes) {
        ssize_t wrote = write(s->fd, s->out, s->out_bytes);
        if (wrote < 0) return errno == EAGAIN ? 0 : -1;
        memmove(s->out, s->out + wrote, s->out_bytes - wrote);
        s->out_bytes -= wrote;
    }
    return 1;
}

static void hang_up(struct stream *s) {
    close(s->fd);
    s->fd = -1;
    s->on = 0;
}

static void tell_truth(struct stream *s) {
    fprintf(truth, "%s", s->name);
    for (long i = 0; i < s->sent; i++) fprintf(truth, " %lld:%d", s->stamps[i], s->carried[i]);
    fprintf(truth, "\n");
    fflush(truth);
}

static void begin(struct stream *s) {
    const char *body = strstr(s->in, "\r\n\r\n");
    long length = asked(s->in, "ontent-Length: ", asked(s->in, "ontent-length: ", 0));
    if (!body || s->in_bytes < body + 4 - s->in + length) return;
    body += 4;
    if (strncmp(s->in, "POST", 4)) { /* version, models, metrics: nothing to say */
        s->out_bytes = sprintf(s->out, "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}");
        flush_out(s);
        hang_up(s);
        return;
    }
    const char *user = strstr(body, "\"user\"");
    user = user ? strchr(user + 6, '"') : 0;
    snprintf(s->name, sizeof s->name, "%.*s", user ? (int)strcspn(user + 1, "\"") : 1, user ? user + 1 : "?");
    s->wanted = asked(body, "n=", 100);
    if (s->wanted > CHUNKS) s->wanted = CHUNKS;
    s->interval = asked(body, "us=", 1000) * 1000LL;
    s->most = asked(body, "k=", 1);
    s->stall = asked(body, "stall=", 0);
    s->due = now() + asked(body, "ttft=", 1000) * 1000LL;
    s->sent = s->tokens = s->in_bytes = 0;
    s->seed = 7;
    s->on = 1;
    s->out_bytes = sprintf(s->out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                                   "transfer-encoding: chunked\r\n\r\n");
    if (flush_out(s) < 0) hang_up(s);
}

static void send_chunk(struct stream *s) {
    char event[1024];
    if (s->sent == s->wanted) {
        s->out_bytes = sprintf(s->out, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
        s->on = 0;
        tell_truth(s);
        flush_out(s);
        return;
    }
    int count = s->most > 1 ? 1 + rand_r(&s->seed) % s->most : 1;
    s->tokens += count;
    int size = sprintf(event,
        "data: {\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"
        "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%.*s\"},\"logprobs\":null,\"finish_reason\":%s,"
        "\"token_ids\":null}],\"usage\":{\"prompt_tokens\":50,\"total_tokens\":%ld,\"completion_tokens\":%ld}}\n\n",
        count * 5, " tok1 tok2 tok3 tok4 tok5 tok6 tok7 tok8", s->sent + 1 == s->wanted ? "\"length\"" : "null",
        50 + s->tokens, s->tokens);
    s->carried[s->sent] = count;
    s->out_bytes = sprintf(s->out, "%x\r\n%.*s\r\n", size, size, event);
    s->stamps[s->sent++] = now();
    s->due += s->interval;
    if (s->stall && s->sent % s->stall == 0) s->due += 4 * s->interval;
    int done = flush_out(s);
    if (done < 0) hang_up(s);
    else if (!done) s->stuck = 1;
}

static void take_connection(int listener) {
    int one = 1, fd = accept4(listener, 0, 0, SOCK_NONBLOCK);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].fd < 0) {
            streams[i].fd = fd;
            streams[i].on = streams[i].stuck = 0;
            streams[i].in_bytes = streams[i].out_bytes = 0;
            return;
        }
    close(fd);
}

static void serve_socket(struct stream *s) {
    if (s->stuck) {
        int done = flush_out(s);
        if (done < 0) hang_up(s);
        else if (done) s->stuck = 0;
        return;
    }
    ssize_t got = read(s->fd, s->in + s->in_bytes, sizeof s->in - 1 - s->in_bytes);
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN) hang_up(s);
        return;
    }
    s->in_bytes += got;
    s->in[s->in_bytes] = 0;
    if (!s->on) begin(s);
}

static void serve_sockets(int listener, ns_t wait) {
    struct pollfd polled[STREAMS + 2];
    int owner[STREAMS + 2], count = 0;
    polled[count] = (struct pollfd){.fd = listener, .events = POLLIN};
    owner[count++] = -1;
    polled[count] = (struct pollfd){.fd = 0, .events = POLLIN};
    owner[count++] = -2;
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].fd >= 0) {
            polled[count] = (struct pollfd){.fd = streams[i].fd, .events = streams[i].stuck ? POLLOUT : POLLIN};
            owner[count++] = i;
        }
    struct timespec limit = {0, wait > 0 ? wait : 0};
    if (ppoll(polled, count, &limit, 0) <= 0) return;
    for (int j = 0; j < count; j++) {
        char byte;
        if (!polled[j].revents) continue;
        if (owner[j] == -1) take_connection(listener);
        else if (owner[j] >= 0) serve_socket(&streams[owner[j]]);
        else if (read(0, &byte, 1) <= 0) exit(0);
    }
}

int main(int count, char **words) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), turns = 0;
    if (count != 2 || !(truth = fopen(words[1], "w"))) return fprintf(stderr, "usage: sse_server TRUTH\n"), 2;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1000);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 512)) return perror("bind"), 1;
    getsockname(listener, (void *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (int i = 0; i < STREAMS; i++) {
        streams[i].fd = -1;
        streams[i].stamps = malloc(CHUNKS * sizeof(ns_t));
        streams[i].carried = malloc(CHUNKS);
    }
    for (;;) {
        ns_t at = now(), next = at + 200000000LL;
        for (int i = 0; i < STREAMS; i++)
            if (streams[i].on && !streams[i].stuck && streams[i].due < next) next = streams[i].due;
        if (next - at > SPIN_NS || ++turns > 50) {
            turns = 0;
            serve_sockets(listener, next - at - SPIN_NS);
        }
        for (int i = 0; i < STREAMS; i++)
            if (streams[i].on && !streams[i].stuck && now() >= streams[i].due) send_chunk(&streams[i]);
    }
}

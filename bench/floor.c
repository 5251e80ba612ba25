/* The floor: the kernel's cost of a request whose response is copied into the socket. It reads whatever arrives and writes
 * one response. It parses nothing, checks nothing and has no limits, so no other server can cost less, except by sending
 * long bodies without a copy, with sendfile(2). usage: bench-floor PORT BYTES */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SEND_BUFFER = 262144, BACKLOG = 4096, EVENTS = 256, READ_SIZE = 16384 };

struct connection {
    int fd;
    size_t sent; /* of the response; 0 between requests */
};

static char *answer;
static size_t answer_size;

static void make_answer(size_t body) {
    char head[256];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %zu\r\n"
                          "date: Sat, 21 Nov 2026 07:00:00 GMT\r\n\r\n", body);
    answer_size = length + body;
    answer = malloc(answer_size);
    memcpy(answer, head, length);
    memset(answer + length, 'x', body);
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1, send_buffer = SEND_BUFFER;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (void *)&address, sizeof address) || listen(fd, BACKLOG)) {
        perror("bench-floor: cannot listen");
        exit(1);
    }
    return fd;
}

static void watch(int epoll, int operation, struct connection *connection, int events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(epoll, operation, connection->fd, &event);
}

static void accept_all(int epoll, int listener) {
    int fd;
    while ((fd = accept4(listener, 0, 0, SOCK_NONBLOCK)) >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        connection->fd = fd;
        watch(epoll, EPOLL_CTL_ADD, connection, EPOLLIN);
    }
}

static void finish(struct connection *connection) {
    close(connection->fd);
    free(connection);
}

static void serve(int epoll, struct connection *connection) {
    static char request[READ_SIZE];
    int was_waiting = connection->sent != 0;
    if (!was_waiting && read(connection->fd, request, sizeof request) <= 0) {
        finish(connection);
        return;
    }
    while (connection->sent < answer_size) {
        ssize_t count = write(connection->fd, answer + connection->sent, answer_size - connection->sent);
        if (count >= 0) {
            connection->sent += count;
        } else if (errno == EAGAIN) {
            if (!was_waiting) watch(epoll, EPOLL_CTL_MOD, connection, EPOLLOUT);
            return;
        } else {
            finish(connection);
            return;
        }
    }
    connection->sent = 0;
    if (was_waiting) watch(epoll, EPOLL_CTL_MOD, connection, EPOLLIN);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: bench-floor PORT BYTES\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* a client may be gone before its response is written */
    make_answer(strtoul(argv[2], 0, 10));
    struct connection listener = {.fd = listen_on(atoi(argv[1]))};
    int epoll = epoll_create1(0);
    watch(epoll, EPOLL_CTL_ADD, &listener, EPOLLIN);
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == &listener) accept_all(epoll, listener.fd);
            else serve(epoll, events[i].data.ptr);
        }
    }
}

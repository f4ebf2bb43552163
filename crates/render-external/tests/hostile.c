/* A program that pretends to be kustomize and tries acts that a renderer must not be able to do. The file `act` of the directory to
 * build holds the id of the victim process and the acts to try, a word each. The program prints a line for each act: its name, and whether
 * and how it was denied. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <unistd.h>

extern char **environ;

/* The victim: the process that started the sandbox. */
static pid_t victim;

/* Prints the result of a call. */
static void tell(const char *what, long result) {
    if (result < 0)
        printf("%s: denied (%s)\n", what, strerrorname_np(errno));
    else
        printf("%s: done\n", what);
    fflush(stdout);
}

static void read_file(const char *what, const char *path) { tell(what, open(path, O_RDONLY)); }

static void write_files(void) {
    tell("write to a file", open("act", O_WRONLY));
    tell("empty a file", open("act", O_RDONLY | O_TRUNC));
    tell("make a file", open("new", O_WRONLY | O_CREAT, 0600));
    tell("make a nameless file", open(".", O_WRONLY | O_TMPFILE, 0600));
    tell("make a folder", mkdir("folder", 0700));
    tell("make a link", symlink("act", "link"));
    tell("remove a file", unlink("act"));
    tell("rename a file", rename("act", "other"));
    tell("open a file up", chmod("act", 0666));
    tell("write outside", open("../written", O_WRONLY | O_CREAT, 0600));
}

static void network(void) {
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    tell("tcp", socket(AF_INET, SOCK_STREAM, 0));
    tell("tcp over ipv6", socket(AF_INET6, SOCK_STREAM, 0));
    tell("udp", socket(AF_INET, SOCK_DGRAM, 0));
    tell("unix", socket(AF_UNIX, SOCK_STREAM, 0));
    tell("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    tell("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
    tell("connect", connect(1, (struct sockaddr *)&local, sizeof local));
    struct sockaddr_un nameless = {.sun_family = AF_UNIX, .sun_path = "\0setpoint"};
    tell("connect to an abstract socket", connect(1, (struct sockaddr *)&nameless, offsetof(struct sockaddr_un, sun_path) + 9));
    int two[2];
    tell("a pair of sockets", socketpair(AF_UNIX, SOCK_STREAM, 0, two));
}

static void processes(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    tell("fork", child);
    child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    tell("clone", child);
    child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    tell("clone into namespaces", child);
    tell("a file in memory", syscall(SYS_memfd_create, "x", 0));
    char *words[] = {"true", NULL}, *none[] = {NULL};
    tell("execute /bin/true", execve("/bin/true", words, none));
    tell("execute by descriptor", syscall(SYS_execveat, AT_FDCWD, "/bin/true", words, none, 0));
    /* The signal 0 is permitted or denied like any other: if the sandbox has a hole, this must not kill every process of the machine. */
    tell("signal the victim", kill(victim, 0));
    tell("signal everybody", kill(-1, 0));
    tell("signal a thread of the victim", syscall(SYS_tgkill, victim, victim, 0));
    tell("signal the victim by a descriptor", fcntl(1, F_SETOWN, victim));
    tell("choose the signal of a descriptor", fcntl(1, F_SETSIG, SIGTERM));
    struct rlimit limit = {0, 0};
    tell("limit the victim", prlimit(victim, RLIMIT_NOFILE, &limit, NULL));
    limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
    tell("raise a limit", prlimit(0, RLIMIT_DATA, &limit, NULL));
}

/* Allocates memory until it fails, and prints the total. */
static void memory(void) {
    const size_t step = 16u << 20;
    long taken = 0;
    tell("shared memory", mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    tell("a stack of memory", mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0) == MAP_FAILED ? -1 : 0);
    tell("a terabyte to read", mmap(NULL, 1ul << 40, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED ? -1 : 0);
    for (; taken < 4096; taken += 16) {
        char *more = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED) break;
        memset(more, 1, step);
    }
    printf("megabytes: %ld\n", taken);
    /* Reserved memory must not exceed the limit by becoming writable. */
    char *reserved = mmap(NULL, 64 * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tell("write to what was reserved", reserved == MAP_FAILED ? -1 : mprotect(reserved, 64 * step, PROT_READ | PROT_WRITE));
}

static void inheritance(void) {
    int open_ones = 0, variables = 0;
    for (int fd = 3; fd < 1024; fd++) open_ones += fcntl(fd, F_GETFD) >= 0;
    for (char **variable = environ; *variable; variable++) variables++;
    char byte;
    printf("descriptors: %d\nvariables: %d\nstandard input: %zd\n", open_ones, variables, read(0, &byte, 1));
    for (int n = 0; n < 2000; n++)
        if (open("act", O_RDONLY) < 0) {
            printf("files: %d\n", n);
            break;
        }
}

static void *idle(void *nothing) {
    for (;;) sleep(1000);
    return nothing;
}

static void threads(void) {
    pthread_attr_t small;
    pthread_t one;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (;;)
        if (pthread_create(&one, &small, idle, NULL) != 0) sched_yield();
}

static void flood(int where) {
    static char text[65536];
    memset(text, 'x', sizeof text);
    for (;;)
        if (write(where, text, sizeof text) < 0) _exit(3);
}

static void endless(void) {
    for (;;) __asm__ volatile("");
}

/* Makes calls by other numbers than the usual ones. */
static void other_numbers(void) {
#ifdef __x86_64__
    tell("a socket by its other number", syscall(0x40000000 + SYS_socket, AF_INET, SOCK_STREAM, 0));
#endif
}

static void older_machine(void) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
    printf("32-bit call: done\n");
#else
    raise(SIGSYS);
#endif
}

static void act(const char *what) {
    char other[64];
    if (!strcmp(what, "passwd")) read_file("read /etc/passwd", "/etc/passwd");
    else if (!strcmp(what, "folder")) tell("list /", open("/", O_RDONLY | O_DIRECTORY));
    else if (!strcmp(what, "parent")) tell("list the folder above", open("..", O_RDONLY | O_DIRECTORY)), read_file("read the folder above", "../secret");
    else if (!strcmp(what, "link")) read_file("follow a link out", "way-out");
    else if (!strcmp(what, "unreadable")) read_file("read what nobody may", "unreadable");
    else if (!strcmp(what, "proc"))
        snprintf(other, sizeof other, "/proc/%d/environ", victim), read_file("read the victim's environment", other),
            snprintf(other, sizeof other, "/proc/%d/mem", victim), read_file("read the victim's memory", other),
            read_file("read its own maps", "/proc/self/maps");
    else if (!strcmp(what, "device")) read_file("read a device", "/dev/zero");
    else if (!strcmp(what, "own")) read_file("read the tree", "act");
    else if (!strcmp(what, "write")) write_files();
    else if (!strcmp(what, "network")) network();
    else if (!strcmp(what, "processes")) processes();
    else if (!strcmp(what, "memory")) memory();
    else if (!strcmp(what, "inheritance")) inheritance();
    else if (!strcmp(what, "numbers")) other_numbers();
    else if (!strcmp(what, "older-machine")) older_machine();
    else if (!strcmp(what, "ptrace")) ptrace(PTRACE_ATTACH, victim, 0, 0);
    else if (!strcmp(what, "peek")) syscall(SYS_process_vm_readv, victim, 0, 0, 0, 0, 0);
    else if (!strcmp(what, "io-uring")) syscall(SYS_io_uring_setup, 8, NULL);
    else if (!strcmp(what, "unshare")) unshare(CLONE_NEWUSER);
    else if (!strcmp(what, "bpf")) syscall(SYS_bpf, 0, NULL, 0);
    else if (!strcmp(what, "threads")) threads();
    else if (!strcmp(what, "output")) flood(1);
    else if (!strcmp(what, "errors")) flood(2);
    else if (!strcmp(what, "endless")) endless();
    else if (!strcmp(what, "silent")) close(1), close(2), endless();
    else printf("%s: not known\n", what);
}

int main(int count, char **words) {
    char acts[4096] = {0}, path[4096];
    snprintf(path, sizeof path, "%s/act", words[count - 1]);
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, acts, sizeof acts - 1) <= 0) return 9;
    close(file);
    victim = atoi(strtok(acts, " "));
    for (char *what = strtok(NULL, " "); what; what = strtok(NULL, " ")) act(what);
    fflush(stdout);
    return 0;
}

/*
 * Stand-in for Espressif's compilers: calls the host's C compiler without the flags that only the real one knows.
 *
 * DROPPED, given when it is compiled, lists flags that the host's compiler refuses, with `|` between them; every flag that
 * starts with -m speaks of the chip and goes too. Response files (@FILE) are read, for such flags stand in them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **arguments;
static size_t count, room;

static void *checked(void *memory)
{
    if (!memory) {
        fprintf(stderr, "stand-in: out of memory\n");
        exit(1);
    }
    return memory;
}

static int dropped(const char *flag)
{
    static const char list[] = "|" DROPPED "|";
    size_t length = strlen(flag);
    const char *at;
    if (!strncmp(flag, "-m", 2)) {
        return 1;
    }
    for (at = list; (at = strstr(at, flag)); at++) {
        if (length > 0 && at[-1] == '|' && at[length] == '|') {
            return 1;
        }
    }
    return 0;
}

static void add(char *argument)
{
    if (count + 2 > room) {
        room = room ? 2 * room : 64;
        arguments = checked(realloc(arguments, room * sizeof *arguments));
    }
    arguments[count++] = argument;
    arguments[count] = NULL;
}

static char *read_file(const char *path)
{
    size_t size = 0, got, space = 1 << 16;
    char *text = checked(malloc(space));
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    while ((got = fread(text + size, 1, space - size - 1, file)) > 0) {
        size += got;
        if (size + 1 == space) {
            space *= 2;
            text = checked(realloc(text, space));
        }
    }
    fclose(file);
    text[size] = '\0';
    return text;
}

static void take(char *argument);

/* The words of a response file: blanks part them, quotes hold them together, a backslash keeps the next character. */
static void take_words(char *from)
{
    for (;;) {
        char *word, *to, quote = '\0';
        while (isspace((unsigned char)*from)) {
            from++;
        }
        if (!*from) {
            return;
        }
        word = to = checked(malloc(strlen(from) + 1));
        for (; *from && (quote || !isspace((unsigned char)*from)); from++) {
            if (*from == '\\' && from[1]) {
                *to++ = *++from;
            } else if (quote ? *from == quote : *from == '"' || *from == '\'') {
                quote = quote ? '\0' : *from;
            } else {
                *to++ = *from;
            }
        }
        *to = '\0';
        take(word);
    }
}

static void take(char *argument)
{
    if (argument[0] == '@') {
        take_words(read_file(argument + 1));
    } else if (!dropped(argument)) {
        add(argument);
    }
}

/* First line of the host compiler's own answer, behind our name: what a manifest may record. */
static int version(const char *name)
{
    char line[256];
    FILE *pipe = popen("cc --version", "r");
    if (!pipe || !fgets(line, sizeof line, pipe)) {
        fprintf(stderr, "stand-in: cc does not say its version\n");
        return 1;
    }
    line[strcspn(line, "\r\n")] = '\0';
    printf("%s (sample stand-in over %s)\n", name, line);
    while (fgets(line, sizeof line, pipe)) {
    }
    return pclose(pipe) != 0;
}

int main(int given, char **words)
{
    static char compiler[] = "cc";
    const char *slash = strrchr(words[0], '/');
    int i;
    if (given == 2 && !strcmp(words[1], "--version")) {
        return version(slash ? slash + 1 : words[0]);
    }
    add(compiler);
    for (i = 1; i < given; i++) {
        take(words[i]);
    }
    execvp(compiler, arguments);
    perror(compiler);
    return 127;
}

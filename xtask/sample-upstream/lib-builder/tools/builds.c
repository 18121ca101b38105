/*
 * builds: prints a builds.json as lines that the shell can read.
 *
 *   file <file> <src> <out> <target>...     one a file of memory variants
 *   target <target> <chip variant> <skip>   then, for this target:
 *   features <name>...
 *   idf_libs <name>...
 *   bootloader <name>...                    one a bootloader
 *   mem_variant <name>...                   one a memory variant
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { LITERAL, STRING, ARRAY, OBJECT };

struct value {
    enum kind kind;
    char *text;         /* of a literal (number, true, false, null) or a string */
    char *key;          /* where it stands in an object */
    struct value *item; /* first item of an array or object */
    struct value *next;
};

static const char *path, *at;
static int line = 1;

static void fail(const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, what);
    exit(1);
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        fail("out of memory");
    }
    return memory;
}

static void blank(void)
{
    for (; isspace((unsigned char)*at); at++) {
        line += *at == '\n';
    }
}

static int take(char wanted)
{
    blank();
    if (*at != wanted) {
        return 0;
    }
    at++;
    return 1;
}

static char *copy(const char *from, const char *to)
{
    char *text = allocate((size_t)(to - from) + 1);
    memcpy(text, from, (size_t)(to - from));
    return text;
}

static char *string(void)
{
    const char *from;
    if (!take('"')) {
        fail("a string was expected");
    }
    for (from = at; *at && *at != '"'; at++) {
        if (*at == '\\' || isspace((unsigned char)*at)) {
            fail("a name with a space or a backslash cannot be a word of the shell");
        }
    }
    if (!*at) {
        fail("a string does not end");
    }
    return copy(from, at++);
}

static struct value *value(void);

static void items(struct value *into, char close)
{
    struct value **last = &into->item;
    if (take(close)) {
        return;
    }
    do {
        char *key = NULL;
        if (into->kind == OBJECT) {
            key = string();
            if (!take(':')) {
                fail("a colon was expected");
            }
        }
        *last = value();
        (*last)->key = key;
        last = &(*last)->next;
    } while (take(','));
    if (!take(close)) {
        fail("a comma or a closing bracket was expected");
    }
}

static struct value *value(void)
{
    struct value *self = allocate(sizeof *self);
    blank();
    if (*at == '"') {
        self->kind = STRING;
        self->text = string();
    } else if (take('[')) {
        self->kind = ARRAY;
        items(self, ']');
    } else if (take('{')) {
        self->kind = OBJECT;
        items(self, '}');
    } else {
        const char *from = at;
        while (isalnum((unsigned char)*at) || strchr("+-.", *at ? *at : ' ')) {
            at++;
        }
        if (from == at) {
            fail("a value was expected");
        }
        self->text = copy(from, at);
    }
    return self;
}

static struct value *get(const struct value *object, const char *key, enum kind kind)
{
    struct value *item;
    for (item = object->item; item; item = item->next) {
        if (item->key && !strcmp(item->key, key)) {
            if (item->kind != kind) {
                fprintf(stderr, "%s: `%s` is of the wrong type\n", path, key);
                exit(1);
            }
            return item;
        }
    }
    return NULL;
}

static struct value *need(const struct value *object, const char *key, enum kind kind)
{
    struct value *item = get(object, key, kind);
    if (!item) {
        fprintf(stderr, "%s: `%s` is missing\n", path, key);
        exit(1);
    }
    return item;
}

static void words(const struct value *list)
{
    const struct value *item;
    for (item = list->item; item; item = item->next) {
        printf(" %s", item->text);
    }
    putchar('\n');
}

static void lists(const struct value *target, const char *key, const char *name)
{
    const struct value *item;
    for (item = need(target, key, ARRAY)->item; item; item = item->next) {
        printf("%s", name);
        words(item);
    }
}

static void print(const struct value *root)
{
    const struct value *item, *chip, *skip;
    for (item = need(root, "mem_variants_files", ARRAY)->item; item; item = item->next) {
        printf("file %s %s %s", need(item, "file", STRING)->text, need(item, "src", STRING)->text,
               need(item, "out", STRING)->text);
        words(need(item, "targets", ARRAY));
    }
    for (item = need(root, "targets", ARRAY)->item; item; item = item->next) {
        const char *target = need(item, "target", STRING)->text;
        chip = get(item, "chip_variant", STRING);
        skip = get(item, "skip", LITERAL);
        printf("target %s %s %s\n", target, chip ? chip->text : target, skip ? skip->text : "0");
        printf("features");
        words(need(item, "features", ARRAY));
        printf("idf_libs");
        words(need(item, "idf_libs", ARRAY));
        lists(item, "bootloaders", "bootloader");
        lists(item, "mem_variants", "mem_variant");
    }
}

int main(int count, char **arguments)
{
    static char text[1 << 16];
    size_t size;
    FILE *file;
    if (count != 2) {
        fprintf(stderr, "usage: builds FILE\n");
        return 2;
    }
    path = arguments[1];
    file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size = fread(text, 1, sizeof text - 1, file);
    if (!feof(file)) {
        fail("larger than 64 kB, or unreadable");
    }
    fclose(file);
    text[size] = '\0';
    at = text;
    print(value());
    blank();
    if (*at) {
        fail("something stands behind the end");
    }
    return 0;
}

/*
 * kconf: evaluates Kconfig files over layered defaults, and writes sdkconfig and sdkconfig.h.
 *
 *   kconf -k Kconfig... -d DEFAULTS... -r RENAME... -s SDKCONFIG -h HEADER
 *
 * It knows what this sample's Kconfig files use: config, choice, menu, if, source; bool, int, hex and string; prompt,
 * default, depends on, select, range, help; !, &&, ||, =, != and parentheses. $NAME is taken from the environment.
 * As with the real tool, a later file of defaults wins over an earlier one, a value whose dependencies are not met is
 * dropped without a word, and a name that no Kconfig file knows is a warning.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { UNKNOWN, BOOL, INT, HEX, TEXT };

struct symbol;

/* An expression: a symbol, a constant, or an operator ('!', '&', '|', '=', '#' for !=) on one or two of them. */
struct expr {
    char op; /* 's' symbol, 'c' constant, else the operator */
    struct symbol *symbol;
    char *text;
    struct expr *left, *right;
};

/* A default or a select: what, and under which condition. */
struct clause {
    struct expr *what, *when;
    struct clause *next;
};

struct choice {
    struct expr *depends;
    struct clause *defaults;
    struct symbol *first, *picked;
    int state; /* 0 not evaluated, 1 under way, 2 done */
    struct choice *next;
};

struct symbol {
    char *name;
    enum type type;
    int prompted, defined;
    struct expr *depends, *prompt_when;
    struct clause *defaults, *selects;
    char *low, *high;
    struct choice *choice;
    struct symbol *next_member;
    char *user;     /* value of the last file of defaults that names it */
    long user_turn; /* counts up over all assignments; decides inside a choice */
    int state, written;
    const char *value;
    struct symbol *next;
};

/* What stands in the menu, in order: symbols and the headings between them. */
struct entry {
    struct symbol *symbol;
    char *menu, *menu_end;
    struct expr *when;
    struct entry *next;
};

/* A menu, an if block or a choice that is open while a file is read. */
struct block {
    char kind; /* 'm', 'i', 'c' */
    struct expr *when;
    char *title;
    struct choice *choice;
    struct block *outer;
};

static struct symbol *symbols, **symbols_end = &symbols;
static struct choice *choices;
static struct entry *entries, **entries_end = &entries;
static struct block *open_block;
static const char *file_name;
static int line_number;

static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (line_number) {
        fprintf(stderr, "%s:%d: ", file_name, line_number);
    }
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        die("out of memory");
    }
    return memory;
}

static char *copy(const char *text, size_t length)
{
    char *result = allocate(length + 1);
    memcpy(result, text, length);
    return result;
}

static FILE *open_file(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static struct symbol *find(const char *name)
{
    struct symbol *symbol;
    for (symbol = symbols; symbol; symbol = symbol->next) {
        if (!strcmp(symbol->name, name)) {
            return symbol;
        }
    }
    return NULL;
}

static struct symbol *intern(const char *name, size_t length)
{
    char *text = copy(name, length);
    struct symbol *symbol = find(text);
    if (symbol) {
        free(text);
        return symbol;
    }
    symbol = allocate(sizeof *symbol);
    symbol->name = text;
    symbol->value = "";
    *symbols_end = symbol;
    symbols_end = &symbol->next;
    return symbol;
}

/* ---- reading: words and expressions ---- */

static int is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

static char *skip(char *at)
{
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    return at;
}

/* A text in double quotes, with \" and \\ for a quote and a backslash. */
static char *quoted(char **at)
{
    char *from = skip(*at), *result, *to;
    if (*from != '"') {
        die("a text in double quotes was expected, found `%s`", from);
    }
    result = to = allocate(strlen(from) + 1);
    for (from++; *from && *from != '"'; from++) {
        if (*from == '\\' && from[1]) {
            from++;
        }
        *to++ = *from;
    }
    if (*from != '"') {
        die("a text does not end");
    }
    *at = from + 1;
    return result;
}

/* `text` with each $NAME replaced by that variable of the environment. */
static char *expanded(const char *text)
{
    char *result = allocate(4096);
    size_t length = 0;
    while (*text) {
        const char *end = text + 1, *value = text;
        size_t taken = 1;
        if (*text == '$') {
            while (is_word(*end)) {
                end++;
            }
            value = getenv(copy(text + 1, (size_t)(end - text - 1)));
            if (!value) {
                die("`%s`: the variable is not set", text);
            }
            taken = strlen(value);
        }
        if (length + taken >= 4096) {
            die("the text is too long");
        }
        memcpy(result + length, value, taken);
        length += taken;
        text = end;
    }
    return result;
}

static struct expr *node(char op, struct expr *left, struct expr *right)
{
    struct expr *expr = allocate(sizeof *expr);
    expr->op = op;
    expr->left = left;
    expr->right = right;
    return expr;
}

static struct expr *both(struct expr *left, struct expr *right)
{
    return left && right ? node('&', left, right) : left ? left : right;
}

static struct expr *parse_or(char **at);

static struct expr *parse_atom(char **at)
{
    struct expr *expr;
    char *from;
    *at = skip(*at);
    if (**at == '!') {
        (*at)++;
        return node('!', parse_atom(at), NULL);
    }
    if (**at == '(') {
        (*at)++;
        expr = parse_or(at);
        *at = skip(*at);
        if (**at != ')') {
            die("a closing parenthesis was expected");
        }
        (*at)++;
        return expr;
    }
    expr = node('c', NULL, NULL);
    if (**at == '"') {
        expr->text = expanded(quoted(at));
        return expr;
    }
    for (from = *at; is_word(**at); (*at)++) {
    }
    if (from == *at) {
        die("an expression was expected, found `%s`", from);
    }
    if (isupper((unsigned char)*from)) {
        expr->op = 's';
        expr->symbol = intern(from, (size_t)(*at - from));
    } else {
        expr->text = copy(from, (size_t)(*at - from));
    }
    return expr;
}

static struct expr *parse_compare(char **at)
{
    struct expr *left = parse_atom(at);
    *at = skip(*at);
    if (!strncmp(*at, "!=", 2)) {
        *at += 2;
        return node('#', left, parse_atom(at));
    }
    if (**at == '=') {
        (*at)++;
        return node('=', left, parse_atom(at));
    }
    return left;
}

static struct expr *parse_and(char **at)
{
    struct expr *left = parse_compare(at);
    while (*at = skip(*at), !strncmp(*at, "&&", 2)) {
        *at += 2;
        left = node('&', left, parse_compare(at));
    }
    return left;
}

static struct expr *parse_or(char **at)
{
    struct expr *left = parse_and(at);
    while (*at = skip(*at), !strncmp(*at, "||", 2)) {
        *at += 2;
        left = node('|', left, parse_and(at));
    }
    return left;
}

static void end_of_line(char *at)
{
    at = skip(at);
    if (*at && *at != '#') {
        die("`%s` was not expected here", at);
    }
}

/* The word `word` at the start of *at; *at then stands behind it. */
static int keyword(char **at, const char *word)
{
    size_t length = strlen(word);
    char *from = skip(*at);
    if (strncmp(from, word, length) || is_word(from[length])) {
        return 0;
    }
    *at = skip(from + length);
    return 1;
}

static struct expr *condition(char *at)
{
    struct expr *expr = NULL;
    if (keyword(&at, "if")) {
        expr = parse_or(&at);
    }
    end_of_line(at);
    return expr;
}

static void append(struct clause **list, struct expr *what, struct expr *when)
{
    struct clause *clause = allocate(sizeof *clause);
    clause->what = what;
    clause->when = when;
    while (*list) {
        list = &(*list)->next;
    }
    *list = clause;
}

/* ---- reading: Kconfig files ---- */

static void enter(char kind, struct expr *when, char *title)
{
    struct block *block = allocate(sizeof *block);
    block->kind = kind;
    block->when = when;
    block->title = title;
    block->outer = open_block;
    open_block = block;
}

static void leave(char kind)
{
    if (!open_block || open_block->kind != kind) {
        die("this ends a block that is not open");
    }
    open_block = open_block->outer;
}

static struct expr *outer_condition(void)
{
    struct expr *when = NULL;
    struct block *block;
    for (block = open_block; block; block = block->outer) {
        when = both(block->kind == 'c' ? block->choice->depends : block->when, when);
    }
    return when;
}

static struct choice *open_choice(void)
{
    return open_block && open_block->kind == 'c' ? open_block->choice : NULL;
}

static struct entry *add_entry(void)
{
    struct entry *entry = allocate(sizeof *entry);
    *entries_end = entry;
    entries_end = &entry->next;
    return entry;
}

static struct symbol *start_config(char *at)
{
    char *from = at;
    struct symbol *symbol, **member;
    while (is_word(*at)) {
        at++;
    }
    symbol = intern(from, (size_t)(at - from));
    end_of_line(at);
    if (symbol->defined) {
        die("%s is defined twice", symbol->name);
    }
    symbol->defined = 1;
    symbol->depends = outer_condition();
    symbol->choice = open_choice();
    if (symbol->choice) {
        for (member = &symbol->choice->first; *member; member = &(*member)->next_member) {
        }
        *member = symbol;
    }
    add_entry()->symbol = symbol;
    return symbol;
}

static void start_choice(void)
{
    struct choice *choice = allocate(sizeof *choice);
    struct expr *outer = outer_condition();
    choice->depends = outer;
    choice->next = choices;
    choices = choice;
    enter('c', NULL, NULL);
    open_block->choice = choice;
}

static void start_menu(char *at)
{
    struct entry *entry;
    enter('m', NULL, quoted(&at));
    end_of_line(at);
    entry = add_entry();
    entry->menu = open_block->title;
}

static void end_menu(void)
{
    struct entry *entry = add_entry();
    entry->menu_end = open_block ? open_block->title : NULL;
    leave('m');
}

static int set_type(struct symbol *symbol, char *at)
{
    static const struct { const char *word; enum type type; } types[] = {
        { "bool", BOOL }, { "int", INT }, { "hex", HEX }, { "string", TEXT },
    };
    size_t i;
    for (i = 0; i < sizeof types / sizeof *types; i++) {
        if (keyword(&at, types[i].word)) {
            symbol->type = types[i].type;
            if (*at == '"') {
                free(quoted(&at));
                symbol->prompted = 1;
                symbol->prompt_when = condition(at);
            } else {
                end_of_line(at);
            }
            return 1;
        }
    }
    return 0;
}

static char *number(char **at)
{
    char *from = *at = skip(*at);
    while (is_word(**at)) {
        (*at)++;
    }
    return copy(from, (size_t)(*at - from));
}

/* An option of a config, a choice or a menu; 0 where the line is none. */
static int option(struct symbol *symbol, char *at)
{
    struct choice *choice = symbol ? NULL : open_choice();
    if (keyword(&at, "depends")) {
        struct expr *when;
        if (!keyword(&at, "on")) {
            die("`depends` goes on with `on`");
        }
        when = parse_or(&at);
        end_of_line(at);
        if (symbol) {
            symbol->depends = both(symbol->depends, when);
        } else if (choice) {
            choice->depends = both(choice->depends, when);
        } else if (open_block) {
            open_block->when = both(open_block->when, when);
        } else {
            die("`depends on` belongs to nothing");
        }
        return 1;
    }
    if (!symbol && !choice) {
        return 0;
    }
    if (keyword(&at, "default")) {
        struct expr *what = parse_or(&at);
        append(symbol ? &symbol->defaults : &choice->defaults, what, condition(at));
        return 1;
    }
    if (keyword(&at, "prompt")) {
        free(quoted(&at));
        if (symbol) {
            symbol->prompted = 1;
            symbol->prompt_when = condition(at);
        }
        return 1;
    }
    if (!symbol) {
        return 0;
    }
    if (keyword(&at, "select")) {
        struct expr *what = parse_atom(&at);
        append(&symbol->selects, what, condition(at));
        return 1;
    }
    if (keyword(&at, "range")) {
        symbol->low = number(&at);
        symbol->high = number(&at);
        end_of_line(at);
        return 1;
    }
    return set_type(symbol, at);
}

static void read_kconfig(const char *path);

static void source(char *at)
{
    char *path = expanded(quoted(&at));
    end_of_line(at);
    read_kconfig(path);
}

static size_t indent(const char *line)
{
    return strspn(line, " \t");
}

/* Reads one line into `line`, without its end; 0 at the end of the file. */
static int next_line(FILE *file, char *line, size_t size)
{
    size_t length;
    if (!fgets(line, (int)size, file)) {
        return 0;
    }
    line_number++;
    length = strlen(line);
    if (length + 1 == size && line[length - 1] != '\n') {
        die("the line is too long");
    }
    while (length && isspace((unsigned char)line[length - 1])) {
        line[--length] = '\0';
    }
    return 1;
}

static void read_kconfig(const char *path)
{
    const char *outer_name = file_name;
    int outer_line = line_number, in_help = 0;
    size_t help_indent = 0;
    struct block *outer = open_block;
    struct symbol *symbol = NULL;
    char line[1024];
    FILE *file = open_file(path, "r");
    file_name = path;
    line_number = 0;
    while (next_line(file, line, sizeof line)) {
        char *at = skip(line);
        if (in_help && (!*at || indent(line) > help_indent)) {
            continue;
        }
        in_help = 0;
        if (!*at || *at == '#') {
            continue;
        }
        if (keyword(&at, "help")) {
            in_help = 1;
            help_indent = indent(line);
        } else if (keyword(&at, "config")) {
            symbol = start_config(at);
        } else if (option(symbol, at)) {
            continue;
        } else {
            symbol = NULL;
            if (keyword(&at, "choice")) {
                start_choice();
            } else if (keyword(&at, "endchoice")) {
                leave('c');
            } else if (keyword(&at, "menu")) {
                start_menu(at);
            } else if (keyword(&at, "endmenu")) {
                end_menu();
            } else if (keyword(&at, "if")) {
                enter('i', parse_or(&at), NULL);
            } else if (keyword(&at, "endif")) {
                leave('i');
            } else if (keyword(&at, "source")) {
                source(at);
            } else {
                die("`%s` is not understood", at);
            }
        }
    }
    fclose(file);
    if (open_block != outer) {
        die("a menu, choice or if is not ended");
    }
    file_name = outer_name;
    line_number = outer_line;
}

/* ---- reading: defaults ---- */

static long turn;

static int fits(const struct symbol *symbol, const char *value)
{
    char *end;
    long number;
    if (symbol->type == BOOL) {
        return !strcmp(value, "y") || !strcmp(value, "n");
    }
    if (symbol->type == TEXT) {
        return 1;
    }
    number = strtol(value, &end, symbol->type == HEX ? 16 : 10);
    if (!*value || *end) {
        return 0;
    }
    return !symbol->low || (number >= strtol(symbol->low, NULL, 0) && number <= strtol(symbol->high, NULL, 0));
}

static void assign(const char *name, char *value)
{
    struct symbol *symbol = find(name);
    if (!symbol || !symbol->defined) {
        fprintf(stderr, "%s:%d: warning: unknown kconfig symbol '%s' assigned to '%s'\n", file_name, line_number, name,
                value);
        return;
    }
    if (*value == '"') {
        value = quoted(&value);
    }
    if (!fits(symbol, value)) {
        fprintf(stderr, "%s:%d: warning: '%s' is not a value of %s\n", file_name, line_number, value, name);
        return;
    }
    symbol->user = copy(value, strlen(value));
    symbol->user_turn = ++turn;
}

static void read_defaults(const char *path)
{
    static const char unset[] = " is not set";
    char line[1024];
    FILE *file = open_file(path, "r");
    file_name = path;
    line_number = 0;
    while (next_line(file, line, sizeof line)) {
        size_t length = strlen(line);
        char *equals;
        if (!strncmp(line, "# CONFIG_", 9) && length > 9 + sizeof unset - 1 &&
            !strcmp(line + length - (sizeof unset - 1), unset)) {
            line[length - (sizeof unset - 1)] = '\0';
            assign(line + 9, "n");
        } else if (!strncmp(line, "CONFIG_", 7) && (equals = strchr(line, '='))) {
            *equals = '\0';
            assign(line + 7, equals + 1);
        } else if (*line && *line != '#') {
            fprintf(stderr, "%s:%d: warning: ignoring malformed line '%s'\n", path, line_number, line);
        }
    }
    fclose(file);
    line_number = 0;
}

/* ---- evaluating ---- */

static const char *value_of(struct symbol *symbol);

static const char *text_of(const struct expr *expr)
{
    return expr->op == 's' ? value_of(expr->symbol) : expr->op == 'c' ? expr->text : "";
}

static int holds(const struct expr *expr)
{
    if (!expr) {
        return 1;
    }
    switch (expr->op) {
        case '!': return !holds(expr->left);
        case '&': return holds(expr->left) && holds(expr->right);
        case '|': return holds(expr->left) || holds(expr->right);
        case '=': return !strcmp(text_of(expr->left), text_of(expr->right));
        case '#': return strcmp(text_of(expr->left), text_of(expr->right)) != 0;
        default: return !strcmp(text_of(expr), "y");
    }
}

static int visible(struct symbol *symbol)
{
    return symbol->prompted && holds(symbol->depends) && holds(symbol->prompt_when);
}

static int selected(const struct symbol *symbol)
{
    struct symbol *other;
    struct clause *clause;
    for (other = symbols; other; other = other->next) {
        for (clause = other->selects; clause; clause = clause->next) {
            if (clause->what->symbol == symbol && !strcmp(value_of(other), "y") && holds(clause->when)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Member that the defaults files chose last, else the choice's own default, else the first one. */
static struct symbol *pick(struct choice *choice)
{
    struct symbol *member, *best = NULL;
    struct clause *clause;
    for (member = choice->first; member; member = member->next_member) {
        if (member->user && !strcmp(member->user, "y") && visible(member) &&
            (!best || member->user_turn > best->user_turn)) {
            best = member;
        }
    }
    for (clause = choice->defaults; clause && !best; clause = clause->next) {
        if (clause->what->symbol && holds(clause->when) && visible(clause->what->symbol)) {
            best = clause->what->symbol;
        }
    }
    for (member = choice->first; member && !best; member = member->next_member) {
        if (visible(member)) {
            best = member;
        }
    }
    return best;
}

static const char *default_of(struct symbol *symbol)
{
    struct clause *clause;
    for (clause = symbol->defaults; clause; clause = clause->next) {
        if (holds(clause->when)) {
            symbol->written = 1;
            return symbol->type == BOOL ? (holds(clause->what) ? "y" : "n") : text_of(clause->what);
        }
    }
    return symbol->type == BOOL ? "n" : "";
}

static void evaluate(struct symbol *symbol)
{
    if (symbol->type == BOOL && selected(symbol)) {
        symbol->value = "y";
        symbol->written = 1;
    } else if (!holds(symbol->depends)) {
        symbol->value = symbol->type == BOOL ? "n" : "";
    } else if (symbol->choice) {
        struct choice *choice = symbol->choice;
        if (choice->state == 0) {
            choice->state = 1;
            choice->picked = pick(choice);
            choice->state = 2;
        } else if (choice->state == 1) {
            die("the choice around %s depends on itself", symbol->name);
        }
        symbol->value = choice->picked == symbol ? "y" : "n";
        symbol->written = visible(symbol);
    } else if (visible(symbol)) {
        symbol->value = symbol->user ? symbol->user : default_of(symbol);
        symbol->written = 1;
    } else {
        symbol->value = default_of(symbol);
    }
}

static const char *value_of(struct symbol *symbol)
{
    if (symbol->state == 1) {
        die("%s depends on itself", symbol->name);
    }
    if (symbol->state == 0) {
        symbol->state = 1;
        evaluate(symbol);
        symbol->state = 2;
    }
    return symbol->value;
}

/* ---- writing ---- */

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', file);
        }
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_symbol(FILE *sdkconfig, FILE *header, const struct symbol *symbol)
{
    if (symbol->type == BOOL && !strcmp(symbol->value, "n")) {
        fprintf(sdkconfig, "# CONFIG_%s is not set\n", symbol->name);
        return;
    }
    fprintf(sdkconfig, "CONFIG_%s=", symbol->name);
    fprintf(header, "#define CONFIG_%s ", symbol->name);
    if (symbol->type == TEXT) {
        write_text(sdkconfig, symbol->value);
        write_text(header, symbol->value);
    } else {
        fputs(symbol->value, sdkconfig);
        fputs(symbol->type == BOOL ? "1" : symbol->value, header);
    }
    fputc('\n', sdkconfig);
    fputc('\n', header);
}

/* Old names that still work: `CONFIG_OLD CONFIG_NEW` a line. */
static void write_renames(FILE *header, const char *path)
{
    char line[1024];
    FILE *file = open_file(path, "r");
    while (next_line(file, line, sizeof line)) {
        char old[512], current[512];
        struct symbol *symbol;
        if (*line == '#' || sscanf(line, "CONFIG_%511s CONFIG_%511s", old, current) != 2) {
            continue;
        }
        symbol = find(current);
        if (symbol && symbol->written && strcmp(symbol->value, "n")) {
            fprintf(header, "#define CONFIG_%s CONFIG_%s\n", old, current);
        }
    }
    fclose(file);
}

static void close_file(FILE *file, const char *path)
{
    if (ferror(file) | fclose(file)) {
        perror(path);
        exit(1);
    }
}

static void write_files(const char *sdkconfig_path, const char *header_path, char **renames, int rename_count)
{
    const char *version = getenv("IDF_VERSION");
    FILE *sdkconfig = open_file(sdkconfig_path, "w"), *header = open_file(header_path, "w");
    struct entry *entry;
    int i;
    version = version ? version : "";
    fprintf(sdkconfig, "#\n# Automatically generated file. DO NOT EDIT.\n");
    fprintf(sdkconfig, "# Espressif IoT Development Framework (ESP-IDF) %s Project Configuration\n#\n", version);
    fprintf(header, "/*\n * Automatically generated file. DO NOT EDIT.\n");
    fprintf(header, " * Espressif IoT Development Framework (ESP-IDF) %s Configuration Header\n */\n#pragma once\n",
            version);
    for (entry = entries; entry; entry = entry->next) {
        if (entry->menu) {
            fprintf(sdkconfig, "\n#\n# %s\n#\n", entry->menu);
        } else if (entry->menu_end) {
            fprintf(sdkconfig, "# end of %s\n", entry->menu_end);
        } else if (value_of(entry->symbol), entry->symbol->written) {
            write_symbol(sdkconfig, header, entry->symbol);
        }
    }
    fprintf(header, "\n/* List of deprecated options */\n");
    for (i = 0; i < rename_count; i++) {
        write_renames(header, renames[i]);
    }
    close_file(sdkconfig, sdkconfig_path);
    close_file(header, header_path);
}

static void check_symbols(void)
{
    struct symbol *symbol;
    line_number = 0;
    for (symbol = symbols; symbol; symbol = symbol->next) {
        if (symbol->defined && symbol->type == UNKNOWN) {
            die("%s has no type", symbol->name);
        }
    }
}

int main(int count, char **arguments)
{
    const char *sdkconfig = NULL, *header = NULL;
    char mode = 0, **renames = allocate(sizeof *renames * (size_t)count);
    int i, rename_count = 0, checked = 0;
    for (i = 1; i < count; i++) {
        char *argument = arguments[i];
        if (argument[0] == '-' && strchr("kdrsh", argument[1]) && !argument[2]) {
            mode = argument[1];
            continue;
        }
        if (mode != 'k' && !checked) {
            check_symbols();
            checked = 1;
        }
        switch (mode) {
            case 'k': read_kconfig(argument); break;
            case 'd': read_defaults(argument); break;
            case 'r': renames[rename_count++] = argument; break;
            case 's': sdkconfig = argument; break;
            case 'h': header = argument; break;
            default: break;
        }
    }
    if (!sdkconfig || !header) {
        fprintf(stderr, "usage: kconf -k KCONFIG... -d DEFAULTS... -r RENAME... -s SDKCONFIG -h HEADER\n");
        return 2;
    }
    write_files(sdkconfig, header, renames, rename_count);
    return 0;
}

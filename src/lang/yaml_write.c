#include "lang/yaml_write.h"

#include <string.h>

#include "base/utf8.h"

#define SIMPLE_KEY_SIZE_MAX 128u        /* readers give up on longer ones (1024 characters, escapes counted) */

/* --- scalars ----------------------------------------------------------------------------------------------------- */

/* Characters that may stand in a YAML text as they are and do not end a line. */
static bool is_printable(uint32_t point)
{
    if (point < 0xa0) return point >= 0x20 && point < 0x7f;
    if (point == 0x2028 || point == 0x2029 || point == 0xfeff) return false;
    return point < 0xfffe || point >= 0x10000;
}

/* Words that some reader takes for something other than a text: YAML 1.1 knows more of them than 1.2. */
static bool is_reserved(Str text)
{
    static const char *const words[] = { "null", "true", "false", "yes", "no", "on", "off", "y", "n", NULL };
    for (const char *const *word = words; *word; word++) {
        size_t i = 0;
        while (i < text.len && (*word)[i] && ascii_to_lower(text.ptr[i]) == (*word)[i]) i++;
        if (i == text.len && !(*word)[i]) return true;
    }
    return false;
}

/* Stricter than YAML asks for: what is left in quotes needlessly harms nobody. */
static bool is_plain(Str text)
{
    if (text.len == 0 || is_reserved(text) || text.ptr[text.len - 1] == ' ') return false;
    char first = text.ptr[0];
    bool is_path = first == '/' || str_starts(text, STR("./")) || str_starts(text, STR("../"));
    if (!ascii_is_alpha(first) && first != '_' && !is_path && (unsigned char)first < 0x80) return false;
    for (size_t at = 0; at < text.len;) {
        uint32_t point;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0 || !is_printable(point)) return false;
        char c = text.ptr[at];
        if (size == 1 && !ascii_is_alnum(c) && !strchr(" _-./@,()+", c)) return false;
        at += size;
    }
    return true;
}

static void write_escaped(Buf *out, uint32_t point)
{
    static const struct { uint32_t point; const char *escape; } short_ones[] = {
        { '"', "\\\"" }, { '\\', "\\\\" }, { '\n', "\\n" }, { '\t', "\\t" }, { '\r', "\\r" },
    };
    for (size_t i = 0; i < sizeof short_ones / sizeof *short_ones; i++) {
        if (short_ones[i].point != point) continue;
        buf_text(out, short_ones[i].escape);
        return;
    }
    if (point < 0x100) buf_format(out, "\\x%02X", point);
    else buf_format(out, "\\u%04X", point);         /* nothing above U+FFFF needs an escape */
}

static void write_quoted(Buf *out, Str text)
{
    buf_char(out, '"');
    for (size_t at = 0; at < text.len;) {
        uint32_t point;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0) {                            /* a file's name may hold any byte */
            buf_text(out, "\\uFFFD");
            size = 1;
        } else if (point == '"' || point == '\\' || !is_printable(point)) {
            write_escaped(out, point);
        } else {
            buf_str(out, str_slice(text, at, at + size));
        }
        at += size;
    }
    buf_char(out, '"');
}

void yaml_write_text(Buf *out, Str text)
{
    if (is_plain(text)) buf_str(out, text);
    else write_quoted(out, text);
}

/* A text of several lines is a literal block, unless something in it would be lost or cannot be seen there. */
static bool is_block(Str text)
{
    if (str_find(text, '\n', 0) == text.len || text.ptr[0] == ' ' || text.ptr[0] == '\n' || str_ends(text, STR("\n\n")))
        return false;
    for (size_t at = 0; at < text.len;) {
        uint32_t point;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0 || (point != '\n' && !is_printable(point))) return false;
        bool ends_line = at + size == text.len || text.ptr[at + size] == '\n';
        if (point == ' ' && ends_line) return false;
        at += size;
    }
    return true;
}

static void write_block(Buf *out, unsigned indent, Str text)
{
    bool ends_line = text.ptr[text.len - 1] == '\n';
    buf_text(out, ends_line ? "|\n" : "|-\n");
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, '\n', at);
        if (end > at) buf_repeat(out, ' ', indent);
        buf_str(out, str_slice(text, at, end));
        buf_char(out, '\n');
        at = end + 1;
    }
}

static void write_scalar(Buf *out, unsigned indent, const Node *node)
{
    Str text = node_text(node);
    if (node->kind == NODE_TEXT && is_block(text)) {
        write_block(out, indent, text);
        return;
    }
    if (node->kind == NODE_NULL) buf_text(out, "null");
    else if (node->kind == NODE_BOOL) buf_text(out, node->truth ? "true" : "false");
    else if (node->kind == NODE_NUMBER) buf_str(out, text);
    else yaml_write_text(out, text);
    buf_char(out, '\n');
}

/* --- containers -------------------------------------------------------------------------------------------------- */

static void write_node(Buf *out, unsigned indent, const Node *node, bool is_under_way);

static void write_key(Buf *out, Str key)
{
    bool is_long = key.len > SIMPLE_KEY_SIZE_MAX;
    if (is_long) buf_text(out, "? ");
    yaml_write_text(out, key);
    if (is_long) buf_char(out, '\n');
}

static void write_pair(Buf *out, unsigned indent, Str key, const Node *value)
{
    bool is_filled = !node_is_scalar(value) && value->count > 0;
    write_key(out, key);
    if (key.len > SIMPLE_KEY_SIZE_MAX) buf_repeat(out, ' ', indent);
    buf_text(out, is_filled ? ":\n" : ": ");
    write_node(out, indent + YAML_INDENT, value, false);
}

static void write_map(Buf *out, unsigned indent, const Node *map, bool is_under_way)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (i || !is_under_way) buf_repeat(out, ' ', indent);
        write_pair(out, indent, node_text(node_key(map, i)), node_value(map, i));
    }
}

static void write_list(Buf *out, unsigned indent, const Node *list, bool is_under_way)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (i || !is_under_way) buf_repeat(out, ' ', indent);
        buf_text(out, "- ");
        write_node(out, indent + YAML_INDENT, &list->items[i], true);
    }
}

/* `is_under_way`: the first line has its indentation already. */
static void write_node(Buf *out, unsigned indent, const Node *node, bool is_under_way)
{
    if (buf_overflowed(out)) return;            /* aliases can make a small file a large one */
    if (node_is_scalar(node)) write_scalar(out, indent, node);
    else if (node->count == 0) buf_text(out, node->kind == NODE_MAP ? "{}\n" : "[]\n");
    else if (node->kind == NODE_MAP) write_map(out, indent, node, is_under_way);
    else write_list(out, indent, node, is_under_way);
}

void yaml_write_pair(Buf *out, unsigned indent, Str key, const Node *value)
{
    buf_repeat(out, ' ', indent);
    write_pair(out, indent, key, value);
}

void yaml_write_text_pair(Buf *out, unsigned indent, const char *key, Str text)
{
    Node node = { .kind = NODE_TEXT, .count = (uint32_t)text.len, .text = text.ptr };
    yaml_write_pair(out, indent, str_of(key), &node);
}

void yaml_write_key(Buf *out, unsigned indent, Str key)
{
    buf_repeat(out, ' ', indent);
    write_key(out, key);
    if (key.len > SIMPLE_KEY_SIZE_MAX) buf_repeat(out, ' ', indent);
    buf_text(out, ":\n");
}

/* --- comments ---------------------------------------------------------------------------------------------------- */

/* What is not printable would end the comment or be refused by the reader. */
static void write_clean(Buf *out, Str text)
{
    for (size_t at = 0; at < text.len;) {
        uint32_t point;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        bool is_fine = size && is_printable(point);
        if (size == 0) size = 1;
        if (is_fine) buf_str(out, str_slice(text, at, at + size));
        else buf_char(out, ' ');
        at += size;
    }
}

void yaml_write_comment(Buf *out, unsigned indent, Str text)
{
    size_t width = 0;
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, ' ', at);
        Str word = str_slice(text, at, end);
        size_t word_width = utf8_width(word);
        if (width && width + 1 + word_width > YAML_COMMENT_WIDTH) {
            buf_char(out, '\n');
            width = 0;
        }
        if (width == 0) {
            buf_repeat(out, ' ', indent);
            buf_text(out, "# ");
            width = indent + 2;
        } else {
            buf_char(out, ' ');
            width++;
        }
        write_clean(out, word);
        width += word_width;
        at = end + 1;
    }
    buf_char(out, '\n');
}

void yaml_write_commented(Buf *out, unsigned indent, Str yaml)
{
    for (size_t at = 0; at < yaml.len;) {
        size_t end = str_find(yaml, '\n', at);
        buf_repeat(out, ' ', indent);
        buf_text(out, end > at ? "# " : "#");
        buf_str(out, str_slice(yaml, at, end));
        buf_char(out, '\n');
        at = end + 1;
    }
}

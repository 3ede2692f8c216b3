#include "rego/format_lines.h"

void format_lines_init(FormatLines *lines, Arena *scratch, const RegoModule *module, Buf *out)
{
    Str text = module->text;
    *lines = (FormatLines){ .out = out, .module = module, .row_count = 1 };
    for (size_t i = 0; i < text.len; i++) lines->row_count += text.ptr[i] == '\n';
    lines->starts = ARENA_ARRAY(scratch, uint32_t, lines->row_count);
    uint32_t row = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\n') lines->starts[++row] = (uint32_t)i + 1;
}

/* --- the source --------------------------------------------------------------------------------------------------- */

uint32_t format_row(const FormatLines *lines, uint32_t offset)
{
    uint32_t low = 0, high = lines->row_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (lines->starts[middle] <= offset) low = middle;
        else high = middle;
    }
    return low;
}

uint32_t format_brace_after(const FormatLines *lines, uint32_t offset)
{
    Str text = lines->module->text;
    size_t at = offset;
    while (at < text.len && text.ptr[at] != '}') {
        if (text.ptr[at] == '#') at = str_find(text, '\n', at);
        else if (ascii_is_space(text.ptr[at]) || text.ptr[at] == ';') at++;
        else return offset;
    }
    return at < text.len ? (uint32_t)at : offset;
}

static const RegoComment *next_comment(const FormatLines *lines)
{
    return lines->comment < lines->module->comment_count ? &lines->module->comments[lines->comment] : NULL;
}

bool format_has_comment(const FormatLines *lines, uint32_t from, uint32_t to)
{
    for (uint32_t i = lines->comment; i < lines->module->comment_count; i++) {
        uint32_t at = lines->module->comments[i].loc.offset;
        if (at >= to) return false;
        if (at >= from) return true;
    }
    return false;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

void format_line_begin(FormatLines *lines)
{
    buf_repeat(lines->out, '\t', lines->indent);
}

void format_line_blank(FormatLines *lines)
{
    buf_char(lines->out, '\n');
}

static void write_comment(FormatLines *lines, const RegoComment *comment)
{
    Str text = comment->text;
    while (text.len && ascii_is_space(text.ptr[text.len - 1])) text.len--;
    buf_char(lines->out, '#');
    buf_str(lines->out, text);
    lines->comment++;
}

void format_line_end(FormatLines *lines, uint32_t row, uint32_t offset)
{
    const RegoComment *comment = next_comment(lines);
    if (comment && comment->loc.offset < offset && format_row_begin(lines, comment->loc) <= row) {
        buf_char(lines->out, ' ');
        write_comment(lines, comment);
    }
    buf_char(lines->out, '\n');
}

bool format_comments(FormatLines *lines, uint32_t offset, bool is_end)
{
    bool found = false;
    for (const RegoComment *comment; (comment = next_comment(lines)) && comment->loc.offset < offset;) {
        found = true;
        format_line_begin(lines);
        write_comment(lines, comment);
        format_line_blank(lines);
        const RegoComment *after = next_comment(lines);
        bool more = after && after->loc.offset < offset;
        if (!more && is_end) break;
        uint32_t next = more ? format_row_begin(lines, after->loc) : format_row(lines, offset);
        if (next > format_row_begin(lines, comment->loc) + 1) format_line_blank(lines);
    }
    return found;
}

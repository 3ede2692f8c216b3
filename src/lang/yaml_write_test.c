#include "lang/yaml_write.h"

#include "base/limits.h"
#include "harness/random.h"
#include "harness/test.h"

static Buf out;

static Str written(const char *text)
{
    buf_clear(&out);
    yaml_write_text(&out, str_of(text));
    return buf_peek(&out);
}

TEST(a_text_is_plain_where_every_reader_takes_it_for_one, "")
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "Log Analysis", "Log Analysis" },
        { "./logs", "./logs" },
        { "../a b/c", "../a b/c" },
        { "/var/log", "/var/log" },
        { "a@b.example", "a@b.example" },
        { "Pr\xc3\xbc"
          "fung",
          "Pr\xc3\xbc"
          "fung" },
        { "_x", "_x" },
        { "a - b", "a - b" },

        { "", "\"\"" },
        { "true", "\"true\"" },
        { "No", "\"No\"" },
        { "on", "\"on\"" },
        { "null", "\"null\"" },
        { "~", "\"~\"" },
        { "1", "\"1\"" },
        { "2023-01-01", "\"2023-01-01\"" },
        { ".5", "\".5\"" },
        { "-x", "\"-x\"" },
        { "a: b", "\"a: b\"" },
        { "a #b", "\"a #b\"" },
        { "${params.x}", "\"${params.x}\"" },
        { "*x", "\"*x\"" },
        { "<<", "\"<<\"" },
        { " x", "\" x\"" },
        { "x ", "\"x \"" },
        { "say \"hi\"", "\"say \\\"hi\\\"\"" },
        { "a\\b", "\"a\\\\b\"" },
        { "a\tb\r", "\"a\\tb\\r\"" },
        { "\x01\x7f", "\"\\x01\\x7F\"" },
        { "\xe2\x80\xa8", "\"\\u2028\"" },
        { "\xef\xbb\xbf", "\"\\uFEFF\"" },
        { "\xff", "\"\\uFFFD\"" },
    };
    buf_init(&out, 1u << 20);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].text);
        EXPECT_STR(written(rows[i].text), str_of(rows[i].want));
    }
    ROW(NULL);
    buf_deinit(&out);
}

TEST(containers_are_written_as_blocks, "")
{
    static const char source[] =
        "a: { b: [1, [x, [], {}], { c: d, e: {} }], f: null, g: true }\nh: \"one\\ntwo\\n\"\ni: \"a\\n\\n b\"\nj: \"\\n\"\n";
    static const char want[] =
        "x:\n"
        "  a:\n"
        "    b:\n"
        "      - 1\n"
        "      - - x\n"
        "        - []\n"
        "        - {}\n"
        "      - c: d\n"
        "        e: {}\n"
        "    f: null\n"
        "    g: true\n"
        "  h: |\n"
        "    one\n"
        "    two\n"
        "  i: |-\n"
        "    a\n"
        "\n"
        "     b\n"
        "  j: \"\\n\"\n";
    Arena arena;
    Node *root;
    Error err;
    arena_init(&arena, SIZE_MAX);
    buf_init(&out, 1u << 20);
    REQUIRE_OK(node_read(&arena, str_of(source), TEXT_YAML, &root, &err), &err);
    yaml_write_pair(&out, 0, STR("x"), root);
    EXPECT_STR(buf_peek(&out), str_of(want));
    buf_deinit(&out);
    arena_deinit(&arena);
}

TEST(comments_are_broken_between_words_and_hold_no_line_ends, "")
{
    buf_init(&out, 1u << 20);
    yaml_write_comment(&out, 2, STR("a\nb \x1b[31m"));
    EXPECT_STR(buf_peek(&out), STR("  # a b  [31m\n"));
    buf_clear(&out);
    Str long_text = STR(
        "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789");
    yaml_write_comment(&out, 0, long_text);
    EXPECT_STR(
        buf_peek(&out),
        STR("# 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\n# 0123456789 0123456789\n"));
    buf_clear(&out);
    yaml_write_commented(&out, 2, STR("a:\n  b: 1\n\n"));
    EXPECT_STR(buf_peek(&out), STR("  # a:\n  #   b: 1\n  #\n"));
    buf_deinit(&out);
}

/* --- whatever is written reads back the same --------------------------------------------------------------------- */

static const char *const pieces[] = {
    "a",        "Z",
    "0",        " ",
    "\n",       "\t",
    ":",        "#",
    "-",        "? ",
    "\"",       "'",
    "|",        ">",
    "{",        "}",
    "[",        "]",
    ",",        "&",
    "*",        "!",
    "%",        "@",
    "`",        "true",
    "---",      "...",
    "\xc3\xa9", "\xe2\x80\xa9",
    "\xc2\x85", "\xf0\x9f\x99\x82",
    "\x7f",     "\\",
    "=",        "~",
    "null",     "<<",
    "\r",
};

static Node random_text(Arena *arena, Random *random, bool is_key)
{
    Buf text;
    buf_init(&text, 4096);
    uint32_t count = (uint32_t)(random_below(random, 12) == 0 ? random_below(random, 300) : random_below(random, 8))
                   + (is_key ? 1 : 0);
    for (uint32_t i = 0; i < count; i++) buf_text(&text, pieces[random_below(random, sizeof pieces / sizeof *pieces)]);
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return (Node){ .kind = NODE_TEXT, .count = (uint32_t)copy.len, .text = copy.ptr };
}

static Node random_node(Arena *arena, Random *random, unsigned depth)
{
    uint64_t choice = random_below(random, depth ? 7 : 5);
    if (choice == 0) return (Node){ .kind = NODE_NULL };
    if (choice == 1) return (Node){ .kind = NODE_BOOL, .truth = random_below(random, 2) };
    if (choice == 2) return (Node){ .kind = NODE_NUMBER, .count = 4, .text = "-1.5" };
    if (choice < 5) return random_text(arena, random, false);
    uint32_t count = (uint32_t)random_below(random, 4);
    Node node = { .kind = choice == 5 ? NODE_LIST : NODE_MAP, .count = count };
    node.items = ARENA_ARRAY(arena, Node, 2 * (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (choice == 5) {
            node.items[i] = random_node(arena, random, depth - 1);
        } else {
            node.items[2 * i] = random_text(arena, random, true);
            node.items[2 * i + 1] = random_node(arena, random, depth - 1);
        }
    }
    return node;
}

TEST(what_is_written_reads_back_the_same, "")
{
    Random random = { 20260730 };
    buf_init(&out, 16u << 20);
    for (uint32_t round = 0; round < 20000; round++) {
        Arena arena;
        Node *root;
        Error err;
        arena_init(&arena, SIZE_MAX);
        Node node = random_node(&arena, &random, 4);
        buf_clear(&out);
        yaml_write_pair(&out, 2, STR("x"), &node);
        bool is_read = EXPECT_OK(node_read(&arena, buf_peek(&out), TEXT_YAML, &root, &err), &err);
        bool is_same =
            is_read && EXPECT(value_equals(node_to_value(&arena, node_get(root, "x")), node_to_value(&arena, &node)));
        if (!is_same) test_expect(false, __FILE__, __LINE__, "round %u:\n%.*s", round, STR_ARG(buf_peek(&out)));
        arena_deinit(&arena);
        if (!is_same) break;
    }
    buf_deinit(&out);
}

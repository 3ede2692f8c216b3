#include "harness/test.h"
#include "value/uri.h"

TEST(references_resolve_as_the_standard_lists_them, "")
{
    /* RFC 3986, sections 5.4.1 and 5.4.2. */
    static const struct { const char *reference, *want; } rows[] = {
        { "g:h", "g:h" },                       { "g", "http://a/b/c/g" },
        { "./g", "http://a/b/c/g" },            { "g/", "http://a/b/c/g/" },
        { "/g", "http://a/g" },                 { "//g", "http://g" },
        { "?y", "http://a/b/c/d;p?y" },         { "g?y", "http://a/b/c/g?y" },
        { "#s", "http://a/b/c/d;p?q#s" },       { "g#s", "http://a/b/c/g#s" },
        { "g?y#s", "http://a/b/c/g?y#s" },      { ";x", "http://a/b/c/;x" },
        { "g;x", "http://a/b/c/g;x" },          { "g;x?y#s", "http://a/b/c/g;x?y#s" },
        { "", "http://a/b/c/d;p?q" },           { ".", "http://a/b/c/" },
        { "./", "http://a/b/c/" },              { "..", "http://a/b/" },
        { "../", "http://a/b/" },               { "../g", "http://a/b/g" },
        { "../..", "http://a/" },               { "../../", "http://a/" },
        { "../../g", "http://a/g" },            { "../../../g", "http://a/g" },
        { "../../../../g", "http://a/g" },      { "/./g", "http://a/g" },
        { "/../g", "http://a/g" },              { "g.", "http://a/b/c/g." },
        { ".g", "http://a/b/c/.g" },            { "g..", "http://a/b/c/g.." },
        { "..g", "http://a/b/c/..g" },          { "./../g", "http://a/b/g" },
        { "./g/.", "http://a/b/c/g/" },         { "g/./h", "http://a/b/c/g/h" },
        { "g/../h", "http://a/b/c/h" },         { "g;x=1/./y", "http://a/b/c/g;x=1/y" },
        { "g;x=1/../y", "http://a/b/c/y" },     { "g?y/./x", "http://a/b/c/g?y/./x" },
        { "g?y/../x", "http://a/b/c/g?y/../x" }, { "g#s/./x", "http://a/b/c/g#s/./x" },
        { "g#s/../x", "http://a/b/c/g#s/../x" }, { "http:g", "http:g" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].reference);
        char storage[256];
        Buf buf = buf_on(storage, sizeof storage);
        uri_resolve(&buf, STR("http://a/b/c/d;p?q"), str_of(rows[i].reference));
        EXPECT_STR(buf_peek(&buf), str_of(rows[i].want));
    }
}

TEST(references_resolve_against_bases_that_are_no_web_addresses, "")
{
    static const struct { const char *base, *reference, *want; } rows[] = {
        { "", "item", "item" },
        { "", "./a/../b", "b" },
        { "", "#/x", "#/x" },
        { "list", "item#a", "item#a" },
        { "urn:uuid:1-2", "#/$defs/a", "urn:uuid:1-2#/$defs/a" },
        { "urn:example:1/4/2", "x", "urn:example:1/4/x" },
        { "urn:example:a?+b:c=d", "#e", "urn:example:a?+b:c=d#e" },
        { "file:///c:/folder/file.json", "other.json", "file:///c:/folder/other.json" },
        { "http://host", "a", "http://host/a" },
        { "http://host/a#old", "#new", "http://host/a#new" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].reference);
        char storage[256];
        Buf buf = buf_on(storage, sizeof storage);
        uri_resolve(&buf, str_of(rows[i].base), str_of(rows[i].reference));
        EXPECT_STR(buf_peek(&buf), str_of(rows[i].want));
    }
}

TEST(a_resolved_reference_that_does_not_fit_shows_as_overflow, "")
{
    char storage[8];
    Buf buf = buf_on(storage, sizeof storage);
    uri_resolve(&buf, STR("http://a/b/c"), STR("../../a-long-name"));
    EXPECT(buf_overflowed(&buf));
}

TEST(percent_signs_decode_only_where_two_digits_follow, "")
{
    static const struct { const char *text, *want; bool holds; } rows[] = {
        { "a%25b%2fC", "a%b/C", true }, { "plain", "plain", true }, { "%e2%82%ac", "\xe2\x82\xac", true },
        { "%", "", false },             { "a%2", "a", false },      { "%zz", "", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].text);
        char storage[32];
        Buf buf = buf_on(storage, sizeof storage);
        EXPECT_INT(uri_decode(&buf, str_of(rows[i].text)), rows[i].holds);
        EXPECT_STR(buf_peek(&buf), str_of(rows[i].want));
    }
}

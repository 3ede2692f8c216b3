#include "rego/regex/unicode.h"

#include "harness/test.h"

TEST(classes_are_found_by_any_spelling_of_their_name, "")
{
    static const struct { const char *name; uint32_t point; bool has; } cases[] = {
        { "L", 'a', true },                 { "L", '1', false },              { "Lu", 'A', true },
        { "Lu", 'a', false },               { "lowercase letter", 'a', true }, { "Uppercase-Letter", 'a', false },
        { "Greek", 0x3b1, true },           { "GREEK", 'a', false },          { "Old_Italic", 0x10300, true },
        { "oldItalic", 0x10300, true },     { "Nd", 0x660, true },            { "digit", '7', true },
        { "Any", 0x10ffff, true },          { "ASCII", 0x7f, true },          { "ASCII", 0x80, false },
        { "Cn", 0x378, true },              { "Assigned", 0x378, false },     { "Zs", ' ', true },
        { "No_Such", 'a', false },          { "", 'a', false },               { "Lx", 'a', false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        EXPECT(unicode_is(str_of(cases[i].name), cases[i].point) == cases[i].has);
    }
    EXPECT(!unicode_is(STR("a name that is far longer than any class of characters has"), 'a'));
}

TEST(the_ranges_of_a_class_ascend_without_touching, "")
{
    UnicodeClass class;
    REQUIRE(unicode_class_find(STR("L"), &class));
    uint32_t low, high, end = 0, count = 0;
    while (unicode_class_next(&class, &low, &high)) {
        EXPECT(low <= high);
        EXPECT(count == 0 || low > end + 1);
        end = high;
        count++;
    }
    EXPECT(count > 600);
    EXPECT(end <= UNICODE_POINT_MAX);
}

TEST(letters_that_differ_by_case_form_rings, "")
{
    static const struct { const char *name; uint32_t ring[4]; } cases[] = {
        { "a letter", { 'A', 'a', 'A' } },
        { "the kelvin sign", { 'K', 'k', 0x212a, 'K' } },
        { "the long s", { 'S', 's', 0x17f, 'S' } },
        { "alternating letters", { 0x100, 0x101, 0x100 } },
        { "sigma", { 0x3a3, 0x3c2, 0x3c3, 0x3a3 } },
        { "sharp s", { 0xdf, 0x1e9e, 0xdf } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        for (size_t j = 0; j + 1 < 4 && cases[i].ring[j + 1]; j++)
            EXPECT_INT(unicode_fold_next(cases[i].ring[j]), cases[i].ring[j + 1]);
    }
    EXPECT_INT(unicode_fold_next('1'), '1');
    EXPECT_INT(unicode_fold_next(0x130), 0x130);        /* the dotted capital I folds to nothing simple */
}

TEST(every_ring_closes_within_its_bound, "")
{
    for (uint32_t point = 0; point <= UNICODE_POINT_MAX; point++) {
        uint32_t at = point;
        unsigned steps = 0;
        do {
            at = unicode_fold_next(at);
            steps++;
        } while (at != point && steps <= UNICODE_FOLD_RING_MAX);
        if (at != point || steps > UNICODE_FOLD_RING_MAX) {
            EXPECT_INT(at, point);
            return;
        }
    }
}

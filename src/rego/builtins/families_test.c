#include "harness/test.h"
#include "rego/builtins/rows_test.h"

/* The answers in these files are those of OPA 1.22 to the same calls. */

TEST(numbers_are_computed_as_opa_does, "") { rows_run("numbers"); }
TEST(collections_are_combined_as_opa_does, "") { rows_run("collections"); }
TEST(json_and_yaml_are_read_and_written_as_opa_does, "") { rows_run("json"); }
TEST(strings_are_cut_and_joined_as_opa_does, "") { rows_run("strings"); }
TEST(texts_are_formatted_as_opa_does, "") { rows_run("format"); }
TEST(texts_are_encoded_as_opa_does, "") { rows_run("encoding"); }
TEST(networks_globs_and_versions_match_as_in_opa, "") { rows_run("net"); }
TEST(times_are_read_and_written_as_opa_does, "") { rows_run("time"); }
TEST(modules_become_the_trees_that_opa_shows, "") { rows_run("parse"); }

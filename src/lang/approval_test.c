#include "lang/approval.h"

#include <string.h>

#include "harness/test.h"
#include "lang/compile.h"

/* The ids of the steps that are covered, in the order of the plan, joined by spaces. */
static void expect_covered(const char *row, const char *text, const char *want)
{
    Arena arena;
    Catalog catalog;
    Compiled compiled;
    Approvals approvals;
    char storage[1024];
    Buf covered = buf_on(storage, sizeof storage);
    ROW(row);
    arena_init(&arena, SIZE_MAX);
    catalog_init(&catalog, &arena);
    compile(&arena, str_of(text), &(CompileOptions){ STR("x.yaml"), TEXT_YAML, &catalog }, &compiled);
    if (EXPECT(compiled.is_valid)) {
        approvals_find(&arena, &compiled.plan, &approvals);
        for (uint32_t i = 0; i < compiled.plan.step_count; i++)
            if (approvals.is_covered[i])
                buf_format(&covered, "%s%.*s", covered.len ? " " : "", STR_ARG(compiled.plan.steps[i].id));
        EXPECT_STR(buf_peek(&covered), str_of(want));
    } else if (compiled.diagnostics.count) {
        test_expect(false, __FILE__, __LINE__, "%.*s", STR_ARG(compiled.diagnostics.items[0].message));
    }
    arena_deinit(&arena);
}

TEST(a_gate_covers_what_comes_behind_it, "")
{
    expect_covered("none", "workflow: w\njobs: { a: { tasks: [{ run: noop }] } }\n", "");
    expect_covered(
        "a pause covers the next task, not its own",
        "workflow: w\njobs: { a: { tasks: [{ name: x, run: noop, pause_after: ok }, { name: y, run: noop }] } }\n",
        "a.y");
    expect_covered(
        "a signal after the work does the same",
        "workflow: w\njobs: { a: { tasks: [{ name: x, run: noop, wait_for_signal: ok }, { name: y, run: noop }] } }\n",
        "a.y");
    expect_covered(
        "one before it covers its own task too",
        "workflow: w\njobs: { a: { tasks: [{ name: x, run: noop, wait_for_signal: { signal: ok, when: before } }, { name: y, run: noop }] } }\n",
        "a.x a.y");
    expect_covered(
        "a job's gate comes behind its last task",
        "workflow: w\njobs: { a: { wait_for_signal: ok, tasks: [{ name: x, run: noop }, { name: y, run: noop }] }, b: { needs: a, tasks: [{ run: noop }] } }\n",
        "b.b");
    expect_covered(
        "across jobs and through others",
        "workflow: w\njobs: { a: { tasks: [{ run: noop, pause_after: ok }] }, b: { needs: a, tasks: [{ run: noop }] }, c: { needs: b, tasks: [{ run: noop }] } }\n",
        "b.b c.c");
    expect_covered(
        "one of two needs is enough, since both are waited for",
        "workflow: w\njobs: { a: { tasks: [{ run: noop, pause_after: ok }] }, b: { tasks: [{ run: noop }] }, c: { needs: [a, b], tasks: [{ run: noop }] } }\n",
        "c.c");
    expect_covered(
        "a job beside it is not covered",
        "workflow: w\njobs: { a: { tasks: [{ run: noop, pause_after: ok }] }, b: { tasks: [{ run: noop }] } }\n", "");
    expect_covered(
        "an artifact never is",
        "name: n\ndescription: d\nartifacts: { a: { source: { type: filesystem, properties: { path: x } } }, b: { inputs: a } }\n",
        "");
    ROW(NULL);
}

TEST(a_gate_that_lets_go_by_itself_is_none, "")
{
    expect_covered(
        "it resumes",
        "workflow: w\njobs: { a: { tasks: [{ run: noop, pause_after: { trigger: t, auto_resume_after: 1d } }, { run: noop }] } }\n",
        "");
    expect_covered(
        "it approves",
        "workflow: w\njobs: { a: { tasks: [{ run: noop, pause_after: { trigger: t, timeout: 1d, on_timeout: auto_approve } }, { run: noop }] } }\n",
        "");
    expect_covered(
        "it reminds",
        "workflow: w\njobs: { a: { tasks: [{ run: noop, pause_after: { trigger: t, timeout: 1d, on_timeout: reminder } }, { run: noop }] } }\n",
        "a.a-2");
    ROW(NULL);
}

TEST(a_gate_that_can_be_missed_covers_only_those_who_miss_it_too, "")
{
    expect_covered(
        "a task that may be skipped",
        "workflow: w\nparams: [{ name: p, type: integer }]\njobs: { a: { tasks: [{ run: noop, when: params.p == 1, pause_after: ok }, { run: noop }] } }\n",
        "");
    expect_covered(
        "a job that may be skipped covers its own tasks",
        "workflow: w\nparams: [{ name: p, type: integer }]\n"
        "jobs: { a: { when: params.p == 1, tasks: [{ run: noop, pause_after: ok }, { run: noop }] }, b: { needs: a, tasks: [{ run: noop }] } }\n",
        "a.a-2");
    expect_covered(
        "what was passed before a job that may be skipped still counts behind it",
        "workflow: w\nparams: [{ name: p, type: integer }]\n"
        "jobs: { g: { tasks: [{ run: noop, pause_after: ok }] }, a: { needs: g, when: params.p == 1, tasks: [{ run: noop }] }, b: { needs: a, tasks: [{ run: noop }] } }\n",
        "a.a b.b");
    static const char branch[] =
        "workflow: w\n"
        "params: [{ name: p, type: string }]\n"
        "jobs:\n"
        "  pick: { branch: { select: params.p, cases: { x: [x1], y: [y1] }, converge: end } }\n"
        "  x1: { tasks: [{ run: noop, pause_after: ok }] }\n"
        "  x2: { needs: x1, tasks: [{ run: noop }] }\n"
        "  y1: { tasks: [{ run: noop }] }\n"
        "  end: { needs: [x2, y1], tasks: [{ run: noop }] }\n";
    expect_covered("an arm covers itself, not what comes behind the branch", branch, "x2.x2");
    static const char before[] =
        "workflow: w\n"
        "params: [{ name: p, type: string }]\n"
        "jobs:\n"
        "  pick: { tasks: [{ run: noop, pause_after: ok }], branch: { select: params.p, cases: { x: [x1], y: [] }, converge: end } }\n"
        "  x1: { tasks: [{ run: noop }] }\n"
        "  end: { needs: [x1], tasks: [{ run: noop }] }\n";
    expect_covered("a gate before the branch covers all", before, "pick x1.x1 end.end");
    static const char joined[] =
        "workflow: w\n"
        "params: [{ name: p, type: string }]\n"
        "jobs:\n"
        "  slow: { tasks: [{ run: noop, pause_after: ok }] }\n"
        "  pick: { branch: { select: params.p, cases: { x: [x1], y: [] }, converge: end } }\n"
        "  x1: { needs: slow, tasks: [{ run: noop }] }\n"
        "  end: { needs: [x1], tasks: [{ run: noop }] }\n";
    expect_covered("an arm that is skipped does not wait for what its jobs need", joined, "x1.x1");
    ROW(NULL);
}

TEST(a_step_tree_has_its_gates_in_order_and_its_arms_apart, "")
{
    expect_covered(
        "in a sequence and behind it",
        "workflow: w\nsteps:\n  - sequence: [{ name: a, run: noop, pause_after: ok }, { name: b, run: noop }]\n  - { name: c, run: noop }\n",
        "b c");
    expect_covered(
        "not behind a sequence that may be skipped",
        "workflow: w\nparams: [{ name: p, type: integer }]\n"
        "steps:\n  - { when: params.p == 1, sequence: [{ name: a, run: noop, pause_after: ok }, { name: b, run: noop }] }\n  - { name: c, run: noop }\n",
        "b");
    expect_covered(
        "an arm covers itself",
        "workflow: w\nparams: [{ name: p, type: integer }]\n"
        "steps:\n  - { if: params.p == 1, then: [{ name: a, run: noop, pause_after: ok }, { name: b, run: noop }], else: [{ name: c, run: noop }] }\n  - { name: d, run: noop }\n",
        "b");
    expect_covered(
        "a gate before the choice covers both arms and what follows",
        "workflow: w\nparams: [{ name: p, type: integer }]\n"
        "steps:\n  - { name: g, run: noop, pause_after: ok }\n  - { name: i, if: params.p == 1, then: { name: a, run: noop } }\n  - { name: d, run: noop }\n",
        "i a d");
    ROW(NULL);
}

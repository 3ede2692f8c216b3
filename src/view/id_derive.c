#include "view/id_derive.h"

#include "base/buf.h"
#include "base/check.h"
#include "value/canonical.h"

/* Part of the ids for ever. */
static const char *const kind_names[DERIVED_KIND_COUNT] = {
    [DERIVED_STEP_RUN] = "step-run", [DERIVED_BRANCH] = "branch", [DERIVED_DECISION] = "decision",
    [DERIVED_TRIGGER] = "trigger", [DERIVED_POLL] = "poll", [DERIVED_COMPENSATION] = "compensation",
};

Id id_derive(const Id *run_id, DerivedKind kind, uint64_t ordinal)
{
    char text[64];
    Buf buf = buf_on(text, sizeof text);
    buf_str(&buf, id_peek(run_id));
    buf_char(&buf, ' ');
    buf_text(&buf, kind_names[kind]);
    buf_char(&buf, ' ');
    buf_u64(&buf, ordinal);
    CHECK(!buf_overflowed(&buf));
    Digest digest = digest_of(buf_peek(&buf));
    static_assert(DIGEST_SIZE >= ID_SIZE, "a digest has a byte for each character");
    return id_make(digest.bytes);
}

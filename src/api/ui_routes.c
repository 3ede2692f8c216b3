/* ui_routes.c - the files of the user interface, which the build put into the program: see ui/README.md.
 *
 * They are pages that use the API as everybody does, with the key that a person types in. They may load nothing from elsewhere,
 * run no script that is not a file of theirs, and be shown in no frame of others.
 */
#include "api/routes.h"
#include "api/ui_files.h"

static const struct { const char *ending, *type; } types[] = {
    { ".html", "text/html; charset=utf-8" }, { ".css", "text/css; charset=utf-8" }, { ".js", "text/javascript; charset=utf-8" },
    { ".svg", "image/svg+xml" },
};

static const char content_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

static const char *type_of(Str name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_ends(name, str_of(types[i].ending))) return types[i].type;
    return "text/plain; charset=utf-8";
}

static void answer_file(Call *call, Str name)
{
    const EmbeddedFile *file = NULL;
    for (size_t i = 0; i < sizeof ui_files / sizeof *ui_files && !file; i++)
        if (str_is_text(name, ui_files[i].name)) file = &ui_files[i];
    if (!file) {
        call_problem(call, PROBLEM_NOT_FOUND, "the user interface has no file '%.*s'", STR_ARG(name));
        return;
    }
    /* Asked for again each time, so that pages and server are always of one version; what is known already is not sent. */
    call_add_header(call, "Cache-Control", STR("no-cache"));
    call_add_header(call, "ETag", str_of(file->tag));
    bool is_known = call_has_tag(call, "If-None-Match", str_of(file->tag), /* is_weak_enough= */ true);
    call_add_header(call, "Content-Security-Policy", str_of(content_policy));
    call_add_header(call, "Referrer-Policy", STR("no-referrer"));
    call_add_header(call, "Cross-Origin-Opener-Policy", STR("same-origin"));
    call_add_header(call, "Cross-Origin-Resource-Policy", STR("same-origin"));
    call_text(call, is_known ? 304 : 200, type_of(name), (Str){ file->text, file->size });
}

void route_ui(Call *call) { answer_file(call, STR("index.html")); }
void route_ui_file(Call *call) { answer_file(call, call->segments[0]); }

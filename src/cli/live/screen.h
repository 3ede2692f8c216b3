/* screen.h - a frame on a terminal, drawn in place below the lines that scroll away.
 *
 * Lines given to screen_above() are written once, above the frame, and belong to the terminal's history from then on; the
 * frame is below them and is replaced by the next one. A frame is one write, inside a synchronized update where the terminal
 * knows that, so that no half of one is seen. While a frame is there the cursor is hidden and keys are not echoed (a line
 * feed would move everything); both come back at screen_close(), when the process is stopped (Ctrl-Z), and when it dies of a
 * signal. A terminal that becomes narrower may have broken lines into several: the screen is cleared then, and as many of the
 * lines above are written again as it holds.
 *
 * Owns:   the terminal's modes and the handlers of signals, from screen_open() to screen_close(). One at a time.
 * Fails:  screen_open() by returning false where the descriptor is no terminal that can do this; nothing has changed then.
 * Bounds: LIVE_ABOVE_COUNT_MAX lines above are remembered.     Thread: the main one.
 */
#ifndef CLI_LIVE_SCREEN_H
#define CLI_LIVE_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

typedef struct Screen {
    int fd;
    uint32_t width, height;         /* as of the last screen_look() */
    uint32_t drawn_width;           /* when the frame was drawn */
    uint32_t frame_count;           /* lines of the frame that is there */
    Buf above;                      /* lines to be written above the next frame */
    Buf out;
    char **history;                 /* the last lines above, a ring */
    uint64_t history_count;
    bool is_open;
} Screen;

bool screen_open(Screen *screen, int fd);
/* Reads the size again. True where it changed, or the terminal was used by someone else meanwhile: draw anew. */
bool screen_look(Screen *screen);
void screen_above(Screen *screen, Str lines);           /* each ended by a line feed, none wider than the screen */
void screen_draw(Screen *screen, Str frame);            /* what is above, then the frame: lines as of frame_print() */
void screen_close(Screen *screen);                      /* the last frame stays, the cursor is below it */

#endif

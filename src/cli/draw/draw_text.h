/* draw_text.h - the forms that a drawing for a terminal can take.
 *
 * Boxes in layers where they fit; else a list, each job with what it needs; a tree for step trees. Each form writes
 * only lines of at most drawing->width columns.
 *
 * Owns: nothing.     Fails: text_layers() by returning false, with nothing written.     Thread: one at a time.
 */
#ifndef CLI_DRAW_DRAW_TEXT_H
#define CLI_DRAW_DRAW_TEXT_H

#include <stdbool.h>

#include "cli/draw/drawing.h"
#include "cli/draw/picture.h"
#include "cli/draw/tree.h"

bool text_layers(const Drawing *drawing, const Picture *picture);
void text_list(const Drawing *drawing, const Picture *picture);
void text_tree(const Drawing *drawing, const Tree *tree);

#endif

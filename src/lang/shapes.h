/* shapes.h - the tables of every key of every kind of definition and configuration file.
 *
 * Owns: constant process data.     Thread: any.
 */
#ifndef LANG_SHAPES_H
#define LANG_SHAPES_H

#include "lang/shape.h"

extern const Shape shape_workflow;          /* a workflow of jobs or a step tree: `jobs` or `steps` */
extern const Shape shape_job;
extern const Shape shape_task;              /* of a job */
extern const Shape shape_step;              /* of a step tree */
extern const Shape shape_branch;
extern const Shape shape_guard;
extern const Shape shape_runbook;
extern const Shape shape_artifact;
extern const Shape shape_config;            /* runners.yaml */
extern const Shape shape_component;         /* the manifest of a plug-in component */
extern const Shape shape_server;            /* what `maestro server --config` takes */

extern const Type type_workflow, type_runbook, type_config, type_component, type_server;

/* Pieces that more than one table uses. */
extern const Type type_name, type_ref, type_text, type_line, type_bool, type_condition, type_template, type_any, type_schema;
extern const Type type_duration, type_timeout, type_duration_or_seconds, type_true, type_some_refs, type_money,
    type_positive, type_count, type_number;
extern const Type type_names, type_refs, type_texts, type_labels, type_schemas;
extern const Type type_failure_mode, type_priority;

#endif

-- views.sql - what the tables of a SQLite file forbid, and the shapes in which other documents want them.
--
-- Tables and indexes are made of view/tables.def; this is what is SQL by nature. It is run again as a whole after every
-- upgrade of a file, so everything here may be changed freely; old triggers and views are dropped before.

-- --- what was written stays ---------------------------------------------------------------------------------------------

CREATE TRIGGER maestro_ledger_keeps_records
BEFORE UPDATE OF position, run_no, prev_position, first_event, event_count, hash, record ON maestro_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is immutable'); END;

CREATE TRIGGER maestro_ledger_keeps_payloads
BEFORE UPDATE OF payload ON maestro_ledger WHEN NEW.payload IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the ledger is immutable: a payload can be erased, not changed'); END;

CREATE TRIGGER maestro_ledger_keeps_rows
BEFORE DELETE ON maestro_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is immutable'); END;

CREATE TRIGGER maestro_workflows_keep_their_beginning
BEFORE UPDATE OF run_no, id, tenant, definition_key, params_at, params_offset, params_size,
  created_ms ON maestro_workflows
BEGIN SELECT RAISE(ABORT, 'id and parameters of a run are immutable'); END;

-- Only an event moves a run to another revision.
CREATE TRIGGER maestro_workflows_keep_their_revision
BEFORE UPDATE OF definition_version, plan_digest ON maestro_workflows
WHEN NEW.event_count <= OLD.event_count
BEGIN SELECT RAISE(ABORT, 'the revision of a run is immutable'); END;

-- A result, once it is there, never changes; what may still be noted is that the step run was superseded.
-- I6: what a step gave is written once.
CREATE TRIGGER maestro_step_runs_keep_results
BEFORE UPDATE OF step_run_no, workflow_id, step_index, id, step_key, step_type, result, error_class, error_cause,
  error_message, details_at, details_offset, details_size, input_at, input_offset, input_size, output_at, output_offset,
  output_size, started_ms, finished_ms ON maestro_step_runs WHEN OLD.result IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'step results are append-only'); END;

CREATE TRIGGER maestro_step_runs_keep_rows
BEFORE DELETE ON maestro_step_runs WHEN OLD.result IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'step results are append-only'); END;

CREATE TRIGGER maestro_revisions_keep_content
BEFORE UPDATE OF tenant, workflow_id, version, label, digest, name, description, triggers, parameters, steps, text,
  created_ms ON maestro_revisions
BEGIN SELECT RAISE(ABORT, 'a revision is immutable; only its active flag changes'); END;

CREATE TRIGGER maestro_plans_are_immutable
BEFORE UPDATE ON maestro_plans
BEGIN SELECT RAISE(ABORT, 'a plan is immutable'); END;

CREATE TRIGGER maestro_tenant_keys_are_immutable
BEFORE UPDATE ON maestro_tenant_keys
BEGIN SELECT RAISE(ABORT, 'the key of a tenant never changes'); END;

CREATE TRIGGER maestro_secrets_keep_their_origin
BEFORE UPDATE OF tenant, name, created_ms, created_by ON maestro_secrets
BEGIN SELECT RAISE(ABORT, 'when and by whom a secret was first set never changes'); END;

-- --- the shape of the REST API ------------------------------------------------------------------------------------------

CREATE VIEW workflows AS
SELECT tenant AS namespace, workflow_id, version, name, description, parameters, steps, active, created_at, updated_at
FROM maestro_revisions;

CREATE VIEW workflow_executions AS
SELECT execution_id, namespace, workflow_id, version, input_parameters, status,
  CASE WHEN status = 'FAILED' THEN coalesce(error_message, error_cause, 'failed') END AS error_message,
  started_at, completed_at, last_updated_at
FROM (
  SELECT id AS execution_id, tenant AS namespace, definition_key AS workflow_id, definition_version AS version,
    (SELECT json_extract(CAST(substr(payload, 17 + params_offset, params_size) AS TEXT), '$.params')
     FROM maestro_ledger WHERE position = params_at) AS input_parameters,
    CASE state
      WHEN 'PENDING' THEN 'PENDING'
      WHEN 'DISPATCHED' THEN 'PENDING'
      WHEN 'SUCCEEDED' THEN 'COMPLETED'
      WHEN 'FAILED' THEN iif(resolution IS 'AUTO_RETRY_SCHEDULED', 'RUNNING', 'FAILED')
      WHEN 'COMPENSATED' THEN iif(cancel_requested, 'CANCELLED', 'FAILED')
      WHEN 'COMPENSATION_FAILED' THEN 'FAILED'
      WHEN 'CANCELLED' THEN 'CANCELLED'
      ELSE 'RUNNING'
    END AS status,
    error_message, error_cause,
    strftime('%Y-%m-%dT%H:%M:%S', started_ms / 1000, 'unixepoch') || printf('.%03dZ', started_ms % 1000) AS started_at,
    iif(completed_ms IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%S', completed_ms / 1000, 'unixepoch') || printf('.%03dZ', completed_ms % 1000)) AS completed_at,
    strftime('%Y-%m-%dT%H:%M:%S', updated_ms / 1000, 'unixepoch') || printf('.%03dZ', updated_ms % 1000) AS last_updated_at
  FROM maestro_workflows
);

CREATE VIEW execution_step_results AS
SELECT s.id AS result_id, w.id AS execution_id, s.step_index, s.step_key AS step_id, s.step_type, s.result AS status,
  (SELECT CAST(substr(payload, 17 + s.input_offset, s.input_size) AS TEXT)
   FROM maestro_ledger WHERE position = s.input_at) AS input_data,
  CASE WHEN s.result = 'COMPLETED' THEN
    (SELECT CAST(substr(payload, 17 + s.output_offset, s.output_size) AS TEXT)
     FROM maestro_ledger WHERE position = s.output_at) END AS output_data,
  CASE WHEN s.result = 'FAILED' THEN coalesce(s.error_message, s.error_cause, 'failed') END AS error_message,
  CASE WHEN s.result = 'FAILED' THEN
    coalesce((SELECT CAST(substr(payload, 17 + s.details_offset, s.details_size) AS TEXT)
              FROM maestro_ledger WHERE position = s.details_at),
             json_object('cause', s.error_cause, 'class', s.error_class)) END AS error_details,
  strftime('%Y-%m-%dT%H:%M:%S', coalesce(s.started_ms, s.finished_ms) / 1000, 'unixepoch') || printf('.%03dZ', coalesce(s.started_ms, s.finished_ms) % 1000) AS started_at,
  strftime('%Y-%m-%dT%H:%M:%S', s.finished_ms / 1000, 'unixepoch') || printf('.%03dZ', s.finished_ms % 1000) AS completed_at
FROM maestro_step_runs AS s JOIN maestro_workflows AS w ON w.run_no = s.workflow_id
WHERE s.result IS NOT NULL;

-- --- the ledger of jobs -------------------------------------------------------------------------------------------------

-- Every try that was dispatched. Its id is the step run's and the number of the try.
CREATE VIEW maestro_jobs AS
SELECT id, workflow_id, step_run_no, step_index, step_key, attempt, executor, idempotency_key, status, error_cause,
  error_message,
  iif(dispatched_ms IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%S', dispatched_ms / 1000, 'unixepoch') || printf('.%03dZ', dispatched_ms % 1000)) AS dispatched_at,
  iif(started_ms IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%S', started_ms / 1000, 'unixepoch') || printf('.%03dZ', started_ms % 1000)) AS started_at,
  iif(finished_ms IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%S', finished_ms / 1000, 'unixepoch') || printf('.%03dZ', finished_ms % 1000)) AS finished_at
FROM (
  SELECT s.id || '.' || a.attempt AS id, s.workflow_id, s.step_run_no, s.step_index, s.step_key, a.attempt,
    coalesce(a.executor, iif(s.attempt = a.attempt, s.executor, NULL)) AS executor, s.idempotency_key,
    CASE WHEN a.error_cause IS NOT NULL THEN 'FAILED' WHEN a.finished_ms IS NOT NULL THEN 'SUCCEEDED' ELSE s.status END AS status,
    coalesce(a.error_cause, iif(s.attempt = a.attempt, s.error_cause, NULL)) AS error_cause,
    coalesce(a.error_message, iif(s.attempt = a.attempt, s.error_message, NULL)) AS error_message,
    coalesce(a.dispatched_ms, iif(s.attempt = a.attempt, s.dispatched_ms, NULL)) AS dispatched_ms,
    coalesce(a.started_ms, iif(a.attempt = 1, s.started_ms, NULL)) AS started_ms,
    coalesce(a.finished_ms, s.finished_ms) AS finished_ms
  FROM maestro_attempts AS a
  JOIN maestro_step_runs AS s ON s.workflow_id = a.workflow_id AND s.step_index = a.step_index
  UNION ALL
  SELECT s.id || '.' || s.attempt, s.workflow_id, s.step_run_no, s.step_index, s.step_key, s.attempt, s.executor,
    s.idempotency_key, s.status, s.error_cause, s.error_message, s.dispatched_ms, s.started_ms, s.finished_ms
  FROM maestro_step_runs AS s
  WHERE s.attempt > 0 AND NOT EXISTS (
    SELECT 1 FROM maestro_attempts AS a
    WHERE a.workflow_id = s.workflow_id AND a.step_index = s.step_index AND a.attempt = s.attempt)
);

/* limits.h - every bound of the system, in one place.
 *
 * Crossing a limit is a refusal that names it, by the name it has here, and states its value; it is never a crash and
 * never a silent drop. Sizes are bytes unless the name says otherwise.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <assert.h>
#include <stdint.h>

/* --- memory ------------------------------------------------------------------------------------------------------ */
#define ARENA_BLOCK_SIZE        (64u * 1024)     /* first block; later ones double, so a large arena has few blocks */
#define ARENA_BLOCK_SIZE_MAX    (4u << 20)       /* beyond this doubling wastes more than it saves */

/* --- values and JSON --------------------------------------------------------------------------------------------- */
#define JSON_SIZE_MAX           (256u << 20)     /* one JSON text; requests have tighter limits of their own */
#define JSON_DEPTH_MAX          512u             /* arrays and objects inside one another: recursion over a value is bounded */
#define NUMBER_EXPONENT_MAX     10000            /* written or scientific, either sign: 1e10000 is accepted, 1e10001 not */
#define VALUE_COUNT_MAX         (1u << 28)       /* items of one container */

/* --- JSON Schema ------------------------------------------------------------------------------------------------- */
#define SCHEMA_NODE_COUNT_MAX   (1u << 16)       /* subschemas of one document */
#define SCHEMA_RESOURCE_COUNT_MAX 1024u          /* of these, the ones with an $id of their own */
#define SCHEMA_STRAY_COUNT_MAX  256u             /* references to places that no keyword makes a subschema */
#define SCHEMA_REF_SIZE_MAX     4096u            /* one $id or $ref, as written and as resolved */
#define SCHEMA_WEIGHT_MAX       (1u << 22)       /* keywords, names and constants of one document, 64 bytes of text as one */
#define SCHEMA_DEPTH_MAX        2048u            /* subschemas applied inside one another: a $ref counts one, an item too */
#define SCHEMA_STEP_COUNT_MAX   (1u << 26)       /* subschemas and keywords applied to one instance: stops exponential ones */
#define SCHEMA_MARK_COUNT_MAX   (1u << 27)       /* items and members noted for unevaluated* at one time: 16 MB of bits */
#define SCHEMA_ERROR_COUNT_MAX  64u              /* violations reported for one instance */
#define SCHEMA_PATTERN_SIZE_MAX (32u << 20)      /* memory of all compiled regular expressions of one document */
#define DIVISOR_DIGIT_COUNT_MAX 1024u            /* significant digits of a multipleOf */
#define PATTERN_SIZE_MAX        4096u            /* one regular expression */
#define PATTERN_DEPTH_MAX       200u             /* groups inside one another */
#define PATTERN_STEP_COUNT_MAX  (1u << 20)       /* steps of one match, and beside these: */
#define PATTERN_STEP_BYTE       8u               /* so many for each byte of the text, since a scan grows with it */
#define PATTERN_MEMORY_SIZE_MAX (32u << 20)      /* what one match may remember to come back to */

/* --- Rego: reading ----------------------------------------------------------------------------------------------- */
#define REGO_TEXT_SIZE_MAX      (8u << 20)       /* one module or query; larger tables are data, not policy */
#define REGO_DEPTH_MAX          512u             /* terms and bodies inside one another, chains of operators counted too */
#define REGO_ERROR_COUNT_MAX    64u              /* reported for one module; the rest are counted */
#define REGO_SCAN_FACTOR        32u              /* tokens read for each byte of text: backtracking stays linear */
#define REGO_YAML_NODE_COUNT_MAX (1u << 20)      /* of one YAML text, aliases counted as what they stand for */
#define REGO_ERROR_TEXT_SIZE_MAX 16384u          /* one message; the rest of a longer one is cut off */
#define REGO_TYPE_WEIGHT_MAX    4096u            /* types inside one type: beyond it a constant is of anything */
#define REGO_TYPE_WORK_MAX      (UINT64_C(1) << 28)     /* types looked at in checking one policy; then no more is checked */
#define REGO_HINT_SIZE_MAX      512u             /* the advice behind one message */

/* --- Rego: evaluating -------------------------------------------------------------------------------------------- */
#define REGO_VALUE_SIZE_MAX     (256u << 20)     /* one string or container that a builtin makes */
#define REGO_BYTES_PER_STEP     16u              /* of text read or written for one step of the budget */
#define REGO_PATH_COUNT_MAX     512u             /* keys of the path of a package and rule */
#define REGO_RULE_COUNT_MAX     (1u << 20)       /* of one policy */
#define REGO_USE_COUNT_MAX      (1u << 23)       /* rules and packages that the rules of a policy may read, each time counted */
#define REGO_REGISTER_COUNT_MAX (1u << 20)       /* values that one rule holds at a time */
#define REGO_STEP_COUNT_DEFAULT (UINT64_C(1) << 28)     /* instructions of one evaluation: some seconds */
#define REGO_EVAL_SIZE_DEFAULT  (256u << 20)     /* memory of one evaluation */
#define REGO_HEIGHT_MAX         2048u            /* containers that rules put around one another: recursion over values */
#define REGO_WITH_HEIGHT_MAX    1024u            /* containers that `with` puts around documents, one inside another */
#define REGO_ARG_COUNT_MAX      32u              /* of a function */
#define REGO_CONFLICT_WIDTH_MAX 80u              /* of a value that a conflict shows */
#define REGO_NOTE_SIZE_MAX      (64u * 1024)     /* one print(...) or trace(...) */
#define REGO_MEMO_COUNT_MAX     (1u << 16)       /* calls of one function that an evaluation remembers */
#define REGO_SCAN_INDEX_SIZE_MAX (64u << 20)     /* indexes of base data of one policy; without one a scan is slower */
#define REGO_CALL_DEPTH_MAX     2048u            /* rules and nested bodies inside one another: 2 MB of the thread's stack */
#define GLOB_DEPTH_MAX          64u              /* braces inside one another in a glob pattern */
#define TEMPLATE_DEPTH_MAX      64u              /* actions inside one another, and templates that call templates */
#define FORMAT_WIDTH_MAX        1000000          /* width or precision of a verb of sprintf */

#define BUILTIN_CACHE_COUNT_MAX 1024u            /* compiled patterns and the like that one thread keeps ... */
#define BUILTIN_CACHE_SIZE_MAX  (16u << 20)      /* ... and their memory, before all is forgotten */

/* --- regular expressions of policies ------------------------------------------------------------------------------ */
#define REGEX_PATTERN_SIZE_MAX  (256u * 1024)    /* long lists of names joined by bars are a use of patterns */
#define REGEX_REPEAT_COUNT_MAX  1000             /* RE2's, nested repetitions multiplied */
#define REGEX_NODE_HEIGHT_MAX   1000u            /* RE2's; bounds the recursion of the compiler */
#define REGEX_GROUP_COUNT_MAX   1000u
#define REGEX_PROGRAM_COUNT_MAX (1u << 18)       /* instructions; 3 MB */
#define REGEX_SLOT_COUNT_MAX    (1u << 22)       /* instructions times group ends: 32 MB of working memory */
#define REGEX_STATE_COUNT_MAX   2048u            /* states kept at a time for answering yes or no ... */
#define REGEX_STATE_SIZE_MAX    (512u * 1024)    /* ... and what their tables may take */
#define REGEX_CLASS_COUNT_MAX   512u             /* kinds of characters that states tell apart; else they are not used */

/* --- keys, certificates and tokens of policies -------------------------------------------------------------------- */
#define CRYPTO_INTEGER_SIZE_MAX 2048u            /* bytes of one number in a key or certificate: 16,384 bits */
#define CRYPTO_CERTIFICATE_COUNT_MAX 256u        /* certificates or keys in one text */
#define TOKEN_NESTING_MAX       8u               /* JSON Web Tokens inside one another */

/* --- JSON Schema in policies -------------------------------------------------------------------------------------- */
#define DRAFT_NODE_COUNT_MAX    (1u << 16)       /* subschemas of one document, references followed once each */
#define DRAFT_DEPTH_MAX         512u             /* subschemas inside one another, written or applied */

/* --- GraphQL in policies ------------------------------------------------------------------------------------------ */
#define GRAPHQL_DEPTH_MAX       256u             /* selections, values and types inside one another in a text */
#define GRAPHQL_WALK_DEPTH_MAX  2048u            /* the same while checking, fragments followed */
#define GRAPHQL_NAME_SUGGEST_MAX 128u            /* longer names are not compared for "did you mean" */

/* --- policies at the command line --------------------------------------------------------------------------------- */
#define TAR_SIZE_MAX            (128u << 20)     /* a bundle, compressed and unfolded */
#define TAR_FILE_COUNT_MAX      (1u << 16)       /* files of one */
#define TAR_NAME_SIZE_MAX       4096u            /* the name of one, directories included */
#define POLICY_FILE_COUNT_MAX   (1u << 16)       /* modules and data files that one command loads ... */
#define POLICY_SIZE_MAX         (1u << 30)       /* ... and their bytes together */
#define POLICY_STEP_COUNT_MAX   (1u << 20)       /* steps of one verdict at a hook: some tens of ms, in which nothing else goes on */
#define POLICY_EVAL_SIZE_MAX    (16u << 20)      /* memory of one */
#define POLICY_PACKAGE_COUNT_MAX 64u             /* packages of one policy that are asked */
#define POLICY_TEXT_SIZE_MAX    1024u            /* why one denies: further reasons are counted */
#define POLICY_ASKED_COUNT_MAX  64u              /* policies that apply to one step */
#define POLICY_PLAN_COUNT_MAX   64u              /* plans whose policies are kept at hand */
#define DIRECTORY_DEPTH_MAX     64u              /* directories inside one another: a link to a parent ends somewhere */
#define ZONE_SIZE_MAX           (256u * 1024)    /* one file of the time zone database; the largest has 4 KB */
#define CRON_YEAR_COUNT_MAX     45               /* how far ahead a schedule looks: the 29th of February on one weekday comes within 40 */
#define SCHEDULE_ENTRY_COUNT_MAX 256u            /* days, windows, calendars of one kind in a schedule */
#define ZONE_COUNT_MAX          1024u            /* zones that a process keeps; the database has about 600 names */
#define DIFF_CELL_COUNT_MAX     (1u << 24)       /* pairs of lines compared to show what a formatter changes: 64 MB */
#define BENCH_COUNT_MAX         (1u << 26)       /* evaluations whose times one benchmark keeps: 512 MB */
#define BENCH_THREAD_COUNT_MAX  256u
#define TRACE_SIZE_MAX          (256u << 20)     /* what explaining one evaluation may take: events, and their text or JSON */

/* --- definitions ------------------------------------------------------------------------------------------------- */
#define DEFINITION_SIZE_MAX     (64u << 20)      /* one file: a 100,000-step workflow is about 15 MB of YAML */
#define DEFINITION_DEPTH_MAX    128u             /* nesting of one file; a step tree uses two levels a step */
#define DEFINITION_NODE_COUNT_MAX (1u << 24)     /* nodes of one file, aliases counted as what they stand for */
#define SDK_OUTPUT_SIZE_MAX     (4u * DEFINITION_SIZE_MAX)  /* a definition and its places, as the SDK's compiler prints them */
#define SDK_MESSAGE_SIZE_MAX    (64u * 1024)     /* what it says where it cannot work */
#define SDK_COMPILE_MS_MAX      120000u          /* one definition; a second on an idle machine */
#define DIAGNOSTIC_COUNT_MAX    1000u            /* reported for one file; the rest are counted */
#define PRODUCTION_NAMED_COUNT_MAX 3u            /* tasks named in one piece of evidence; the rest are counted */
#define COMPATIBILITY_COUNT_MAX 100u             /* incompatibilities of two versions that are told; the rest are counted */
#define NAME_SIZE_MAX           128u             /* names of workflows, jobs, tasks, artifacts, signals, params, labels */
#define TEXT_SIZE_MAX           (16u * 1024)     /* a description, a message, a label's value */
#define CONDITION_SIZE_MAX      (8u * 1024)      /* one condition */
#define PARAM_FINDING_COUNT_MAX 1000u            /* wrong parameters of one start that are told; the rest are counted */
#define PLAN_STEP_COUNT_MAX     (1u << 20)       /* a million steps in one plan; measured at 100,000 */
#define PLAN_EDGE_COUNT_MAX     (1u << 23)
#define PLAN_SIZE_MAX           (512u << 20)     /* a plan in its stored form */
#define ATTEMPT_COUNT_MAX       1000u            /* tries of one step run */
#define ITERATION_COUNT_MAX     100000u          /* of one guarded cycle */
#define GUARD_COUNT_MAX         64u              /* guarded cycles of one workflow: a bit each */
#define DURATION_MS_MAX         (INT64_C(1000) * 60 * 60 * 24 * 3660)   /* ten years */

/* --- runs -------------------------------------------------------------------------------------------------------- */
#define DECISION_EVENT_COUNT_MAX 1024u           /* more work than this is state, consumed by further decisions */
#define ADVANCE_EVENT_COUNT_MIN 16u              /* events of one step that are not torn apart */
#define SKIP_RANGE_COUNT_MAX    64u              /* steps that one event skips: each writes a row */
#define READY_LOOK_COUNT_MAX    16u              /* steps tried behind one whose executor has no room */
#define POLL_COUNT_MAX          50000u           /* polls of one step run */
#define POLL_RESULT_COUNT_MAX   16u              /* results of earlier polls that a poll is given ... */
#define POLL_RESULTS_SIZE_MAX   (16u << 10)      /* ... and their size as text */
#define NOTIFY_TARGET_COUNT_MAX 16u              /* whom one pause notifies */
#define NOTIFY_ATTEMPT_COUNT_MAX 8u              /* tries of one notification ... */
#define NOTIFY_DELAY_MS         1000             /* ... the second one so long after the first, each later one after twice as long ... */
#define NOTIFY_DELAY_MS_MAX     60000            /* ... up to this ... */
#define NOTIFY_JITTER_MS        500u             /* ... and a part that looks like chance */
#define NOTIFY_TRY_MS           30000            /* after which a try that says nothing counts as failed */
#define NOTIFICATION_SHIFT      20u              /* of the run's number in the number of an outbox entry ... */
#define RUN_NOTIFICATION_COUNT_MAX ((1u << NOTIFICATION_SHIFT) - 1)     /* ... and so many notifications one run sends */
#define RUN_SIGNAL_COUNT_MAX    4096u            /* signals that one run keeps */
#define LOG_POSITION_MAX        (UINT64_C(1) << 53)      /* records of one log, and runs: what any program can count exactly */
#define LOST_COUNT_MAX          3u               /* executions of a step run that may end with their owner before that counts as a
                                                  * failure of its attempt: two bits of it */
#define ROLLBACK_COUNT_MAX      30000u           /* of one run; their numbers are half of an attempt's */
#define RATIONALE_SIZE_MAX      128u             /* why something was decided, where nobody said so; what people say: TEXT_SIZE_MAX */
#define DIRECTORY_SIZE_MAX      4096u            /* where the programs of a run begin: what a system permits */
#define FAILURE_TEXT_SIZE_MAX   512u             /* what a run remembers of why it failed */
#define ACCEPT_MS_DEFAULT       15000            /* how long a remote executor may take to accept an attempt */
#define LEASE_MS_DEFAULT        30000            /* how long it may be silent then */
#define INPUT_SIZE_MAX          (16u << 20)      /* an input with its ${paths} filled in, as JSON */
#define IDEMPOTENCY_KEY_SIZE_MAX (16u * 1024)    /* a key of a start or a step, given or made of a template */
#define PATH_PART_COUNT_MAX     32u              /* names of one ${path} */

/* --- dispatch ---------------------------------------------------------------------------------------------------- */
#define COOPERATIVE_COUNT_DEFAULT 2u             /* cooperative sub-routines beside a primary: sizes the spawn budget */
#define COOPERATIVE_COUNT_MAX   4u               /* the absolute upper bound of that */
#define SPAWN_BUDGET_MAX        65535u           /* sub-routines of one task, over its whole life */
#define PLACEMENT_NAME_COUNT_MAX 16u             /* regions, clouds or capabilities that a person binds a run to */
#define PLACEMENT_TEXT_SIZE_MAX 1024u            /* what is recorded of a choice between executors; the rest is cut */
#define PLACEMENT_LATENCY_MS_MAX (1u << 28)      /* what an attempt took is told up to three days */
#define PLACEMENT_GROUP_COUNT_MAX 8u             /* sets of executors that runs wait for room at; of more, the first executor stands for the set */
#define REFUSAL_WINDOW          64u              /* offers of an executor by which its refusals are weighed */
#define QUOTA_AMOUNT_MAX        (INT64_C(1) << 60)       /* of anything that a tenant uses: there it stays */
#define QUOTA_PRICE_MAX         INT64_C(1000000000000)   /* millionths an hour: times the milliseconds of one it fits 63 bits */
#define QUOTA_WINDOW_MS_DEFAULT INT64_C(2592000000)      /* thirty days: time and money of a tenant are counted anew after them */
#define QUOTA_TICK_MS           1000             /* what is under way is charged so often, and ended where nothing is left */
#define QUOTA_KEEP_MS           10000            /* and stored so often where nothing else is written */
#define QUOTA_COUNT_MAX         4096u            /* tenants with limits: they stay in memory */
#define QUOTA_CPU_MILLI_DEFAULT 1000             /* of a program that declares no cpu, where its tenant has an envelope */

/* --- executors --------------------------------------------------------------------------------------------------- */
#define NOTICE_COUNT_DEFAULT    (1u << 13)       /* notices of executors that wait for the engine ... */
#define NOTICE_SIZE_MAX         (64u << 20)      /* ... and their bytes; a single larger one is taken where none waits */
#define OUTPUT_SIZE_MAX         (16u << 20)      /* what one attempt may give as its output, as JSON text */
#define LOG_LINE_SIZE_MAX       (16u * 1024)     /* one line of a log; the rest of it is cut, and the line says so */
#define LOG_SIZE_DEFAULT        (8u << 20)       /* lines of one attempt; what follows is read and passed over */
#define RUNNER_LINE_SIZE_MAX    (1u << 20)       /* one line that a runner writes to its events */
#define REPORT_TEXT_SIZE_MAX    1024u            /* of a report's message: the last lines of what it said */
#define PROCESS_COUNT_MAX       4096u            /* processes of one executor at a time: four descriptors each */
#define PROCESS_REQUEST_SIZE_MAX (160u * 1024)   /* arguments and variables of one process: one message of a socket */
#define PROCESS_ARG_COUNT_MAX   4096u            /* its arguments, and its variables */
#define PROCESS_VARIABLE_SIZE_MAX (24u * 1024)   /* a larger input, params or context is on standard input alone */
#define PROCESS_GRACE_MS_DEFAULT 5000            /* between asking a process to end and ending it */
#define PROCESS_SPAWNER_GRACE_MS 1000            /* the same when the engine is gone and the next one waits */
#define NATIVE_THREAD_COUNT_MAX 256u
#define NATIVE_WAITING_COUNT_MAX (1u << 16)      /* attempts of one native executor that wait for a thread */
#define NATIVE_CLOSE_MS_DEFAULT 5000             /* how long closing waits for functions that do not return */
#define SLEEP_COUNT_MAX         (1u << 16)       /* sleeping attempts; ending one looks through them */
#define WORKER_LEASE_COUNT_MAX  65536u           /* leases of one worker executor at a time */
#define WORKER_QUEUE_COUNT_MAX  64u              /* queues of one worker executor */
#define WORKER_ITEM_COUNT_MAX   1024u            /* reports, messages, heartbeats and leases of one exchange, each */
#define WORKER_EXCHANGE_COUNT_MAX 4096u          /* exchanges that wait at one executor */
#define WORKER_WAIT_MS_MAX      60000            /* how long one of them waits for work */
#define WORKER_AWAY_MS          5000             /* a queue that nobody has asked for work of so long after the start has no worker */
#define WORKER_NAME_SIZE_MAX    128u             /* of a worker: its key, and what it calls itself ... */
#define WORKER_OWN_NAME_SIZE_MAX 100u            /* ... which is at most this */
#define BREAKER_FAILURE_COUNT_DEFAULT 5u         /* failures in a row by which a circuit opens where runners.yaml does not say ... */
#define BREAKER_OPEN_MS_DEFAULT 30000            /* ... and how long it stays so before one attempt tries */
#define BREAKER_OPEN_MS_MAX     600000           /* the longest it stays open, after probes that failed */
#define HTTP_COUNT_MAX          4096u            /* requests of one executor at a time */
#define HTTP_REDIRECT_COUNT_MAX 5
#define HTTP_HEADER_COUNT_MAX   256u             /* of one request or answer */
#define HTTP_HEADER_SIZE_MAX    (64u * 1024)     /* all headers of one answer */
#define HTTP_CONNECT_MS_MAX     10000            /* until a connection is there */
#define HTTP_TIMEOUT_MS_DEFAULT (5 * 60 * 1000)  /* of a request whose attempt has no deadline */

/* --- ledger ------------------------------------------------------------------------------------------------------ */
#define RECORD_SIZE_MAX         (16u << 20)      /* one record: messages of many failures at once */
#define RECORD_EVENT_COUNT_MAX  (1u << 14)       /* of one record; a decision has fewer */
#define RECORD_PAYLOAD_COUNT_MAX (1u << 14)      /* of one record */
#define RECORD_PAYLOAD_SIZE_MAX (1u << 30)       /* what lies beside one record, salt included */
#define VERIFY_RUN_COUNT_MAX    (1u << 24)       /* runs of one ledger that is verified: some 200 bytes each */
#define AUDIT_ROW_COUNT         (1u << 16)       /* rows of one run that are made again at a time: some 1,000 bytes each */
#define AUDIT_TRY_COUNT_MAX     8u               /* how often a run that goes on meanwhile is compared anew */
#define AUDIT_FINDING_COUNT_MAX 100u             /* that are told of one run; the rest is counted */
#define REPLAY_DIFF_SIZE_MAX    (64u << 20)      /* lines that tell two states of a run apart; the rest is cut */
#define ARCHIVE_RUN_COUNT_MAX   (1u << 20)       /* runs that are moved into one file: some 100 bytes each while it is written */
#define ARCHIVE_MARK_COUNT      256u             /* runs that one record of the log says to be archived */
#define VERIFY_ERASED_COUNT_MAX (1u << 24)       /* records of it whose payloads were erased: 16 bytes each */

/* --- stores ------------------------------------------------------------------------------------------------------ */
#define STORE_BATCH_COUNT_MAX   64u              /* commits in flight: one is synced while others wait for it */
#define STORE_READ_COUNT_MAX    1024u            /* asynchronous reads in flight */
#define STORE_READER_COUNT_MAX  16u              /* threads of a process that read at a time; further ones wait */
#define STORE_READ_MS_MAX       1000             /* one read: a longer one would keep the write-ahead log from shrinking */
#define STORE_READ_SIZE         (16u << 20)      /* records and payloads that a reader takes in one read; a next one goes on */
#define STORE_GROUP_SIZE_MAX    (8u << 20)       /* records of waiting batches that share one transaction */
#define STORE_ROOM_SIZE         (1u << 20)       /* that a SQLite file which had no room must have before it takes commits again */
#define STORE_STATEMENT_COUNT_MAX 256u           /* prepared statements that one connection keeps */
#define STORE_CACHE_SIZE        (8u << 20)       /* pages that the writing connection of a SQLite file keeps */
#define STORE_WAL_SIZE_MAX      (64u << 20)      /* of a SQLite file; beyond it the writer itself writes pages back ... */
#define STORE_WAL_SIZE_USUAL    (16u << 20)      /* ... and from here on a thread does it beside the commits */
#define STORE_WAL_SIZE_LIGHT    (1u << 20)       /* the same while commits are few: pages of it that are written again cost less */
#define STORE_HELP_RECORD_COUNT_MAX 4u           /* of a commit that is made without the help of another thread */
#define STORE_BUSY_MS_MAX       60000            /* how long a commit waits for a stranger who has locked the file */
#define FILE_LINK_COUNT_MAX     40u              /* symbolic links behind one another, as the system has it */
#define STORE_PATH_SIZE_MAX     4000u            /* of a SQLite file: its companions have longer names */
#define PRUNE_ROW_COUNT         4096u            /* rows of archived runs that are taken away in one commit */
#define QUERY_CONDITION_COUNT_MAX 6u
#define QUERY_PARAM_COUNT_MAX   6u
#define SQL_TEXT_SIZE_MAX       (64u * 1024)     /* one generated statement */

/* --- the engine -------------------------------------------------------------------------------------------------- */
#define ENGINE_RUN_COUNT_MAX    65536u           /* runs in memory; parked ones are not */
#define ENGINE_QUEUE_COUNT_MAX  65536u           /* requests that wait, of one tenant */
#define TENANT_WEIGHT_MAX       100u             /* the largest share of a tenant beside others */
#define ENGINE_FILL_MAX         800u             /* thousandths of these two, and of ENGINE_SIZE_MAX, at which new runs are refused */
#define ENGINE_PLAN_COUNT_MAX   1024u            /* plans kept that no run in memory uses ... */
#define ENGINE_PLAN_SIZE_MAX    ((size_t)128 << 20) /* ... and bytes of all plans in memory at which those leave ... */
#define ENGINE_PLAN_LEAVE_COUNT 256u             /* ... of them in one turn: each is looked for among all */
#define ENGINE_SIZE_MAX         ((size_t)1 << 30) /* bytes of runs in memory, of what waits for them and of commits under way: engine_size() */
#define ENGINE_SIZE_MB_MIN      64u              /* the least that may be set: a batch and a payload fit */
#define ENGINE_SIZE_MB_MAX      (1u << 20)
#define ENGINE_OUT_SHARE        4u               /* of these: a quarter is what executors of this process keep of their attempts, beyond one */
#define ENGINE_HOT_SHARE        16u              /* of these: a sixteenth are payloads at hand of runs that wait; others are fetched again */
#define ENGINE_BATCH_SHARE      32u              /* of these: no batch takes further decisions beyond so much of it, nor beyond BATCH_SIZE_MAX */
#define ENGINE_HOT_SIZE_MAX     (1u << 20)       /* outputs kept at hand for one run; others are fetched again */
#define ENGINE_HOT_SIZE_MIN     4096u            /* payloads of one run that stay at hand: fetching them would cost more */
#define ENGINE_FETCH_COUNT_MAX  64u              /* payloads that are fetched at a time */
#define READ_VALUE_SIZE_MIN     4096u            /* payloads from this size on are read once for a decision */
#define ENGINE_READ_COUNT_MAX   512u             /* questions to the store under way */
#define ENGINE_BATCH_COUNT_MAX  2u               /* batches under way: one is synced, one waits behind it */
#define ENGINE_RECOVER_RUN_COUNT 8192u           /* runs in memory up to which a new owner loads further ones */
#define BATCH_EVENT_COUNT_MAX   8192u            /* events after which a batch takes no further decision */
#define DECISION_WEIGHT_MAX     64u              /* events and rows after which a decision is recorded, and goes on in a next one */
#define BATCH_SHARE_MIN         32u              /* events and rows of one run, or of one tenant, in a batch while others are at work, too */
#define BATCH_SHARE_MAX         512u             /* the same where a commit takes long anyway */
#define BATCH_OTHERS_COUNT      8u               /* batches for which someone who took part in one counts as being at work */
#define PAYLOAD_SIZE_MAX        (64u << 20)      /* one payload of a record, as canonical JSON: parameters, an input, an
                                                  * output, what a signal brings */
#define DECISION_PAYLOAD_SIZE   (16u << 20)      /* payloads of a decision after which it begins no further step; the next one goes on */
#define DECISION_TEXT_SIZE_MAX  (8u << 20)       /* names, keys and texts of the events that a command leads to */
#define BATCH_SIZE_MAX          (32u << 20)      /* records, payloads and log lines after which a batch takes no further decision */
#define QUEUE_QUANTUM           256              /* events a tenant may decide before it is another one's turn */
#define TIMER_SWEEP_MS          60000            /* how often, and how far ahead, times of parked runs are looked at */
#define TIMER_SWEEP_AGAIN_MS    100
#define LOAD_READ_COUNT         4u               /* questions that reading one run asks at a time, at most */
#define LOAD_PARAMS_SIZE_MAX    (64 * 1024)      /* parameters that are read together with their run; larger ones when they are asked for */
#define LOAD_RECORD_COUNT       1024u            /* records of a run that are read at a time */
#define LOG_NOTE_COUNT_MAX      8u               /* notes of the log about itself in one commit */
#define REQUEST_KEEP_MS         86400000         /* a day: how long the answer to a request with an id is kept at least */
#define REQUEST_ID_SIZE_MAX     255u
#define REQUEST_REPEAT_COUNT_MAX 16u             /* repetitions of one request that wait for its first answer */
#define REQUEST_PURGE_COUNT     256u             /* requests forgotten in one commit */
#define REQUEST_PURGE_MS        600000           /* how often it is looked whether there are any */
#define CLOCK_JUMP_MS           60000            /* a clock that moves further between two turns was set */
#define LEASE_SKIP_MS           1000             /* time that passed for the clock alone, or while the process was stopped: more of it is
                                                  * held against no lease */
#define TIMER_SWEEP_COUNT_MAX   1024u
#define PARK_MS_MIN             5000             /* a run whose time comes sooner stays in memory */
#define SNAPSHOT_EVENT_COUNT    1024u            /* events after which a run gets a snapshot; or as many as it has steps */
#define PRIORITY_AGE_MS         30000            /* after so long a run that waits for room counts as one level higher */
#define STORE_RETRY_MS          1000             /* after which a store that refused is tried again ... */
#define STORE_RETRY_SHIFT_MAX   4u               /* ... twice as long each time, so often: 16 s */
#define TENANT_IDLE_COUNT_MAX   1024u            /* tenants that nothing is known of but their names, before they are forgotten */
#define LOG_DELAY_MS            100              /* how long lines of logs wait for a commit to go along with ... */
#define LOG_BATCH_COUNT         4096u            /* ... unless there are so many */
#define LOG_WAITING_SIZE_MAX    (16u << 20)      /* lines that wait for a commit; beyond it they are left out and counted */
#define HEAP_LARGE_SIZE         (ARENA_BLOCK_SIZE_MAX + 4096u)   /* allocations from here on go back to the system when they are freed */
#define HEAP_KEPT_SIZE          (32u << 20)      /* of smaller ones, what is kept for the next at the end of the heap */
#define CONTROL_CLIENT_COUNT_MAX 48u             /* processes that send commands to the owner of a store, at a time */
#define CONTROL_LINE_SIZE_MAX   (64u << 20)      /* one command: a start brings its plan */
#define DRAIN_RENEW_MS          200              /* how often an owner that ends renews the leases of attempts elsewhere */
#define HOST_RELEASE_MS_MAX     10000            /* how long an owner that ends tries to record what it gives back */
#define HOST_WATCH_COUNT_MAX    64u              /* descriptors that callers of one loop wait for */
#define CONDITION_STEP_COUNT_MAX (1u << 22)      /* instructions of one evaluation of a condition; a decision that took as many begins no more */
#define CONDITION_EVAL_SIZE_MAX (64u << 20)      /* and its memory */

/* --- secrets ----------------------------------------------------------------------------------------------------- */
#define SECRET_SIZE_MAX         (64u * 1024)     /* a value: a private key with its certificates fits well */
#define SECRET_NAME_SIZE_MAX    256u             /* "definition/" and the id of a workflow fits */
#define ACTIVATE_TRY_COUNT_MAX  32u              /* how often others may become active while a revision is compared with the one that was */
#define SEAL_TRY_COUNT_MAX      3u               /* how often two may be late by turns with the first key of a tenant, which never changes then */
#define SECRET_LIST_COUNT_MAX   100000u          /* secrets of one tenant that are listed */
#define SECRET_REDACT_SIZE_MIN  4u               /* a shorter value is not searched for: it would be found everywhere */
#define VAULT_TENANT_COUNT_MAX  64u              /* keys of tenants that are kept open; the oldest is closed for the next */
#define CREDENTIAL_SIZE_MAX     2048u            /* of an attempt, as text */
#define CREDENTIAL_MS_MAX       (24 * 3600 * 1000LL) /* how long that of an attempt without a deadline may count */
#define TRIGGER_WINDOW_MS       (5 * 60 * 1000)  /* G-20: how old a signed request may be, unless its trigger says otherwise */
#define TRIGGER_RATE_COUNT      60u              /* G-20: triggers that are taken ... */
#define TRIGGER_RATE_MS         (60 * 1000)      /* ... in this time, unless the trigger says otherwise */
#define TRIGGER_REPLAY_COUNT_MAX 131072u         /* requests of one trigger that its rate_limit and replay_window may
                                                  * make it remember: 50/s and 5m are 30,100 */
#define TENANT_REPLAY_COUNT_MAX (4u * TRIGGER_REPLAY_COUNT_MAX)     /* of all triggers of a tenant at a time; beyond it
                                                                     * its requests are refused; 25 MB */
#define TRIGGER_BODY_SIZE_MAX   (16u << 20)      /* a request's body */
#define TRIGGER_HEADER_COUNT_MAX 128u            /* and its headers */

/* --- traces and the log of a server ----------------------------------------------------------------------------- */
#define TRACE_STATE_SIZE_MAX    512u             /* a tracestate: what the recommendation wants passed on; longer ones lose members */
#define TRACE_STATE_COUNT_MAX   32u              /* its members, as the recommendation says */
#define TRACE_MEMBER_SIZE_MAX   128u             /* larger ones are left out first, as it says */
#define HERALD_RECORD_COUNT_MAX 16384u           /* committed records that wait to be told; beyond it they are dropped and counted */
#define HERALD_RECORD_SIZE_MAX  (64u << 20)      /* the same in bytes */
#define HERALD_TURN_MS          100              /* how long what came is gathered before it is looked at */
#define HERALD_LINE_SIZE_MAX    ((size_t)1 << 20) /* lines of the server's log that wait for its reader; beyond it they are dropped and counted */
#define HERALD_RUN_COUNT_MAX    16384u           /* runs whose spans are under way in memory; others are read again when they go on */
#define HERALD_RUN_SIZE_MAX     ((size_t)64 << 20) /* the same in bytes: six runs of 100,000 steps; the one being told stays beyond it */
#define HERALD_NAME_SIZE_MAX    ((size_t)32 << 20) /* names of steps of plans at hand; those of the plan in use stay beyond it */
#define SPAN_COUNT_MAX          16384u           /* spans that wait to be sent; beyond it the newest are dropped and counted */
#define SPAN_BATCH_COUNT        512u             /* sent at a time */
#define SPAN_DELAY_MS           1000             /* how long a span waits for others at most */
#define OTLP_TIMEOUT_MS         10000            /* a collector that has not answered by then is away */
#define OTLP_RETRY_MS           1000             /* before it is tried again, doubled each time ... */
#define OTLP_RETRY_MS_MAX       60000            /* ... up to this */
#define OTLP_RETRY_AFTER_MS_MAX 600000           /* ... and where it says itself when, up to this */
#define OTLP_TOLD_MS            60000            /* that it is away, or refuses spans, is logged once in this time at most */
#define OTLP_HEADER_COUNT_MAX   32u              /* of OTEL_EXPORTER_OTLP_HEADERS */

/* --- what is counted ---------------------------------------------------------------------------------------------- */
#define METER_EXECUTOR_COUNT_MAX 32u             /* executors that metrics tell apart: as many as a process has */
#define METER_TENANT_COUNT_MAX  32u              /* tenants that metrics name, the busiest: a series each; the others are one */

/* --- the server -------------------------------------------------------------------------------------------------- */
#define API_BODY_SIZE_MAX       (16u << 20)      /* a request's body */
#define API_BODY_READ_SIZE_MAX  (96u << 20)      /* memory for the values of one: six million numbers, or a text of any size that a body may have */
#define API_DEFINITION_SIZE_MAX (4u << 20)       /* a definition over HTTP: 100,000 steps of one line each are 3 MB; a command reads larger files */
#define API_DEFINITION_NODE_COUNT_MAX (1u << 21) /* its nodes, aliases counted in full: those steps have 600,000 */
#define API_COMPILE_SIZE_MAX    (512u << 20)     /* memory that compiling it may take: those steps take 300 MB */
#define API_ASIDE_COUNT_MAX     256u             /* requests that wait for the thread beside the server's ... */
#define API_ASIDE_SHARE_MAX     32u              /* ... of these, those of one tenant, or of one key of every tenant */
#define API_REQUEST_KEY_SIZE_MAX (REQUEST_ID_SIZE_MAX / 2)      /* an Idempotency-Key: what is added to it, the tenant or a run, has room beside it */
#define API_HEAD_SIZE_MAX       (16u * 1024)     /* its line and headers */
#define API_LINK_SIZE           (24u * 1024)     /* memory of one connection: a head, and what the answer's needs */
#define API_CONNECTION_COUNT_MAX 16384u          /* at a time; one descriptor each: fewer where there are fewer of these */
#define API_CONNECTION_PER_ADDRESS_MAX 15360u    /* of one address: a proxy in front has most of them, and leaves room for others */
#define API_IDLE_S              75u              /* without a byte either way a connection is closed */
#define API_HANDSHAKE_MS_MAX    10000            /* a handshake of TLS that is not over by then is slow on purpose ... */
#define API_HANDSHAKE_COUNT_MAX 256u             /* ... and where there are more than these, one that is not over ... */
#define API_HANDSHAKE_CROWD_MS  1000             /* ... by then */
#define API_REQUEST_MS_MAX      30000            /* a request that has not come whole by then is slow on purpose */
#define API_WAITING_COUNT_MAX   8192u            /* requests that wait for a run, or for work; those that wait for their commit are not counted ... */
#define API_WAITING_TENANT_MAX  2048u            /* ... of these, those of one tenant ... */
#define API_WAITING_KEY_MAX     1024u            /* ... and of one key */
#define API_WAITING_SIZE_MAX    (256u << 20)     /* bodies that are received or wait for their answers, all together ... */
#define API_BODY_SHARE_MAX      (64u << 20)      /* ... of these, those of one tenant, or of one key of every tenant ... */
#define API_STRANGER_SHARE_MAX  (64u << 20)      /* ... and those of all who send no key: triggers, until they are let in ... */
#define API_STRANGER_ADDRESS_MAX (32u << 20)     /* ... of these, those of one address: one who sends slowly leaves the others theirs */
#define API_READ_SIZE_MAX       (384u << 20)     /* values of large bodies, until these are answered, all together ... */
#define API_READ_SHARE_MAX      (192u << 20)     /* ... of these, those of one tenant, one key, or all who send no key */
#define API_ANSWER_FREE_SIZE    (16u * 1024)     /* larger answers are counted until they are read: sockets take up to about so much at once */
#define API_ANSWER_SIZE_MAX     (512u << 20)     /* those that nobody has read yet, all together ... */
#define API_ANSWER_SHARE_MAX    (128u << 20)     /* ... of these, those of one tenant, or of one key: one of API_STORE_ANSWER_SIZE_MAX fits ... */
#define API_ANSWER_STRANGER_MAX (64u << 20)      /* ... and those of all who send no key ... */
#define API_ANSWER_ADDRESS_MAX  (32u << 20)      /* ... of these, those of one address */
#define API_DISCARD_SIZE_MAX    (64u * 1024)     /* a body that is not wanted is read up to this, so that its sender reads the answer */
#define API_PAGE_SIZE           (8u << 20)       /* parameters, inputs and outputs after which a page ends, or leaves further ones out */
#define API_LISTED_SIZE_MAX     (64u * 1024)     /* parameters of an execution that a list has; of larger ones it tells the size */
#define API_ANSWER_MS_MAX       60000            /* an engine that has not answered by then is stuck */
#define API_WAIT_MS_MAX         30000            /* C-04: the longest ?wait= */
#define API_PAGE_COUNT_DEFAULT  50u
#define API_SCAN_COUNT_MAX      10000u           /* rows that are looked at for one page of a list with a filter; then the page is short */
#define API_PAGE_COUNT_MAX      500u
#define API_LIST_HERE_COUNT     512u             /* rows of these that are looked at in the server's thread ... */
#define API_LIST_HERE_ITEM_COUNT 100u            /* ... and executions that are shown there: each about 3 ms */
#define API_STEP_COUNT_MAX      API_PAGE_COUNT_MAX      /* steps that an execution has with it: R-097 wants 100; the list of steps has the others */
#define API_SPAN_COUNT_MAX      10000u           /* spans in one trace: what a page of a browser can still draw */
#define API_HISTORY_EVENT_COUNT_MAX 40000u       /* events of the runs that one answer is made of: a tenth of a second of the
                                                  * thread beside the server's, in which others that need it wait */
#define API_WORKER_COUNT_MAX    1024u            /* workers whose last exchange is known; of more the one that is silent longest is forgotten */
#define API_WORKER_TENANT_COUNT_MAX 256u         /* ... of one tenant: the workers of others are not forgotten for its own */
static_assert(API_WORKER_TENANT_COUNT_MAX < API_WORKER_COUNT_MAX, "no tenant has them all");
#define API_WORKER_SILENT_MS    60000            /* a worker that has not asked for so long counts as silent: twice what an exchange waits */
#define API_SCHEDULE_COUNT_MAX  16384u           /* schedules of active revisions that a server starts runs by ... */
#define API_SCHEDULE_TENANT_MAX 4096u            /* ... of these, those of one tenant */
#define API_SCHEDULE_LOOK_MS    2000             /* how often it looks whether revisions have changed */
#define API_SCHEDULE_READ_COUNT 4u               /* reads of records that tell which have; of more changes nobody asks which, and all are read */
#define API_SCHEDULE_STALE_COUNT 64u             /* schedules that were replaced, more than are followed: then all are read again */
#define API_SCHEDULE_LATE_S     60               /* F-036: an occurrence that is later than this starts nothing any more */
#define API_SCHEDULE_BEHIND_S   86400            /* of those that are later than this one is told, and the others are not counted */
#define API_SCHEDULE_TURN_COUNT 1024u            /* after so many that were started, or skipped, others have their turn before the next schedule */
#define SKIP_COUNT_MAX          4096u            /* occurrences that started nothing and are not recorded yet: one of each schedule */
#define API_TIME_COUNT_MAX      100u             /* occurrences of a schedule in one answer */
#define API_TIME_COUNT_DEFAULT  5u
#define DIFF_LINE_COUNT_MAX     1000u            /* differences that are told of two attempts or runs; the rest is counted */
#define API_STREAM_COUNT_MAX    1024u            /* event streams at a time ... */
#define API_STREAM_TENANT_MAX   512u             /* ... of one tenant ... */
#define API_STREAM_KEY_MAX      256u             /* ... and of one key */
#define FEED_TURN_COUNT         128u             /* records of the ledger that are read for event streams at a time: about a millisecond */
#define FEED_RECORD_COUNT_MAX   1024u            /* the newest of those that some stream wants, at hand ... */
#define FEED_SIZE_MAX           (4u << 20)       /* ... with so many bytes */
#define FEED_RUN_COUNT          1024u            /* runs whose tenant is known without asking */
#define API_STREAM_BUCKET_COUNT 256u             /* lists of streams by run, and by tenant */
#define API_STREAM_BEAT_MS      15000            /* a comment after so long without an event: proxies keep the connection */
#define API_STREAM_SLOW_MS      10000            /* a reader that takes nothing for so long is cut off */
#define API_SURVEY_MS_MAX       2000             /* how long /metrics waits for the engine */
#define API_STREAM_PIECE_SIZE   (64u * 1024)     /* sent at a time */
#define API_RING_COUNT          16384u           /* requests and news between the threads of a server */
#define API_TRIM_QUIET_MS       1000             /* without a request for so long, memory that was freed goes back to the system ... */
#define API_TRIM_SIZE_MIN       (16u << 20)      /* ... where so much has been freed, as far as can be told */
#define API_TRIM_CALL_SIZE      (32u * 1024)     /* what a request takes beside its body and answer */
#define API_DRAIN_MS_MAX        30000            /* how long a server that ends waits for what it has begun */
#define API_DRAIN_GRACE_MS      100              /* ... and a connection that was made or answered just now, for a request that is on its way */
#define REMOTE_AWAY_MS_MAX      30000            /* how long a command that shows a run waits for its server to come back ... */
#define REMOTE_RETRY_MS         500              /* ... between two tries ... */
#define REMOTE_RETRY_COUNT      (REMOTE_AWAY_MS_MAX / REMOTE_RETRY_MS)      /* ... and how many of them fail in a row before it gives up */
#define REMOTE_SILENCE_S        60L              /* a stream without a byte for so long has lost its server: there is a beat every 15 s */
#define API_STORE_ANSWER_SIZE_MAX (64u << 20)    /* rows of one query, for a command that is a client */
#define API_STORE_HERE_COUNT    512u             /* rows of it that are looked at in the server's thread, in API_HERE_SIZE_MAX: about 2 ms */
#define API_STORE_ROW_COUNT_MAX (1u << 21)       /* rows that may be asked for: what the longest query gives unless it is told otherwise */
#define API_STORE_SCAN_COUNT_MAX (1u << 18)      /* rows that are looked at where some are not the caller's to have: about a second */
#define API_CLIENT_RUN_COUNT    64u              /* runs that commands which are clients have looked at last */
#define TENANT_HOOK_COUNT_MAX   4096u            /* start triggers of a tenant whose rates are known at a time, 230 KB;
                                                  * others are refused meanwhile */
#define API_DEBOUNCE_COUNT_MAX  1024u            /* starts that wait for the end of their trigger's debouncing ... */
#define API_DEBOUNCE_TENANT_MAX 512u             /* ... of one tenant ... */
#define API_DEBOUNCE_KEY_MAX    256u             /* ... and of one sender */
#define API_DEBOUNCE_STARTING_SIZE (1u << 20)    /* payloads of those that are being started, together; one is however large it is */
#define API_GZIP_SIZE_MIN       1400u            /* a smaller answer fits one packet anyway */
#define API_FOLLOW_BUCKET_COUNT 1024u            /* lists of requests that wait for a run, by its number */
#define API_FOLLOW_TURN_NS      250000u          /* how long those of them that have news are answered before others have their turn */
#define API_PLAN_COUNT_MAX      64u              /* plans at hand for checking parameters ... */
#define API_PLAN_SIZE_MAX       ((size_t)64 << 20) /* ... and their bytes, beyond the two that a request uses */
#define API_PLAN_HELD_COUNT     2u               /* that one request uses at a time: it compares a revision with the active one */
#define API_PLAN_FACT_COUNT     4096u            /* facts of plans that are remembered, 700 KB */
#define API_HERE_SIZE_MAX       (256u * 1024)    /* a revision, or a body of JSON, that is larger is read beside the server's thread */
#define API_GRAPH_STEP_COUNT_MAX 4096u          /* steps of an execution that is drawn or projected; more are only listed */
#define FORECAST_RUN_COUNT_MAX  20u              /* earlier runs that say how long a step takes ... */
#define FORECAST_ROW_COUNT_MAX  8192u            /* ... and their steps together */
#define API_FINDING_COUNT_MAX   100u             /* mistakes of one body that are told */
#define API_BULK_REQUEST_COUNT_MAX 64u           /* requests that decide on many runs, at a time ... */
#define API_BULK_TENANT_MAX     16u              /* ... of these, those of one tenant ... */
#define API_BULK_KEY_MAX        8u               /* ... and of one key: each asks as much of the engine as a thousand others */
#define API_BULK_COUNT_MAX      1000u            /* runs that one request decides on ... */
#define API_BULK_ASKED_COUNT    16u              /* ... of these, those that the engine is asked about at a time: as many as one commit takes along */
#define API_BULK_ASKED_SIZE     (1u << 20)       /* ... and bytes of their requests together; one is asked however large it is */
#define API_KEY_COUNT_MAX       16384u           /* keys at hand, with their rates, 6 MB; of a tenant those beyond share one rate */
#define API_TENANT_COUNT_MAX    4096u            /* tenants at hand, with their rates; one more is refused while all of them are in use */
#define API_REFUSAL_COUNT_MAX   512u             /* different refusals that are told apart at a time; further ones are counted together ... */
#define API_REFUSAL_TENANT_MAX  256u             /* ... of these, those of callers of one tenant, or of all who are not known ... */
#define API_REFUSAL_REASON_COUNT_MAX 64u         /* ... and of these those that differ by the reason alone, be it a key that is made up */
#define API_REFUSAL_SPAN_MS     60000            /* of equal ones within this time the first is recorded at once, the others by their count */
#define API_REFUSAL_TEXT_SIZE   200u             /* what is recorded of an address or a reason */
#define API_LOG_SPAN_MS         60000            /* of requests that are refused or fail alike within this time ... */
#define API_LOG_LIKE_COUNT_MAX  16u              /* ... so many are lines of the log, and the others a number ... */
#define API_LOG_KIND_COUNT_MAX  64u              /* ... and so many kinds are told apart: half a gigabyte a day where all are used up ... */
#define API_LOG_KEY_KIND_MAX    24u              /* ... of these, those of one key, or of all who are not known */
#define API_KEY_EXECUTOR_COUNT_MAX 32u          /* executors that a worker's key is limited to ... */
#define API_KEY_QUEUE_COUNT_MAX 64u              /* ... and queues: as many as an executor has */
#define API_KEY_USE_MS          60000            /* how exactly the last use of a key is known */
#define API_KEY_FRESH_MS        1000             /* how long a key is believed before the store is asked again */
#define API_RATE_PER_S_DEFAULT  20000u           /* requests a second of one key ... */
#define API_RATE_PER_S_MAX      1000000u         /* more than a server answers */
#define API_RATE_BURST_S        2u               /* ... of so many seconds at once */
#define API_TENANT_RATE_FACTOR  4u               /* and of all keys of a tenant so many times that, where nothing is
                                                  * said: one key leaves the others theirs */

/* --- the embedded library ---------------------------------------------------------------------------------------- */
#define EMBED_REQUEST_COUNT_MAX 1024u            /* calls of a program's threads that wait for the engine */
#define EMBED_THREAD_COUNT_DEFAULT 4u            /* that call its functions */
#define EMBED_KEY_SIZE_MAX      1024u            /* an idempotency key that a program gives */

/* --- the command line -------------------------------------------------------------------------------------------- */
#define RUN_PREFIX_SCAN_COUNT   100000u          /* runs looked at for the beginning of an id, the newest first */
#define RUN_LIST_COUNT_MAX      1000000u         /* runs listed at a time */
#define FOLLOW_POLL_MS_MIN      20               /* how soon a store is looked at again by whoever follows a run ... */
#define FOLLOW_POLL_MS_MAX      200              /* ... while nothing happens */
#define SHOW_RECORD_COUNT_MAX   512u             /* newest records in which 'maestro show' looks for what waits */
#define SHOW_POLL_COUNT_MAX     20               /* polls of a step that are shown, the newest */
#define SWEEP_COUNT_MAX         4096u            /* things due that one timed sweep acts on; the next one goes on */
#define SWEEP_TURN_MS           50
#define SWEEP_QUIET_MS          1000             /* how long nothing happens before a sweep leaves what nobody can begin */
#define BULK_RUN_COUNT_MAX      100000u          /* runs that one 'maestro resolve --where' decides on */
#define FOLLOW_PAGE_COUNT       4096u            /* records read at a time */
#define RUN_WALK_EVENT_COUNT_MAX 8192u           /* events at the end of a run that a reader walks back over; of more it looks at ... */
#define RUN_STRETCH_COUNT       10000u           /* ... so many places of the log at a time, its own and others', ... */
#define RUN_STRETCH_RECORD_COUNT 512u            /* ... until so many records of the run are found */
#define OWNER_RETRY_MS          100              /* between two tries to reach or become the owner of a store */
#define CONTROL_ANSWER_MS_MAX   60000            /* an owner that has not answered by then is stuck */
#define DRAIN_NOTE_MS           1000             /* from when on a process says why it does not end yet */

/* --- drawing ----------------------------------------------------------------------------------------------------- */
#define DRAW_WIDTH_DEFAULT      80u              /* columns of a drawing as text */
#define DRAW_WIDTH_MIN          24u              /* a box with a short name still fits */
#define DRAW_WIDTH_MAX          1000u
#define DRAW_BOX_COUNT_MAX      250u             /* boxes drawn as text; more are listed */
#define DRAW_LIST_COUNT_MAX     1000u            /* jobs listed; of a larger plan ... */
#define DRAW_LIST_HEAD_COUNT    100u             /* ... so many, and the rest are counted */
#define DRAW_ROW_COUNT_MAX      40u              /* tasks shown in one box */
#define DRAW_NEED_COUNT_MAX     20u              /* needs listed for one job */
#define DRAW_LABEL_SIZE_MAX     256u             /* keys of cases joined on one edge */
#define DRAW_CELL_COUNT_MAX     (1u << 22)       /* characters of a drawing as text: 64 MB while it is made */
#define DRAW_SVG_COUNT_MAX      2000u            /* boxes of a picture; a browser still shows them at once */
#define REDUCE_STEP_COUNT_MAX   (1u << 23)       /* edges followed to find those that say nothing new */
#define LAYOUT_VERTEX_COUNT_MAX (1u << 14)       /* boxes, labels, and turns of long edges */
#define LAYOUT_SWEEP_COUNT      16u              /* rounds that look for fewer crossings */
#define LAYOUT_EXCHANGE_COUNT   4u               /* in each of these, rounds that exchange neighbours */
#define LAYOUT_EXCHANGE_PAIR_COUNT_MAX 1024u     /* pairs of edges compared for one exchange; beyond, it is not tried */
#define LAYOUT_ALIGN_COUNT      8u               /* rounds that straighten edges */

/* --- showing runs ------------------------------------------------------------------------------------------------ */
#define LIVE_FRAME_MS           100              /* between two frames on a terminal, at least */
#define LIVE_TICK_MS            1000             /* between two where only durations change */
#define LIVE_TAIL_COUNT         10u              /* lines kept of each step under way; the store has all */
#define LIVE_TAIL_SHOWN_COUNT   4u               /* of these, at most so many below a running step */
#define LIVE_LINE_SIZE_MAX      1000u            /* one line of a log or a message, as it is shown */
#define LIVE_FAILED_COUNT_MAX   100u             /* failed steps that are told one by one; further ones are counted */
#define LIVE_TREE_COUNT_MAX     4096u            /* jobs and steps up to which a whole tree is tried for each frame */
#define LIVE_ROW_COUNT_MAX      1000u            /* of one frame */
#define LIVE_WIDTH_MAX          1000u            /* columns used of a terminal */
#define LIVE_ABOVE_COUNT_MAX    1000u            /* lines written above the tree that are kept for a smaller terminal */
#define LIVE_NAME_COUNT_MAX     16u              /* steps named in one line of those that start together */

/* --- ids --------------------------------------------------------------------------------------------------------- */
#define ID_SIZE                 21u              /* characters of a public id */
#define ID_TIME_SIZE            8u               /* of these, the leading ones of a run id that hold milliseconds */

static_assert(PROCESS_REQUEST_SIZE_MAX >= 4 * PROCESS_VARIABLE_SIZE_MAX, "three large variables leave room for arguments");
static_assert(JSON_DEPTH_MAX >= REGO_DEPTH_MAX, "a constant term must be possible as a value");
static_assert(SCHEMA_DEPTH_MAX >= 2 * JSON_DEPTH_MAX, "a recursive schema must reach the bottom of any instance");
static_assert(OUTPUT_SIZE_MAX <= PAYLOAD_SIZE_MAX && INPUT_SIZE_MAX <= PAYLOAD_SIZE_MAX, "a record must hold any input and output");
static_assert(4 * (uint64_t)PAYLOAD_SIZE_MAX + DECISION_PAYLOAD_SIZE + INPUT_SIZE_MAX < RECORD_PAYLOAD_SIZE_MAX,
              "what a command brings and all steps that one decision begins must fit beside one record");
static_assert(DECISION_TEXT_SIZE_MAX + (DECISION_WEIGHT_MAX + ADVANCE_EVENT_COUNT_MIN) * (TEXT_SIZE_MAX + IDEMPOTENCY_KEY_SIZE_MAX + (8u << 10))
                  < RECORD_SIZE_MAX, "the texts of one decision must fit one record");
static_assert(API_DEFINITION_SIZE_MAX <= API_BODY_SIZE_MAX && API_DEFINITION_SIZE_MAX <= DEFINITION_SIZE_MAX,
              "a definition is a body, and one that commands read");
static_assert(API_READ_SHARE_MAX >= API_BODY_READ_SIZE_MAX, "a body that is read has room");
static_assert(JSON_DEPTH_MAX >= DEFINITION_DEPTH_MAX, "a definition's values must be printable as JSON");

#endif

/* The SDK: builders, triggers, contracts, and the types of every part of a definition. */
export { workflow, WorkflowBuilder, JobBuilder, TaskBuilder, SignalActions } from "./builder.js";
export type { StepBuilder, WorkflowOptions, JobOptions, TaskOptions } from "./builder.js";
export { gitPush, signal, webhook, message, manual, cron, compensateAll, selectiveCompensation } from "./triggers.js";
export type * from "./contracts.js";
export type * from "./definition.js";

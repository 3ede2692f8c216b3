/* The names that a definition finds without importing them, for the type checker. The compiler provides their values; an
 * editor knows them by `/// <reference types="maestro-sdk/dist/ambient" />`. */
import type * as sdk from "./index.js";

declare global {
  const workflow: typeof sdk.workflow;
  const gitPush: typeof sdk.gitPush;
  const signal: typeof sdk.signal;
  const webhook: typeof sdk.webhook;
  const message: typeof sdk.message;
  const manual: typeof sdk.manual;
  const cron: typeof sdk.cron;
  const compensateAll: typeof sdk.compensateAll;
  const selectiveCompensation: typeof sdk.selectiveCompensation;
}

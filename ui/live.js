// live.js - staying in touch: streams that are opened again when they are cut, and looking again soon but not too often.

const FIRST_MS = 500;
const LAST_MS = 15000;

const pause = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

// Follows a stream from now on, or from its beginning, and goes on behind the last event after a cut. `onState` is told "live",
// "waiting" and "ended": the stream has said so itself. Returns what stops it.
export function follow(client, path, { onEvents, onState }) {
  const stop = new AbortController();
  (async () => {
    let lastId = "";
    let wait = FIRST_MS;
    let isOver = false;
    while (!stop.signal.aborted) {
      try {
        let batch = [];
        let flush = null;
        const deliver = () => { flush = null; if (!stop.signal.aborted) onEvents(batch); batch = []; };
        for await (const event of client.events(path, lastId, stop.signal, () => onState("live"))) {
          wait = FIRST_MS;
          if (event.event === "end") { isOver = true; continue; }
          if (event.id) lastId = event.id;
          batch.push(event.data);
          flush ??= setTimeout(deliver, 40);        // what comes together is shown together
        }
        clearTimeout(flush);
        deliver();
        if (isOver) { onState("ended"); return; }
      } catch (problem) {
        if (stop.signal.aborted || problem.status === 401) return;
        if ([400, 403, 404].includes(problem.status)) { onState("ended"); return; }
      }
      if (stop.signal.aborted) return;
      onState("waiting");
      await pause(wait, stop.signal);
      wait = Math.min(wait * 2, LAST_MS);
    }
  })();
  return () => stop.abort();
}

// A function that runs `work` soon, once for all calls until then, and never twice at a time. The second: what ends it.
export function soon(work, ms) {
  let timer = null;
  let busy = false;
  let again = false;
  let ended = false;
  const run = async () => {
    timer = null;
    if (busy) { again = true; return; }
    busy = true;
    try { await work(); } finally { busy = false; }
    if (again && !ended) { again = false; timer = setTimeout(run, ms); }
  };
  return [() => { if (!ended) timer ??= setTimeout(run, ms); }, () => { ended = true; clearTimeout(timer); }];
}

import { writeSync } from 'node:fs';
import { type Debugger, Session } from 'node:inspector';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';
import { formatPretty } from '../logging/pretty';
import { BEATS_PER_LIMIT, DEBUGGED, type WatchedProcess } from './watched-process';

/** A blocked native call, such as a synchronous read, does not respond to the debugger. */
const STACK_DEADLINE_MS = 2_000;
/** Steps to a frame of a file if only internals of Node are on the stack. */
const MAX_STEPS = 100;

const { beats, limitMs, logFormat, process: number, extensions } = workerData as WatchedProcess;

let last = DEBUGGED;
let missed = 0;
// Missed beats are counted, not the time: a suspended machine stops both threads.
const timer = setInterval(() => {
  const beat = Atomics.load(beats, 0);
  missed = beat === last && beat !== DEBUGGED ? missed + 1 : 0;
  last = beat;
  if (missed < BEATS_PER_LIMIT) return;
  clearInterval(timer);
  readStack();
}, limitMs / BEATS_PER_LIMIT);

/** The debugger of V8 interrupts JavaScript and regular expressions, whatever they do. */
function readStack(): void {
  setTimeout(() => end([]), STACK_DEADLINE_MS);
  const session = new Session();
  const scripts = new Map<string, string>();
  let steps = 0;
  session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url));
  session.on('Debugger.paused', ({ params: { callFrames } }) => {
    const frames = callFrames.map((frame) => describeFrame(frame, scripts));
    if (frames.some(({ path }) => !path.startsWith('node:')) || steps === MAX_STEPS) return end(frames);
    steps += 1;
    session.post('Debugger.stepInto');
  });
  session.connectToMainThread();
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}

interface StackFrame {
  readonly path: string;
  readonly text: string;
}

function describeFrame(
  { functionName, location: { scriptId, lineNumber, columnNumber = 0 } }: Debugger.CallFrame,
  scripts: ReadonlyMap<string, string>,
): StackFrame {
  const url = scripts.get(scriptId) ?? '';
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  return { path, text: `    at ${functionName} (${path}:${lineNumber + 1}:${columnNumber + 1})` };
}

/** The main thread cannot log, and `process.stdout` of a thread would write through it. */
function end(frames: readonly StackFrame[]): void {
  const isIn = ({ folder }: { readonly folder: string }) =>
    frames.some(({ path }) => path.startsWith(folder + sep));
  const ids = extensions.filter(isIn).map(({ id }) => id);
  const entry = {
    level: 'fatal',
    time: new Date().toISOString(),
    ...(number !== null && { process: number }),
    ...(ids.length > 0 && { extension: ids.join(', ') }),
    ...(frames.length > 0 && { error: { stack: frames.map(({ text }) => text).join('\n') } }),
    msg: `the event loop was blocked for ${limitMs / 1_000} s: the process is killed`,
  };
  try {
    writeSync(1, logFormat === 'pretty' ? formatPretty(entry, false) : `${JSON.stringify(entry)}\n`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** What was compiled beside this file. */
const compiled = join(__dirname, '..', '..');
const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 30_000;

export interface Child {
  /** The first line for which `find` has an answer. */
  line<Found>(find: (line: string) => Found | undefined): Promise<Found>;
  /** Asks it to end, and kills it after a deadline. */
  stop(): Promise<void>;
  readonly ended: Promise<number | null>;
  /** The last of its error output. */
  errorOutput(): string;
}

/** Runs a compiled entry of the project in a process of its own. */
export function run(entry: string, args: readonly string[], environment: Record<string, string>): Child {
  const child = spawn(process.execPath, [join(compiled, entry), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
  });
  let complaint = '';
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (complaint = (complaint + text).slice(-4_000)));
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return {
    ended,
    errorOutput: () => complaint,
    line: async (find) => {
      const signal = AbortSignal.timeout(START_DEADLINE_MS);
      return new Promise((resolve, reject) => {
        const fail = (): void => reject(new Error(`${entry} did not start: ${complaint}`));
        signal.addEventListener('abort', fail);
        void ended.then(fail);
        lines.on('line', (line) => {
          const found = find(line);
          if (found !== undefined) resolve(found);
        });
      });
    },
    stop: () => stopChild(child, ended),
  };
}

async function stopChild(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(timer);
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Child {
  process: ChildProcess;
  pid: number;
  /** The next line the child prints; fails with what it complained of when it ends first. */
  line(): Promise<string>;
  /** Settles when it has ended. */
  ended: Promise<{ code: number | null; complaint: string }>;
}

/** Runs a TypeScript file of the tests in a process of its own, which a test may then kill. */
export function runChild(file: string, args: string[], environment: Record<string, string> = {}): Child {
  const compiled = process.env['SWITCHBOARD_TEST_COMPILED'];
  const child = spawn(process.execPath, ['--require', join(__dirname, 'typescript.cjs'), file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...(compiled ? { NODE_COMPILE_CACHE: compiled } : {}), ...environment },
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, complaint }));
  return {
    process: child,
    pid: child.pid ?? 0,
    ended,
    line: async () => {
      const next = await lines.next();
      if (!next.done) return next.value;
      throw new Error((await ended).complaint);
    },
  };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Place {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly complaint: string;
  readonly late: boolean;
}

const living = new Set<ChildProcess>();

/** Every process leads a process group, so that its children end with it. */
export function start(command: readonly string[], { cwd, environment }: Place): ChildProcess {
  const [file = '', ...words] = command;
  const child = spawn(file, words, { cwd, env: environment, detached: true, stdio: 'pipe' });
  living.add(child);
  child.once('exit', () => living.delete(child));
  // A process that could not be started counts as one that exited.
  child.once('error', () => child.emit('exit', null, null));
  child.stdin.on('error', () => undefined);
  return child;
}

/** Runs to the end, or to the deadline. */
export async function run(command: readonly string[], place: Place, deadlineMs: number): Promise<Outcome> {
  const child = start(command, place);
  child.stdin?.end();
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => (said[name] += text));
  }
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    endGroup(child, 'SIGKILL');
  }, deadlineMs);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(deadline);
  // What it left running holds on to the pipes; nothing of it may outlive the proof.
  endGroup(child, 'SIGKILL');
  return { code, output: said.stdout, complaint: said.stderr, late };
}

export async function stop(child: ChildProcess, deadlineMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const deadline = setTimeout(() => endGroup(child, 'SIGKILL'), deadlineMs);
  await ended;
  clearTimeout(deadline);
}

/** An interrupted proof stops what it started, because a database outlives the process that started it. */
export function endWithThisProcess(): void {
  let asked = false;
  const end = (): void => {
    if (asked) process.exit(1);
    asked = true;
    void Promise.all([...living].map((child) => stop(child, 20_000))).finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  process.once('exit', () => {
    for (const child of living) endGroup(child, 'SIGKILL');
  });
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended with everything it started.
  }
}

import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** This file runs from its source in tests, and compiled in proofs and benches. */
const above = join(__dirname, '..', '..');
const compiled = basename(above) === 'dist' ? above : join(above, 'dist');
export const projectFolder = dirname(compiled);
const KEPT_CHARACTERS = 200_000;
const FIND_DEADLINE_MS = 60_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** A program has to live with these. */
export interface Circumstances {
  /** An entry of the project that is loaded before it. */
  readonly preload?: string;
  /** The most files and sockets it may have open. */
  readonly openFiles?: number;
  /** The folder it runs in. */
  readonly folder?: string;
  /** It leads a process group: all that it starts ends with it. */
  readonly isLeader?: boolean;
  /** All of its output is kept, and not only the end. */
  readonly isKept?: boolean;
  /** Its output goes there, as fast as it comes, and nothing of it is seen here. */
  readonly logFile?: string;
}

/** A program came to its end so. */
export interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly complaint: string;
  /** Both, in the order it came. */
  readonly text: string;
  /** It was killed at the deadline. */
  readonly late: boolean;
}

interface Piece {
  readonly from: 'stdout' | 'stderr';
  readonly text: string;
}

const living = new Set<Program>();
const usualEnvironment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
});

/** A process of its own whose output is kept, and that can be told anything a process can be told. */
export class Program {
  readonly ended: Promise<number | null>;
  private readonly exited: Promise<void>;
  private readonly pieces: Piece[] = [];
  private length = 0;
  private unread = '';
  private isOver = false;
  private code: number | null = null;
  private waiting: (() => void)[] = [];

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
    private readonly circumstances: Circumstances,
  ) {
    living.add(this);
    for (const from of ['stdout', 'stderr'] as const)
      child[from]?.setEncoding('utf8').on('data', (text: string) => this.keep({ from, text }));
    child.stdin?.on('error', () => undefined);
    // A process that could not be started counts as one that exited.
    child.on('error', ({ message }) => this.keep({ from: 'stderr', text: message }));
    this.exited = new Promise((resolve) =>
      child.once('exit', () => resolve()).once('error', () => resolve()),
    );
    this.ended = new Promise((resolve) => {
      child.once('close', (code: number | null) => {
        this.isOver = true;
        this.code = code;
        living.delete(this);
        resolve(code);
        this.wake();
      });
    });
    // Children that a leader left running hold on to the pipes.
    if (circumstances.isLeader === true) void this.exited.then(() => this.kill());
  }

  /** An entry of the project, or of another version of it. */
  static node(
    entry: string,
    words: readonly string[],
    environment: Environment = {},
    circumstances: Circumstances = {},
  ): Program {
    const { preload, openFiles } = circumstances;
    const before = preload === undefined ? [] : ['--require', join(compiled, preload)];
    const all = ['--no-warnings', ...before, resolve(compiled, entry), ...words];
    const env = { ...usualEnvironment(), ...environment };
    if (openFiles === undefined) return Program.run(process.execPath, all, env, circumstances);
    // Node raises its soft limit to the hard one; a shell sets both.
    const script = `ulimit -n ${openFiles} && exec "$@"`;
    return Program.run('sh', ['-c', script, 'sh', process.execPath, ...all], env, circumstances);
  }

  /** Any program, in this environment and no other. */
  static run(
    file: string,
    words: readonly string[],
    environment: Environment = usualEnvironment(),
    circumstances: Circumstances = {},
  ): Program {
    const { folder: cwd, isLeader: detached = false, logFile } = circumstances;
    const log = logFile === undefined ? 'pipe' : openSync(logFile, 'a');
    // The simulator ends with its standard input.
    const stdio: StdioOptions = ['pipe', log, log];
    const child = spawn(file, words, { stdio, env: environment, detached, cwd });
    if (typeof log === 'number') closeSync(log);
    return new Program(file, child, circumstances);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Everything it has said, in the order it came. */
  get text(): string {
    return this.pieces.map(({ text }) => text).join('');
  }

  get over(): boolean {
    return this.isOver;
  }

  /** The first match in what it has said, as soon as it is there. */
  async find(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = setTimeout(() => this.kill(), FIND_DEADLINE_MS);
    try {
      for (;;) {
        const match = pattern.exec(this.text);
        if (match !== null) return match;
        await this.more();
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  /** The next line that it prints. */
  async line(): Promise<string> {
    while (!this.unread.includes('\n')) await this.more();
    const [line = ''] = this.unread.split('\n', 1);
    this.unread = this.unread.slice(line.length + 1);
    return line;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.isOver) this.child.kill(name);
  }

  /** Asks it to end, and insists when it does not in time. */
  async stop(withinMs = 30_000): Promise<void> {
    const insist = setTimeout(() => this.kill(), withinMs);
    this.signal('SIGTERM');
    await this.ended;
    clearTimeout(insist);
  }

  /** Without mercy, as a machine that loses its power. */
  kill(): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      process.kill(this.circumstances.isLeader === true ? -pid : pid, 'SIGKILL');
    } catch {
      // It has ended with everything it started.
    }
  }

  /** Runs to its end, or to the deadline. */
  async finish(deadlineMs = 600_000): Promise<Outcome> {
    this.child.stdin?.end();
    let late = false;
    const deadline = setTimeout(() => {
      late = true;
      this.kill();
    }, deadlineMs);
    const code = await this.ended;
    clearTimeout(deadline);
    const said = (from: Piece['from']): string =>
      this.pieces.map((piece) => (piece.from === from ? piece.text : '')).join('');
    return { code, output: said('stdout'), complaint: said('stderr'), text: this.text, late };
  }

  private async more(): Promise<void> {
    if (this.isOver) throw new Error(`${this.name} ended with ${this.code}: ${this.text.slice(-2_000)}`);
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private keep(piece: Piece): void {
    this.pieces.push(piece);
    if (piece.from === 'stdout') this.unread = (this.unread + piece.text).slice(-KEPT_CHARACTERS);
    this.length += piece.text.length;
    while (this.circumstances.isKept !== true && this.length > KEPT_CHARACTERS && this.pieces.length > 1)
      this.length -= this.pieces.shift()?.text.length ?? 0;
    this.wake();
  }

  private wake(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }
}

/** An interrupted proof stops what it started, because a database outlives the process that started it. */
export function endWithThisProcess(): void {
  let asked = false;
  const end = (): void => {
    if (asked) process.exit(1);
    asked = true;
    void Promise.all([...living].map((program) => program.stop())).finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  process.once('exit', () => {
    for (const program of living) program.kill();
  });
}

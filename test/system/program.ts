import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The module runs from source in tests and compiled in proofs and benchmarks. */
const parentFolder = join(__dirname, '..', '..');
const distFolder = basename(parentFolder) === 'dist' ? parentFolder : join(parentFolder, 'dist');
export const projectFolder = dirname(distFolder);
const MAX_OUTPUT_CHARACTERS = 200_000;
const FIND_DEADLINE_MS = 60_000;

type ProgramEnvironment = Readonly<Record<string, string | undefined>>;

/** Options of a started program. */
export interface ProgramOptions {
  /** Module of the project that is loaded first. */
  readonly preload?: string;
  /** Maximum number of open files and sockets. */
  readonly openFiles?: number;
  /** Working directory. */
  readonly folder?: string;
  /** Whether the program leads a process group, so that its children end with it. */
  readonly isLeader?: boolean;
  /** Whether all of its output is stored instead of only the end. */
  readonly isKept?: boolean;
  /** File that receives the output directly; none of it is available here. */
  readonly logFile?: string;
}

/** Result of a program that ended. */
export interface ProgramOutcome {
  readonly code: number | null;
  readonly output: string;
  readonly complaint: string;
  /** Output of both streams in order of arrival. */
  readonly text: string;
  /** Whether the program was killed at its deadline. */
  readonly late: boolean;
}

interface OutputPiece {
  readonly from: 'stdout' | 'stderr';
  readonly text: string;
}

const runningPrograms = new Set<Program>();
const baseEnvironment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
});

/** A child process whose output is stored and that can receive signals. */
export class Program {
  readonly ended: Promise<number | null>;
  private readonly exited: Promise<void>;
  private readonly pieces: OutputPiece[] = [];
  private length = 0;
  private unread = '';
  private isOver = false;
  private code: number | null = null;
  private waiting: (() => void)[] = [];

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
    private readonly circumstances: ProgramOptions,
  ) {
    runningPrograms.add(this);
    for (const from of ['stdout', 'stderr'] as const)
      child[from]?.setEncoding('utf8').on('data', (text: string) => this.record({ from, text }));
    child.stdin?.on('error', () => undefined);
    // A process that could not be started counts as exited.
    child.on('error', ({ message }) => this.record({ from: 'stderr', text: message }));
    this.exited = new Promise((resolve) =>
      child.once('exit', () => resolve()).once('error', () => resolve()),
    );
    this.ended = new Promise((resolve) => {
      child.once('close', (code: number | null) => {
        this.isOver = true;
        this.code = code;
        runningPrograms.delete(this);
        resolve(code);
        this.wake();
      });
    });
    // Children that a group leader left running keep the pipes open.
    if (circumstances.isLeader === true) void this.exited.then(() => this.kill());
  }

  /** Starts a module of this project, or of another version of it. */
  static node(
    entry: string,
    words: readonly string[],
    environment: ProgramEnvironment = {},
    circumstances: ProgramOptions = {},
  ): Program {
    const { preload, openFiles } = circumstances;
    const preloadArguments = preload === undefined ? [] : ['--require', join(distFolder, preload)];
    const nodeArguments = ['--no-warnings', ...preloadArguments, resolve(distFolder, entry), ...words];
    const env = { ...baseEnvironment(), ...environment };
    if (openFiles === undefined) return Program.run(process.execPath, nodeArguments, env, circumstances);
    // Node raises its soft limit to the hard one; a shell sets both.
    const script = `ulimit -n ${openFiles} && exec "$@"`;
    return Program.run('sh', ['-c', script, 'sh', process.execPath, ...nodeArguments], env, circumstances);
  }

  /** Starts any program with exactly the given environment. */
  static run(
    file: string,
    words: readonly string[],
    environment: ProgramEnvironment = baseEnvironment(),
    circumstances: ProgramOptions = {},
  ): Program {
    const { folder: cwd, isLeader: detached = false, logFile } = circumstances;
    const log = logFile === undefined ? 'pipe' : openSync(logFile, 'a');
    // The simulator ends when its standard input closes.
    const stdio: StdioOptions = ['pipe', log, log];
    const child = spawn(file, words, { stdio, env: environment, detached, cwd });
    if (typeof log === 'number') closeSync(log);
    return new Program(file, child, circumstances);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Output so far, in order of arrival. */
  get text(): string {
    return this.pieces.map(({ text }) => text).join('');
  }

  get over(): boolean {
    return this.isOver;
  }

  /** Resolves to the first match in the output once it arrives. */
  async find(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = setTimeout(() => this.kill(), FIND_DEADLINE_MS);
    try {
      for (;;) {
        const match = pattern.exec(this.text);
        if (match !== null) return match;
        await this.waitForOutput();
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  /** Resolves to the next output line. */
  async line(): Promise<string> {
    while (!this.unread.includes('\n')) await this.waitForOutput();
    const [line = ''] = this.unread.split('\n', 1);
    this.unread = this.unread.slice(line.length + 1);
    return line;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.isOver) this.child.kill(name);
  }

  /** Requests the end of the program, and kills it if it does not end in time. */
  async stop(withinMs = 30_000): Promise<void> {
    const killTimer = setTimeout(() => this.kill(), withinMs);
    this.signal('SIGTERM');
    await this.ended;
    clearTimeout(killTimer);
  }

  /** Kills the program without warning, like a power failure. */
  kill(): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      process.kill(this.circumstances.isLeader === true ? -pid : pid, 'SIGKILL');
    } catch {
      // The group has already ended.
    }
  }

  /** Waits for the end of the program or kills it at the deadline. */
  async finish(deadlineMs = 600_000): Promise<ProgramOutcome> {
    this.child.stdin?.end();
    let late = false;
    const deadline = setTimeout(() => {
      late = true;
      this.kill();
    }, deadlineMs);
    const code = await this.ended;
    clearTimeout(deadline);
    const outputOf = (from: OutputPiece['from']): string =>
      this.pieces.map((piece) => (piece.from === from ? piece.text : '')).join('');
    return { code, output: outputOf('stdout'), complaint: outputOf('stderr'), text: this.text, late };
  }

  private async waitForOutput(): Promise<void> {
    if (this.isOver) throw new Error(`${this.name} ended with ${this.code}: ${this.text.slice(-2_000)}`);
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private record(piece: OutputPiece): void {
    this.pieces.push(piece);
    if (piece.from === 'stdout') this.unread = (this.unread + piece.text).slice(-MAX_OUTPUT_CHARACTERS);
    this.length += piece.text.length;
    while (
      this.circumstances.isKept !== true &&
      this.length > MAX_OUTPUT_CHARACTERS &&
      this.pieces.length > 1
    )
      this.length -= this.pieces.shift()?.text.length ?? 0;
    this.wake();
  }

  private wake(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }
}

/** Stops all programs when the process is interrupted, because a database outlives the process that started it. */
export function stopProgramsOnInterrupt(): void {
  let isStopping = false;
  const end = (): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    void Promise.all([...runningPrograms].map((program) => program.stop())).finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  process.once('exit', () => {
    for (const program of runningPrograms) program.kill();
  });
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

/** What was compiled beside this file. */
const compiled = join(__dirname, '..', '..');
const KEPT_CHARACTERS = 200_000;
const FIND_DEADLINE_MS = 60_000;

/** What a program has to live with. */
export interface Circumstances {
  /** An entry of the project that is loaded before it. */
  readonly preload?: string;
  /** The most files and sockets it may have open. */
  readonly openFiles?: number;
}

/** A process of its own whose output is kept, and that can be told anything a process can be told. */
export class Program {
  readonly ended: Promise<number | null>;
  private output = '';
  private isOver = false;
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly name: string,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-KEPT_CHARACTERS);
        this.wake();
      });
    }
    this.ended = once(child, 'close').then(([code]) => {
      this.isOver = true;
      this.wake();
      return code as number | null;
    });
  }

  /** An entry of the project, or of another version of it. */
  static node(
    entry: string,
    words: readonly string[],
    environment: Record<string, string> = {},
    { preload, openFiles }: Circumstances = {},
  ): Program {
    const before = preload === undefined ? [] : ['--require', join(compiled, preload)];
    const all = ['--no-warnings', ...before, resolve(compiled, entry), ...words];
    if (openFiles === undefined) return Program.run(process.execPath, all, environment);
    // Node raises its soft limit to the hard one; a shell sets both.
    const script = `ulimit -n ${openFiles} && exec "$@"`;
    return Program.run('sh', ['-c', script, 'sh', process.execPath, ...all], environment);
  }

  static run(file: string, words: readonly string[], environment: Record<string, string> = {}): Program {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...environment };
    // The simulator ends with its standard input.
    return new Program(file, spawn(file, words, { stdio: ['pipe', 'pipe', 'pipe'], env }));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get text(): string {
    return this.output;
  }

  get over(): boolean {
    return this.isOver;
  }

  /** The first match in what it has said, as soon as it is there. */
  async find(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = setTimeout(() => this.child.kill('SIGKILL'), FIND_DEADLINE_MS);
    try {
      for (;;) {
        const match = pattern.exec(this.output);
        if (match !== null) return match;
        if (this.isOver) throw new Error(`${this.name} ended: ${this.output.slice(-2_000)}`);
        await new Promise<void>((resolve) => this.waiting.push(resolve));
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  signal(name: NodeJS.Signals): void {
    if (!this.isOver) this.child.kill(name);
  }

  /** Asks it to end, and insists when it does not in time. */
  async stop(withinMs = 20_000): Promise<void> {
    const insist = setTimeout(() => this.child.kill('SIGKILL'), withinMs);
    this.signal('SIGTERM');
    await this.ended;
    clearTimeout(insist);
  }

  private wake(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }
}

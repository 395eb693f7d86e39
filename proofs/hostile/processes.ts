import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

const built = join(__dirname, '..', '..');

export interface Spoken {
  readonly code: number | null;
  readonly text: string;
}

/** A program of the build in a process of its own, with an environment of its own and its output kept. */
export class Program {
  private readonly chunks: string[] = [];
  private readonly ended: Promise<number | null>;
  private waiting: (() => void)[] = [];
  over = false;

  constructor(
    private readonly child: ChildProcess,
    readonly name: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.chunks.push(text);
        for (const wake of this.waiting.splice(0)) wake();
      });
    }
    this.ended = once(child, 'close').then(([code]) => {
      this.over = true;
      for (const wake of this.waiting.splice(0)) wake();
      return code as number | null;
    });
  }

  get text(): string {
    return this.chunks.join('');
  }

  /** The first match in what it has printed, once it is there. */
  async find(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.text);
      if (match !== null) return match;
      if (this.over) throw new Error(`${this.name} ended: ${this.text.slice(-2_000)}`);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  async finish(): Promise<Spoken> {
    return { code: await this.ended, text: this.text };
  }

  async stop(): Promise<void> {
    if (this.over) return;
    this.child.kill('SIGTERM');
    const giveUp = setTimeout(() => this.child.kill('SIGKILL'), 30_000);
    await this.ended;
    clearTimeout(giveUp);
  }
}

export function start(
  file: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Program {
  const child = spawn(process.execPath, ['--no-warnings', join(built, file), ...words], {
    env: { PATH: process.env['PATH'], ...environment },
    // The simulator ends when its standard input does.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return new Program(child, file);
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

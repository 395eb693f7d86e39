import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { alone } from './cores';
import { cpuUsOf } from './processor-time';

export interface ProcessOptions {
  readonly name: string;
  /** What Node is given: flags, the file, its arguments. */
  readonly words: readonly string[];
  readonly port: number;
  /** The path that answers 200 once the process serves. */
  readonly readyPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly workFolder: string;
  /** Where its output goes; a terminal would slow it down. */
  readonly logFile: string;
}

const START_DEADLINE_MS = 60_000;

/** A process on the measured core, and what the kernel says about it. */
export class MeasuredProcess {
  /** How many requests it has answered, counted by who asked. */
  answers = 0;

  private constructor(
    readonly name: string,
    readonly port: number,
    private readonly child: ChildProcess,
    /** From the first moment of the process to its first answer. */
    readonly startedInMs: number,
    private readonly logFile: string,
  ) {}

  static async start(options: ProcessOptions): Promise<MeasuredProcess> {
    const { name, port, logFile } = options;
    const log = openSync(logFile, 'a');
    const [command = '', ...words] = alone([process.execPath, ...options.words]);
    const began = performance.now();
    const child = spawn(command, words, {
      cwd: options.workFolder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.environment },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    try {
      await firstAnswer(child, `http://127.0.0.1:${port}${options.readyPath}`, began);
    } catch (cause) {
      child.kill('SIGKILL');
      throw new Error(`${name} did not start:\n${lastLines(logFile)}`, { cause });
    }
    return new MeasuredProcess(name, port, child, performance.now() - began, logFile);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** CPU time so far, in microseconds. */
  cpuUs(): number {
    return cpuUsOf(this.pid);
  }

  residentMib(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
  }

  /** Waits until what the last requests left to be done is done, so that it is counted with them. */
  async quiet(): Promise<void> {
    const deadline = performance.now() + 5_000;
    let before = this.cpuUs();
    while (performance.now() < deadline) {
      await delay(50);
      const now = this.cpuUs();
      if (now - before < 2_000) return;
      before = now;
    }
  }

  get logTail(): string {
    return lastLines(this.logFile);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const impatience = setTimeout(() => this.child.kill('SIGKILL'), 20_000);
    await exited;
    clearTimeout(impatience);
  }
}

async function firstAnswer(child: ChildProcess, url: string, began: number): Promise<void> {
  while (performance.now() - began < START_DEADLINE_MS) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('it ended');
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await answer.arrayBuffer();
      if (answer.ok) return;
    } catch {
      // The process does not listen yet.
    }
    await delay(5);
  }
  throw new Error('it did not answer in time');
}

const lastLines = (file: string): string => readFileSync(file, 'utf8').split('\n').slice(-15).join('\n');

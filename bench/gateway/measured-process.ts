import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Program } from '../../test/system/program';
import { alone } from './cores';
import { cpuUsOf } from './processor-time';

export interface ProcessOptions {
  readonly name: string;
  /** Node is given these: flags, the file, its arguments. */
  readonly words: readonly string[];
  readonly port: number;
  /** The path that answers 200 once the process serves. */
  readonly readyPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly workFolder: string;
  /** Its output goes to a file; a terminal would slow it down. */
  readonly logFile: string;
}

const START_DEADLINE_MS = 60_000;

/** A process on the measured core, and what the kernel says about it. */
export class MeasuredProcess {
  /** It has answered so many requests, counted by who asked. */
  answers = 0;

  private constructor(
    readonly name: string,
    readonly port: number,
    private readonly program: Program,
    /** From the first moment of the process to its first answer. */
    readonly startedInMs: number,
    private readonly logFile: string,
  ) {}

  static async start(options: ProcessOptions): Promise<MeasuredProcess> {
    const { name, port, logFile } = options;
    const [command = '', ...words] = alone([process.execPath, ...options.words]);
    const began = performance.now();
    const environment = { PATH: process.env.PATH, HOME: process.env.HOME, ...options.environment };
    const program = Program.run(command, words, environment, { folder: options.workFolder, logFile });
    try {
      await firstAnswer(program, `http://127.0.0.1:${port}${options.readyPath}`, began);
    } catch (cause) {
      program.kill();
      throw new Error(`${name} did not start:\n${lastLines(logFile)}`, { cause });
    }
    return new MeasuredProcess(name, port, program, performance.now() - began, logFile);
  }

  get pid(): number {
    return this.program.pid;
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

  stop(): Promise<void> {
    return this.program.stop(20_000);
  }
}

async function firstAnswer(program: Program, url: string, began: number): Promise<void> {
  while (performance.now() - began < START_DEADLINE_MS) {
    if (program.over) throw new Error('it ended');
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

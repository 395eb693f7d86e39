import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Program } from '../../test/system/program';
import { onMeasuredCore } from './cores';
import { cpuUsOf } from './cpu-time';

export interface ProcessOptions {
  readonly name: string;
  /** Arguments of Node: flags, the file and its arguments. */
  readonly args: readonly string[];
  readonly port: number;
  /** Path that responds with 200 once the process is ready. */
  readonly readyPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly workFolder: string;
  /** Receives the output, because a terminal would slow the process down. */
  readonly logFile: string;
}

const START_DEADLINE_MS = 60_000;

/** A process on the measured core, and its resource usage as the kernel counts it. */
export class MeasuredProcess {
  /** Number of responses, as counted by the callers. */
  responseCount = 0;

  private constructor(
    readonly name: string,
    readonly port: number,
    private readonly program: Program,
    /** From process start to the first response. */
    readonly startedInMs: number,
    private readonly logFile: string,
  ) {}

  static async start(options: ProcessOptions): Promise<MeasuredProcess> {
    const { name, port, logFile } = options;
    const [command = '', ...args] = onMeasuredCore([process.execPath, ...options.args]);
    const startedAt = performance.now();
    const environment = { PATH: process.env.PATH, HOME: process.env.HOME, ...options.environment };
    const program = Program.run(command, args, environment, { folder: options.workFolder, logFile });
    try {
      await firstAnswer(program, `http://127.0.0.1:${port}${options.readyPath}`, startedAt);
    } catch (cause) {
      program.kill();
      throw new Error(`${name} did not start:\n${lastLines(logFile)}`, { cause });
    }
    return new MeasuredProcess(name, port, program, performance.now() - startedAt, logFile);
  }

  get pid(): number {
    return this.program.pid;
  }

  /** Total CPU time in microseconds. */
  cpuUs(): number {
    return cpuUsOf(this.pid);
  }

  residentMib(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
  }

  /** Waits until deferred work of the last requests is done, so that it is counted with them. */
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

async function firstAnswer(program: Program, url: string, startedAt: number): Promise<void> {
  while (performance.now() - startedAt < START_DEADLINE_MS) {
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

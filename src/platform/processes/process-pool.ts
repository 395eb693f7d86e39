import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import { processEnvironment } from '../config/process-environment';
import { EXIT_CONFIGURATION } from '../config/settings-error';
import type { Logger } from '../logging/logger';
import type { MachineMetrics } from './machine-metrics';
import type { ProcessCommand, ProcessReport } from './messages';
import { ADDRESS_VARIABLE, PROCESS_VARIABLE } from './own-process';
import type { SharedPort } from './shared-port';

export interface PoolOptions {
  readonly main: string;
  readonly address: string;
  readonly count: number;
  /** How long a process can take to exit before it is killed. */
  readonly shutdownMs: number;
}

interface PoolMember {
  readonly slot: number;
  readonly child: ChildProcess;
  readonly pendingMetrics: Map<number, (text: string) => void>;
  state: 'starting' | 'serving' | 'leaving';
}

const INITIAL_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
/** Exits of one process within a minute, after which another start does not help. */
const MAX_EXITS = 5;
const METRICS_DEADLINE_MS = 2_000;

class ProcessExited extends Error {
  constructor(
    readonly slot: number,
    readonly code: number | null,
    readonly signal: string | null,
  ) {
    super(`process ${slot} ended`);
  }
}

/** Starts, watches, replaces and stops the processes of one node, which share its port. */
export class ProcessPool {
  /** Settles with the exit code when no further start would help. */
  readonly lost: Promise<number>;
  private readonly giveUp: (code: number) => void;
  private readonly members = new Set<PoolMember>();
  /** Slots in use; a replacement starts in a free one while its predecessor still runs. */
  private readonly usedSlots = new Set<number>();
  private readonly exits = new Map<number, number[]>();
  private readonly stopping = new AbortController();
  private replacing: Promise<void> | undefined;
  private restarts = 0;
  private requestCount = 0;

  constructor(
    private readonly options: PoolOptions,
    private readonly port: SharedPort,
    private readonly logger: Logger,
  ) {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.lost = promise;
    this.giveUp = resolve;
  }

  /**
   * The first process migrates and does the work of a first start before the others start. Returns whether it serves.
   */
  async start(): Promise<boolean> {
    try {
      await this.launch(1, 'listening');
      const others = Array.from({ length: this.options.count - 1 }, (_, index) =>
        this.launchOrRetry(index + 2),
      );
      await Promise.all(others);
      return true;
    } catch (error) {
      if (!(error instanceof ProcessExited)) throw error;
      this.giveUp(error.code === EXIT_CONFIGURATION ? EXIT_CONFIGURATION : 1);
      return false;
    }
  }

  /** Replaces the processes one by one: the new one serves before the old one stops. */
  replaceAll(): Promise<void> {
    return (this.replacing ??= this.replaceEach().finally(() => (this.replacing = undefined)));
  }

  /** Stops all processes at once; running work is finished. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([...this.members].map((member) => this.shutDown(member, 'stop')));
  }

  kill(): void {
    for (const { child } of this.members) child.kill('SIGKILL');
  }

  async readMetrics(): Promise<MachineMetrics> {
    const serving = [...this.members].filter(({ state }) => state === 'serving');
    const texts = await Promise.all(serving.map((member) => this.metricsOf(member)));
    return {
      serving: serving.length,
      restarts: this.restarts,
      texts: texts.filter((text) => text !== undefined),
    };
  }

  private async replaceEach(): Promise<void> {
    const old = [...this.members].filter(({ state }) => state === 'serving');
    this.logger.info('the processes are replaced one by one', { processes: old.length });
    for (const member of old) {
      if (this.stopping.signal.aborted) return;
      if (member.state !== 'serving') continue;
      try {
        await this.launch(this.freeSlot());
      } catch (error) {
        this.logger.error('a new process does not start: the others stay as they are', { error });
        return;
      }
      await this.shutDown(member, 'retire');
    }
    this.logger.info('the processes were replaced');
  }

  private freeSlot(): number {
    for (let slot = 1; ; slot += 1) if (!this.usedSlots.has(slot)) return slot;
  }

  /** Settles once the process serves. Only the first one takes connections before, so that probes are answered. */
  private launch(slot: number, joinsWhen: 'listening' | 'serving' = 'serving'): Promise<void> {
    const { main, address } = this.options;
    this.usedSlots.add(slot);
    const variables = { [PROCESS_VARIABLE]: String(slot), [ADDRESS_VARIABLE]: address };
    const child = fork(main, process.argv.slice(2), { env: { ...processEnvironment, ...variables } });
    const member: PoolMember = { slot, child, pendingMetrics: new Map(), state: 'starting' };
    this.members.add(member);
    return new Promise((resolve, reject) => {
      child.on('message', (message: ProcessReport) => {
        if (message.report === joinsWhen) this.port.join(child);
        if (message.report === 'taken') this.port.onTaken(child, message.id);
        else if (message.report === 'metrics') member.pendingMetrics.get(message.question)?.(message.text);
        else if (message.report === 'serving' && member.state === 'starting') {
          member.state = 'serving';
          resolve();
        }
      });
      child.on('error', (error) =>
        this.logger.warn('a process cannot be reached', { about_process: slot, error }),
      );
      child.once('exit', (code, signal) => {
        this.port.onExit(child);
        this.members.delete(member);
        this.usedSlots.delete(slot);
        if (member.state === 'serving') this.restartLater(new ProcessExited(slot, code, signal));
        else reject(new ProcessExited(slot, code, signal));
      });
    });
  }

  /** Restarts a process that ended unexpectedly, each time after a longer pause. */
  private restartLater({ slot, code, signal }: ProcessExited): void {
    if (this.stopping.signal.aborted) return;
    this.restarts += 1;
    const since = monotonicMs() - MINUTE_MS;
    const exits = [...(this.exits.get(slot) ?? []).filter((at) => at > since), monotonicMs()];
    this.exits.set(slot, exits);
    const details = { about_process: slot, exit_code: code, signal };
    if (code === EXIT_CONFIGURATION || exits.length >= MAX_EXITS) {
      this.logger.fatal('a process ends again and again: the node gives up', details);
      this.giveUp(code === EXIT_CONFIGURATION ? EXIT_CONFIGURATION : 1);
      return;
    }
    this.logger.error('a process ended unasked; another one is started', details);
    void this.launchLater(slot, Math.min(INITIAL_PAUSE_MS * 2 ** (exits.length - 1), MAX_PAUSE_MS));
  }

  private async launchLater(slot: number, pause: number): Promise<void> {
    this.usedSlots.add(slot);
    const hasWaited = delay(pause, true, { signal: this.stopping.signal }).catch(() => false);
    if (!(await hasWaited)) return;
    if (await this.launchOrRetry(slot)) this.logger.warn('a process serves again', { about_process: slot });
  }

  /** Returns whether the process serves at the first attempt; otherwise it is retried. */
  private async launchOrRetry(slot: number): Promise<boolean> {
    try {
      await this.launch(slot);
      return true;
    } catch (error) {
      if (!(error instanceof ProcessExited)) throw error;
      this.restartLater(error);
      return false;
    }
  }

  private async shutDown(member: PoolMember, order: 'stop' | 'retire'): Promise<void> {
    const { child, slot } = member;
    member.state = 'leaving';
    // A stopping process still gets requests, so that balancers see its state in the responses.
    if (order === 'retire') this.port.leave(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    sendCommand(child, { order });
    const killTimer = setTimeout(() => {
      this.logger.error('a process did not end in time and is killed', { about_process: slot });
      child.kill('SIGKILL');
    }, this.options.shutdownMs);
    await exited;
    clearTimeout(killTimer);
  }

  private async metricsOf({ child, pendingMetrics }: PoolMember): Promise<string | undefined> {
    const question = (this.requestCount += 1);
    const reply = new Promise<string>((resolve) => pendingMetrics.set(question, resolve));
    sendCommand(child, { order: 'metrics', question });
    const text = await Promise.race([reply, delay(METRICS_DEADLINE_MS, undefined, { ref: false })]);
    pendingMetrics.delete(question);
    return text;
  }
}

/** A process that cannot be reached any more is detected by its exit. */
function sendCommand(child: ChildProcess, order: ProcessCommand): void {
  if (child.connected) child.send(order, () => undefined);
}

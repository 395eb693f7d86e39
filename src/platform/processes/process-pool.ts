import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import { processEnvironment } from '../config/process-environment';
import { EXIT_CONFIGURATION } from '../config/settings-error';
import type { Logger } from '../logging/logger';
import type { MachineNumbers } from './machine-metrics';
import type { Order, Report } from './messages';
import { ADDRESS_VARIABLE, PROCESS_VARIABLE } from './own-process';
import type { SharedPort } from './shared-port';

export interface PoolOptions {
  /** Each process runs this. */
  readonly main: string;
  /** They serve this address. */
  readonly address: string;
  readonly count: number;
  /** A process may take so long to end before it is killed. */
  readonly partingMs: number;
}

interface Member {
  readonly slot: number;
  readonly child: ChildProcess;
  readonly answers: Map<number, (text: string) => void>;
  state: 'starting' | 'serving' | 'leaving';
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** So many ends of one process within a minute are a fault that another start does not cure. */
const MOST_ENDS = 5;
const METRICS_DEADLINE_MS = 2_000;

class Ended extends Error {
  constructor(
    readonly slot: number,
    readonly code: number | null,
    readonly signal: string | null,
  ) {
    super(`process ${slot} ended`);
  }
}

/** The processes of one node: started, watched, replaced and stopped. They share the port of the node. */
export class ProcessPool {
  /** Settles with the code to end with when no further start would help. */
  readonly lost: Promise<number>;
  private readonly giveUp: (code: number) => void;
  private readonly members = new Set<Member>();
  /** Numbers in use; a process that replaces another one begins beside it, under a free one. */
  private readonly taken = new Set<number>();
  private readonly ends = new Map<number, number[]>();
  private readonly stopping = new AbortController();
  private replacing: Promise<void> | undefined;
  private restarts = 0;
  private questions = 0;

  constructor(
    private readonly options: PoolOptions,
    private readonly port: SharedPort,
    private readonly logger: Logger,
  ) {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.lost = promise;
    this.giveUp = resolve;
  }

  /** The first one migrates and makes what a first start makes, before the others begin. Tells whether it serves. */
  async start(): Promise<boolean> {
    try {
      await this.launch(1, 'listening');
      const others = Array.from({ length: this.options.count - 1 }, (_, index) => this.keepUp(index + 2));
      await Promise.all(others);
      return true;
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      this.giveUp(error.code === EXIT_CONFIGURATION ? EXIT_CONFIGURATION : 1);
      return false;
    }
  }

  /** Each process is replaced by a new one, one by one: the new one serves before the old one goes. */
  replaceAll(): Promise<void> {
    return (this.replacing ??= this.replaceEach().finally(() => (this.replacing = undefined)));
  }

  /** All at once: what is under way is finished. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([...this.members].map((member) => this.part(member, 'stop')));
  }

  kill(): void {
    for (const { child } of this.members) child.kill('SIGKILL');
  }

  async numbers(): Promise<MachineNumbers> {
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
      await this.part(member, 'retire');
    }
    this.logger.info('the processes were replaced');
  }

  private freeSlot(): number {
    for (let slot = 1; ; slot += 1) if (!this.taken.has(slot)) return slot;
  }

  /** Settles once the process serves. Only the first one takes connections before, so that probes are answered. */
  private launch(slot: number, joinsWhen: 'listening' | 'serving' = 'serving'): Promise<void> {
    const { main, address } = this.options;
    this.taken.add(slot);
    const own = { [PROCESS_VARIABLE]: String(slot), [ADDRESS_VARIABLE]: address };
    const child = fork(main, process.argv.slice(2), { env: { ...processEnvironment, ...own } });
    const member: Member = { slot, child, answers: new Map(), state: 'starting' };
    this.members.add(member);
    return new Promise((resolve, reject) => {
      child.on('message', (message: Report) => {
        if (message.report === joinsWhen) this.port.join(child);
        if (message.report === 'taken') this.port.taken(child, message.id);
        else if (message.report === 'metrics') member.answers.get(message.question)?.(message.text);
        else if (message.report === 'serving' && member.state === 'starting') {
          member.state = 'serving';
          resolve();
        }
      });
      child.on('error', (error) =>
        this.logger.warn('a process cannot be reached', { about_process: slot, error }),
      );
      child.once('exit', (code, signal) => {
        this.port.died(child);
        this.members.delete(member);
        this.taken.delete(slot);
        if (member.state === 'serving') this.revive(new Ended(slot, code, signal));
        else reject(new Ended(slot, code, signal));
      });
    });
  }

  /** A process that ended unasked is started again, each time after a longer pause. */
  private revive({ slot, code, signal }: Ended): void {
    if (this.stopping.signal.aborted) return;
    this.restarts += 1;
    const since = monotonicMs() - MINUTE_MS;
    const ends = [...(this.ends.get(slot) ?? []).filter((at) => at > since), monotonicMs()];
    this.ends.set(slot, ends);
    const facts = { about_process: slot, exit_code: code, signal };
    if (code === EXIT_CONFIGURATION || ends.length >= MOST_ENDS) {
      this.logger.fatal('a process ends again and again: the node gives up', facts);
      this.giveUp(code === EXIT_CONFIGURATION ? EXIT_CONFIGURATION : 1);
      return;
    }
    this.logger.error('a process ended unasked; another one is started', facts);
    void this.launchLater(slot, Math.min(FIRST_PAUSE_MS * 2 ** (ends.length - 1), LONGEST_PAUSE_MS));
  }

  private async launchLater(slot: number, pause: number): Promise<void> {
    this.taken.add(slot);
    const waited = delay(pause, true, { signal: this.stopping.signal }).catch(() => false);
    if (!(await waited)) return;
    if (await this.keepUp(slot)) this.logger.warn('a process serves again', { about_process: slot });
  }

  /** Tells whether it serves at the first try; otherwise it is tried again. */
  private async keepUp(slot: number): Promise<boolean> {
    try {
      await this.launch(slot);
      return true;
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      this.revive(error);
      return false;
    }
  }

  private async part(member: Member, order: 'stop' | 'retire'): Promise<void> {
    const { child, slot } = member;
    member.state = 'leaving';
    // One that stops is asked on, so that balancers see in its answers that it does.
    if (order === 'retire') this.port.leave(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    tell(child, { order });
    const late = setTimeout(() => {
      this.logger.error('a process did not end in time and is killed', { about_process: slot });
      child.kill('SIGKILL');
    }, this.options.partingMs);
    await ended;
    clearTimeout(late);
  }

  private async metricsOf({ child, answers }: Member): Promise<string | undefined> {
    const question = (this.questions += 1);
    const answer = new Promise<string>((resolve) => answers.set(question, resolve));
    tell(child, { order: 'metrics', question });
    const text = await Promise.race([answer, delay(METRICS_DEADLINE_MS, undefined, { ref: false })]);
    answers.delete(question);
    return text;
  }
}

/** The end of a process that cannot be told any more is told by its exit. */
function tell(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order, () => undefined);
}

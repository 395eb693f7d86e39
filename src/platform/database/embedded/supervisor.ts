import { setTimeout as delay } from 'node:timers/promises';
import { runningProcess } from './processes';
import { type Launch, type RunningServer, startOrAdopt, stopServer } from './server';

export interface SupervisorOptions {
  /** A server that does not come back is tried for so long; then its end is told. */
  readonly giveUpMs: number;
  readonly report: (event: SupervisorEvent) => void;
}

export type SupervisorEvent =
  | { readonly kind: 'ended' }
  | { readonly kind: 'retry'; readonly attempt: number; readonly error: unknown }
  | { readonly kind: 'restarted'; readonly attempt: number; readonly milliseconds: number }
  | { readonly kind: 'given-up'; readonly attempt: number };

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** Of the end of a process that is not our child the system tells only those who look. */
const CHECK_MS = 500;

/** Starts the server again whenever it ends unasked, on the same port: connections of the service find it there. */
export class Supervisor {
  /** Settles when the server ended and could not be started again. */
  readonly exited: Promise<void>;
  private readonly stopping = new AbortController();
  private readonly watching: Promise<void>;

  constructor(
    private readonly launch: Launch,
    private server: RunningServer,
    private readonly options: SupervisorOptions,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.exited = promise;
    this.watching = this.watch(resolve);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.watching;
    await stopServer(this.launch.paths, this.server.pid);
  }

  private async watch(lost: () => void): Promise<void> {
    const { signal } = this.stopping;
    for (;;) {
      await Promise.race([ended(this.server, signal), aborted(signal)]);
      if (signal.aborted) return;
      this.options.report({ kind: 'ended' });
      if (await this.restarted()) continue;
      if (!signal.aborted) lost();
      return;
    }
  }

  private async restarted(): Promise<boolean> {
    const { options, stopping } = this;
    const startedAt = performance.now();
    const passed = (): number => Math.round(performance.now() - startedAt);
    for (let attempt = 1; !stopping.signal.aborted; attempt += 1) {
      try {
        this.server = await startOrAdopt(this.launch, this.server.port);
        options.report({ kind: 'restarted', attempt, milliseconds: passed() });
        return true;
      } catch (error) {
        if (passed() > options.giveUpMs) {
          options.report({ kind: 'given-up', attempt });
          return false;
        }
        options.report({ kind: 'retry', attempt, error });
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
        await delay(pause, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      }
    }
    return false;
  }
}

async function ended(server: RunningServer, signal: AbortSignal): Promise<void> {
  if (server.exited !== null) return server.exited;
  while (!signal.aborted && runningProcess(server.pid) !== undefined)
    await delay(CHECK_MS, undefined, { signal, ref: false }).catch(() => undefined);
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

import { setTimeout as delay } from 'node:timers/promises';
import { runningProcess } from './processes';
import { type Launch, type RunningServer, startOrAdopt, stopServer } from './server';

export interface SupervisorOptions {
  /** How long a restart is attempted before the end is reported. */
  readonly giveUpMs: number;
  readonly report: (event: SupervisorEvent) => void;
}

export type SupervisorEvent =
  | { readonly kind: 'ended' }
  | { readonly kind: 'retry'; readonly attempt: number; readonly error: unknown }
  | { readonly kind: 'restarted'; readonly attempt: number; readonly milliseconds: number }
  | { readonly kind: 'given-up'; readonly attempt: number };

const INITIAL_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
/** The end of a process that is not our child can only be polled. */
const CHECK_MS = 500;

/** Restarts the server whenever it ends unexpectedly, on the same port, so that connections of the service find it. */
export class Supervisor {
  /** Settles when the server ended and could not be restarted. */
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

  private async watch(onLost: () => void): Promise<void> {
    const { signal } = this.stopping;
    for (;;) {
      await Promise.race([waitForEnd(this.server, signal), waitForAbort(signal)]);
      if (signal.aborted) return;
      this.options.report({ kind: 'ended' });
      if (await this.restart()) continue;
      if (!signal.aborted) onLost();
      return;
    }
  }

  private async restart(): Promise<boolean> {
    const { options, stopping } = this;
    const startedAt = performance.now();
    const elapsedMs = (): number => Math.round(performance.now() - startedAt);
    for (let attempt = 1; !stopping.signal.aborted; attempt += 1) {
      try {
        this.server = await startOrAdopt(this.launch, this.server.port);
        options.report({ kind: 'restarted', attempt, milliseconds: elapsedMs() });
        return true;
      } catch (error) {
        if (elapsedMs() > options.giveUpMs) {
          options.report({ kind: 'given-up', attempt });
          return false;
        }
        options.report({ kind: 'retry', attempt, error });
        const pause = Math.min(INITIAL_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS);
        await delay(pause, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      }
    }
    return false;
  }
}

async function waitForEnd(server: RunningServer, signal: AbortSignal): Promise<void> {
  if (server.exited !== null) return server.exited;
  while (!signal.aborted && runningProcess(server.pid) !== undefined)
    await delay(CHECK_MS, undefined, { signal, ref: false }).catch(() => undefined);
}

const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

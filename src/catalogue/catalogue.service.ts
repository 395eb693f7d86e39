import { setTimeout as delay } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { monotonicMs } from '../kernel';
import { Database, Notifications } from '../platform';
import type { CatalogueSnapshot } from './snapshot';
import { loadSnapshot, readRevision } from './snapshot-loader';
import type { Resolution } from './views';

const POLL_MS = 500;

/**
 * This node's copy of the catalogue. An announcement replaces it within milliseconds; a look at the revision
 * twice a second replaces it where announcements do not arrive. While the database is away the last good copy
 * stays, and price schedules go on flipping: they are reckoned from the copy and the clock.
 */
@Injectable()
export class CatalogueService implements OnModuleInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(CatalogueService.name);
  private readonly stopping = new AbortController();
  private readonly unsubscribe: (() => void)[] = [];
  private current?: CatalogueSnapshot;
  private reloading?: Promise<void>;
  private reloadAgain = false;
  private polling?: Promise<void>;
  private confirmedAt = monotonicMs();
  private away = false;

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
  ) {}

  async onModuleInit(): Promise<void> {
    this.unsubscribe.push(
      await this.notifications.on('catalogue', () => this.reloadQuietly()),
      this.notifications.onGap(() => this.reloadQuietly()),
    );
    await this.reload();
    this.polling = this.poll();
  }

  /** Before the database closes its connections. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const end of this.unsubscribe) end();
    this.stopping.abort();
    await this.polling;
    await this.reloading?.catch(() => undefined);
  }

  get snapshot(): CatalogueSnapshot {
    if (this.current === undefined) throw new Error('the catalogue is read before it was loaded');
    return this.current;
  }

  resolve(name: string, at: number = Date.now()): Resolution {
    return this.snapshot.resolve(name, at);
  }

  /** How long ago this copy was last known to be the newest, in milliseconds. */
  get stalenessMs(): number {
    return monotonicMs() - this.confirmedAt;
  }

  /**
   * Reads the catalogue anew. One read at a time; whoever asks during a read gets the next one, because the
   * running one may have begun before the change they know of.
   */
  reload(): Promise<void> {
    if (this.reloading !== undefined) this.reloadAgain = true;
    this.reloading ??= this.readUntilSettled().finally(() => {
      this.reloading = undefined;
    });
    return this.reloading;
  }

  private async readUntilSettled(): Promise<void> {
    do {
      this.reloadAgain = false;
      const asked = monotonicMs();
      this.current = await loadSnapshot(this.database);
      this.confirmedAt = asked;
    } while (this.reloadAgain);
  }

  private reloadQuietly(): void {
    this.reload().then(
      () => this.back(),
      (error: unknown) => this.gone(error),
    );
  }

  private async poll(): Promise<void> {
    const { signal } = this.stopping;
    while (await delay(POLL_MS, true, { signal, ref: false }).catch(() => false)) {
      try {
        const asked = monotonicMs();
        const revision = await readRevision(this.database.source);
        if (revision === this.snapshot.revision) this.confirmedAt = asked;
        else await this.reload();
        this.back();
      } catch (error) {
        this.gone(error);
      }
    }
  }

  /** Said once an outage, not twice a second. */
  private gone(error: unknown): void {
    if (!this.away)
      this.logger.warn(`The catalogue cannot be read; the last copy stays in use: ${String(error)}`);
    this.away = true;
  }

  private back(): void {
    if (this.away) this.logger.log('The catalogue can be read again.');
    this.away = false;
  }
}

import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { monotonicMs } from '../kernel';
import { Database, Notifications, OwnWrites, RevisionWatch } from '../platform';
import type { CatalogueSnapshot } from './snapshot';
import { loadSnapshot } from './snapshot-loader';
import type { Resolution } from './views';

/**
 * Copy of the catalogue on this node, replaced within milliseconds of an announcement, or by a poll twice a second.
 * While the database is away, the last copy stays in use and price schedules still switch.
 */
@Injectable()
export class CatalogueService implements OnModuleInit, BeforeApplicationShutdown {
  private readonly watch: RevisionWatch;
  private current?: CatalogueSnapshot;
  private reloading?: Promise<void>;
  private reloadAgain = false;
  private readonly followers: ((snapshot: CatalogueSnapshot) => Promise<void>)[] = [];

  constructor(
    private readonly database: Database,
    notifications: Notifications,
    writes: OwnWrites,
  ) {
    writes.add(() => this.watch.catchUp());
    this.watch = new RevisionWatch(database, notifications, {
      subject: 'The catalogue',
      channel: 'catalogue',
      table: 'catalogue_revision',
      onChange: async (_change, revision) => {
        if (this.current?.revision !== revision) await this.reload();
      },
    });
  }

  onModuleInit(): Promise<void> {
    return this.watch.start();
  }

  /** Stops reading before the database closes its connections. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.watch.stop();
    await this.reloading?.catch(() => undefined);
  }

  get snapshot(): CatalogueSnapshot {
    if (this.current === undefined) throw new Error('the catalogue is read before it was loaded');
    return this.current;
  }

  resolve(name: string, at: number = this.watch.clock.now()): Resolution {
    return this.snapshot.resolve(name, at);
  }

  /** Milliseconds since this copy was last confirmed to be the newest. */
  get stalenessMs(): number {
    return monotonicMs() - this.watch.confirmedAt;
  }

  /** Registers a store that must be up to date before a new snapshot is used. */
  follow(follower: (snapshot: CatalogueSnapshot) => Promise<void>): void {
    this.followers.push(follower);
  }

  /**
   * Reloads the catalogue, one read at a time. A call during a read triggers another one, because the running read
   * might predate the change.
   */
  reload(): Promise<void> {
    if (this.reloading !== undefined) this.reloadAgain = true;
    this.reloading ??= this.loadUntilCurrent().finally(() => {
      this.reloading = undefined;
    });
    return this.reloading;
  }

  private async loadUntilCurrent(): Promise<void> {
    do {
      this.reloadAgain = false;
      const newest = await loadSnapshot(this.database);
      for (const follow of this.followers) await follow(newest);
      this.current = newest;
    } while (this.reloadAgain);
  }
}

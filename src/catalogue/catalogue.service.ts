import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { monotonicMs } from '../kernel';
import { Database, Notifications, OwnWrites, RevisionWatch } from '../platform';
import type { CatalogueSnapshot } from './snapshot';
import { loadSnapshot } from './snapshot-loader';
import type { Resolution } from './views';

/**
 * This node's copy of the catalogue. An announcement replaces it within milliseconds; a poll of the revision twice a
 * second covers lost announcements. While the database is away the last good copy stays, and price schedules still
 * switch: they depend on the copy and the database's clock alone.
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
    writes.add(() => this.watch.caughtUp());
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

  /** Reading stops before the database closes its connections. */
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

  /** This copy was known to be the newest so many milliseconds ago. */
  get stalenessMs(): number {
    return monotonicMs() - this.watch.confirmedAt;
  }

  /** Registers stores that must be current before a new copy is used. */
  follow(follower: (snapshot: CatalogueSnapshot) => Promise<void>): void {
    this.followers.push(follower);
  }

  /**
   * Reloads the catalogue. One read runs at a time. A call during a read gets the next one, because the running read
   * may predate its change.
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
      const newest = await loadSnapshot(this.database);
      for (const follow of this.followers) await follow(newest);
      this.current = newest;
    } while (this.reloadAgain);
  }
}

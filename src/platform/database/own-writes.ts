import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { withDeadline } from '../../kernel';
import { Settings } from '../config';
import { Database } from './database';
import { Notifications } from './notifications';

const CHANNEL = 'own_writes';

/**
 * Brings the copies of this node up to date with its own commits, so that an acknowledged change is in force on the
 * node that acknowledged it.
 */
@Injectable()
export class OwnWrites {
  private readonly copies = new Set<() => Promise<void>>();
  private readonly waiting = new Map<string, () => void>();
  private listening: Promise<unknown> | null = null;

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
    private readonly settings: Settings,
  ) {}

  /** `catchUp` settles once the copy has everything that was committed and announced before. */
  add(catchUp: () => Promise<void>): void {
    this.copies.add(catchUp);
  }

  /** False if a copy is not up to date in time, for example while announcements are not received. */
  async apply(): Promise<boolean> {
    try {
      await withDeadline(this.settings.applyTimeoutMs, this.applyToAll());
      return true;
    } catch {
      return false;
    }
  }

  private async applyToAll(): Promise<void> {
    await this.waitForAnnouncement();
    await Promise.all([...this.copies].map((catchUp) => catchUp()));
  }

  /** PostgreSQL delivers announcements in the order of commits: all earlier ones have then been received. */
  private async waitForAnnouncement(): Promise<void> {
    this.listening ??= this.notifications.on(CHANNEL, (id) => this.waiting.get(id)?.());
    await this.listening;
    const id = randomUUID();
    try {
      const received = new Promise<void>((resolve) => this.waiting.set(id, resolve));
      await this.database.query('SELECT pg_notify($1, $2)', [CHANNEL, id]);
      await withDeadline(this.settings.applyTimeoutMs, received);
    } finally {
      this.waiting.delete(id);
    }
  }
}

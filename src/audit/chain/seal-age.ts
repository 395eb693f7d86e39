import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { MINUTE_MS } from '../../kernel';
import { Database, Logger, Metrics } from '../../platform';
import { SealWitness } from './seal-witness';

const CHECK_INTERVAL_MS = 5_000;
/** Entries are sealed within two seconds; a wait longer than this points to a fault or an attack. */
export const SEAL_LATE_MS = MINUTE_MS;

/** Age of the oldest unsealed entry. Reads no block, so that a lock on blocks cannot delay it. */
const WAITING_SINCE = 'SELECT min(since) AS since FROM activity_unsealed';

@Injectable()
export class SealAge implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private since: Date | null = null;
  private wasLate = false;

  constructor(
    private readonly database: Database,
    private readonly witness: SealWitness,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.metrics.beforeRead(() => this.metrics.auditUnsealedSeconds.set({}, this.ageMs() / 1_000));
    this.timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS).unref();
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Start of the wait if it is too long; else null. */
  get lateSince(): Date | null {
    return this.ageMs() > SEAL_LATE_MS ? this.since : null;
  }

  async check(): Promise<void> {
    try {
      const [row] = await this.database.query<{ since: Date | null }>(WAITING_SINCE);
      this.since = earlier(row?.since ?? null, this.witness.waitingSince);
    } catch {
      // A database outage is reported elsewhere.
      return;
    }
    const { lateSince } = this;
    const isLate = lateSince !== null;
    if (isLate && !this.wasLate)
      this.logger.error('alert: entries of the activity log are not sealed', {
        since: lateSince.toISOString(),
        see: 'docs/audit.md',
      });
    if (!isLate && this.wasLate) this.logger.info('entries of the activity log are sealed again');
    this.wasLate = isLate;
  }

  private ageMs(): number {
    return this.since === null ? 0 : Math.max(0, Date.now() - this.since.getTime());
  }
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

import { Injectable } from '@nestjs/common';
import { HOUR_MS, monotonicMs } from '../kernel';

interface StickyLane {
  readonly laneId: number;
  /** Time after which a session on a backup returns to its primary lane. */
  readonly until: number;
}

const MAX_SESSIONS = 100_000;
const PRIMARY_TTL_MS = HOUR_MS;
const BACKUP_TTL_MS = 10_000;

/**
 * Remembers a session's last lane, so that its next request finds the supplier's cache warm. Only a preference:
 * unhealthy lanes are skipped, and a backup keeps a session for seconds.
 */
@Injectable()
export class Stickiness {
  private readonly sessions = new Map<string, StickyLane>();

  laneOf(session: string): number | null {
    const sticky = this.sessions.get(session);
    return sticky === undefined || sticky.until < monotonicMs() ? null : sticky.laneId;
  }

  remember(session: string, laneId: number, isPrimary: boolean): void {
    const previous = this.sessions.get(session);
    const now = monotonicMs();
    // Requests on a backup do not extend its time, or a busy session would never return to its primary lane.
    if (!isPrimary && previous?.laneId === laneId && previous.until >= now) return;
    this.sessions.delete(session);
    this.sessions.set(session, { laneId, until: now + (isPrimary ? PRIMARY_TTL_MS : BACKUP_TTL_MS) });
    if (this.sessions.size > MAX_SESSIONS) {
      const oldest = this.sessions.keys().next();
      if (!oldest.done) this.sessions.delete(oldest.value);
    }
  }
}

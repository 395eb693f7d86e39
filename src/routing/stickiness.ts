import { Injectable } from '@nestjs/common';
import { HOUR_MS, monotonicMs } from '../kernel';

interface StickyLane {
  readonly laneId: number;
  /** A session that failed over goes back to where it belongs after this. */
  readonly until: number;
}

const MOST_SESSIONS = 100_000;
const HOME_MS = HOUR_MS;
const AWAY_MS = 10_000;

/**
 * Remembers a session's last lane, so that its next request finds the supplier's cache warm. A preference only: an
 * unhealthy lane is passed over, and a backup keeps a session for seconds.
 */
@Injectable()
export class Stickiness {
  private readonly sessions = new Map<string, StickyLane>();

  laneOf(session: string): number | null {
    const stuck = this.sessions.get(session);
    return stuck === undefined || stuck.until < monotonicMs() ? null : stuck.laneId;
  }

  remember(session: string, laneId: number, isPrimary: boolean): void {
    const earlier = this.sessions.get(session);
    const now = monotonicMs();
    // Staying on a backup does not prolong the stay, or a busy session would never come back.
    if (!isPrimary && earlier?.laneId === laneId && earlier.until >= now) return;
    this.sessions.delete(session);
    this.sessions.set(session, { laneId, until: now + (isPrimary ? HOME_MS : AWAY_MS) });
    if (this.sessions.size > MOST_SESSIONS) {
      const oldest = this.sessions.keys().next();
      if (!oldest.done) this.sessions.delete(oldest.value);
    }
  }
}

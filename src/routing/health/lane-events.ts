import { Injectable } from '@nestjs/common';
import { type Fault, MINUTE_MS, underlyingCause } from '../../kernel';
import { Logger } from '../../platform';
import type { LaneFailure, LaneRoute, LaneOutage } from './lane-types';

/** Maximum number of closed lanes that are remembered until they are taken. */
const MAX_CLOSED = 1_000;

/**
 * Log lines per lane and minute. For a lane that changes more often, the latest state is logged at the end of the
 * minute.
 */
const MAX_LINES_PER_MINUTE = 10;

interface MinuteLines {
  written: number;
  suppressed: number;
  writeLatest: (extra: object) => void;
}

interface Opening {
  readonly at: number;
  readonly code: string;
  readonly status: number | null;
}

@Injectable()
export class LaneEvents {
  private readonly openings = new WeakMap<LaneRoute, Opening>();
  private closedLanes: LaneOutage[] = [];
  private readonly lines = new WeakMap<LaneRoute, MinuteLines>();

  constructor(private readonly logger: Logger) {}

  opened(lane: LaneRoute, now: number, failure: LaneFailure): void {
    const { problem, status } = failure;
    this.openings.set(lane, { at: now, code: problem.code, status });
    this.log(lane, (extra) =>
      this.logger.warn('lane opened: it is passed over until a probe succeeds', {
        ...fieldsOf(lane, failure),
        ...extra,
      }),
    );
  }

  openedForKey(lane: LaneRoute, _now: number, keyId: number, failure: LaneFailure): void {
    this.logger.info('lane opened for one key: its requests fail there', {
      ...fieldsOf(lane, failure),
      key_id: keyId,
    });
  }

  closed(lane: LaneRoute, now: number): void {
    const outage = this.outageOf(lane, now);
    if (outage !== null && this.closedLanes.length < MAX_CLOSED) {
      this.closedLanes.push({ ...outage, closedAt: new Date() });
    }
    const seconds = Math.round((now - (this.openings.get(lane)?.at ?? now)) / 1_000);
    this.log(lane, (extra) =>
      this.logger.warn('lane closed: it answers again', {
        ...namesOf(lane),
        open_seconds: seconds,
        ...extra,
      }),
    );
  }

  private log(lane: LaneRoute, write: (extra: object) => void): void {
    const minute = this.lines.get(lane) ?? this.startMinute(lane);
    if (minute.written >= MAX_LINES_PER_MINUTE) {
      minute.suppressed += 1;
      minute.writeLatest = write;
      return;
    }
    minute.written += 1;
    write({});
  }

  private startMinute(lane: LaneRoute): MinuteLines {
    const minute: MinuteLines = { written: 0, suppressed: 0, writeLatest: () => undefined };
    this.lines.set(lane, minute);
    setTimeout(() => {
      this.lines.delete(lane);
      if (minute.suppressed > 0)
        this.log(lane, (extra) => minute.writeLatest({ ...extra, lines_left_out: minute.suppressed - 1 }));
    }, MINUTE_MS).unref();
    return minute;
  }

  outageOf(lane: LaneRoute, now: number): LaneOutage | null {
    const opening = this.openings.get(lane);
    if (opening === undefined) return null;
    const { at, code, status } = opening;
    return { ...lane, code, status, openedAt: new Date(Date.now() - (now - at)), closedAt: null };
  }

  takeClosed(): readonly LaneOutage[] {
    const closed = this.closedLanes;
    this.closedLanes = [];
    return closed;
  }

  paused(lane: LaneRoute, milliseconds: number, problem: Fault): void {
    this.log(lane, (extra) =>
      this.logger.warn('lane paused: its supplier asked to be left alone', {
        ...namesOf(lane),
        seconds: milliseconds / 1_000,
        code: problem.code,
        ...extra,
      }),
    );
  }
}

const namesOf = ({ supplier: provider, model, region }: LaneRoute) => ({ provider, model, region });

const fieldsOf = (lane: LaneRoute, { problem, status }: LaneFailure) => ({
  ...namesOf(lane),
  status,
  code: problem.code,
  cause: underlyingCause(problem),
});

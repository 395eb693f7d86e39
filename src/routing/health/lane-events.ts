import { Injectable } from '@nestjs/common';
import { type Fault, MINUTE_MS, underlyingCause } from '../../kernel';
import { Logger } from '../../platform';
import type { LaneFailure, LaneRoute, LaneTrouble } from './lane-facts';

/** So many lanes that closed again are remembered until they are asked for. */
const MOST_CLOSED = 1_000;

/** Lines of one lane per minute; the last state of a lane that changes more often is logged at the minute's end. */
const MAX_LINES_PER_MINUTE = 10;

interface LinesOfMinute {
  written: number;
  left: number;
  writeLatest: (more: object) => void;
}

interface Opening {
  readonly at: number;
  readonly code: string;
  readonly status: number | null;
}

/** Operators and their alerts read one line for each event of a lane. */
@Injectable()
export class LaneEvents {
  private readonly openings = new WeakMap<LaneRoute, Opening>();
  private closedSince: LaneTrouble[] = [];
  private readonly lines = new WeakMap<LaneRoute, LinesOfMinute>();

  constructor(private readonly logger: Logger) {}

  opened(lane: LaneRoute, now: number, failure: LaneFailure): void {
    const { problem, status } = failure;
    this.openings.set(lane, { at: now, code: problem.code, status });
    this.log(lane, (more) =>
      this.logger.warn('lane opened: it is passed over until a probe succeeds', {
        ...fieldsOf(lane, failure),
        ...more,
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
    const trouble = this.troubleOf(lane, now);
    if (trouble !== null && this.closedSince.length < MOST_CLOSED) {
      this.closedSince.push({ ...trouble, closedAt: new Date() });
    }
    const seconds = Math.round((now - (this.openings.get(lane)?.at ?? now)) / 1_000);
    this.log(lane, (more) =>
      this.logger.warn('lane closed: it answers again', {
        ...namesOf(lane),
        open_seconds: seconds,
        ...more,
      }),
    );
  }

  private log(lane: LaneRoute, write: (more: object) => void): void {
    const minute = this.lines.get(lane) ?? this.beginMinute(lane);
    if (minute.written >= MAX_LINES_PER_MINUTE) {
      minute.left += 1;
      minute.writeLatest = write;
      return;
    }
    minute.written += 1;
    write({});
  }

  private beginMinute(lane: LaneRoute): LinesOfMinute {
    const minute: LinesOfMinute = { written: 0, left: 0, writeLatest: () => undefined };
    this.lines.set(lane, minute);
    setTimeout(() => {
      this.lines.delete(lane);
      if (minute.left > 0)
        this.log(lane, (more) => minute.writeLatest({ ...more, lines_left_out: minute.left - 1 }));
    }, MINUTE_MS).unref();
    return minute;
  }

  /** A lane that is open has this trouble. */
  troubleOf(lane: LaneRoute, now: number): LaneTrouble | null {
    const opening = this.openings.get(lane);
    if (opening === undefined) return null;
    const { at, code, status } = opening;
    return { ...lane, code, status, openedAt: new Date(Date.now() - (now - at)), closedAt: null };
  }

  /** These lanes were open and closed again since this was last asked. */
  takeClosed(): readonly LaneTrouble[] {
    const closed = this.closedSince;
    this.closedSince = [];
    return closed;
  }

  paused(lane: LaneRoute, milliseconds: number, problem: Fault): void {
    this.log(lane, (more) =>
      this.logger.warn('lane paused: its supplier asked to be left alone', {
        ...namesOf(lane),
        seconds: milliseconds / 1_000,
        code: problem.code,
        ...more,
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

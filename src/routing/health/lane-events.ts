import { Injectable } from '@nestjs/common';
import { type Fault, underlyingCause } from '../../kernel';
import { Logger } from '../../platform';
import type { LaneFailure, LaneRoute, LaneTrouble } from './lane-facts';

/** So many lanes that closed again are remembered until they are asked for. */
const MOST_CLOSED = 1_000;

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

  constructor(private readonly logger: Logger) {}

  opened(lane: LaneRoute, now: number, failure: LaneFailure): void {
    const { problem, status } = failure;
    this.openings.set(lane, { at: now, code: problem.code, status });
    this.logger.warn('lane opened: it is passed over until a probe succeeds', fieldsOf(lane, failure));
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
    this.logger.warn('lane closed: it answers again', { ...namesOf(lane), open_seconds: seconds });
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
    this.logger.warn('lane paused: its supplier asked to be left alone', {
      ...namesOf(lane),
      seconds: milliseconds / 1_000,
      code: problem.code,
    });
  }
}

const namesOf = ({ supplier: provider, model, region }: LaneRoute) => ({ provider, model, region });

const fieldsOf = (lane: LaneRoute, { problem, status }: LaneFailure) => ({
  ...namesOf(lane),
  status,
  code: problem.code,
  cause: underlyingCause(problem),
});

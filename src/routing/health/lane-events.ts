import { Injectable } from '@nestjs/common';
import { type Fault, underlyingCause } from '../../kernel';
import { Logger } from '../../platform';
import type { LaneFailure, LaneRoute } from './lane-facts';

/** What becomes of lanes, one line an event: for operators and their alerts. */
@Injectable()
export class LaneEvents {
  private readonly openedAt = new WeakMap<LaneRoute, number>();

  constructor(private readonly logger: Logger) {}

  opened(lane: LaneRoute, now: number, failure: LaneFailure): void {
    this.openedAt.set(lane, now);
    this.logger.warn('lane opened: it is passed over until a probe succeeds', fieldsOf(lane, failure));
  }

  openedForKey(lane: LaneRoute, _now: number, keyId: number, failure: LaneFailure): void {
    this.logger.info('lane opened for one key: its requests fail there', {
      ...fieldsOf(lane, failure),
      key_id: keyId,
    });
  }

  closed(lane: LaneRoute, now: number): void {
    const seconds = Math.round((now - (this.openedAt.get(lane) ?? now)) / 1_000);
    this.logger.warn('lane closed: it answers again', { ...namesOf(lane), open_seconds: seconds });
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

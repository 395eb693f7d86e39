import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import type { Caller } from '../../keys';
import { AnswerSampling, type GatewayCall } from '../../gateway';
import type { AutoView } from './request-view';

export interface TrackedQuery {
  readonly requestId: string;
  readonly caller: Caller;
  readonly turns: number;
  readonly askedMs: number;
  /** The query was itself a repetition, so whatever follows comes from a program. */
  readonly isRepeated: boolean;
  model: string | null;
  answeredMs: number;
}

/**
 * Minimum time a user needs to read an answer. A request repeated earlier comes from a program and says nothing about
 * quality.
 */
const MIN_RETRY_DELAY_MS = 10_000;
const MAX_RETRY_DELAY_MS = MINUTE_MS;
/** A shorter text ("yes", "go on") is often repeated without saying anything about the answer. */
const MIN_TEXT_LENGTH = 12;
const MAX_TRACKED_QUERIES = 10_000;

/**
 * Detects a user who repeats a query within a minute of its answer, but not within seconds. Position and text must be
 * equal apart from case, spaces and punctuation; similar texts would match every templated batch.
 */
@Injectable()
export class AutoRetries {
  private readonly queries = new Map<string, TrackedQuery>();

  constructor(private readonly sampling: AnswerSampling) {}

  /** Returns null if the text is too short to judge. */
  track({ inbound }: GatewayCall, { request }: AutoView, now = monotonicMs()): TrackedQuery | null {
    const { caller, requestId } = inbound;
    const text = request.text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
    if (text.length < MIN_TEXT_LENGTH || caller.attribution.organisationId === null) return null;
    const queryKey = `${caller.keyId} ${hash('sha256', text, 'base64')}`;
    const previous = this.queries.get(queryKey);
    const isRepeated =
      previous !== undefined &&
      previous.turns === request.turns &&
      now - Math.max(previous.askedMs, previous.answeredMs) <= MAX_RETRY_DELAY_MS;
    const { model = null } = previous ?? {};
    if (
      isRepeated &&
      !previous.isRepeated &&
      model !== null &&
      now - previous.answeredMs >= MIN_RETRY_DELAY_MS
    )
      this.sampling.reportRetry({ requestId: previous.requestId, caller: previous.caller, model });
    const query = {
      requestId,
      caller,
      turns: request.turns,
      askedMs: now,
      isRepeated,
      model: null,
      answeredMs: -Infinity,
    };
    this.queries.delete(queryKey);
    this.queries.set(queryKey, query);
    if (this.queries.size > MAX_TRACKED_QUERIES) {
      const oldest = this.queries.keys().next();
      if (!oldest.done) this.queries.delete(oldest.value);
    }
    return query;
  }

  answered(query: TrackedQuery | null, model: string, now = monotonicMs()): void {
    if (query !== null) Object.assign(query, { model, answeredMs: now });
  }
}

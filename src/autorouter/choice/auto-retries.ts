import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import type { Caller } from '../../keys';
import { AnswerSampling, type Call } from '../../gateway';
import type { AutoView } from './request-view';

/** A question with the time and model of its answer. */
export interface AskedQuestion {
  readonly requestId: string;
  readonly caller: Caller;
  readonly turns: number;
  readonly askedMs: number;
  /** It was a repetition itself: what follows on it comes from a program. */
  readonly isRepeated: boolean;
  model: string | null;
  answeredMs: number;
}

/** A person needs this long to read an answer. A request repeated earlier comes from a program, which judges nothing. */
const RETRIED_AFTER_MS = 10_000;
const RETRIED_WITHIN_MS = MINUTE_MS;
/** A shorter text ("yes", "go on") may be repeated without saying anything about the answer. */
const LEAST_LETTERS = 12;
const MOST_QUESTIONS = 10_000;

/**
 * Detects that a caller repeats a question within a minute of its answer, and not within seconds. Place in the
 * conversation and words must be equal, apart from case, spaces and punctuation. Similar texts do not count, or every
 * batch from a template would. State is per node.
 */
@Injectable()
export class AutoRetries {
  private readonly asked = new Map<string, AskedQuestion>();

  constructor(private readonly sampling: AnswerSampling) {}

  /** It is null where it is too short to tell. */
  begin({ inbound }: Call, { request }: AutoView, now = monotonicMs()): AskedQuestion | null {
    const { caller, requestId } = inbound;
    const words = request.text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
    if (words.length < LEAST_LETTERS || caller.attribution.organisationId === null) return null;
    const name = `${caller.keyId} ${hash('sha256', words, 'base64')}`;
    const before = this.asked.get(name);
    const isRepeated =
      before !== undefined &&
      before.turns === request.turns &&
      now - Math.max(before.askedMs, before.answeredMs) <= RETRIED_WITHIN_MS;
    const { model = null } = before ?? {};
    if (isRepeated && !before.isRepeated && model !== null && now - before.answeredMs >= RETRIED_AFTER_MS)
      this.sampling.retried({ requestId: before.requestId, caller: before.caller, model });
    const question = {
      requestId,
      caller,
      turns: request.turns,
      askedMs: now,
      isRepeated,
      model: null,
      answeredMs: -Infinity,
    };
    this.asked.delete(name);
    this.asked.set(name, question);
    if (this.asked.size > MOST_QUESTIONS) {
      const oldest = this.asked.keys().next();
      if (!oldest.done) this.asked.delete(oldest.value);
    }
    return question;
  }

  answered(question: AskedQuestion | null, model: string, now = monotonicMs()): void {
    if (question !== null) Object.assign(question, { model, answeredMs: now });
  }
}

import type { JsonObject } from '../../protocol';
import type { AnswerMasks } from './answer-masks';
import type { PieceMask } from './text-mask';

/** What becomes of an event: it goes as it came, as it is now, or not (yet). */
export type Fate = 'same' | 'changed' | 'held';

/** A text of a stream that is not over. */
export interface OpenText {
  readonly mask: PieceMask;
  /** The event, or the part of one, that carries a piece of it. */
  readonly carry: (text: string) => JsonObject;
}

/** Masks the events of one dialect. Objects are changed in place. */
export abstract class EventMasks {
  /** What has to go out before the event that was read last, in order. */
  before: (JsonObject | string)[] = [];

  /** A piece of the event that is being read goes out in another way. */
  protected differs = false;

  constructor(protected readonly masks: AnswerMasks) {}

  /** `written` gives the event as it came, or as it is now. */
  abstract read(event: JsonObject, written: (isChanged: boolean) => string): Fate;

  /** The last event of the answer has come, and is no JSON. */
  abstract over(): void;

  protected pushed({ mask }: OpenText, text: string): string {
    const shown = mask.push(text);
    this.differs ||= shown !== text;
    return shown;
  }

  /** What a failure has to repeat of the stream's beginning. */
  readonly opening: JsonObject | null = null;
}

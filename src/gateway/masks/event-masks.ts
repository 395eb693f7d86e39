import type { JsonObject } from '../../protocol';
import type { AnswerMasks } from './answer-masks';
import type { PieceMask } from './text-mask';

/** What becomes of an event: it goes as it came, as it is now, or not (yet). */
export type Fate = 'same' | 'changed' | 'held';

/** A text of a stream that is not over. */
export interface OpenText {
  readonly mask: PieceMask;
  /** The member that its pieces stand in. */
  readonly name: string;
  /** The event, or the part of one, that carries a piece of it. */
  readonly carry: (text: string) => JsonObject;
}

/** Masks the events of one dialect. Objects are changed in place. */
export abstract class EventMasks {
  /** What has to go out before the event that was read last, in order. */
  before: (JsonObject | string)[] = [];

  /** A piece of the event that is being read goes out in another way. */
  protected differs = false;
  /** How many pieces it has. */
  protected pieces = 0;

  constructor(protected readonly masks: AnswerMasks) {}

  /** `written` gives the event as it came, or as it is now. */
  abstract read(event: JsonObject, written: (isChanged: boolean) => string): Fate;

  /** The last event of the answer has come, and is no JSON. */
  abstract over(): void;

  /** The only piece of the event that was read last, where nothing else of it was changed. */
  sole: { readonly open: OpenText; readonly piece: string } | null = null;

  /** By how much the numbers of events have moved. */
  readonly shift: number = 0;

  /** An event with this number goes out. */
  passed(_number: number): void {}

  protected begin(): void {
    this.differs = false;
    this.pieces = 0;
    this.sole = null;
  }

  protected pushed(open: OpenText, text: string): string {
    this.pieces += 1;
    this.sole = this.pieces === 1 ? { open, piece: text } : null;
    const shown = open.mask.push(text);
    this.differs ||= shown !== text;
    return shown;
  }

  /** What a failure has to repeat of the stream's beginning. */
  readonly opening: JsonObject | null = null;
}

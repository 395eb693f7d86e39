import type { JsonObject } from '../../protocol';
import type { AnswerMasks } from './answer-masks';
import type { PieceMask } from './text-mask';

/** Action for an event: forward unchanged, forward changed, or hold back. */
export type EventAction = 'same' | 'changed' | 'held';

export interface OpenText {
  readonly mask: PieceMask;
  readonly name: string;
  readonly carry: (text: string) => JsonObject;
}

/** Masks the events of one dialect. Changes objects in place. */
export abstract class EventMasks {
  before: (JsonObject | string)[] = [];

  protected hasChangedPiece = false;
  protected pieceCount = 0;

  constructor(protected readonly masks: AnswerMasks) {}

  /** `written` returns the event as text, original or with its changes. */
  abstract read(event: JsonObject, print: (isChanged: boolean) => string): EventAction;

  /** Called at the end of the response, for a last event that is not JSON. */
  abstract end(): void;

  onlyPiece: { readonly open: OpenText; readonly piece: string } | null = null;

  /** Offset to add to event sequence numbers. */
  readonly shift: number = 0;

  noteSent(_number: number): void {}

  protected startEvent(): void {
    this.hasChangedPiece = false;
    this.pieceCount = 0;
    this.onlyPiece = null;
  }

  protected pushPiece(open: OpenText, text: string): string {
    this.pieceCount += 1;
    this.onlyPiece = this.pieceCount === 1 ? { open, piece: text } : null;
    const maskedText = open.mask.push(text);
    this.hasChangedPiece ||= maskedText !== text;
    return maskedText;
  }

  /** First event of the stream, which a failure has to repeat; null if none. */
  readonly opening: JsonObject | null = null;
}

import { isRecord, type JsonObject } from '../../protocol';
import { EventMasks, type EventAction, type OpenText } from './event-masks';
import { maskMembers } from './mask-values';

const DELTA_EVENT = /^(response\..+)\.delta$/;
const DONE_EVENT = /^(response\..+)\.done$/;
/** Deltas of these events are bytes. */
const BYTES_EVENT = /audio$/;
const JSON_EVENT = /_arguments$/;
const END_EVENTS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);
const POSITION_FIELDS = ['item_id', 'output_index', 'content_index', 'summary_index'] as const;

interface OpenResponseText extends OpenText {
  readonly outputIndex: unknown;
}

/**
 * Masks Responses, where every text arrives in deltas and then complete up to four times. Added events shift the later
 * sequence numbers.
 */
export class ResponsesMasks extends EventMasks {
  override opening: JsonObject | null = null;
  private readonly open = new Map<string, OpenResponseText>();
  override shift = 0;

  read(event: JsonObject): EventAction {
    const { type, response, sequence_number: number } = event;
    const name = typeof type === 'string' ? type : '';
    const [, piece] = DELTA_EVENT.exec(name) ?? [];
    const { changes } = this.masks;
    this.startEvent();
    if (piece === undefined || typeof event.delta !== 'string') {
      this.closeTexts(event, name);
      maskMembers(this.masks, event);
    } else if (!BYTES_EVENT.test(piece)) this.maskDelta(event, piece, event.delta);
    if (name === 'response.created' && isRecord(response)) this.opening = { type, response };
    if (typeof number === 'number' && this.shift > 0) {
      event.sequence_number = number + this.shift;
      this.hasChangedPiece = true;
    }
    if (typeof event.sequence_number === 'number') this.noteSent(event.sequence_number);
    return this.hasChangedPiece || this.masks.changes > changes ? 'changed' : 'same';
  }

  override noteSent(number: number): void {
    if (this.opening !== null) this.opening.sequence_number = number;
  }

  end(): void {
    for (const part of this.open.keys()) this.flush(part, {});
  }

  private maskDelta(event: JsonObject, name: string, text: string): void {
    const position = positionOf(event);
    const key = `${name} ${JSON.stringify(position)}`;
    let part = this.open.get(key);
    if (part === undefined) {
      const mask = JSON_EVENT.test(name) ? this.masks.createJsonMask() : this.masks.createTextMask();
      const tokens = Array.isArray(event.logprobs) ? { logprobs: [] } : {};
      const carry = (delta: string): JsonObject => ({ type: `${name}.delta`, ...position, delta, ...tokens });
      this.open.set(key, (part = { mask, name: 'delta', carry, outputIndex: event.output_index }));
    }
    event.delta = this.pushPiece(part, text);
    if (!Array.isArray(event.logprobs) || event.logprobs.length === 0) return;
    // The final event of the text has all log probabilities, unless something was masked.
    event.logprobs = [];
    this.hasChangedPiece = true;
    this.onlyPiece = null;
  }

  /** Flushes the texts that this event ends: its own, those of its item, or all at the end of the response. */
  private closeTexts(event: JsonObject, name: string): void {
    const [, done] = DONE_EVENT.exec(name) ?? [];
    if (done !== undefined) this.flush(`${done} ${JSON.stringify(positionOf(event))}`, event);
    if (name === 'response.output_item.done') {
      for (const [key, part] of this.open)
        if (part.outputIndex === event.output_index) this.flush(key, event);
    }
    if (END_EVENTS.has(name)) for (const key of this.open.keys()) this.flush(key, event);
  }

  private flush(key: string, { sequence_number: number }: JsonObject): void {
    const part = this.open.get(key);
    this.open.delete(key);
    const rest = part?.mask.end() ?? '';
    if (part === undefined || rest === '') return;
    const event = part.carry(rest);
    if (typeof number !== 'number') return void this.before.push(event);
    const { type, ...others } = event;
    this.before.push({ type, sequence_number: number + this.shift, ...others });
    this.shift += 1;
  }
}

function positionOf(event: JsonObject): JsonObject {
  const position: JsonObject = {};
  for (const name of POSITION_FIELDS) if (event[name] !== undefined) position[name] = event[name];
  return position;
}

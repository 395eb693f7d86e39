import { isRecord, type JsonObject } from '../../protocol';
import { EventMasks, type Fate, type OpenText } from './event-masks';
import { maskMembers } from './masked-values';

const PIECE = /^(response\..+)\.delta$/;
const DONE = /^(response\..+)\.done$/;
/** Their pieces are bytes. */
const BYTES = /audio$/;
const JSON_TEXT = /_arguments$/;
const ENDS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);
const PLACES = ['item_id', 'output_index', 'content_index', 'summary_index'] as const;

interface OpenPart extends OpenText {
  readonly outputIndex: unknown;
}

/** Every text comes in pieces and again whole, up to four times. Events that are added count as the others do. */
export class ResponsesMasks extends EventMasks {
  override opening: JsonObject | null = null;
  private readonly open = new Map<string, OpenPart>();
  override shift = 0;

  read(event: JsonObject): Fate {
    const { type, response, sequence_number: number } = event;
    const name = typeof type === 'string' ? type : '';
    const [, piece] = PIECE.exec(name) ?? [];
    const { changes } = this.masks;
    this.begin();
    if (piece === undefined || typeof event.delta !== 'string') {
      this.close(event, name);
      maskMembers(this.masks, event);
    } else if (!BYTES.test(piece)) this.piece(event, piece, event.delta);
    if (name === 'response.created' && isRecord(response)) this.opening = { type, response };
    if (typeof number === 'number' && this.shift > 0) {
      event.sequence_number = number + this.shift;
      this.differs = true;
    }
    if (typeof event.sequence_number === 'number') this.passed(event.sequence_number);
    return this.differs || this.masks.changes > changes ? 'changed' : 'same';
  }

  override passed(number: number): void {
    if (this.opening !== null) this.opening.sequence_number = number;
  }

  over(): void {
    for (const part of this.open.keys()) this.flush(part, {});
  }

  private piece(event: JsonObject, name: string, text: string): void {
    const place = placeOf(event);
    const key = `${name} ${JSON.stringify(place)}`;
    let part = this.open.get(key);
    if (part === undefined) {
      const mask = JSON_TEXT.test(name) ? this.masks.jsonText() : this.masks.text();
      const tokens = Array.isArray(event.logprobs) ? { logprobs: [] } : {};
      const carry = (delta: string): JsonObject => ({ type: `${name}.delta`, ...place, delta, ...tokens });
      this.open.set(key, (part = { mask, name: 'delta', carry, outputIndex: event.output_index }));
    }
    event.delta = this.pushed(part, text);
    if (!Array.isArray(event.logprobs) || event.logprobs.length === 0) return;
    // The event that ends the text has them all, unless something was masked.
    event.logprobs = [];
    this.differs = true;
    this.sole = null;
  }

  /** A text ends with its own last event, or with that of its item or answer. */
  private close(event: JsonObject, name: string): void {
    const [, done] = DONE.exec(name) ?? [];
    if (done !== undefined) this.flush(`${done} ${JSON.stringify(placeOf(event))}`, event);
    if (name === 'response.output_item.done') {
      for (const [key, part] of this.open)
        if (part.outputIndex === event.output_index) this.flush(key, event);
    }
    if (ENDS.has(name)) for (const key of this.open.keys()) this.flush(key, event);
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

function placeOf(event: JsonObject): JsonObject {
  const place: JsonObject = {};
  for (const name of PLACES) if (event[name] !== undefined) place[name] = event[name];
  return place;
}

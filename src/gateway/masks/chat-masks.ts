import { isRecord, type JsonObject } from '../../protocol';
import { EventMasks, type EventAction, type OpenText } from './event-masks';
import { HeldLogprobs } from './held-logprobs';
import { isJsonName, isTextName, maskValue, maskMembers } from './mask-values';

const COMPLETE_MEMBERS: ReadonlySet<string> = new Set([
  'annotations',
  'citations',
  'images',
  'search_results',
]);
const THINKING = /reason|think/;
const CHUNK_FIELDS: ReadonlySet<string> = new Set(['choices', 'usage', 'svc']);

interface OpenPiece extends OpenText {
  readonly isThinking: boolean;
}

interface MaskedChoice {
  readonly index: unknown;
  readonly texts: Map<string, OpenPiece>;
  /** Ids of tool calls by path: a new id under the same path is a new call. */
  readonly calls: Map<string, string>;
  readonly tokens: HeldLogprobs;
  hasMasked: boolean;
}

/** Path of a piece in a delta; `around` wraps a value in the objects that carry it. */
interface DeltaPath {
  readonly path: string;
  readonly around: (inner: unknown) => JsonObject;
}

export class ChatMasks extends EventMasks {
  private readonly choices = new Map<unknown, MaskedChoice>();
  private frame: JsonObject = {};

  read(chunk: JsonObject): EventAction {
    const { choices } = chunk;
    const list = Array.isArray(choices) ? choices.filter(isRecord) : [];
    const { changes } = this.masks;
    this.startEvent();
    for (const name of Object.keys(chunk))
      if (!CHUNK_FIELDS.has(name)) chunk[name] = maskValue(this.masks, chunk[name], name);
    if (list.length > 0) {
      const { usage: _usage, svc: _svc, ...frame } = chunk;
      this.frame = frame;
    }
    for (const choice of list) this.maskChoice(choice);
    return this.hasChangedPiece || this.masks.changes > changes ? 'changed' : 'same';
  }

  end(): void {
    for (const choice of this.choices.values()) this.finish(choice);
  }

  private maskChoice(fields: JsonObject): void {
    const { index, delta, message, text, finish_reason: reason } = fields;
    const choice = this.choiceAt(index);
    if (isRecord(fields.logprobs)) {
      choice.tokens.add(fields.logprobs);
      fields.logprobs = null;
      this.hasChangedPiece = true;
      this.pieceCount += 1;
    }
    const { hits } = this.masks;
    if (isRecord(message)) maskMembers(this.masks, message);
    if (this.masks.hits > hits) choice.hasMasked = true;
    if (typeof text === 'string')
      fields.text = this.maskPiece(
        choice,
        { path: 'text', around: (rest) => ({ text: rest }) },
        'text',
        text,
      );
    if (isRecord(delta)) {
      this.endThinking(choice, delta);
      this.maskDelta(choice, delta, { path: '', around: (inner) => ({ delta: inner }) });
    }
    if (typeof reason === 'string' && reason !== '') this.finish(choice);
  }

  private choiceAt(index: unknown): MaskedChoice {
    let choice = this.choices.get(index);
    if (choice === undefined) {
      choice = { index, texts: new Map(), calls: new Map(), tokens: new HeldLogprobs(), hasMasked: false };
      this.choices.set(index, choice);
    }
    return choice;
  }

  /** Flushes thinking before the content that follows it, so that it does not wait for the end of the choice. */
  private endThinking(choice: MaskedChoice, delta: JsonObject): void {
    const hasOtherText = Object.keys(delta).some(
      (name) =>
        isTextName(name) && !THINKING.test(name) && delta[name] !== '' && (delta[name] ?? null) !== null,
    );
    if (!hasOtherText || Array.isArray(delta.content)) return;
    for (const open of choice.texts.values()) if (open.isThinking) this.flush(choice, open);
  }

  private maskDelta(choice: MaskedChoice, fields: JsonObject, { path, around }: DeltaPath): void {
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      const memberPath = { path: `${path}.${name}`, around: (inner: unknown) => around({ [name]: inner }) };
      if (typeof value === 'string') {
        if (isTextName(name)) fields[name] = this.maskPiece(choice, memberPath, name, value);
      } else if (COMPLETE_MEMBERS.has(name) || isJsonName(name) || !isTextName(name)) {
        const { hits } = this.masks;
        fields[name] = maskValue(this.masks, value, name);
        if (this.masks.hits > hits) choice.hasMasked = true;
      } else if (Array.isArray(value)) this.items(choice, value, memberPath);
      else if (isRecord(value)) this.maskDelta(choice, value, memberPath);
    }
  }

  private items(choice: MaskedChoice, items: readonly unknown[], { path, around }: DeltaPath): void {
    for (const [position, item] of items.entries()) {
      if (!isRecord(item)) continue;
      const { index = position, id, type } = item;
      const itemPath = `${path}[${String(index)}${typeof type === 'string' && item.index === undefined ? type : ''}]`;
      if (typeof id === 'string' && id !== '') {
        const previousId = choice.calls.get(itemPath);
        if (previousId !== undefined && previousId !== id) this.closeCall(choice, itemPath);
        choice.calls.set(itemPath, id);
      }
      const itemKey = item.index === undefined ? (type === undefined ? {} : { type }) : { index };
      this.maskDelta(choice, item, {
        path: itemPath,
        around: (inner) => around([{ ...itemKey, ...(inner as JsonObject) }]),
      });
    }
  }

  private maskPiece(choice: MaskedChoice, { path, around }: DeltaPath, name: string, text: string): string {
    let open = choice.texts.get(path);
    if (open === undefined) {
      if (text === '') return text;
      const mask = isJsonName(name) ? this.masks.createJsonMask() : this.masks.createTextMask();
      open = { mask, name, carry: around, isThinking: THINKING.test(path) };
      choice.texts.set(path, open);
    }
    return this.pushPiece(open, text);
  }

  private closeCall(choice: MaskedChoice, path: string): void {
    for (const [key, open] of choice.texts) {
      if (!key.startsWith(path)) continue;
      this.flush(choice, open);
      choice.texts.delete(key);
      choice.hasMasked ||= open.mask.changed;
    }
  }

  private finish(choice: MaskedChoice): void {
    for (const open of choice.texts.values()) {
      this.flush(choice, open);
      choice.hasMasked ||= open.mask.changed;
    }
    choice.texts.clear();
    this.onlyPiece = null;
    const tokens = choice.tokens.take();
    if (tokens === null || choice.hasMasked) return;
    const isText = Array.isArray(tokens.tokens);
    this.send(choice, { ...(isText ? { text: '' } : { delta: {} }), logprobs: tokens });
  }

  private flush(choice: MaskedChoice, { mask, carry }: OpenPiece): void {
    const rest = mask.end();
    if (rest !== '') this.send(choice, carry(rest));
  }

  private send({ index }: MaskedChoice, fields: JsonObject): void {
    const choice = { index, logprobs: null, finish_reason: null, ...fields };
    this.before.push({ ...this.frame, choices: [choice] });
  }
}

import { isRecord, type JsonObject } from '../../protocol';
import { EventMasks, type Fate, type OpenText } from './event-masks';
import { HeldTokens } from './held-tokens';
import { isJsonName, isTextName, maskedValue, maskMembers } from './masked-values';

/** They come whole. */
const WHOLE: ReadonlySet<string> = new Set(['annotations', 'citations', 'images', 'search_results']);
const THINKING = /reason|think/;
const REST_OF_CHUNK: ReadonlySet<string> = new Set(['choices', 'usage', 'svc']);

interface OpenPiece extends OpenText {
  readonly isThinking: boolean;
}

interface Choice {
  readonly index: unknown;
  readonly texts: Map<string, OpenPiece>;
  /** The ids of its calls: another one under the same number is another call. */
  readonly calls: Map<string, string>;
  readonly tokens: HeldTokens;
  hasMasked: boolean;
}

/** Where a piece stands in a delta: `inner` is put around what carries it. */
interface Place {
  readonly path: string;
  readonly around: (inner: unknown) => JsonObject;
}

/** Chat completions, and the older text completions, whose choices carry their text themselves. */
export class ChatMasks extends EventMasks {
  private readonly choices = new Map<unknown, Choice>();
  /** What every chunk carries beside its choices. */
  private frame: JsonObject = {};

  read(chunk: JsonObject): Fate {
    const { choices } = chunk;
    const list = Array.isArray(choices) ? choices.filter(isRecord) : [];
    const { changes } = this.masks;
    this.begin();
    for (const name of Object.keys(chunk))
      if (!REST_OF_CHUNK.has(name)) chunk[name] = maskedValue(this.masks, chunk[name], name);
    if (list.length > 0) {
      const { usage: _usage, svc: _svc, ...frame } = chunk;
      this.frame = frame;
    }
    for (const choice of list) this.choice(choice);
    return this.differs || this.masks.changes > changes ? 'changed' : 'same';
  }

  over(): void {
    for (const choice of this.choices.values()) this.finish(choice);
  }

  private choice(fields: JsonObject): void {
    const { index, delta, message, text, finish_reason: reason } = fields;
    const choice = this.choiceAt(index);
    if (isRecord(fields.logprobs)) {
      choice.tokens.add(fields.logprobs);
      fields.logprobs = null;
      this.differs = true;
      this.pieces += 1;
    }
    const { hits } = this.masks;
    if (isRecord(message)) maskMembers(this.masks, message);
    if (this.masks.hits > hits) choice.hasMasked = true;
    if (typeof text === 'string')
      fields.text = this.piece(choice, { path: 'text', around: (rest) => ({ text: rest }) }, 'text', text);
    if (isRecord(delta)) {
      this.endThinking(choice, delta);
      this.members(choice, delta, { path: '', around: (inner) => ({ delta: inner }) });
    }
    if (typeof reason === 'string' && reason !== '') this.finish(choice);
  }

  private choiceAt(index: unknown): Choice {
    let choice = this.choices.get(index);
    if (choice === undefined) {
      choice = { index, texts: new Map(), calls: new Map(), tokens: new HeldTokens(), hasMasked: false };
      this.choices.set(index, choice);
    }
    return choice;
  }

  /** Callers show thinking before what follows it, so that it does not wait for the end of the choice. */
  private endThinking(choice: Choice, delta: JsonObject): void {
    const isOther = Object.keys(delta).some(
      (name) =>
        isTextName(name) && !THINKING.test(name) && delta[name] !== '' && (delta[name] ?? null) !== null,
    );
    if (!isOther || Array.isArray(delta.content)) return;
    for (const open of choice.texts.values()) if (open.isThinking) this.flush(choice, open);
  }

  private members(choice: Choice, fields: JsonObject, { path, around }: Place): void {
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      const place = { path: `${path}.${name}`, around: (inner: unknown) => around({ [name]: inner }) };
      if (typeof value === 'string') {
        if (isTextName(name)) fields[name] = this.piece(choice, place, name, value);
      } else if (WHOLE.has(name) || isJsonName(name) || !isTextName(name)) {
        const { hits } = this.masks;
        fields[name] = maskedValue(this.masks, value, name);
        if (this.masks.hits > hits) choice.hasMasked = true;
      } else if (Array.isArray(value)) this.items(choice, value, place);
      else if (isRecord(value)) this.members(choice, value, place);
    }
  }

  private items(choice: Choice, items: readonly unknown[], { path, around }: Place): void {
    for (const [position, item] of items.entries()) {
      if (!isRecord(item)) continue;
      const { index = position, id, type } = item;
      const own = `${path}[${String(index)}${typeof type === 'string' && item.index === undefined ? type : ''}]`;
      if (typeof id === 'string' && id !== '') {
        const known = choice.calls.get(own);
        if (known !== undefined && known !== id) this.forget(choice, own);
        choice.calls.set(own, id);
      }
      const mark = item.index === undefined ? (type === undefined ? {} : { type }) : { index };
      this.members(choice, item, {
        path: own,
        around: (inner) => around([{ ...mark, ...(inner as JsonObject) }]),
      });
    }
  }

  private piece(choice: Choice, { path, around }: Place, name: string, text: string): string {
    let open = choice.texts.get(path);
    if (open === undefined) {
      if (text === '') return text;
      const mask = isJsonName(name) ? this.masks.jsonText() : this.masks.text();
      open = { mask, name, carry: around, isThinking: THINKING.test(path) };
      choice.texts.set(path, open);
    }
    return this.pushed(open, text);
  }

  private forget(choice: Choice, path: string): void {
    for (const [key, open] of choice.texts) {
      if (!key.startsWith(path)) continue;
      this.flush(choice, open);
      choice.texts.delete(key);
      choice.hasMasked ||= open.mask.changed;
    }
  }

  private finish(choice: Choice): void {
    for (const open of choice.texts.values()) {
      this.flush(choice, open);
      choice.hasMasked ||= open.mask.changed;
    }
    choice.texts.clear();
    this.sole = null;
    const tokens = choice.tokens.take();
    if (tokens === null || choice.hasMasked) return;
    const isText = Array.isArray(tokens.tokens);
    this.send(choice, { ...(isText ? { text: '' } : { delta: {} }), logprobs: tokens });
  }

  private flush(choice: Choice, { mask, carry }: OpenPiece): void {
    const rest = mask.end();
    if (rest !== '') this.send(choice, carry(rest));
  }

  private send({ index }: Choice, fields: JsonObject): void {
    const choice = { index, logprobs: null, finish_reason: null, ...fields };
    this.before.push({ ...this.frame, choices: [choice] });
  }
}

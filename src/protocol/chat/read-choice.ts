import { type Fault } from '../../kernel';
import { argumentsText, type Emission, type JsonObject, type Tally } from '../canonical';
import { brokenStream } from '../stream-reader';
import { isRecord, pick } from '../usage';

interface Call {
  id: string;
  name: string;
  /** It is undefined until the name is known. */
  handle: number | undefined;
  held: string;
  /** It is absent for a tool that takes plain text. */
  readonly end: ValueEnd | undefined;
  closed: boolean;
}

/** Finds out, piece by piece, whether a JSON object is over. */
class ValueEnd {
  private depth = 0;
  private inString = false;
  private escaped = false;
  reached = false;

  push(text: string): void {
    for (let at = 0; at < text.length && !this.reached; at++) {
      const code = text.charCodeAt(at);
      if (this.inString) this.insideString(code);
      else if (code === 0x22) this.inString = true;
      else if (code === 0x7b || code === 0x5b) this.depth += 1;
      else if (code === 0x7d || code === 0x5d) this.reached = --this.depth === 0;
    }
  }

  private insideString(code: number): void {
    if (this.escaped) this.escaped = false;
    else if (code === 0x5c) this.escaped = true;
    else if (code === 0x22) this.inString = false;
  }
}

/** Reads the deltas of a streamed choice, and the message of a whole one, which looks the same. */
export class ChoiceReader {
  private readonly calls = new Map<number, Call>();
  private latest: Call | undefined;

  constructor(
    private readonly emission: Emission,
    private readonly tally: Tally,
  ) {}

  read(delta: JsonObject): Fault | undefined {
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (typeof reasoning === 'string') this.emission.reasoning(reasoning);
    const { content, refusal, tool_calls: calls, annotations, function_call: legacy } = delta;
    if (typeof content === 'string') this.emission.text(content);
    else if (Array.isArray(content)) content.forEach((part) => this.part(part));
    if (typeof refusal === 'string') this.emission.refusal(refusal);
    if (Array.isArray(annotations)) annotations.forEach((value) => this.emission.citation('chat', value));
    if (isRecord(delta.audio)) this.tally.dropped('audio', 'speech has no canonical event');
    if (Array.isArray(calls)) {
      for (const [position, call] of calls.entries()) {
        const wrong = isRecord(call)
          ? this.call(call, position)
          : brokenStream('A tool call is not an object.');
        if (wrong) return wrong;
      }
    }
    return isRecord(legacy) ? this.call({ index: 0, function: legacy }, 0) : undefined;
  }

  /** Some suppliers send content as a list, with the reasoning inside it. */
  private part(part: unknown): void {
    const text = pick(part, 'text');
    if (typeof text === 'string') return this.emission.text(text);
    const thinking = pick(part, 'thinking');
    for (const piece of Array.isArray(thinking) ? thinking : [thinking]) {
      const shown = typeof piece === 'string' ? piece : pick(piece, 'text');
      if (typeof shown === 'string') this.emission.reasoning(shown);
    }
  }

  private call(delta: JsonObject, position: number): Fault | undefined {
    const called = isRecord(delta.function) ? delta.function : isRecord(delta.custom) ? delta.custom : {};
    const id = typeof delta.id === 'string' ? delta.id : '';
    const name = typeof called.name === 'string' ? called.name : '';
    const isCustom = isRecord(delta.custom);
    const call = this.callAt(this.indexOf(delta.index, position, id, name), id, name, isCustom);
    if (!call) return brokenStream('A piece of a tool call came before the call.');
    if (call.handle === undefined && call.name === '') call.name = name;
    if (call.id === '') call.id = id;
    const raw = called.arguments ?? called.input;
    const text = typeof raw === 'string' ? raw : (argumentsText(raw) ?? '');
    if (call.handle === undefined) {
      call.held += text;
      if (call.name !== '') this.open(call);
      return undefined;
    }
    if (call.closed && text.trim() !== '') return brokenStream('A tool call went on after its end.');
    this.arguments(call, text);
    return undefined;
  }

  private callAt(index: number, id: string, name: string, isCustom: boolean): Call | undefined {
    const known = this.calls.get(index);
    // Some suppliers count every call from 0: another identifier with another name is another call.
    const isOther = known !== undefined && id !== '' && id !== known.id && known.id !== '' && name !== '';
    if (known && !isOther) return (this.latest = known);
    if (id === '' && name === '') return undefined;
    if (known) this.calls.set(-1 - this.calls.size, known);
    const end = isCustom ? undefined : new ValueEnd();
    this.latest = { id, name, handle: undefined, held: '', end, closed: false };
    this.calls.set(index, this.latest);
    return this.latest;
  }

  /** Without an index, what names a tool begins a call and the rest continues the latest. */
  private indexOf(index: unknown, position: number, id: string, name: string): number {
    if (typeof index === 'number') return index;
    if (id !== '' || name !== '') return this.latest === undefined ? position : this.calls.size;
    for (const [known, call] of this.calls) if (call === this.latest) return known;
    return position;
  }

  private open(call: Call): void {
    // This dialect does not say when a call is over; a finished object does.
    for (const other of this.calls.values()) {
      if (other.handle === undefined || !other.end?.reached) continue;
      this.emission.closeTool(other.handle);
      other.closed = true;
    }
    const told = call.end === undefined ? { custom: true } : {};
    call.handle = this.emission.openTool(call.id, call.name, told);
    this.arguments(call, call.held);
    call.held = '';
  }

  private arguments(call: Call, text: string): void {
    if (text === '' || call.closed) return;
    call.end?.push(text);
    this.emission.toolArguments(call.handle!, text);
  }
}

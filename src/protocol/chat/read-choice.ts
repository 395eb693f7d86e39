import { type Fault } from '../../kernel';
import { argumentsText, type Emission, type JsonObject, type Tally } from '../canonical';
import { brokenStream } from '../stream-reader';
import { isRecord, pick } from '../usage';

interface ChoiceToolCall {
  id: string;
  name: string;
  /** Undefined until the name is known. */
  handle: number | undefined;
  buffered: string;
  /** Undefined for a tool that takes plain text. */
  readonly end: JsonEndDetector | undefined;
  closed: boolean;
}

class JsonEndDetector {
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

/** Reads the deltas of a streamed choice, and the message of a complete one, which has the same shape. */
export class ChoiceReader {
  private readonly calls = new Map<number, ChoiceToolCall>();
  private latest: ChoiceToolCall | undefined;

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
        const failure = isRecord(call)
          ? this.call(call, position)
          : brokenStream('A tool call is not an object.');
        if (failure) return failure;
      }
    }
    return isRecord(legacy) ? this.call({ index: 0, function: legacy }, 0) : undefined;
  }

  /** Some suppliers send content as a list that includes the reasoning. */
  private part(part: unknown): void {
    const text = pick(part, 'text');
    if (typeof text === 'string') return this.emission.text(text);
    const thinking = pick(part, 'thinking');
    for (const piece of Array.isArray(thinking) ? thinking : [thinking]) {
      const visibleText = typeof piece === 'string' ? piece : pick(piece, 'text');
      if (typeof visibleText === 'string') this.emission.reasoning(visibleText);
    }
  }

  private call(delta: JsonObject, position: number): Fault | undefined {
    const definition = isRecord(delta.function) ? delta.function : isRecord(delta.custom) ? delta.custom : {};
    const id = typeof delta.id === 'string' ? delta.id : '';
    const name = typeof definition.name === 'string' ? definition.name : '';
    const isCustom = isRecord(delta.custom);
    const call = this.callAt(this.indexOf(delta.index, position, id, name), id, name, isCustom);
    if (!call) return brokenStream('A piece of a tool call came before the call.');
    if (call.handle === undefined && call.name === '') call.name = name;
    if (call.id === '') call.id = id;
    const raw = definition.arguments ?? definition.input;
    const text = typeof raw === 'string' ? raw : (argumentsText(raw) ?? '');
    if (call.handle === undefined) {
      call.buffered += text;
      if (call.name !== '') this.open(call);
      return undefined;
    }
    if (call.closed && text.trim() !== '') return brokenStream('A tool call went on after its end.');
    this.arguments(call, text);
    return undefined;
  }

  private callAt(index: number, id: string, name: string, isCustom: boolean): ChoiceToolCall | undefined {
    const existing = this.calls.get(index);
    // Some suppliers number every call 0: another id with another name is another call.
    const isOther =
      existing !== undefined && id !== '' && id !== existing.id && existing.id !== '' && name !== '';
    if (existing && !isOther) return (this.latest = existing);
    if (id === '' && name === '') return undefined;
    if (existing) this.calls.set(-1 - this.calls.size, existing);
    const end = isCustom ? undefined : new JsonEndDetector();
    this.latest = { id, name, handle: undefined, buffered: '', end, closed: false };
    this.calls.set(index, this.latest);
    return this.latest;
  }

  /** Without an index, a delta that names a tool starts a call and any other continues the latest. */
  private indexOf(index: unknown, position: number, id: string, name: string): number {
    if (typeof index === 'number') return index;
    if (id !== '' || name !== '') return this.latest === undefined ? position : this.calls.size;
    for (const [callIndex, call] of this.calls) if (call === this.latest) return callIndex;
    return position;
  }

  private open(call: ChoiceToolCall): void {
    // The dialect does not mark the end of a call; a complete JSON object does.
    for (const other of this.calls.values()) {
      if (other.handle === undefined || !other.end?.reached) continue;
      this.emission.closeTool(other.handle);
      other.closed = true;
    }
    const attributes = call.end === undefined ? { custom: true } : {};
    call.handle = this.emission.openTool(call.id, call.name, attributes);
    this.arguments(call, call.buffered);
    call.buffered = '';
  }

  private arguments(call: ChoiceToolCall, text: string): void {
    if (text === '' || call.closed) return;
    call.end?.push(text);
    this.emission.toolArguments(call.handle!, text);
  }
}

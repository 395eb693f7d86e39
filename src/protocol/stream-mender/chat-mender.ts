import { formatEvent, type Usage } from '../../kernel';
import { type JsonObject } from '../canonical';
import { chatId, secondsNow } from '../chat/stream-encoder';
import { findChatUsage, renderChatUsage } from '../chat/usage';
import { isRecord } from '../usage';
import {
  isAbsent,
  Lacks,
  NOTHING_LACKS,
  type Lack,
  type StreamFacts,
  type StreamMender,
  type UsagePlace,
} from './mender';

/** Chunks of chat, and of the older text completions. */
export class ChatMender implements StreamMender {
  readonly before = '';
  private readonly object: string;
  private id: string | null = null;
  private created: number | null = null;
  private model: string | null;
  /** The answers whose first piece has come. */
  private readonly begun = new Set<number>();
  private readonly calls = new Map<number, CallNumbers>();

  constructor(
    private readonly form: 'chat' | 'completions',
    private readonly facts: StreamFacts,
  ) {
    this.object = form === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    this.model = facts.named;
  }

  mend(chunk: JsonObject): readonly Lack[] {
    const { choices } = chunk;
    if (!Array.isArray(choices) || Boolean(chunk.error)) return NOTHING_LACKS;
    // One supplier begins with what its filters say; nothing of that belongs to the answer.
    if (choices.length === 0 && !isRecord(findChatUsage(chunk))) return NOTHING_LACKS;
    if (this.isWholePiece(chunk, choices[0], choices.length)) return NOTHING_LACKS;
    const lacks = new Lacks();
    this.mendHead(chunk, lacks);
    choices.forEach((choice: unknown, place) => {
      if (isRecord(choice)) this.mendChoice(choice, place, lacks);
    });
    return lacks.list;
  }

  nameOf(): null {
    return null;
  }

  closes(): boolean {
    return false;
  }

  usagePlace({ usage }: JsonObject): UsagePlace {
    const held = isRecord(usage) ? usage : null;
    return { path: [], held, told: held };
  }

  usageEvent(usage: Usage, facts: object | undefined): string {
    const chunk = { ...this.head(), choices: [], usage: renderChatUsage(usage), svc: facts };
    return formatEvent({ data: JSON.stringify(chunk) });
  }

  /** Nearly every chunk is one, so that it is looked at no further. */
  private isWholePiece(chunk: JsonObject, choice: unknown, choices: number): boolean {
    if (this.id === null || this.created === null || choices !== 1 || !isRecord(choice)) return false;
    const { delta, index, finish_reason: reason } = choice;
    return (
      isRecord(delta) &&
      this.begun.has(index as number) &&
      delta.tool_calls === undefined &&
      (reason === null || (typeof reason === 'string' && reason !== '')) &&
      this.hasHead(chunk)
    );
  }

  private hasHead({ id, object, created, model }: JsonObject): boolean {
    return !isAbsent(id) && !isAbsent(object) && typeof created === 'number' && model !== undefined;
  }

  private head(): JsonObject {
    const { facts } = this;
    this.id ??= this.form === 'chat' ? chatId(facts.requestId) : `cmpl-${facts.requestId}`;
    this.created ??= secondsNow();
    return { id: this.id, object: this.object, created: this.created, model: this.model ?? facts.model };
  }

  private mendHead(chunk: JsonObject, lacks: Lacks): void {
    const { id, object, created, model } = chunk;
    if (typeof id === 'string' && id !== '') this.id ??= id;
    if (typeof created === 'number') this.created ??= created;
    if (typeof model === 'string' && model !== '') this.model ??= model;
    if (this.hasHead(chunk)) return;
    const head = this.head();
    const members: JsonObject = {};
    if (isAbsent(id)) members.id = head.id;
    if (isAbsent(object)) members.object = head.object;
    if (typeof created !== 'number') members.created = head.created;
    if (model === undefined) members.model = head.model;
    lacks.add([], chunk, members);
  }

  private mendChoice(choice: JsonObject, place: number, lacks: Lacks): void {
    const members: JsonObject = {};
    if (typeof choice.index !== 'number') members.index = place;
    if (choice.finish_reason === undefined || choice.finish_reason === '') members.finish_reason = null;
    const path = ['choices', place];
    const index = typeof choice.index === 'number' ? choice.index : place;
    if (this.form === 'completions') {
      if (choice.text === undefined || choice.text === null) members.text = '';
    } else if (isRecord(choice.delta)) this.mendDelta(choice.delta, index, [...path, 'delta'], lacks);
    else {
      members.delta = isRecord(choice.message) ? { ...choice.message } : {};
      // Additions are written as a whole.
      this.mendDelta(members.delta as JsonObject, index, [], new Lacks());
    }
    lacks.add(path, choice, members);
  }

  private mendDelta(delta: JsonObject, index: number, path: Lack['path'], lacks: Lacks): void {
    if (!this.begun.has(index)) {
      this.begun.add(index);
      if (isAbsent(delta.role)) lacks.add(path, delta, { role: 'assistant' });
    }
    const { tool_calls: calls } = delta;
    if (!Array.isArray(calls)) return;
    let numbers = this.calls.get(index);
    if (numbers === undefined) this.calls.set(index, (numbers = new CallNumbers()));
    for (const [at, call] of (calls as unknown[]).entries()) {
      if (!isRecord(call)) continue;
      const number = numbers.of(call);
      if (number !== call.index) lacks.add([...path, 'tool_calls', at], call, { index: number });
    }
  }
}

/** SDKs put the pieces of a call together by its number. */
class CallNumbers {
  private readonly byId = new Map<string, number>();
  private last = -1;
  private highest = -1;

  of({ index, id, function: called }: JsonObject): number {
    const name = isRecord(called) ? called.name : undefined;
    const isNamed = typeof id === 'string' && id !== '';
    if (typeof index === 'number') this.last = index;
    else if (isNamed) this.last = this.byId.get(id) ?? this.highest + 1;
    else if (this.last === -1 || !isAbsent(name)) this.last = this.highest + 1;
    this.highest = Math.max(this.highest, this.last);
    if (isNamed) this.byId.set(id, this.last);
    return this.last;
  }
}

import { formatEvent, type Usage } from '../../kernel';
import { type JsonObject } from '../canonical';
import { chatId, secondsNow } from '../chat/stream-encoder';
import { findChatUsage, renderChatUsage } from '../chat/usage';
import { isRecord } from '../usage';
import {
  isAbsent,
  EventAdditions,
  NO_ADDITIONS,
  type EventAddition,
  type StreamContext,
  type StreamNormalizer,
  type UsageLocation,
} from './stream-normalizer';

export class ChatStreamNormalizer implements StreamNormalizer {
  readonly preceding = '';
  private readonly object: string;
  private id: string | null = null;
  private created: number | null = null;
  private model: string | null;
  private readonly startedChoices = new Set<number>();
  private readonly calls = new Map<number, CallNumbers>();

  constructor(
    private readonly kind: 'chat' | 'completions',
    private readonly context: StreamContext,
  ) {
    this.object = kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    this.model = context.modelOverride;
  }

  normalise(chunk: JsonObject): readonly EventAddition[] {
    const { choices } = chunk;
    if (!Array.isArray(choices) || Boolean(chunk.error)) return NO_ADDITIONS;
    // At least one supplier starts with the results of its content filters, which are not part of the response.
    if (choices.length === 0 && !isRecord(findChatUsage(chunk))) return NO_ADDITIONS;
    if (this.isCompletePiece(chunk, choices[0], choices.length)) return NO_ADDITIONS;
    const additions = new EventAdditions();
    this.normaliseHead(chunk, additions);
    choices.forEach((choice: unknown, position) => {
      if (isRecord(choice)) this.normaliseChoice(choice, position, additions);
    });
    return additions.list;
  }

  eventName(): null {
    return null;
  }

  isFinal(): boolean {
    return false;
  }

  usageLocation({ usage }: JsonObject): UsageLocation {
    const held = isRecord(usage) ? usage : null;
    return { path: [], reported: held, received: held };
  }

  usageEvent(usage: Usage, facts: object | undefined): string {
    const chunk = { ...this.head(), choices: [], usage: renderChatUsage(usage), svc: facts };
    return formatEvent({ data: JSON.stringify(chunk) });
  }

  /** Fast path: nearly every chunk is complete. */
  private isCompletePiece(chunk: JsonObject, choice: unknown, choices: number): boolean {
    if (this.id === null || this.created === null || choices !== 1 || !isRecord(choice)) return false;
    const { delta, index, finish_reason: reason } = choice;
    return (
      isRecord(delta) &&
      this.startedChoices.has(index as number) &&
      delta.tool_calls === undefined &&
      (reason === null || (typeof reason === 'string' && reason !== '')) &&
      this.hasHead(chunk)
    );
  }

  private hasHead({ id, object, created, model }: JsonObject): boolean {
    return !isAbsent(id) && !isAbsent(object) && typeof created === 'number' && model !== undefined;
  }

  private head(): JsonObject {
    const { context: facts } = this;
    this.id ??= this.kind === 'chat' ? chatId(facts.requestId) : `cmpl-${facts.requestId}`;
    this.created ??= secondsNow();
    return { id: this.id, object: this.object, created: this.created, model: this.model ?? facts.model };
  }

  private normaliseHead(chunk: JsonObject, additions: EventAdditions): void {
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
    additions.add([], chunk, members);
  }

  private normaliseChoice(choice: JsonObject, position: number, additions: EventAdditions): void {
    const members: JsonObject = {};
    if (typeof choice.index !== 'number') members.index = position;
    if (choice.finish_reason === undefined || choice.finish_reason === '') members.finish_reason = null;
    const path = ['choices', position];
    const index = typeof choice.index === 'number' ? choice.index : position;
    if (this.kind === 'completions') {
      if (choice.text === undefined || choice.text === null) members.text = '';
    } else if (isRecord(choice.delta))
      this.normaliseDelta(choice.delta, index, [...path, 'delta'], additions);
    else {
      members.delta = isRecord(choice.message) ? { ...choice.message } : {};
      // Additions are written as complete values.
      this.normaliseDelta(members.delta as JsonObject, index, [], new EventAdditions());
    }
    additions.add(path, choice, members);
  }

  private normaliseDelta(
    delta: JsonObject,
    index: number,
    path: EventAddition['path'],
    additions: EventAdditions,
  ): void {
    if (!this.startedChoices.has(index)) {
      this.startedChoices.add(index);
      if (isAbsent(delta.role)) additions.add(path, delta, { role: 'assistant' });
    }
    const { tool_calls: calls } = delta;
    if (!Array.isArray(calls)) return;
    let numbers = this.calls.get(index);
    if (numbers === undefined) this.calls.set(index, (numbers = new CallNumbers()));
    for (const [position, call] of (calls as unknown[]).entries()) {
      if (!isRecord(call)) continue;
      const number = numbers.of(call);
      if (number !== call.index) additions.add([...path, 'tool_calls', position], call, { index: number });
    }
  }
}

/** Numbers tool calls, since SDKs assemble the pieces of a call by its number. */
class CallNumbers {
  private readonly byId = new Map<string, number>();
  private last = -1;
  private highest = -1;

  of({ index, id, function: definition }: JsonObject): number {
    const name = isRecord(definition) ? definition.name : undefined;
    const isNamed = typeof id === 'string' && id !== '';
    if (typeof index === 'number') this.last = index;
    else if (isNamed) this.last = this.byId.get(id) ?? this.highest + 1;
    else if (this.last === -1 || !isAbsent(name)) this.last = this.highest + 1;
    this.highest = Math.max(this.highest, this.last);
    if (isNamed) this.byId.set(id, this.last);
    return this.last;
  }
}

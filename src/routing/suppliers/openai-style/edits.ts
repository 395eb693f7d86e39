import { fault } from '../../../kernel';
import { type IdRule, ToolIds } from '../../../protocol';
import type { BodyEdits, StyleCall } from '../kit';
import type { SupplierProfile } from './profiles';

/** Limit fields by precedence; the first one present is the limit that the hold is based on. */
const limitFieldNames = ['max_completion_tokens', 'max_tokens'] as const;

export function applyProfile(
  edits: BodyEdits,
  profile: SupplierProfile,
  { lane, operation, wire: dialect, stream, maxOutputTokens }: StyleCall,
): void {
  edits.set.model = lane.upstreamModel;
  edits.dropOwnLabels();
  if (!profile.validates) edits.dropSteeringLabels();
  for (const name of profile.drop) edits.drop(name, 'unknown to the supplier');
  if (operation === 'speech') speechEdits(edits, profile);
  for (const from in profile.rename) edits.rename(from, profile.rename[from]!);
  if (dialect === 'responses') {
    if (maxOutputTokens !== undefined) edits.set.max_output_tokens = maxOutputTokens;
    return;
  }
  if (dialect !== 'chat' && dialect !== 'completions') return;
  if (dialect === 'chat') {
    chatEdits(edits, profile, maxOutputTokens);
    if (lane.facts.reasoningHistory) withReasoning(edits);
  }
  if (dialect === 'completions' && maxOutputTokens !== undefined) edits.set.max_tokens = maxOutputTokens;
  if (stream && profile.usageInStream === 'asked') requestUsage(edits);
}

function speechEdits({ parsed, set }: BodyEdits, { voice, speechFormats }: SupplierProfile): void {
  if (voice !== null && (parsed.voice ?? null) === null) set.voice = voice;
  const { response_format: format } = parsed;
  if (typeof format !== 'string' || speechFormats.includes(format)) return;
  throw fault('invalid_request', {
    param: 'response_format',
    message: `response_format must be one of: ${speechFormats.join(', ')} for this model.`,
  });
}

function chatEdits(edits: BodyEdits, profile: SupplierProfile, maxOutputTokens: number | undefined): void {
  const { limitField } = profile;
  keepOneLimit(edits);
  if (limitField !== null)
    for (const name of limitFieldNames) if (name !== limitField) edits.rename(name, limitField);
  if (maxOutputTokens !== undefined) {
    const field = limitField ?? limitFieldNames.find((name) => edits.has(name)) ?? 'max_tokens';
    edits.set[field] = maxOutputTokens;
  }
  if (profile.required === 'any' && edits.parsed.tool_choice === 'required') edits.set.tool_choice = 'any';
  if (!profile.developerRole) withoutDeveloper(edits);
  withoutFields(edits, profile.dropInMessages);
  if (profile.toolIds !== undefined) withToolIds(edits, profile.toolIds);
}

/** Keeps the limit that the hold is based on: suppliers differ in which of two they apply. */
function keepOneLimit(edits: BodyEdits): void {
  if (!limitFieldNames.every((name) => edits.has(name))) return;
  const applied = limitFieldNames.find((name) => edits.parsed[name] !== null) ?? limitFieldNames[0];
  for (const name of limitFieldNames)
    if (name !== applied) edits.drop(name, `${applied} counts`, 'fulfilled');
}

/** Requests usage, without which a stream could not be charged by the supplier's count. */
function requestUsage(edits: BodyEdits): void {
  const { stream_options: options } = edits.parsed;
  const existing = typeof options === 'object' && options !== null ? options : {};
  if (Reflect.get(existing, 'include_usage') !== true)
    edits.set.stream_options = { ...existing, include_usage: true };
}

const messagesOf = ({ set, parsed }: BodyEdits): unknown => set.messages ?? parsed.messages;

function withoutFields(edits: BodyEdits, names: readonly string[]): void {
  const messages = messagesOf(edits);
  if (!Array.isArray(messages)) return;
  const counts = new Map<string, number>();
  let isChanged = false;
  const cleaned = messages.map((message: unknown) => {
    if (!isRecord(message) || !names.some((name) => Object.hasOwn(message, name))) return message;
    isChanged = true;
    const without = { ...message };
    for (const name of names) {
      // A null field carries nothing.
      if ((message[name] ?? null) !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
      delete without[name];
    }
    return without;
  });
  if (isChanged) edits.set.messages = cleaned;
  for (const [name, count] of counts) edits.dropInMessages(name, count);
}

/**
 * The model requires its reasoning for every turn if there are tools, and accepts an empty text for turns of other
 * models.
 */
function withReasoning(edits: BodyEdits): void {
  const messages = messagesOf(edits);
  const { tools } = edits.parsed;
  if (!Array.isArray(messages) || !Array.isArray(tools) || tools.length === 0) return;
  const lacksReasoning = (message: unknown): message is object =>
    isRecord(message) && message.role === 'assistant' && typeof message.reasoning_content !== 'string';
  if (!messages.some(lacksReasoning)) return;
  edits.set.messages = messages.map((message: unknown) =>
    lacksReasoning(message) ? { ...message, reasoning_content: '' } : message,
  );
}

function withoutDeveloper(edits: BodyEdits): void {
  const { messages } = edits.parsed;
  if (!Array.isArray(messages) || !messages.some(isDeveloper)) return;
  const renamed: unknown[] = messages.map((message: unknown) =>
    isDeveloper(message) ? { ...message, role: 'system' } : message,
  );
  edits.approximate('messages', renamed, 'the role developer became system');
}

/** Replaces call ids of other lanes by ids that the supplier accepts; results follow their calls. */
function withToolIds(edits: BodyEdits, rule: IdRule): void {
  const messages = messagesOf(edits);
  if (!Array.isArray(messages)) return;
  const ids = new ToolIds(rule);
  let isChanged = false;
  const withId = (holder: object, name: string, next: (id: string) => string) => {
    const id: unknown = Reflect.get(holder, name);
    const newId = typeof id === 'string' ? next(id) : id;
    isChanged ||= newId !== id;
    return newId === id ? holder : { ...holder, [name]: newId };
  };
  const repaired: unknown[] = messages.map((message: unknown) => {
    if (typeof message !== 'object' || message === null) return message;
    const calls: unknown = Reflect.get(message, 'tool_calls');
    if (!Array.isArray(calls)) return withId(message, 'tool_call_id', (id) => ids.forResult(id));
    ids.beginTurn();
    return {
      ...message,
      tool_calls: calls.map((call: object) => withId(call, 'id', (id) => ids.forCall(id))),
    };
  });
  if (isChanged) edits.set.messages = repaired;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const isDeveloper = (message: unknown): message is object =>
  typeof message === 'object' && message !== null && Reflect.get(message, 'role') === 'developer';

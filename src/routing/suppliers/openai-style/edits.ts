import { fault } from '../../../kernel';
import { type IdRule, ToolIds } from '../../../protocol';
import type { BodyEdits, OutgoingCall } from '../kit';
import type { Profile } from './profiles';

/** The one that counts first: it is the one that money was set aside for. */
const limits = ['max_completion_tokens', 'max_tokens'] as const;

/** A body is changed by these edits before this supplier takes it. */
export function applyProfile(
  edits: BodyEdits,
  profile: Profile,
  { lane, operation, wire: dialect, stream, maxOutputTokens }: OutgoingCall,
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
  if (stream && profile.usageInStream === 'asked') askForUsage(edits);
}

function speechEdits({ parsed, set }: BodyEdits, { voice, speechFormats }: Profile): void {
  if (voice !== null && (parsed.voice ?? null) === null) set.voice = voice;
  const { response_format: format } = parsed;
  if (typeof format !== 'string' || speechFormats.includes(format)) return;
  throw fault('invalid_request', {
    param: 'response_format',
    message: `response_format must be one of: ${speechFormats.join(', ')} for this model.`,
  });
}

function chatEdits(edits: BodyEdits, profile: Profile, maxOutputTokens: number | undefined): void {
  const { limitField } = profile;
  keepOneLimit(edits);
  if (limitField !== null) for (const name of limits) if (name !== limitField) edits.rename(name, limitField);
  if (maxOutputTokens !== undefined) {
    const field = limitField ?? limits.find((name) => edits.has(name)) ?? 'max_tokens';
    edits.set[field] = maxOutputTokens;
  }
  if (profile.required === 'any' && edits.parsed.tool_choice === 'required') edits.set.tool_choice = 'any';
  if (!profile.developerRole) withoutDeveloper(edits);
  withoutFields(edits, profile.dropInMessages);
  if (profile.toolIds !== undefined) withToolIds(edits, profile.toolIds);
}

/** Of two limits one goes on, the one that was held: suppliers differ on which of them counts. */
function keepOneLimit(edits: BodyEdits): void {
  if (!limits.every((name) => edits.has(name))) return;
  const held = limits.find((name) => edits.parsed[name] !== null) ?? limits[0];
  for (const name of limits) if (name !== held) edits.drop(name, `${held} counts`, 'fulfilled');
}

/** Without it a stream could not be billed by what the supplier counted. */
function askForUsage(edits: BodyEdits): void {
  const { stream_options: options } = edits.parsed;
  const given = typeof options === 'object' && options !== null ? options : {};
  if (Reflect.get(given, 'include_usage') !== true)
    edits.set.stream_options = { ...given, include_usage: true };
}

const messagesOf = ({ set, parsed }: BodyEdits): unknown => set.messages ?? parsed.messages;

function withoutFields(edits: BodyEdits, names: readonly string[]): void {
  const messages = messagesOf(edits);
  if (!Array.isArray(messages)) return;
  const found = new Map<string, number>();
  let isChanged = false;
  const kept = messages.map((message: unknown) => {
    if (!isRecord(message) || !names.some((name) => Object.hasOwn(message, name))) return message;
    isChanged = true;
    const without = { ...message };
    for (const name of names) {
      // A field without a value says nothing.
      if ((message[name] ?? null) !== null) found.set(name, (found.get(name) ?? 0) + 1);
      delete without[name];
    }
    return without;
  });
  if (isChanged) edits.set.messages = kept;
  for (const [name, count] of found) edits.dropInMessages(name, count);
}

/** It wants its reasoning back with every turn beside tools, and takes an empty text for that of others. */
function withReasoning(edits: BodyEdits): void {
  const messages = messagesOf(edits);
  const { tools } = edits.parsed;
  if (!Array.isArray(messages) || !Array.isArray(tools) || tools.length === 0) return;
  const isForgotten = (message: unknown): message is object =>
    isRecord(message) && message.role === 'assistant' && typeof message.reasoning_content !== 'string';
  if (!messages.some(isForgotten)) return;
  edits.set.messages = messages.map((message: unknown) =>
    isForgotten(message) ? { ...message, reasoning_content: '' } : message,
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

/** Other lanes give their calls ids as they like; results follow their calls. */
function withToolIds(edits: BodyEdits, rule: IdRule): void {
  const messages = messagesOf(edits);
  if (!Array.isArray(messages)) return;
  const ids = new ToolIds(rule);
  let isChanged = false;
  const renamed = (holder: object, name: string, next: (id: string) => string) => {
    const id: unknown = Reflect.get(holder, name);
    const given = typeof id === 'string' ? next(id) : id;
    isChanged ||= given !== id;
    return given === id ? holder : { ...holder, [name]: given };
  };
  const mended: unknown[] = messages.map((message: unknown) => {
    if (typeof message !== 'object' || message === null) return message;
    const calls: unknown = Reflect.get(message, 'tool_calls');
    if (!Array.isArray(calls)) return renamed(message, 'tool_call_id', (id) => ids.forResult(id));
    ids.beginTurn();
    return {
      ...message,
      tool_calls: calls.map((call: object) => renamed(call, 'id', (id) => ids.forCall(id))),
    };
  });
  if (isChanged) edits.set.messages = mended;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const isDeveloper = (message: unknown): message is object =>
  typeof message === 'object' && message !== null && Reflect.get(message, 'role') === 'developer';

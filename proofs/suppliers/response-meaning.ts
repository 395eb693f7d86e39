import type { ReceivedResponse } from './testbed';

/** Normalises a response, without the values specific to one call; independent of the gateway's parsers. */
export function meaningOf(
  { status, body, tokensIn, tokensOut, cost }: ReceivedResponse,
  stream: boolean,
): string {
  const content = stream && status === 200 ? eventsOf(body) : canonical(JSON.parse(body));
  return JSON.stringify({ status, tokensIn, tokensOut, cost, told: content });
}

/** Data of each event except keep-alives, in order. */
export function eventsOf(body: string): unknown[] {
  const events: unknown[] = [];
  let data: string[] = [];
  for (const line of body.split(/\r\n|\n|\r/)) {
    if (line !== '') {
      if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
      continue;
    }
    const text = data.join('\n').trim();
    data = [];
    if (text === '') continue;
    const value: unknown = text.startsWith('{') ? JSON.parse(text) : text;
    if (Reflect.get(Object(value) as object, 'type') !== 'ping') events.push(canonical(value));
  }
  return events;
}

const CALL_SPECIFIC_FIELDS = new Set(['latency_ms', 'created', 'created_at', 'completed_at', 'request_id']);
const generatedIds = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/g;

function canonical(value: unknown): unknown {
  if (typeof value === 'string') return argumentsIn(value) ?? value.replace(generatedIds, 'made-up');
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !CALL_SPECIFIC_FIELDS.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, held]) => [name, canonical(held)]),
  );
}

/** Tool-call arguments are forwarded as spelled; only their meaning is compared. */
function argumentsIn(text: string): unknown {
  if (!text.startsWith('{')) return undefined;
  try {
    return canonical(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Tells whether the stream reports a complete response. */
export const reportsCompletion = (body: string): boolean =>
  /^data: *(?:\[DONE\]|\{"type": ?"(?:message_stop|response\.(?:completed|incomplete))")/m.test(body);

export const reportsFailure = (body: string): boolean => /"error": *\{/.test(body);

type Json = Record<string, unknown>;

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Text of the model in any dialect; several choices follow one another. */
export function answerTextIn(events: readonly unknown[]): string {
  const textByIndex = new Map<unknown, string>();
  const add = (index: unknown, text: unknown): void =>
    void textByIndex.set(index, (textByIndex.get(index) ?? '') + textIn(text));
  for (const event of events.filter((one): one is Json => typeof one === 'object' && one !== null)) {
    for (const { index, delta } of list(event.choices)) {
      // Without a refusal field, a refusal is ordinary text.
      const { content, refusal } = Object(delta) as Json;
      add(index, content);
      add(index, refusal);
      for (const part of list(content)) add(index, part.text);
    }
    for (const { content } of list(event.candidates))
      for (const part of list(Reflect.get(Object(content) as object, 'parts')))
        if (part.thought !== true) add(0, part.text);
    if (event.type === 'content_block_delta') add(0, (event.delta as Json).text);
    if (event.type === 'content_block_start') add(0, textIn((event.content_block as Json).text));
    if (event.type === 'response.output_text.delta' || event.type === 'response.refusal.delta')
      add(0, event.delta);
  }
  return [...textByIndex]
    .sort(([one], [other]) => Number(one) - Number(other))
    .map(([, text]) => text)
    .join('\0');
}

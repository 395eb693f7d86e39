import type { Received } from './testbed';

/** The caller was told this, without what is of one call alone. Written apart from the readers of the gateway. */
export function meaningOf({ status, body, tokensIn, tokensOut, cost }: Received, stream: boolean): string {
  const told = stream && status === 200 ? eventsOf(body) : canonical(JSON.parse(body));
  return JSON.stringify({ status, tokensIn, tokensOut, cost, told });
}

/** The data of each event that is more than a sign of life, in order. */
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

const ofOneCall = new Set(['latency_ms', 'created', 'created_at', 'completed_at', 'request_id']);
const generatedIds = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/g;

function canonical(value: unknown): unknown {
  if (typeof value === 'string') return argumentsIn(value) ?? value.replace(generatedIds, 'made-up');
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !ofOneCall.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, held]) => [name, canonical(held)]),
  );
}

/** Arguments of a call go on as they are spelled: what they mean is compared. */
function argumentsIn(text: string): unknown {
  if (!text.startsWith('{')) return undefined;
  try {
    return canonical(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A stream says here that its answer is whole. */
export const saysWhole = (body: string): boolean =>
  /^data: *(?:\[DONE\]|\{"type": ?"(?:message_stop|response\.(?:completed|incomplete))")/m.test(body);

export const saysFailed = (body: string): boolean => /"error": *\{/.test(body);

type Json = Record<string, unknown>;

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The model said this to a reader, in whichever dialect; several answers stand one after another. */
export function answerTextIn(events: readonly unknown[]): string {
  const said = new Map<unknown, string>();
  const add = (index: unknown, text: unknown): void =>
    void said.set(index, (said.get(index) ?? '') + textIn(text));
  for (const event of events.filter((one): one is Json => typeof one === 'object' && one !== null)) {
    for (const { index, delta } of list(event.choices)) {
      // Where a dialect has no refusals, they are words like others.
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
  return [...said]
    .sort(([one], [other]) => Number(one) - Number(other))
    .map(([, text]) => text)
    .join('\0');
}

import { randomBytes } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import type { ModelKind } from '../../../../src/catalogue';
import {
  type ReadResponse,
  type Client,
  expect,
  jsonOf,
  type ClientRequestOptions,
} from '../../../operations/http';
import { readRecording } from '../../../../test/support/forged-recordings';
import { eventsOf, type StreamEvent } from '../../stream';
import type { SpecificationWorld } from '../../world';

export const chat = '/v1/chat/completions';
export const messages = '/v1/messages';
export const native = '/v1/native/responses';
export const embeddings = '/v1/embeddings';
export const rerank = '/v1/rerank';
export const transcriptions = '/v1/audio/transcriptions';
export const speech = '/v1/audio/speech';
export const manage = '/v1/manage/keys';

/** A word that no other request contains. */
export const uniqueWord = (): string => `mark${randomBytes(6).toString('hex')}`;

export const chatOf = (content = 'Hello', more: object = {}) => ({
  model: 'spec-chat',
  messages: [{ role: 'user', content }],
  max_tokens: 60,
  ...more,
});
export const messagesOf = (content = 'Hello', more: object = {}) => ({
  ...chatOf(content),
  model: 'spec-messages',
  ...more,
});
export const nativeOf = (text = 'Hello', more: object = {}) => ({
  model: 'spec-native',
  input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  stream: true,
  ...more,
});
export const embeddingsOf = (input: unknown = 'Hello', more: object = {}) => ({
  model: 'spec-embed',
  input,
  ...more,
});
export const rerankOf = (more: object = {}) => ({
  model: 'spec-rerank',
  query: 'capital of France',
  documents: ['Berlin lies in Germany', 'Paris is the capital of France', 'A cat sleeps'],
  ...more,
});
export const speechOf = (input = 'Hello', more: object = {}) => ({ model: 'spec-speech', input, ...more });

/** Sends a request with the default key. */
export async function sendRequest(
  world: SpecificationWorld,
  path: string,
  json: object,
): Promise<ReadResponse> {
  return (await world.caller()).client.post(path, { json });
}

/** Sends a request and returns what a supplier received. */
export async function sendAndCapture(
  world: SpecificationWorld,
  path: string,
  bodyOf: (text: string) => object,
) {
  const text = uniqueWord();
  await ok(sendRequest(world, path, bodyOf(text)));
  const upstreamRequest = (await (await world.suppliers()).requestsWith(text)).at(-1);
  if (upstreamRequest === undefined) throw new Error('no supplier received a request');
  return upstreamRequest;
}

export async function ok(response: Promise<ReadResponse>): Promise<ReadResponse> {
  const answer = await response;
  expect(answer.status === 200, `status ${answer.status}, wanted 200: ${answer.text.slice(0, 300)}`);
  return answer;
}

export const okJson = async (response: Promise<ReadResponse>): Promise<Record<string, unknown>> =>
  jsonOf(await ok(response));

type FieldType = 'string' | 'number' | 'integer' | 'boolean' | 'list' | 'time' | 'object';

const TYPE_CHECKS: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string' && value !== '',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  list: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  time: (value) =>
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) &&
    !isNaN(Date.parse(value)),
};

/** Returns the value at a path such as `choices.0.message`. */
export const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
      value,
    );

/** Returns the value of this field, which must be of this type. */
export function field(value: unknown, path: string, type: FieldType): unknown {
  const fieldValue = at(value, path);
  expect(
    TYPE_CHECKS[type](fieldValue),
    `${path} is no ${type}: ${JSON.stringify(fieldValue)} in ${JSON.stringify(value).slice(0, 300)}`,
  );
  return fieldValue;
}
export const numberAt = (value: unknown, path: string): number => Number(field(value, path, 'number'));
export const textAt = (value: unknown, path: string): string => String(field(value, path, 'string'));
export const listAt = (value: unknown, path: string): unknown[] => field(value, path, 'list') as unknown[];

export function same(actual: unknown, expected: unknown, what: string): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  expect(one === other, `${what} is ${one}, wanted ${other}`);
}

/** Expects exactly this status and code. */
export async function expectRejected(
  response: Promise<ReadResponse>,
  status: number,
  code: string,
  param?: string,
): Promise<ReadResponse> {
  const answer = await response;
  expect(answer.status === status, `status ${answer.status}, wanted ${status}: ${answer.text.slice(0, 300)}`);
  same(at(jsonOf(answer), 'error.code'), code, 'error.code');
  if (param !== undefined) same(at(jsonOf(answer), 'error.param'), param, 'error.param');
  return answer;
}

export const headerOf = (answer: ReadResponse, name: string): string => {
  const value = answer.headers.get(name);
  if (value === null) throw new Error(`no header ${name}`);
  return value;
};

export interface CompletedStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  readonly text: string;
  readonly events: readonly StreamEvent[];
  /** Parsed data of each JSON event. */
  readonly data: readonly Record<string, unknown>[];
}

/** Sends a streaming request and reads it to its end, including trailers. */
export async function stream(
  world: SpecificationWorld,
  client: Client,
  path: string,
  json: object,
): Promise<CompletedStream> {
  const { status, headers, trailers, text } = await sendRaw(world.url, client, path, json);
  const events = eventsOf(text);
  const data = events.flatMap((event) => {
    try {
      return [JSON.parse(event.data) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
  return { status, headers, trailers, text, events, data };
}

/** Reads a stream until its text matches, then disconnects; returns the text so far. */
export async function readUntil(
  world: SpecificationWorld,
  client: Client,
  [path, json]: readonly [path: string, json: object],
  pattern: RegExp,
): Promise<string> {
  const abortController = new AbortController();
  const response = await fetch(world.url + path, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    body: JSON.stringify(json),
    signal: AbortSignal.any([abortController.signal, AbortSignal.timeout(20_000)]),
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (pattern.test(text)) break;
  }
  abortController.abort();
  expect(pattern.test(text), `the stream ended without ${String(pattern)}: ${text.slice(0, 300)}`);
  return text;
}

function sendRaw(url: string, client: Client, path: string, json: object) {
  return new Promise<Omit<CompletedStream, 'events' | 'data'>>((resolve, reject) => {
    const headers = { ...client.headers, 'content-type': 'application/json' };
    const clientRequest = request(url + path, { method: 'POST', headers, timeout: 30_000 }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          trailers: response.trailers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    clientRequest.on('error', reject);
    clientRequest.on('timeout', () => clientRequest.destroy(new Error('no answer in time')));
    clientRequest.end(JSON.stringify(json));
  });
}

/** Returns the record of an answered request once it is committed. */
export async function recordOf(client: Client, answer: ReadResponse): Promise<Record<string, unknown>> {
  const path = `/v1/generations/${headerOf(answer, 'x-request-id')}`;
  for (let tries = 0; tries < 60; tries += 1) {
    const record = await client.get(path);
    if (record.status === 200) return jsonOf(record);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('no record');
}

/** A form with these bytes under a file name. */
export function recordingOf(
  fields: Readonly<Record<string, string>>,
  file: Uint8Array,
  name: string,
): ClientRequestOptions {
  const body = new FormData();
  for (const [key, value] of Object.entries(fields)) body.append(key, value);
  body.append('file', new Blob([new Uint8Array(file)]), name);
  return { body };
}

/** Every inference route with a valid body. */
export const interfaces: readonly [path: string, json: object][] = [
  [chat, chatOf()],
  [messages, messagesOf()],
  [`${messages}/count_tokens`, messagesOf()],
  [native, nativeOf()],
  [embeddings, embeddingsOf()],
  [rerank, rerankOf()],
  [speech, speechOf('Hello', { voice: 'nova' })],
];
/** A valid recording. */
export const recording = () => recordingOf({ model: 'spec-whisper' }, readRecording('pcm.wav'), 'speech.wav');

/** An inference interface, called with a model of the row's own. */
interface InferenceInterface {
  readonly kind: ModelKind;
  readonly ask: (client: Client, model: string) => Promise<ReadResponse>;
}

const posts =
  (path: string, bodyOf: (more: object) => object) =>
  (client: Client, model: string): Promise<ReadResponse> =>
    client.post(path, { json: bodyOf({ model }) });

/** Interfaces whose requests any supplier can serve. */
export const everyInterface: Readonly<Record<string, InferenceInterface>> = {
  chat: { kind: 'chat', ask: posts(chat, (more) => chatOf('Hello', more)) },
  'streamed chat': { kind: 'chat', ask: posts(chat, (more) => chatOf('Hello', { stream: true, ...more })) },
  messages: { kind: 'chat', ask: posts(messages, (more) => messagesOf('Hello', more)) },
  embeddings: { kind: 'embedding', ask: posts(embeddings, (more) => embeddingsOf('Hello', more)) },
  rerank: { kind: 'rerank', ask: posts(rerank, rerankOf) },
  speech: { kind: 'speech', ask: posts(speech, (more) => speechOf('Hello', { voice: 'nova', ...more })) },
  transcription: {
    kind: 'transcription',
    ask: (client, model) =>
      client.post(transcriptions, recordingOf({ model }, readRecording('pcm.wav'), 'speech.wav')),
  },
};

/** Runs a check per interface; its failure names the interface. */
export async function onEveryInterface(check: (one: InferenceInterface) => Promise<void>): Promise<void> {
  for (const [name, one] of Object.entries(everyInterface))
    await check(one).catch((error: unknown) => {
      throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    });
}

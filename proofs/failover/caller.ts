import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { at, type DialectName, type Question, shapes, textAt } from './dialects';

/**
 * An exchange looked so from outside: `whole` has its terminator, `error` failed within the stream, `refused`
 * never began. Nothing else may ever happen: `truncated` ends as if it were complete, `cut` just stops,
 * `garbled` cannot be read or says two things.
 */
type Ending = 'whole' | 'error' | 'refused' | 'truncated' | 'cut' | 'garbled';

export interface Answer {
  readonly ending: Ending;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  /** Of the error, be it a status or in the stream. */
  readonly code: string;
  readonly text: string;
  /** Every name of a model in it, each once. */
  readonly models: readonly string[];
  readonly ms: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
const DEADLINE_MS = 300_000;

export interface CallerOptions {
  readonly url: string;
  readonly key: string;
  readonly session?: string;
}

/** Asks as a client would, and reads the answer to its end. */
export async function ask(dialect: DialectName, question: Question, options: CallerOptions): Promise<Answer> {
  const startedAt = performance.now();
  const { path, body } = shapes[dialect];
  const response = await send(options, path, JSON.stringify(body(question)));
  const { bytes, complete } = await read(response);
  const { statusCode: status = 0, headers, trailers } = response;
  const ms = performance.now() - startedAt;
  const seen = { status, headers, trailers, ms };
  if (status !== 200)
    return { ...seen, ending: complete ? 'refused' : 'cut', code: codeIn(bytes), text: '', models: [] };
  const read200 = question.stream ? readStream : readWhole;
  return { ...seen, ...read200(dialect, bytes, complete) };
}

type Reading = Pick<Answer, 'ending' | 'code' | 'text' | 'models'>;

function readWhole(dialect: DialectName, bytes: string, complete: boolean): Reading {
  const answer = parsed(bytes);
  const text = shapes[dialect].textOf(answer);
  const ending = answer === undefined ? (complete ? 'garbled' : 'cut') : 'whole';
  return { ending, code: '', text, models: namesIn([answer]) };
}

const namesIn = (values: readonly unknown[]): string[] => [
  ...new Set(
    values
      .flatMap((value) => [
        textAt(value, 'model'),
        textAt(value, 'message', 'model'),
        textAt(value, 'response', 'model'),
      ])
      .filter((name) => name !== ''),
  ),
];

function readStream(dialect: DialectName, bytes: string, complete: boolean): Reading {
  const shape = shapes[dialect];
  const beginnings = new Set<string>();
  let text = '';
  let ends = 0;
  let isGarbled = false;
  const errors: unknown[] = [];
  const events: unknown[] = [];
  for (const data of dataOf(bytes)) {
    const event = parsed(data);
    events.push(event);
    if (event === undefined && data !== '[DONE]') isGarbled = true;
    if (ends + errors.length > 0) isGarbled = true;
    text += shape.deltaOf(event);
    const beginning = shape.beginningOf(event);
    if (beginning !== undefined) beginnings.add(beginning);
    if (shape.isEnd(data, event)) ends += 1;
    const error = shape.errorOf(event);
    if (error !== undefined) errors.push(error);
  }
  const read = { text, models: namesIn(events) };
  // Two answers in one stream are as unreadable as half an event.
  if (isGarbled || beginnings.size > 1) return { ...read, ending: 'garbled', code: '' };
  if (errors.length > 0) return { ...read, ending: 'error', code: textAt(errors[0], 'code') };
  if (ends > 0) return { ...read, ending: 'whole', code: '' };
  return { ...read, ending: complete ? 'truncated' : 'cut', code: '' };
}

/** The data of each event; what is no event is left out. */
const dataOf = (bytes: string): string[] =>
  bytes
    .split('\n\n')
    .map((block) =>
      block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trim())
        .join('\n'),
    )
    .filter((data) => data !== '');

const codeIn = (bytes: string): string => textAt(at(parsed(bytes), 'error'), 'code');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function send({ url, key, session }: CallerOptions, path: string, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(session === undefined ? {} : { 'x-session-id': session }),
    };
    const sent = request(url + path, { method: 'POST', headers, agent }, resolve);
    sent.setTimeout(DEADLINE_MS, () => sent.destroy(new Error(`nothing came for ${DEADLINE_MS} ms`)));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The answer has the bytes that arrived, and whether the connection says that this is all. */
function read(response: IncomingMessage): Promise<{ bytes: string; complete: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', () => undefined);
    response.on('close', () =>
      resolve({ bytes: Buffer.concat(chunks).toString(), complete: response.complete }),
    );
  });
}

/** Connections kept open would hold up the end of the process. */
export const closeConnections = (): void => agent.destroy();

import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { valueAt, type DialectName, type DialectRequest, shapes, textAt } from './dialects';

/**
 * Ending of an exchange as the caller saw it: `whole` has its terminator, `error` failed within the stream, `refused`
 * never started. Never allowed: `truncated` (looks complete), `cut` (just stops), `garbled` (unreadable or
 * contradictory).
 */
type Ending = 'whole' | 'error' | 'refused' | 'truncated' | 'cut' | 'garbled';

export interface ObservedResponse {
  readonly ending: Ending;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  /** Code of the error, in the body or in the stream. */
  readonly code: string;
  readonly text: string;
  /** Distinct model names in the response. */
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

/** Sends a request as a client would, and reads the complete response. */
export async function sendRequest(
  dialect: DialectName,
  question: DialectRequest,
  options: CallerOptions,
): Promise<ObservedResponse> {
  const startedAt = performance.now();
  const { path, body } = shapes[dialect];
  const response = await send(options, path, JSON.stringify(body(question)));
  const { bytes, complete } = await read(response);
  const { statusCode: status = 0, headers, trailers } = response;
  const ms = performance.now() - startedAt;
  const observed = { status, headers, trailers, ms };
  if (status !== 200)
    return {
      ...observed,
      ending: complete ? 'refused' : 'cut',
      code: errorCodeIn(bytes),
      text: '',
      models: [],
    };
  const readSuccess = question.stream ? readStream : readComplete;
  return { ...observed, ...readSuccess(dialect, bytes, complete) };
}

type ParsedResponse = Pick<ObservedResponse, 'ending' | 'code' | 'text' | 'models'>;

function readComplete(dialect: DialectName, bytes: string, complete: boolean): ParsedResponse {
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

function readStream(dialect: DialectName, bytes: string, complete: boolean): ParsedResponse {
  const shape = shapes[dialect];
  const messageStarts = new Set<string>();
  let text = '';
  let endCount = 0;
  let isGarbled = false;
  const errors: unknown[] = [];
  const events: unknown[] = [];
  for (const data of dataOf(bytes)) {
    const event = parsed(data);
    events.push(event);
    if (event === undefined && data !== '[DONE]') isGarbled = true;
    if (endCount + errors.length > 0) isGarbled = true;
    text += shape.deltaOf(event);
    const messageStart = shape.messageStartOf(event);
    if (messageStart !== undefined) messageStarts.add(messageStart);
    if (shape.isEnd(data, event)) endCount += 1;
    const error = shape.errorOf(event);
    if (error !== undefined) errors.push(error);
  }
  const parsedStream = { text, models: namesIn(events) };
  // A stream with two responses is as unreadable as half an event.
  if (isGarbled || messageStarts.size > 1) return { ...parsedStream, ending: 'garbled', code: '' };
  if (errors.length > 0) return { ...parsedStream, ending: 'error', code: textAt(errors[0], 'code') };
  if (endCount > 0) return { ...parsedStream, ending: 'whole', code: '' };
  return { ...parsedStream, ending: complete ? 'truncated' : 'cut', code: '' };
}

/** Returns the data of each event and ignores everything else. */
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

const errorCodeIn = (bytes: string): string => textAt(valueAt(parsed(bytes), 'error'), 'code');

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
    const outgoing = request(url + path, { method: 'POST', headers, agent }, resolve);
    outgoing.setTimeout(DEADLINE_MS, () => outgoing.destroy(new Error(`nothing came for ${DEADLINE_MS} ms`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Returns the bytes that arrived, and whether the connection marked them as complete. */
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

/** Open keep-alive connections would delay the end of the process. */
export const closeConnections = (): void => agent.destroy();

import { request, type IncomingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';

export const openaiHeaders = { authorization: 'Bearer sim-key', 'content-type': 'application/json' };
export const messagesHeaders = {
  'x-api-key': 'sim-key',
  'anthropic-version': '2023-06-01',
  'content-type': 'application/json',
};

/** A response as the client received it, byte for byte. */
export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly chunks: readonly Buffer[];
  /** 'complete', or the error code the connection ended with. */
  readonly end: string;
  readonly headMs: number;
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  /** Called after every chunk with the text received so far. */
  readonly onText?: (text: string) => void;
}

/** Sends a request without retries, decoding or connection pooling. */
export function call(url: string, body: unknown, options: CallOptions = {}): Promise<RawResponse> {
  const payload = body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body ?? {});
  const headers = options.headers ?? (url.includes('/v1/messages') ? messagesHeaders : openaiHeaders);
  const startedAt = performance.now();
  const elapsedMs = (): number => performance.now() - startedAt;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const response = { status: 0, headers: {}, headMs: 0, firstByteMs: 0 };
    const finish = (end: string): void => {
      resolve({ ...response, end, chunks, bytes: Buffer.concat(chunks), totalMs: elapsedMs() });
    };
    const { method = 'POST', signal, onText } = options;
    const outgoing = request(
      url,
      { method, headers, agent: false, ...(signal ? { signal } : {}) },
      (incoming) => {
        Object.assign(response, {
          status: incoming.statusCode,
          headers: incoming.headers,
          headMs: elapsedMs(),
        });
        incoming.on('data', (chunk: Buffer) => {
          if (chunks.length === 0) response.firstByteMs = elapsedMs();
          chunks.push(chunk);
          onText?.(Buffer.concat(chunks).toString());
        });
        incoming.on('end', () => finish('complete'));
        incoming.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.name));
      },
    );
    outgoing.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.name));
    outgoing.end(method === 'GET' ? undefined : payload);
  });
}

export function jsonOf<Shape>(response: RawResponse): Shape {
  return JSON.parse(response.bytes.toString()) as Shape;
}

export interface SseFrame {
  readonly event: string;
  readonly data: string;
}

/** Parses the frames of an event stream and skips comments. */
export function framesOf(response: RawResponse): SseFrame[] {
  return response.bytes
    .toString()
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .map((block) => {
      const lines = block.split('\n');
      const fieldValue = (field: string): string =>
        lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2) ?? '';
      return { event: fieldValue('event'), data: fieldValue('data') };
    })
    .filter(({ data }) => data !== '');
}

export function eventsOf<Shape>(response: RawResponse): Shape[] {
  return framesOf(response)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Shape);
}

const weatherTool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 }, note: { type: 'string' } },
    required: ['city', 'days'],
  },
};
const timeTool = {
  name: 'get_time',
  parameters: { type: 'object', properties: { zone: { enum: ['utc', 'local'] } }, required: ['zone'] },
};
export const chatTools = [weatherTool, timeTool].map((tool) => ({ type: 'function', function: tool }));
export const messagesTools = [weatherTool, timeTool].map(({ parameters, ...tool }) => ({
  ...tool,
  input_schema: parameters,
}));
export const responsesTools = [weatherTool, timeTool].map((tool) => ({ type: 'function', ...tool }));

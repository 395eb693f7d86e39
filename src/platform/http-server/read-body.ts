import type { IncomingMessage } from 'node:http';
import { type Fault, fault, type MaybePromise } from '../../kernel';
import { LeanRequest } from './lean-messages';

/** Time limit of a body, plus one second per MiB of its size. */
const BODY_DEADLINE_MS = 30_000;
const MS_PER_BYTE = 1_000 / (1024 * 1024);

/**
 * Reads a request's body into memory, at most `limit` bytes. Oversized, slow and aborted bodies each end in their own
 * fault and close the connection; bodies that arrived with their head return without a promise.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  deadlineMs = BODY_DEADLINE_MS,
): MaybePromise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    return rejectBody(
      request,
      fault('unsupported_media_type', { message: 'Compressed request bodies are not read.' }),
    );
  }
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) return rejectBody(request, tooLarge(limit));
  // The caller might have disconnected while guards checked the headers; then no event would follow.
  if (request.destroyed) return Promise.reject(abortedBody());
  if (!request.complete) return collect(request, limit, deadlineMs + announced * MS_PER_BYTE);
  if (!(request instanceof LeanRequest)) return collect(request, limit, deadlineMs);
  if (request.arrivedBytes > limit) return rejectBody(request, tooLarge(limit));
  return request.takeBody() ?? collect(request, limit, deadlineMs);
}

function collect(request: IncomingMessage, limit: number, deadlineMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    // The listeners stay: removing them costs more than ignoring later events.
    let isSettled = false;
    const timer = setTimeout(() => fail(fault('request_timeout')), deadlineMs);
    const fail = (refusal: Fault): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      chunks.length = 0;
      reject(discardRest(request, refusal));
    };
    const onBroken = (): void => {
      if (!isSettled) fail(abortedBody());
    };
    request.on('data', (chunk: Buffer) => {
      if (isSettled) return;
      size += chunk.length;
      if (size > limit) fail(tooLarge(limit));
      else chunks.push(chunk);
    });
    request.on('end', () => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
    });
    request.on('error', onBroken).on('close', onBroken);
  });
}

const rejectBody = (request: IncomingMessage, refusal: Fault): Promise<never> =>
  Promise.reject(discardRest(request, refusal));

/** Discards the rest of the body until the response, which closes the connection, is sent. */
function discardRest(request: IncomingMessage, refusal: Fault): Fault {
  request.resume();
  return refusal;
}

const abortedBody = (): Fault => fault('invalid_request', { message: 'The request body broke off.' });

const tooLarge = (limit: number): Fault =>
  fault('request_too_large', {
    message: `The request body may have at most ${limit.toLocaleString('en')} bytes.`,
  });

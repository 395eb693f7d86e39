import type { IncomingMessage, ServerResponse } from 'node:http';
import { fault } from '../kernel';
import { answerEarly, earlyError, type HttpRequest, pathOf } from '../web';

const RETRY_SECONDS = 1;

const starting = () =>
  fault('service_unavailable', {
    message: 'The service is starting. Try again in a moment.',
    retryAfterSeconds: RETRY_SECONDS,
    details: { reason: 'starting' },
  });

const alive = {
  status: 200,
  headers: {},
  type: 'application/json; charset=utf-8',
  text: '{"status":"ok"}',
};

/** Answers every request of the start: the process is alive, and not ready. */
export function answerWhileStarting(incoming: IncomingMessage, response: ServerResponse): boolean {
  const request = incoming as HttpRequest;
  const path = pathOf(request);
  const isAlive = path === '/health' || path === '/health/live';
  answerEarly(request, response, isAlive ? alive : earlyError(starting(), request));
  return true;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { fault } from '../kernel';
import { respondEarly, earlyError, type HttpRequest, pathOf } from '../web';

const RETRY_SECONDS = 1;

const startingError = () =>
  fault('service_unavailable', {
    message: 'The service is starting. Try again in a moment.',
    retryAfterSeconds: RETRY_SECONDS,
    details: { reason: 'starting' },
  });

const aliveResponse = {
  status: 200,
  headers: {},
  type: 'application/json; charset=utf-8',
  text: '{"status":"ok"}',
};

export function respondWhileStarting(incoming: IncomingMessage, response: ServerResponse): boolean {
  const request = incoming as HttpRequest;
  const path = pathOf(request);
  const isAlive = path === '/health' || path === '/health/live';
  respondEarly(request, response, isAlive ? aliveResponse : earlyError(startingError(), request));
  return true;
}

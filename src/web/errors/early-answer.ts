import type { ServerResponse } from 'node:http';
import { type Fault, renderGateway, renderMessages, renderPortal } from '../../kernel';
import { isGatewayPath, isProbePath } from '../../platform';
import { type HttpRequest, pathOf } from '../http-request';
import { securityHeaders } from '../security-headers';

export interface EarlyAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  readonly text: string;
}

/** The error as JSON, in the API format of the request's path. */
export function earlyError(error: Fault, request: HttpRequest): EarlyAnswer {
  const [path, { requestId }] = [pathOf(request), request];
  const render = (): ReturnType<typeof renderGateway> => {
    if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return renderMessages(error, requestId);
    if (isGatewayPath(path) || isProbePath(path)) return renderGateway(error, requestId);
    return renderPortal(error, requestId, () => 'body');
  };
  const { status, headers, body } = render();
  return { status, headers, type: 'application/json; charset=utf-8', text: JSON.stringify(body) };
}

/** Answers a request before it is routed, and does not read its body. */
export function answerEarly(
  request: HttpRequest,
  response: ServerResponse,
  { status, headers, type, text }: EarlyAnswer,
): void {
  response.statusCode = status;
  response.setHeader('x-request-id', request.requestId);
  securityHeaders(request, response, () => undefined);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader('content-type', type);
  response.setHeader('cache-control', 'no-store');
  if (request.method !== 'GET' && request.method !== 'HEAD') response.setHeader('connection', 'close');
  response.setHeader('content-length', Buffer.byteLength(text));
  response.end(request.method === 'HEAD' ? undefined : text);
}

import type { ServerResponse } from 'node:http';
import { type Fault, renderGateway, renderMessages, renderPortal } from '../../kernel';
import { isGatewayPath, isProbePath } from '../../platform';
import { type HttpRequest, pathOf } from '../http-request';
import { securityHeaders } from '../security-headers';

export interface EarlyResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  readonly text: string;
}

export function earlyError(error: Fault, request: HttpRequest): EarlyResponse {
  const [path, { requestId }] = [pathOf(request), request];
  const render = (): ReturnType<typeof renderGateway> => {
    if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return renderMessages(error, requestId);
    if (isGatewayPath(path) || isProbePath(path)) return renderGateway(error, requestId);
    return renderPortal(error, requestId, () => 'body');
  };
  const { status, headers, body } = render();
  return { status, headers, type: 'application/json; charset=utf-8', text: JSON.stringify(body) };
}

/** Responds before routing, without reading the body. */
export function respondEarly(
  request: HttpRequest,
  response: ServerResponse,
  { status, headers, type, text }: EarlyResponse,
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

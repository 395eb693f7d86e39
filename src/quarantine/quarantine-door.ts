import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault, renderGateway, renderMessages, renderPortal } from '../kernel';
import { isGatewayPath, isProbePath } from '../platform';
import { assetBase } from '../views';
import { type HttpRequest, PageRenderer, pathOf, securityHeaders, wantsPage } from '../web';

export const QUARANTINE_PATH = '/dashboard/admin/quarantine';

/** An owner signs in by these, and sees the one page. */
const open = [
  ...['/login', '/auth/login', '/auth/second-factor', '/auth/passkey', '/logout', '/sign-in-link'],
  ...[
    '/auth/idp1',
    '/auth/idp2',
    '/oauth',
    '/auth/sso',
    '/set-language',
    '/dashboard/settings/second-factor',
  ],
  ...['/health/live', QUARANTINE_PATH],
];

const RETRY_SECONDS = 60;

const closed = () =>
  fault('service_unavailable', {
    message: 'The service was restored from a backup and is closed until its operator has released it.',
    retryAfterSeconds: RETRY_SECONDS,
    details: { reason: 'quarantined' },
  });

const mayPass = (path: string): boolean =>
  path === '/health' ||
  path.startsWith(assetBase) ||
  open.some((place) => path === place || path.startsWith(`${place}/`));

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  readonly text: string;
}

/** Answers everybody who may not come in while the installation is quarantined. */
@Injectable()
export class QuarantineDoor {
  constructor(private readonly pages: PageRenderer) {}

  /** Returns whether it answered. */
  readonly keeps = (incoming: IncomingMessage, response: ServerResponse): boolean => {
    const request = incoming as HttpRequest;
    const path = pathOf(request);
    if (mayPass(path)) return false;
    const { status, headers, type, text } = this.answerTo(request, path);
    response.statusCode = status;
    response.setHeader('x-request-id', request.requestId);
    securityHeaders(request, response, () => undefined);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('content-type', type);
    response.setHeader('cache-control', 'no-store');
    // Its body is not read.
    if (request.method !== 'GET' && request.method !== 'HEAD') response.setHeader('connection', 'close');
    response.setHeader('content-length', Buffer.byteLength(text));
    response.end(request.method === 'HEAD' ? undefined : text);
    return true;
  };

  private answerTo(request: HttpRequest, path: string): Answer {
    const { requestId } = request;
    if (path === '/v1/messages' || path.startsWith('/v1/messages/'))
      return json(renderMessages(closed(), requestId));
    if (isGatewayPath(path) || isProbePath(path)) return json(renderGateway(closed(), requestId));
    if (request.method !== 'GET' || !wantsPage(request))
      return json(renderPortal(closed(), requestId, () => 'body'));
    if (path === '/dashboard' || path.startsWith('/dashboard/')) {
      return {
        status: 303,
        headers: { location: QUARANTINE_PATH },
        type: 'text/plain; charset=utf-8',
        text: '',
      };
    }
    const { html, status, headers } = this.pages.fault(closed(), request);
    return { status, headers, type: 'text/html; charset=utf-8', text: html };
  }
}

const json = ({ status, headers, body }: ReturnType<typeof renderGateway>): Answer => ({
  status,
  headers,
  type: 'application/json; charset=utf-8',
  text: JSON.stringify(body),
});

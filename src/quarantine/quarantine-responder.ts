import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { isGatewayPath, isProbePath } from '../platform';
import { assetBase } from '../views';
import {
  respondEarly,
  type EarlyResponse,
  earlyError,
  type HttpRequest,
  PageRenderer,
  pathOf,
  wantsPage,
} from '../web';

export const QUARANTINE_PATH = '/dashboard/admin/quarantine';

const openPaths = [
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

const quarantinedError = () =>
  fault('service_unavailable', {
    message: 'The service was restored from a backup and is closed until its operator has released it.',
    retryAfterSeconds: RETRY_SECONDS,
    details: { reason: 'quarantined' },
  });

const isOpenPath = (path: string): boolean =>
  path === '/health' ||
  path.startsWith(assetBase) ||
  openPaths.some((openPath) => path === openPath || path.startsWith(`${openPath}/`));

@Injectable()
export class QuarantineResponder {
  constructor(private readonly pages: PageRenderer) {}

  readonly respond = (incoming: IncomingMessage, response: ServerResponse): boolean => {
    const request = incoming as HttpRequest;
    const path = pathOf(request);
    if (isOpenPath(path)) return false;
    respondEarly(request, response, this.responseTo(request, path));
    return true;
  };

  private responseTo(request: HttpRequest, path: string): EarlyResponse {
    const isMachinePath = isGatewayPath(path) || isProbePath(path);
    if (isMachinePath || request.method !== 'GET' || !wantsPage(request))
      return earlyError(quarantinedError(), request);
    if (path === '/dashboard' || path.startsWith('/dashboard/')) {
      return {
        status: 303,
        headers: { location: QUARANTINE_PATH },
        type: 'text/plain; charset=utf-8',
        text: '',
      };
    }
    const { html, status, headers } = this.pages.fault(quarantinedError(), request);
    return { status, headers, type: 'text/html; charset=utf-8', text: html };
  }
}

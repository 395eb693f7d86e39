import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { isGatewayPath, isProbePath } from '../platform';
import { assetBase } from '../views';
import {
  answerEarly,
  type EarlyAnswer,
  earlyError,
  type HttpRequest,
  PageRenderer,
  pathOf,
  wantsPage,
} from '../web';

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

/** Answers everybody who may not come in while the installation is quarantined. */
@Injectable()
export class QuarantineDoor {
  constructor(private readonly pages: PageRenderer) {}

  /** Returns whether it answered. */
  readonly keeps = (incoming: IncomingMessage, response: ServerResponse): boolean => {
    const request = incoming as HttpRequest;
    const path = pathOf(request);
    if (mayPass(path)) return false;
    answerEarly(request, response, this.answerTo(request, path));
    return true;
  };

  private answerTo(request: HttpRequest, path: string): EarlyAnswer {
    const isForPrograms = isGatewayPath(path) || isProbePath(path);
    if (isForPrograms || request.method !== 'GET' || !wantsPage(request))
      return earlyError(closed(), request);
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

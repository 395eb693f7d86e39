import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { SignedIn, SignInOrigin } from '../../identity';
import { Settings } from '../../platform';
import {
  addCookie,
  ClientAddress,
  cookieOf,
  type HttpRequest,
  languageCookie,
  localPath,
  portalHostOf,
  sessionCookieName,
} from '../../web';

const deviceCookie = 'svc_device';
export const trustedCookie = 'svc_trusted';
/** Invite that was opened before the visitor had an account to accept it. */
const inviteCookie = 'svc_invite';
const MONTH_SECONDS = 30 * 86_400;
const WEEK_SECONDS = 7 * 86_400;
const YEAR_SECONDS = 365 * 86_400;

@Injectable()
export class VisitorSession {
  constructor(
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
  ) {}

  originOf(request: HttpRequest): SignInOrigin {
    const { headers } = request;
    return {
      address: this.addresses.of(request),
      userAgent: headers['user-agent'],
      host: portalHostOf(request),
      previousSession: this.sessionOf(request),
      knownDevice: cookieOf(headers, deviceCookie),
    };
  }

  sessionOf({ headers }: HttpRequest): string | null {
    return cookieOf(headers, sessionCookieName(this.settings));
  }

  /** Starts a session and returns where to go; suspended and archived users have a single page. */
  startSession(response: ServerResponse, signedIn: SignedIn, next?: string): string {
    addCookie(response, this.settings, sessionCookieName(this.settings), signedIn.session, MONTH_SECONDS);
    addCookie(response, this.settings, deviceCookie, signedIn.knownDevice, YEAR_SECONDS);
    addCookie(response, this.settings, languageCookie, signedIn.language, YEAR_SECONDS);
    const { status } = signedIn;
    if (status === 'suspended' || status === 'archived') return `/account/${status}`;
    const invite = cookieOf(response.req.headers, inviteCookie);
    return localPath(next, invite ? localPath(`/invite/${invite}`) : undefined);
  }

  /** Stores the invite as the target of the next sign-in without another target; null removes it. */
  rememberInvite(response: ServerResponse, token: string | null): void {
    addCookie(response, this.settings, inviteCookie, token ?? '', token === null ? 0 : WEEK_SECONDS);
  }

  /** Continues the session under a new id. */
  renewSession(response: ServerResponse, session: string): void {
    addCookie(response, this.settings, sessionCookieName(this.settings), session, MONTH_SECONDS);
  }

  endSession(response: ServerResponse): void {
    addCookie(response, this.settings, sessionCookieName(this.settings), '', 0);
  }
}

import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Extensions } from '../../extensions';
import { SessionsService } from '../../identity';
import { fault } from '../../kernel';
import { Settings } from '../../platform';
import { portalHostOf, requestOf } from '../http-request';
import { refuseForbiddenVisit } from './visit-policies';
import { cookieOf, sessionCookieName } from '../cookies';

const RESTING_STATUSES: ReadonlySet<string> = new Set(['suspended', 'archived']);

@Injectable()
export class SessionGuard implements CanActivate {
  protected readonly admitsResting: boolean = false;

  constructor(
    private readonly sessions: SessionsService,
    private readonly settings: Settings,
    private readonly extensions: Extensions,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const token = cookieOf(request.headers, sessionCookieName(this.settings));
    if (token === null) throw fault('authentication_required');
    const session = await this.sessions.read(token, portalHostOf(request));
    if (session.kind === 'absent') throw fault('invalid_session');
    if (session.kind === 'inactive') {
      if (this.admitsResting && RESTING_STATUSES.has(session.status)) {
        request.actor = session.actor;
        request.viewing = session.viewing;
        request.restingAs = session.status;
        return true;
      }
      throw fault('account_status', {
        message: `This account is ${session.status}.`,
        details: { status: session.status },
      });
    }
    // Routes open to resting accounts are not subject to visit policies.
    if (!this.admitsResting) refuseForbiddenVisit(this.extensions, request, session.actor);
    request.actor = session.actor;
    request.viewing = session.viewing;
    return true;
  }
}

/** Guards routes that suspended and archived accounts keep: the notice, their data, their bills. */
@Injectable()
export class RestingSessionGuard extends SessionGuard {
  protected override readonly admitsResting = true;
}

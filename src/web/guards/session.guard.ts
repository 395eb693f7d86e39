import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Extensions } from '../../extensions';
import { SessionsService } from '../../identity';
import { fault } from '../../kernel';
import { Settings } from '../../platform';
import { portalHostOf, requestOf } from '../http-request';
import { refuseForbiddenVisit } from './visit-policies';
import { cookieOf, sessionCookieName } from '../cookies';

const resting: ReadonlySet<string> = new Set(['suspended', 'archived']);

@Injectable()
export class SessionGuard implements CanActivate {
  /** People get in whose account is suspended or archived. */
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
    const reading = await this.sessions.read(token, portalHostOf(request));
    if (reading.kind === 'absent') throw fault('invalid_session');
    if (reading.kind === 'inactive') {
      if (this.admitsResting && resting.has(reading.status)) {
        request.actor = reading.actor;
        request.viewing = reading.viewing;
        request.restingAs = reading.status;
        return true;
      }
      throw fault('account_status', {
        message: `This account is ${reading.status}.`,
        details: { status: reading.status },
      });
    }
    // What is left to people whose account rests is left to everybody.
    if (!this.admitsResting) refuseForbiddenVisit(this.extensions, request, reading.actor);
    request.actor = reading.actor;
    request.viewing = reading.viewing;
    return true;
  }
}

/** It guards what is left to people whose account rests: the notice, their data, their bills. */
@Injectable()
export class RestingSessionGuard extends SessionGuard {
  protected override readonly admitsResting = true;
}

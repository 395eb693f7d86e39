import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { SessionsService } from '../../identity';
import { fault } from '../../kernel';
import { Settings } from '../../platform';
import { requestOf } from '../http-request';
import { cookieOf, sessionCookieName } from '../cookies';

@Injectable()
export class SessionGuard implements CanActivate {
  constructor(
    private readonly sessions: SessionsService,
    private readonly settings: Settings,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const token = cookieOf(request.headers, sessionCookieName(this.settings));
    if (token === null) throw fault('authentication_required');
    const reading = await this.sessions.read(token);
    if (reading.kind === 'absent') throw fault('invalid_session');
    if (reading.kind === 'inactive') {
      throw fault('account_status', {
        message: `This account is ${reading.status}.`,
        details: { status: reading.status },
      });
    }
    request.actor = reading.actor;
    request.viewing = reading.viewing;
    return true;
  }
}

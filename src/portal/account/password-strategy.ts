import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-local';
import { SignInService } from '../../identity';
import { fault } from '../../kernel';
import type { HttpRequest } from '../../web';
import { runStrategy } from './run-strategy';
import { VisitorSession } from './visitor-session';

/** Passport strategy for email and password; passport-local parses them and SignInService checks them. */
@Injectable()
export class PasswordStrategy extends PassportStrategy(Strategy) {
  constructor(
    private readonly signIn: SignInService,
    private readonly visitor: VisitorSession,
  ) {
    super({ usernameField: 'email', passReqToCallback: true });
  }

  async validate(request: HttpRequest, email: string, password: string): Promise<{ userId: number }> {
    const origin = this.visitor.originOf(request);
    return { userId: await this.signIn.checkPassword(email.trim(), password, origin) };
  }

  async authenticateUser(request: HttpRequest): Promise<number> {
    const outcome = await runStrategy<{ userId: number }>(this, request);
    if (outcome.kind !== 'recognised') throw fault('invalid_credentials', { param: 'password' });
    return outcome.user.userId;
  }
}

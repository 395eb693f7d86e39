import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-local';
import { SignInService } from '../../identity';
import { Fault } from '../../kernel';
import type { HttpRequest } from '../../web';
import { AccountMails } from './account-mails';
import type { AuthenticatedUser } from './local-auth.guard';
import { VisitorSession } from './visitor-session';

/** Authenticates with email and password, and notifies the account holder of a wrong password by email. */
@Injectable()
export class LocalStrategy extends PassportStrategy(Strategy, 'local') {
  constructor(
    private readonly signIn: SignInService,
    private readonly mails: AccountMails,
    private readonly visitor: VisitorSession,
  ) {
    super({ usernameField: 'email', passReqToCallback: true });
  }

  async validate(request: HttpRequest, email: string, password: string): Promise<AuthenticatedUser> {
    try {
      const origin = this.visitor.originOf(request);
      return { userId: await this.signIn.checkPassword(email, password, origin) };
    } catch (error) {
      if (error instanceof Fault && error.code === 'invalid_credentials')
        await this.mails.enqueue('failed', email, request);
      throw error;
    }
  }
}

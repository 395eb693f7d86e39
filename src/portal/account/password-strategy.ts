import { Injectable } from '@nestjs/common';
import { Strategy } from 'passport-local';
import { type SignInOrigin, SignInService } from '../../identity';
import { fault } from '../../kernel';
import type { HttpRequest } from '../../web';
import { runStrategy } from './run-strategy';
import { Visitor } from './visitor';

/** E-mail and password, read by passport-local and checked by our own service. */
@Injectable()
export class PasswordStrategy {
  private readonly strategy: Strategy;

  constructor(
    signIn: SignInService,
    private readonly visitor: Visitor,
  ) {
    this.strategy = new Strategy(
      { usernameField: 'email', passReqToCallback: true },
      (request, email, password, done) => {
        const from: SignInOrigin = visitor.originOf(request as unknown as HttpRequest);
        signIn.checkPassword(email.trim(), password, from).then((userId) => done(null, { userId }), done);
      },
    );
  }

  async userOf(request: HttpRequest): Promise<number> {
    const outcome = await runStrategy<{ userId: number }>(this.strategy, request);
    if (outcome.kind !== 'recognised') throw fault('invalid_credentials');
    return outcome.user.userId;
  }
}

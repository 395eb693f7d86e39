import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { Database } from '../../platform';
import { AttemptThrottle } from './attempt-throttle.service';
import { wrongPassword } from './password-rules';
import { PasswordHasher } from './password-hasher.service';
import { findProofState, signsInByProviderOnly } from './user-account.query';

export interface Proof {
  readonly password: string;
  readonly sessionId: string;
  readonly address: string;
}

/**
 * Required before actions that a stranger at an unattended screen must not perform: the password or, without one, a
 * recent sign-in.
 */
@Injectable()
export class AccountProof {
  constructor(
    private readonly database: Database,
    private readonly passwords: PasswordHasher,
    private readonly throttle: AttemptThrottle,
  ) {}

  async require(userId: number, { password, sessionId, address }: Proof): Promise<void> {
    const row = await findProofState(this.database, userId, sessionId);
    if (row === undefined) throw fault('invalid_session');
    if (row.passwordHash === null || (await signsInByProviderOnly(this.database.source, userId))) {
      if (row.isFresh) return;
      throw fault('invalid_credentials', {
        message: 'Sign out, sign in again, and repeat this at once.',
        details: { reason: 'fresh-sign-in' },
      });
    }
    const attempt = { purpose: 'sign-in', account: `password:${userId}`, address } as const;
    await this.throttle.take(attempt);
    if (!(await this.passwords.matches(password, row.passwordHash))) throw wrongPassword('current_password');
    await this.throttle.recordSuccess(attempt);
  }
}

import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { Database, type TableRow } from '../../platform';
import { AttemptThrottle } from './attempt-throttle.service';
import { wrongPassword } from './password-rules';
import { PasswordHasher } from './password-hasher.service';
import { signsInByProviderOnly } from './provider-only';

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
    const [row] = await this.database.rows<TableRow<'user_account', 'password_hash'> & { isFresh: boolean }>(
      `SELECT u.password_hash, s.created_at > clock_timestamp() - interval '10 minutes' AS is_fresh
       FROM user_account u JOIN session s ON s.user_id = u.id WHERE u.id = $1 AND s.public_id = $2`,
      [userId, sessionId],
    );
    if (row === undefined) throw fault('invalid_session');
    const manager = this.database.source.manager;
    if (row.passwordHash === null || (await signsInByProviderOnly(manager, userId))) {
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

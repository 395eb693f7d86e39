import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { ActivityLog } from '../../audit';
import { Database } from '../../platform';
import { actorOf } from '../activity-actor';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { type Attempt, AttemptThrottle } from './attempt-throttle.service';
import { assertStrongPassword } from './password-rules';
import { Passwords } from './passwords.service';

export interface Registration {
  readonly email: string;
  readonly password: string;
  readonly displayName: string;
  readonly language: string;
  readonly timeZone: string;
  /** Of the terms that were accepted. */
  readonly legalVersion: string;
}

/**
 * One statement that writes in every case, so that its timing reveals nothing. A second registration of an
 * unconfirmed address replaces the first and its links.
 */
const insertAccount = `
  WITH account AS (
    INSERT INTO user_account AS u (email, display_name, password_hash, preferred_language, time_zone)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (lower(email)) DO UPDATE SET password_hash = excluded.password_hash, display_name = excluded.display_name
      WHERE u.status = 'pending_verification'
    RETURNING id
  ), outdated AS (
    DELETE FROM account_token t USING account WHERE t.user_id = account.id AND t.purpose = 'verify_email'
  ), accepted AS (
    INSERT INTO legal_acceptance (user_id, version) SELECT id, $6 FROM account ON CONFLICT DO NOTHING
  )
  UPDATE attempt_throttle SET last_at = clock_timestamp() WHERE key_hash = $7`;

/** Opens accounts with a password; they can be entered once their address is confirmed. */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly database: Database,
    private readonly passwords: Passwords,
    private readonly throttle: AttemptThrottle,
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
  ) {}

  /** The answer is the same for known and unknown addresses; a mail says the rest. */
  async register(registration: Registration, address: string): Promise<void> {
    assertStrongPassword(registration.password, registration.email);
    const attempt: Attempt = { purpose: 'mail', account: registration.email, address };
    await this.throttle.take(attempt);
    const hash = await this.passwords.hash(registration.password);
    await this.database.query(insertAccount, [
      registration.email,
      registration.displayName,
      hash,
      registration.language,
      registration.timeZone,
      registration.legalVersion,
      this.throttle.addressKeyOf(attempt),
    ]);
  }

  async verify(token: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'verify_email', token);
      const userId = spent?.userId ?? null;
      if (userId === null) throw fault('invalid_token');
      await tx
        .getRepository(UserAccount)
        .update({ id: userId, status: 'pending_verification' }, { status: 'active' });
      await this.tokens.revokeAll(tx, 'verify_email', userId);
      const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
      await this.activity.write(tx, {
        action: 'account.email-verified',
        object: { type: 'account', id: account.id, label: account.email },
        actor: actorOf(account),
      });
    });
  }
}

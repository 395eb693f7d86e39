import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { ActivityLog } from '../../audit';
import { Database } from '../../platform';
import { actorOf } from '../activity-actor';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { type ThrottledAttempt, AttemptThrottle } from './attempt-throttle.service';
import { assertStrongPassword } from './password-rules';
import { PasswordHasher } from './password-hasher.service';
import { insertAccount } from './registration.store';

export interface Registration {
  readonly email: string;
  readonly password: string;
  readonly displayName: string;
  readonly language: string;
  readonly timeZone: string;
  readonly legalVersion: string;
}

interface RegistrationData {
  readonly passwordHash: string;
  readonly displayName: string;
}

/** Opens accounts with a password, which can be used once their address is confirmed. */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly database: Database,
    private readonly passwords: PasswordHasher,
    private readonly throttle: AttemptThrottle,
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
  ) {}

  /**
   * The response is the same for known and unknown addresses; only the email differs. Returns the token for that email.
   */
  async register(registration: Registration, address: string): Promise<string> {
    assertStrongPassword(registration.password, registration.email);
    const attempt: ThrottledAttempt = { purpose: 'mail', account: registration.email, address };
    await this.throttle.take(attempt);
    const passwordHash = await this.passwords.hash(registration.password);
    const { text, tokenHash, expiresAt } = this.tokens.generate('verify_email');
    await this.database.query(insertAccount, [
      registration.email,
      registration.displayName,
      passwordHash,
      registration.language,
      registration.timeZone,
      registration.legalVersion,
      this.throttle.addressKeyOf(attempt),
      tokenHash,
      JSON.stringify({ passwordHash, displayName: registration.displayName }),
      expiresAt,
    ]);
    return text;
  }

  async verify(token: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'verify_email', token);
      const userId = spent?.userId ?? null;
      if (spent === null || userId === null) throw fault('invalid_token');
      const { passwordHash, displayName } = spent.data as Partial<RegistrationData>;
      const fields = passwordHash === undefined ? {} : { passwordHash, displayName };
      const { affected } = await tx
        .getRepository(UserAccount)
        .update({ id: userId, status: 'pending_verification' }, { status: 'active', ...fields });
      if (affected !== 1) throw fault('invalid_token');
      await this.tokens.revokePending(tx, userId);
      const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
      await this.activity.write(tx, {
        action: 'account.email-verified',
        object: { type: 'account', id: account.id, label: account.email },
        actor: actorOf(account),
      });
    });
  }
}

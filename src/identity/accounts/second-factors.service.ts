import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Secret, TOTP } from 'otpauth';
import { ActivityLog } from '../../audit';
import { DAY_MS, fault } from '../../kernel';
import {
  Database,
  packSealed,
  type Row,
  type SealedColumn,
  SecretBox,
  type SecretPlace,
  Settings,
  type Tx,
  unpackSealed,
} from '../../platform';
import { UserAccount } from '../user-account.entity';
import { AttemptThrottle } from './attempt-throttle.service';
import { PendingSteps } from './pending-steps.service';
import { SecondFactor } from './second-factor.entity';

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
const RECOVERY_CODES = 10;
const TRUSTED_MS = 30 * DAY_MS;
/** Letters and digits that look alike are left out. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';

export interface FactorSetup {
  readonly secret: string;
  /** An authenticator reads this address from a picture. */
  readonly uri: string;
}

/** One-time codes by time (RFC 6238) are asked for after the password or the identity provider. */
@Injectable()
export class SecondFactors {
  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
    private readonly throttle: AttemptThrottle,
    private readonly pending: PendingSteps,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  async isOn(userId: number): Promise<boolean> {
    const rows = await this.database.query(
      'SELECT 1 FROM second_factor WHERE user_id = $1 AND enabled_at IS NOT NULL',
      [userId],
    );
    return rows.length > 0;
  }

  /** Begins, or shows what was begun: until a first code arrives nothing is asked for. It is null once it is on. */
  async setup(userId: number): Promise<FactorSetup | null> {
    const fresh = packSealed(this.box.seal(new Secret({ size: SECRET_BYTES }).base32, placeOf(userId)));
    await this.database.query(
      'INSERT INTO second_factor (user_id, secret) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [userId, fresh],
    );
    const factor = await this.find(this.database.source.manager, userId);
    if (factor === null || factor.enabledAt !== null) return null;
    const { email } = await this.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId });
    const secret = this.secretOf(factor);
    return { secret, uri: this.codesOf(secret, email).toString() };
  }

  /** The first right code switches it on. Returns the recovery codes, which are shown once. */
  async enable(userId: number, code: string, address: string): Promise<string[]> {
    await this.throttle.take(attemptOf(userId, address));
    return this.database.transaction(async (tx) => {
      const factor = await this.find(tx, userId);
      if (factor === null || factor.enabledAt !== null) throw fault('conflict');
      if (!(await this.takeCode(tx, factor, code))) throw wrongCode();
      await tx.getRepository(SecondFactor).update(userId, { enabledAt: () => 'now()' });
      const codes = Array.from({ length: RECOVERY_CODES }, recoveryCode);
      for (const text of codes) {
        await tx.query('INSERT INTO recovery_code (user_id, code_hash) VALUES ($1, $2)', [
          userId,
          this.hashOf(userId, text),
        ]);
      }
      await this.pending.end(tx, userId);
      await this.record(tx, 'account.two-factor-enabled', userId);
      return codes;
    });
  }

  /** The caller has asked for the password. */
  async disable(userId: number, code: string, address: string): Promise<void> {
    await this.check(userId, code, address);
    await this.database.transaction(async (tx) => {
      await tx.query('DELETE FROM recovery_code WHERE user_id = $1', [userId]);
      await tx.getRepository(SecondFactor).delete({ userId });
      await this.pending.end(tx, userId);
      await this.record(tx, 'account.two-factor-disabled', userId);
    });
  }

  /** A code of the device or a recovery code; each works once, and attempts are counted. */
  async check(userId: number, code: string, address: string): Promise<void> {
    const attempt = attemptOf(userId, address);
    await this.throttle.take(attempt);
    const right = await this.database.transaction(
      async (tx) => {
        const factor = await this.find(tx, userId);
        if (factor === null || factor.enabledAt === null) return false;
        return (await this.takeCode(tx, factor, code)) || (await this.takeRecoveryCode(tx, userId, code));
      },
      { withoutActivity: 'the sign-in that follows is on record' },
    );
    if (!right) throw wrongCode();
    await this.throttle.succeeded(attempt);
  }

  /**
   * The token of a remembered browser, valid for thirty days in place of a code, at one portal; a new password or
   * device revokes it.
   */
  async trust(userId: number, host: string): Promise<string> {
    const said = `${userId}.${Date.now() + TRUSTED_MS}`;
    return `${said}.${await this.trustProof(userId, host, said)}`;
  }

  async isTrusted(userId: number, host: string, shown: string | null): Promise<boolean> {
    const [id = '', until = '', proof = ''] = (shown ?? '').split('.');
    if (Number(id) !== userId || !(Number(until) > Date.now())) return false;
    const expected = Buffer.from(await this.trustProof(userId, host, `${id}.${until}`));
    const given = Buffer.from(proof);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  private async trustProof(userId: number, host: string, said: string): Promise<string> {
    const [row] = await this.database.rows<Row<'user_account', 'password_hash'> & { enabledAt: Date | null }>(
      `SELECT u.password_hash, f.enabled_at FROM user_account u LEFT JOIN second_factor f ON f.user_id = u.id
       WHERE u.id = $1`,
      [userId],
    );
    const bound = `${row?.passwordHash ?? ''}:${row?.enabledAt?.toISOString() ?? ''}`;
    return this.hmac(`trusted:${said}:${bound}${host}`).toString('base64url');
  }

  /** One statement takes the code with its step, so that of two requests with the same code one succeeds. */
  private async takeCode(tx: Tx, factor: SecondFactor, code: string): Promise<boolean> {
    const digits = code.replaceAll(/\s/g, '');
    if (!/^\d{6}$/.test(digits)) return false;
    const timestamp = Date.now();
    const delta = this.codesOf(this.secretOf(factor)).validate({ token: digits, window: 1, timestamp });
    if (delta === null) return false;
    const step = Math.floor(timestamp / 1_000 / STEP_SECONDS) + delta;
    const [, taken] = await tx.query<[unknown, number]>(
      'UPDATE second_factor SET last_step = $2 WHERE user_id = $1 AND last_step < $2',
      [factor.userId, step],
    );
    return taken === 1;
  }

  private async takeRecoveryCode(tx: Tx, userId: number, code: string): Promise<boolean> {
    const text = code.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
    const [, taken] = await tx.query<[unknown, number]>(
      'DELETE FROM recovery_code WHERE user_id = $1 AND code_hash = $2',
      [userId, this.hashOf(userId, text)],
    );
    return taken === 1;
  }

  private find(tx: Tx, userId: number): Promise<SecondFactor | null> {
    return tx.getRepository(SecondFactor).findOneBy({ userId });
  }

  private secretOf({ userId, secret }: SecondFactor): string {
    const opened = this.box.open(unpackSealed(secret), placeOf(userId));
    if (opened.ok) return opened.value;
    throw fault('auth_unavailable', {
      message: 'The master key of this second factor is not at hand.',
      details: { reason: 'factor-unreadable' },
    });
  }

  private codesOf(secret: string, label = ''): TOTP {
    return new TOTP({ issuer: this.settings.brandName, label, secret, period: STEP_SECONDS });
  }

  private async record(
    tx: Tx,
    action: 'account.two-factor-enabled' | 'account.two-factor-disabled',
    userId: number,
  ): Promise<void> {
    const { email: label } = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
    await this.activity.write(tx, { action, object: { type: 'account', id: userId, label } });
  }

  private hashOf(userId: number, code: string): Buffer {
    return this.hmac(`recovery:${userId}:${code.replaceAll('-', '')}`);
  }

  private hmac(text: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(text).digest();
  }
}

const wrongCode = (): Error =>
  fault('invalid_credentials', {
    param: 'code',
    message: 'This code is not right, or was used already.',
    details: { reason: 'code' },
  });

const attemptOf = (userId: number, address: string) =>
  ({ purpose: 'second-factor', account: `user:${userId}`, address }) as const;

const placeOf = (userId: number): SecretPlace => ({
  table: 'second_factor',
  row: String(userId),
  field: 'secret',
  host: '',
});

const half = (): string => Array.from({ length: 5 }, () => letters[randomInt(letters.length)]).join('');
const recoveryCode = (): string => `${half()}-${half()}`;

/** A change of the master key seals these anew. */
export const sealedFactors: readonly SealedColumn[] = [
  {
    table: 'second_factor',
    column: 'secret',
    place: { table: 'second_factor', field: 'secret', row: 't.user_id::text' },
  },
];

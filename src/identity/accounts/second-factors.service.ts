import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Secret, TOTP } from 'otpauth';
import { IsNull, LessThan, Not, type Repository } from 'typeorm';
import { ActivityLog } from '../../audit';
import { DAY_MS, fault } from '../../kernel';
import {
  Database,
  packSealed,
  type SealedColumn,
  SecretBox,
  type SecretLocation,
  Settings,
  type Tx,
  unpackSealed,
} from '../../platform';
import { UserAccount } from '../user-account.entity';
import { AttemptThrottle } from './attempt-throttle.service';
import { PendingSteps } from './pending-steps.service';
import { RecoveryCode, SecondFactor } from './second-factor.entity';
import { findCredentialState } from './user-account.query';

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
const RECOVERY_CODES = 10;
const TRUSTED_MS = 30 * DAY_MS;
/** Excludes letters and digits that look alike. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';

export interface FactorSetup {
  readonly secret: string;
  /** URI that an authenticator reads from a QR code. */
  readonly uri: string;
}

/** Time-based one-time codes (RFC 6238), required after the password or the identity provider. */
@Injectable()
export class SecondFactors {
  constructor(
    private readonly database: Database,
    @InjectRepository(SecondFactor) private readonly factors: Repository<SecondFactor>,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly box: SecretBox,
    private readonly throttle: AttemptThrottle,
    private readonly pending: PendingSteps,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  isEnabled(userId: number): Promise<boolean> {
    return this.factors.existsBy({ userId, enabledAt: Not(IsNull()) });
  }

  /**
   * Starts the setup or returns the pending one; no code is required until a first one arrives. Null if the factor is
   * enabled.
   */
  async setup(userId: number): Promise<FactorSetup | null> {
    const newSecret = packSealed(
      this.box.seal(new Secret({ size: SECRET_BYTES }).base32, secretPlaceOf(userId)),
    );
    const insert = this.factors.createQueryBuilder().insert();
    await insert.values({ userId, secret: newSecret }).orIgnore().execute();
    const factor = await this.factors.findOneBy({ userId });
    if (factor === null || factor.enabledAt !== null) return null;
    const { email } = await this.accounts.findOneByOrFail({ id: userId });
    const secret = this.secretOf(factor);
    return { secret, uri: this.codesOf(secret, email).toString() };
  }

  /** The first correct code enables the factor. Returns the recovery codes, which are shown once. */
  async enable(userId: number, code: string, address: string): Promise<string[]> {
    await this.throttle.take(attemptOf(userId, address));
    return this.database.transaction(async (tx) => {
      const factor = await this.find(tx, userId);
      if (factor === null || factor.enabledAt !== null) throw fault('conflict');
      if (!(await this.takeCode(tx, factor, code))) throw wrongCode();
      await tx.getRepository(SecondFactor).update(userId, { enabledAt: () => 'now()' });
      const codes = Array.from({ length: RECOVERY_CODES }, recoveryCode);
      const rows = codes.map((text) => ({ userId, codeHash: this.hashOf(userId, text) }));
      await tx.getRepository(RecoveryCode).insert(rows);
      await this.pending.end(tx, userId);
      await this.record(tx, 'account.two-factor-enabled', userId);
      return codes;
    });
  }

  /** The caller has verified the password. */
  async disable(userId: number, code: string, address: string): Promise<void> {
    await this.check(userId, code, address);
    await this.database.transaction(async (tx) => {
      await tx.getRepository(RecoveryCode).delete({ userId });
      await tx.getRepository(SecondFactor).delete({ userId });
      await this.pending.end(tx, userId);
      await this.record(tx, 'account.two-factor-disabled', userId);
    });
  }

  /** Accepts a code of the device or a recovery code; each works once, and attempts are counted. */
  async check(userId: number, code: string, address: string): Promise<void> {
    const attempt = attemptOf(userId, address);
    await this.throttle.take(attempt);
    const isCorrect = await this.database.transaction(
      async (tx) => {
        const factor = await this.find(tx, userId);
        if (factor === null || factor.enabledAt === null) return false;
        return (await this.takeCode(tx, factor, code)) || (await this.takeRecoveryCode(tx, userId, code));
      },
      { withoutActivity: 'the sign-in that follows is on record' },
    );
    if (!isCorrect) throw wrongCode();
    await this.throttle.recordSuccess(attempt);
  }

  /**
   * Token of a remembered browser, valid for thirty days instead of a code, on one portal. A new password or device
   * revokes it.
   */
  async trust(userId: number, host: string): Promise<string> {
    const claim = `${userId}.${Date.now() + TRUSTED_MS}`;
    return `${claim}.${await this.trustProof(userId, host, claim)}`;
  }

  async isTrusted(userId: number, host: string, token: string | null): Promise<boolean> {
    const [id = '', until = '', proof = ''] = (token ?? '').split('.');
    if (Number(id) !== userId || !(Number(until) > Date.now())) return false;
    const expected = Buffer.from(await this.trustProof(userId, host, `${id}.${until}`));
    const actual = Buffer.from(proof);
    return actual.length === expected.length && timingSafeEqual(actual, expected);
  }

  private async trustProof(userId: number, host: string, claim: string): Promise<string> {
    const row = await findCredentialState(this.database, userId);
    const credentialState = `${row?.passwordHash ?? ''}:${row?.enabledAt?.toISOString() ?? ''}`;
    return this.hmac(`trusted:${claim}:${credentialState}${host}`).toString('base64url');
  }

  /**
   * Takes the code with its step in a single statement, so that only one of two requests with the same code succeeds.
   */
  private async takeCode(tx: Tx, factor: SecondFactor, code: string): Promise<boolean> {
    const digits = code.replaceAll(/\s/g, '');
    if (!/^\d{6}$/.test(digits)) return false;
    const timestamp = Date.now();
    const delta = this.codesOf(this.secretOf(factor)).validate({ token: digits, window: 1, timestamp });
    if (delta === null) return false;
    const step = Math.floor(timestamp / 1_000 / STEP_SECONDS) + delta;
    const { affected } = await tx
      .getRepository(SecondFactor)
      .update({ userId: factor.userId, lastStep: LessThan(String(step)) }, { lastStep: String(step) });
    return affected === 1;
  }

  private async takeRecoveryCode(tx: Tx, userId: number, code: string): Promise<boolean> {
    const text = code.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
    const codeHash = this.hashOf(userId, text);
    const { affected } = await tx.getRepository(RecoveryCode).delete({ userId, codeHash });
    return affected === 1;
  }

  private find(tx: Tx, userId: number): Promise<SecondFactor | null> {
    return tx.getRepository(SecondFactor).findOneBy({ userId });
  }

  private secretOf({ userId, secret }: SecondFactor): string {
    const result = this.box.open(unpackSealed(secret), secretPlaceOf(userId));
    if (result.ok) return result.value;
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

const secretPlaceOf = (userId: number): SecretLocation => ({
  table: 'second_factor',
  row: String(userId),
  field: 'secret',
  host: '',
});

const codeHalf = (): string => Array.from({ length: 5 }, () => letters[randomInt(letters.length)]).join('');
const recoveryCode = (): string => `${codeHalf()}-${codeHalf()}`;

export const sealedFactors: readonly SealedColumn[] = [
  {
    table: 'second_factor',
    column: 'secret',
    place: { table: 'second_factor', field: 'secret', row: 't.user_id::text' },
  },
];

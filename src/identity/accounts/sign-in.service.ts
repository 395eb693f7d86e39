import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Not, type Repository } from 'typeorm';
import { type Fault, fault } from '../../kernel';
import { ActivityLog } from '../../audit';
import { Database, Settings, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { isServedAt, SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import type { UserStatus } from '../user-status';
import { AccountTokens } from './account-tokens.service';
import { type ThrottledAttempt, AttemptThrottle } from './attempt-throttle.service';
import { deviceName } from './device';
import { PasswordHasher } from './password-hasher.service';
import { SecondFactor } from './second-factor.entity';
import { findSignInAccount } from './user-account.query';

export interface SignInOrigin {
  readonly address: string;
  readonly userAgent?: string;
  /** Requested portal; empty for BASE_URL. */
  readonly host: string;
  readonly previousSession?: string | null;
  readonly knownDevice?: string | null;
}

export interface SignedIn {
  readonly session: string;
  readonly knownDevice: string;
  readonly userId: number;
  readonly status: UserStatus;
  readonly language: string;
  readonly isFirst: boolean;
}

@Injectable()
export class SignInService {
  constructor(
    private readonly database: Database,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly passwords: PasswordHasher,
    private readonly throttle: AttemptThrottle,
    private readonly sessions: SessionsService,
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  /** Checks a password; a wrong one and an unknown address are refused alike, after the same time. */
  async checkPassword(email: string, password: string, from: SignInOrigin): Promise<number> {
    const attempt = await this.takeAttempt(email, from);
    const account = await findSignInAccount(this.database, email);
    const isMatch = await this.passwords.matches(password, account?.passwordHash ?? null);
    if (!isMatch || account === undefined || account.status === 'deleted')
      throw fault('invalid_credentials', { param: 'password' });
    if (account.status === 'pending_verification') throw fault('email_not_verified');
    if (account.ssoOnly) throw fault('sso_only');
    await this.throttle.recordSuccess(attempt);
    if (account.passwordHash !== null && this.passwords.isOutdated(account.passwordHash)) {
      const passwordHash = await this.passwords.hash(password);
      await this.accounts.update(account.id, { passwordHash });
    }
    return account.id;
  }

  /** Opens the session, however the user signed in. Suspended users get one too, for the pages left to them. */
  async open(tx: Tx, userId: number, from: SignInOrigin): Promise<SignedIn> {
    const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
    if (account.status === 'deleted') throw fault('invalid_credentials');
    if (account.status === 'pending_verification') throw fault('email_not_verified');
    if (!isServedAt(from.host, account.role)) throw this.baseOnlyFault();
    if (typeof from.previousSession === 'string') await this.sessions.end(tx, from.previousSession);
    const session = await this.sessions.open(tx, userId, from);
    await tx.getRepository(UserAccount).update(userId, { lastSeenAt: () => 'now()' });
    await this.activity.write(tx, {
      action: 'session.signed-in',
      object: { type: 'session', label: deviceName(from.userAgent) },
      actor: actorOf(account),
    });
    return {
      session,
      knownDevice: this.knownDeviceOf(userId),
      userId,
      status: account.status,
      language: account.preferredLanguage,
      isFirst: account.lastSeenAt === null,
    };
  }

  openInTransaction(userId: number, from: SignInOrigin): Promise<SignedIn> {
    return this.database.transaction((tx) => this.open(tx, userId, from));
  }

  signInByLink(token: string, from: SignInOrigin): Promise<SignedIn> {
    return this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'sign_in_link', token);
      const userId = spent?.userId ?? null;
      if (userId === null) throw fault('invalid_token');
      const factors = tx.getRepository(SecondFactor);
      if (await factors.existsBy({ userId, enabledAt: Not(IsNull()) })) throw fault('invalid_token');
      return this.open(tx, userId, from);
    });
  }

  async signOut(session: string, host: string): Promise<void> {
    const lookup = await this.sessions.read(session, host);
    if (lookup.kind === 'absent') return this.activity.reportNoChange();
    const { userId } = lookup;
    await this.database.transaction(async (tx) => {
      const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
      await this.sessions.end(tx, session);
      const object = { type: 'session' } as const;
      await this.activity.write(tx, { action: 'session.signed-out', object, actor: actorOf(account) });
    });
  }

  private baseOnlyFault(): Fault {
    const { baseUrl } = this.settings;
    return fault('permission_denied', {
      message: `Administrators of the platform sign in at ${baseUrl} only.`,
      details: { reason: 'platform-portal', address: baseUrl },
    });
  }

  private async takeAttempt(email: string, from: SignInOrigin): Promise<ThrottledAttempt> {
    const device = await this.deviceOf(email, from.knownDevice ?? null);
    const attempt: ThrottledAttempt = {
      purpose: 'sign-in',
      account: device === null ? email : `device:${device}`,
      address: from.address,
    };
    await this.throttle.take(attempt);
    return attempt;
  }

  /** Name of the device, if its token was given to a browser that has signed in to the same account. */
  private async deviceOf(email: string, knownDevice: string | null): Promise<string | null> {
    if (knownDevice === null) return null;
    const [name = '', proofText = ''] = knownDevice.split('.');
    const account = await findSignInAccount(this.database, email);
    const expected = this.deviceProof(account?.id ?? 0, name);
    const proof = Buffer.from(proofText, 'base64url');
    const isGenuine = proof.length === expected.length && timingSafeEqual(proof, expected);
    return isGenuine && account !== undefined ? name : null;
  }

  private knownDeviceOf(userId: number): string {
    const name = randomBytes(12).toString('base64url');
    return `${name}.${this.deviceProof(userId, name).toString('base64url')}`;
  }

  private deviceProof(userId: number, name: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(`device:${userId}:${name}`).digest();
  }
}

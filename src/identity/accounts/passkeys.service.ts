import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Repository } from 'typeorm';
import { ActivityLog } from '../../audit';
import { fault } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { AttemptThrottle } from './attempt-throttle.service';
import { Passkey } from './passkey.entity';
import { countSignature } from './passkey.store';
import { PendingSteps } from './pending-steps.service';
import { refuseProviderOnly } from './provider-only';
import {
  checkEnrolment,
  checkSignIn,
  type EnrolmentOptions,
  enrolmentOptions,
  type KnownCredential,
  parseResponse,
  type RelyingParty,
  type SignInOptions,
  signInOptions,
} from './web-authn';

export interface OwnPasskey {
  readonly publicId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

export interface PasskeyChallenge<Options> {
  readonly challenge: string;
  readonly options: Options;
}

interface PasskeySignIn {
  readonly challenge: string;
  readonly credential: string;
  readonly address: string;
  readonly userId?: number;
}

const MAX_PASSKEYS = 20;
const HANDLE_BYTES = 32;

/** Passkeys (WebAuthn), bound to this host. A passkey with user verification counts as password and code. */
@Injectable()
export class Passkeys {
  private readonly party: RelyingParty;

  constructor(
    private readonly database: Database,
    @InjectRepository(Passkey) private readonly passkeys: Repository<Passkey>,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly tokens: AccountTokens,
    private readonly throttle: AttemptThrottle,
    private readonly pending: PendingSteps,
    private readonly activity: ActivityLog,
    settings: Settings,
  ) {
    const { hostname, origin } = new URL(settings.baseUrl);
    this.party = { id: hostname, origin, name: settings.brandName };
  }

  async list(userId: number): Promise<OwnPasskey[]> {
    const rows = await rowsOf(this.passkeys, userId);
    return rows.map(({ publicId, name, createdAt, lastUsedAt }) => ({
      publicId,
      name,
      createdAt,
      lastUsedAt,
    }));
  }

  /** The caller has verified the user; the challenge stands for that, in this session, for five minutes. */
  startEnrolment(userId: number, session: string): Promise<PasskeyChallenge<EnrolmentOptions>> {
    return this.database.transaction(
      async (tx) => {
        await refuseProviderOnly(tx, userId);
        const existing = await rowsOf(tx.getRepository(Passkey), userId);
        if (existing.length >= MAX_PASSKEYS) throw tooManyPasskeys();
        const { email, displayName } = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
        const handle = existing[0]?.userHandle ?? randomBytes(HANDLE_BYTES);
        const data = { session, handle: handle.toString('base64url') };
        const challenge = await this.tokens.issue(tx, 'passkey_enrolment', { userId, data });
        const user = { handle, name: email, displayName };
        const options = await enrolmentOptions(this.party, challenge, user, existing.map(toCredential));
        return { challenge, options };
      },
      { withoutActivity: 'nothing is changed before the device has answered' },
    );
  }

  async enrol(
    userId: number,
    session: string,
    { challenge, credential, name }: { challenge: string; credential: string; name: string },
  ): Promise<OwnPasskey> {
    const spent = await this.spend('passkey_enrolment', challenge);
    if (spent === null || spent.userId !== userId || spent.data['session'] !== session)
      throw challengeExpired();
    const response = parseResponse<RegistrationResponseJSON>(credential);
    const verification =
      response === null ? null : await checkEnrolment(this.party, challenge, response).catch(() => null);
    if (verification?.verified !== true) throw passkeyRefused('invalid_request');
    const { id, publicKey, counter, transports = [] } = verification.registrationInfo.credential;
    return this.database.transaction(async (tx) => {
      const accounts = tx.getRepository(UserAccount);
      await accounts.findOne({ where: { id: userId }, lock: { mode: 'pessimistic_write' } });
      await refuseProviderOnly(tx, userId);
      const passkeys = tx.getRepository(Passkey);
      if ((await passkeys.countBy({ userId })) >= MAX_PASSKEYS) throw tooManyPasskeys();
      const credentialId = Buffer.from(id, 'base64url');
      if (await passkeys.existsBy({ credentialId })) throw passkeyTaken();
      const publicId = randomUUID();
      await passkeys.insert({
        credentialId,
        publicId,
        userId,
        userHandle: Buffer.from(String(spent.data['handle']), 'base64url'),
        publicKey: Buffer.from(publicKey),
        signCount: String(counter),
        transports: transports.slice(0, 10).map((transport) => String(transport).slice(0, 30)),
        name,
      });
      await this.pending.end(tx, userId);
      await this.record(tx, 'account.passkey-added', userId, { passkey: [null, name] });
      const { createdAt, lastUsedAt } = await passkeys.findOneByOrFail({ credentialId });
      return { publicId, name, createdAt, lastUsedAt };
    });
  }

  /** The caller has verified the user. Every account has another way to sign in. */
  async remove(userId: number, publicId: string): Promise<string> {
    return this.database.transaction(async (tx) => {
      const passkeys = tx.getRepository(Passkey);
      const passkey = await passkeys.findOneBy({ userId, publicId });
      if (passkey === null) throw fault('not_found');
      await passkeys.delete({ credentialId: passkey.credentialId });
      await this.pending.end(tx, userId);
      await this.record(tx, 'account.passkey-removed', userId, { passkey: [passkey.name, null] });
      return passkey.name;
    });
  }

  /**
   * At sign-in no account is named, so no credentials are listed; after the password step, the user's own are listed.
   */
  async startSignIn(userId?: number): Promise<PasskeyChallenge<SignInOptions>> {
    const challenge = await this.database.transaction(
      (tx) => this.tokens.issue(tx, 'passkey_sign_in', { userId: userId ?? null }),
      { withoutActivity: 'nothing is changed before the device has answered' },
    );
    const credentials = userId === undefined ? [] : (await rowsOf(this.passkeys, userId)).map(toCredential);
    return { challenge, options: await signInOptions(this.party, challenge, credentials) };
  }

  /** Finds a passkey's owner. Wrong signatures, unknown keys and counters that went back are refused alike. */
  async recognise({ challenge, credential, address, userId }: PasskeySignIn): Promise<number> {
    const response = parseResponse<AuthenticationResponseJSON>(credential);
    const attempt = { purpose: 'sign-in', account: `passkey:${response?.id ?? ''}`, address } as const;
    await this.throttle.take(attempt);
    const spent = await this.spend('passkey_sign_in', challenge);
    if (spent === null || spent.userId !== (userId ?? null)) throw challengeExpired();
    const passkey = response === null ? null : await this.find(response.id);
    if (response === null || passkey === null) throw passkeyRefused('invalid_credentials');
    const { userHandle } = response.response;
    const isOwn = userHandle === undefined || userHandle === passkey.userHandle.toString('base64url');
    if (!isOwn || (userId !== undefined && userId !== passkey.userId))
      throw passkeyRefused('invalid_credentials');
    const stored = {
      ...toCredential(passkey),
      publicKey: passkey.publicKey,
      counter: Number(passkey.signCount),
    };
    const verification = await checkSignIn(this.party, challenge, response, stored).catch(() => null);
    if (verification?.verified !== true) throw passkeyRefused('invalid_credentials');
    if (!(await countSignature(this.database.source, passkey, verification.authenticationInfo.newCounter)))
      throw passkeyRefused('invalid_credentials');
    await refuseProviderOnly(this.database.source, passkey.userId);
    await this.throttle.recordSuccess(attempt);
    return passkey.userId;
  }

  /** Needed to record a refused attempt. */
  async ownerAddress(credential: string): Promise<string | null> {
    const id = parseResponse<AuthenticationResponseJSON>(credential)?.id;
    const passkey = id === undefined ? null : await this.find(id);
    if (passkey === null) return null;
    return (await this.accounts.findOneByOrFail({ id: passkey.userId })).email;
  }

  private spend(purpose: 'passkey_enrolment' | 'passkey_sign_in', challenge: string) {
    return this.database.transaction((tx) => this.tokens.spend(tx, purpose, challenge), {
      withoutActivity: 'what is changed follows',
    });
  }

  private find(id: string): Promise<Passkey | null> {
    const credentialId = Buffer.from(id, 'base64url');
    return this.passkeys.findOneBy({ credentialId });
  }

  private async record(
    tx: Tx,
    action: 'account.passkey-added' | 'account.passkey-removed',
    userId: number,
    changes: Record<string, [string | null, string | null]>,
  ): Promise<void> {
    const { email: label } = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
    await this.activity.write(tx, { action, object: { type: 'account', id: userId, label }, changes });
  }
}

const rowsOf = (passkeys: Repository<Passkey>, userId: number): Promise<Passkey[]> =>
  passkeys.find({ where: { userId }, order: { createdAt: 'ASC' }, take: MAX_PASSKEYS });

const toCredential = ({ credentialId, transports }: Passkey): KnownCredential => ({
  id: credentialId.toString('base64url'),
  transports,
});

const passkeyRefused = (code: 'invalid_credentials' | 'invalid_request'): Error =>
  fault(code, {
    message: 'This passkey was refused.',
    details: { reason: 'passkey' },
    ...(code === 'invalid_request' && { param: 'credential' }),
  });

const challengeExpired = (): Error =>
  fault('invalid_token', {
    message: 'This passkey came too late, or was used already. Begin again.',
    details: { reason: 'passkey-over' },
  });

const passkeyTaken = (): Error =>
  fault('conflict', {
    message: 'This passkey belongs to an account already.',
    details: { reason: 'passkey-known' },
  });

const tooManyPasskeys = (): Error =>
  fault('conflict', {
    message: `An account has ${MAX_PASSKEYS} passkeys at most.`,
    details: { reason: 'passkey-many' },
  });

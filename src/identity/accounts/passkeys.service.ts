import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { ActivityLog } from '../../audit';
import { fault } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { AttemptThrottle } from './attempt-throttle.service';
import { Passkey } from './passkey.entity';
import { PendingSteps } from './pending-steps.service';
import { refuseProviderOnly } from './provider-only';
import {
  checkEnrolment,
  checkSignIn,
  type EnrolmentOptions,
  enrolmentOptions,
  type KnownCredential,
  readAnswer,
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

/** The browser's options, and the token that binds its answer to them. */
export interface PasskeyQuestion<Options> {
  readonly challenge: string;
  readonly options: Options;
}

interface SignInAnswer {
  readonly challenge: string;
  readonly credential: string;
  readonly address: string;
  /** The person who passed the password step, where a passkey is the second factor. */
  readonly userId?: number;
}

const MOST_PASSKEYS = 20;
const HANDLE_BYTES = 32;
const LARGEST_COUNT = 0xffff_ffff;

/** Passkeys (WebAuthn), bound to this host. A passkey with user verification counts as password and code. */
@Injectable()
export class Passkeys {
  private readonly party: RelyingParty;

  constructor(
    private readonly database: Database,
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
    const rows = await this.rowsOf(this.database.source.manager, userId);
    return rows.map(({ publicId, name, createdAt, lastUsedAt }) => ({
      publicId,
      name,
      createdAt,
      lastUsedAt,
    }));
  }

  /** The caller has asked for the proof of who it is; the challenge stands for that, in this session, for five minutes. */
  beginEnrolment(userId: number, session: string): Promise<PasskeyQuestion<EnrolmentOptions>> {
    return this.database.transaction(
      async (tx) => {
        await refuseProviderOnly(tx, userId);
        const known = await this.rowsOf(tx, userId);
        if (known.length >= MOST_PASSKEYS) throw tooMany();
        const { email, displayName } = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
        const handle = known[0]?.userHandle ?? randomBytes(HANDLE_BYTES);
        const data = { session, handle: handle.toString('base64url') };
        const challenge = await this.tokens.issue(tx, 'passkey_enrolment', { userId, data });
        const person = { handle, name: email, displayName };
        const options = await enrolmentOptions(this.party, challenge, person, known.map(knownOf));
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
    if (spent === null || spent.userId !== userId || spent.data['session'] !== session) throw isOver();
    const answer = readAnswer<RegistrationResponseJSON>(credential);
    const checked =
      answer === null ? null : await checkEnrolment(this.party, challenge, answer).catch(() => null);
    if (checked?.verified !== true) throw refused('invalid_request');
    const { id, publicKey, counter, transports = [] } = checked.registrationInfo.credential;
    return this.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM user_account WHERE id = $1 FOR UPDATE', [userId]);
      await refuseProviderOnly(tx, userId);
      const passkeys = tx.getRepository(Passkey);
      if ((await passkeys.countBy({ userId })) >= MOST_PASSKEYS) throw tooMany();
      const credentialId = Buffer.from(id, 'base64url');
      if (await passkeys.existsBy({ credentialId })) throw known();
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

  /** The caller has asked for the proof of who it is. Every account has another way in. */
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

  /** At sign-in no account is named, so no credentials are listed; after the password the person's own are. */
  async beginSignIn(userId?: number): Promise<PasskeyQuestion<SignInOptions>> {
    const challenge = await this.database.transaction(
      (tx) => this.tokens.issue(tx, 'passkey_sign_in', { userId: userId ?? null }),
      { withoutActivity: 'nothing is changed before the device has answered' },
    );
    const known =
      userId === undefined ? [] : (await this.rowsOf(this.database.source.manager, userId)).map(knownOf);
    return { challenge, options: await signInOptions(this.party, challenge, known) };
  }

  /** Finds a passkey's owner. A wrong signature, an unknown key and a counter that went back are refused alike. */
  async recognise({ challenge, credential, address, userId }: SignInAnswer): Promise<number> {
    const answer = readAnswer<AuthenticationResponseJSON>(credential);
    const attempt = { purpose: 'sign-in', account: `passkey:${answer?.id ?? ''}`, address } as const;
    await this.throttle.take(attempt);
    const spent = await this.spend('passkey_sign_in', challenge);
    if (spent === null || spent.userId !== (userId ?? null)) throw isOver();
    const passkey = answer === null ? null : await this.find(answer.id);
    if (answer === null || passkey === null) throw refused('invalid_credentials');
    const { userHandle } = answer.response;
    const isOwn = userHandle === undefined || userHandle === passkey.userHandle.toString('base64url');
    if (!isOwn || (userId !== undefined && userId !== passkey.userId)) throw refused('invalid_credentials');
    const stored = { ...knownOf(passkey), publicKey: passkey.publicKey, counter: Number(passkey.signCount) };
    const checked = await checkSignIn(this.party, challenge, answer, stored).catch(() => null);
    if (checked?.verified !== true) throw refused('invalid_credentials');
    if (!(await this.count(passkey, checked.authenticationInfo.newCounter)))
      throw refused('invalid_credentials');
    await refuseProviderOnly(this.database.source.manager, passkey.userId);
    await this.throttle.succeeded(attempt);
    return passkey.userId;
  }

  /** The record of an attempt that was refused needs it. */
  async ownerAddress(credential: string): Promise<string | null> {
    const id = readAnswer<AuthenticationResponseJSON>(credential)?.id;
    const passkey = id === undefined ? null : await this.find(id);
    if (passkey === null) return null;
    const accounts = this.database.source.getRepository(UserAccount);
    return (await accounts.findOneByOrFail({ id: passkey.userId })).email;
  }

  /** One statement, so that of two answers with the same counter the second is refused. */
  private async count({ credentialId }: Passkey, count: number): Promise<boolean> {
    const [, counted] = await this.database.source.manager.query<[unknown, number]>(
      `UPDATE passkey SET sign_count = $2, last_used_at = now()
       WHERE credential_id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))`,
      [credentialId, Math.min(count, LARGEST_COUNT)],
    );
    return counted === 1;
  }

  private spend(purpose: 'passkey_enrolment' | 'passkey_sign_in', challenge: string) {
    return this.database.transaction((tx) => this.tokens.spend(tx, purpose, challenge), {
      withoutActivity: 'what is changed follows',
    });
  }

  private find(id: string): Promise<Passkey | null> {
    const credentialId = Buffer.from(id, 'base64url');
    return this.database.source.getRepository(Passkey).findOneBy({ credentialId });
  }

  private rowsOf(tx: Tx, userId: number): Promise<Passkey[]> {
    return tx
      .getRepository(Passkey)
      .find({ where: { userId }, order: { createdAt: 'ASC' }, take: MOST_PASSKEYS });
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

const knownOf = ({ credentialId, transports }: Passkey): KnownCredential => ({
  id: credentialId.toString('base64url'),
  transports,
});

const refused = (code: 'invalid_credentials' | 'invalid_request'): Error =>
  fault(code, {
    message: 'This passkey was refused.',
    details: { reason: 'passkey' },
    ...(code === 'invalid_request' && { param: 'credential' }),
  });

const isOver = (): Error =>
  fault('invalid_token', {
    message: 'This passkey came too late, or was used already. Begin again.',
    details: { reason: 'passkey-over' },
  });

const known = (): Error =>
  fault('conflict', {
    message: 'This passkey belongs to an account already.',
    details: { reason: 'passkey-known' },
  });

const tooMany = (): Error =>
  fault('conflict', {
    message: `An account has ${MOST_PASSKEYS} passkeys at most.`,
    details: { reason: 'passkey-many' },
  });

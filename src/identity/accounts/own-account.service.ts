import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Not, type Repository } from 'typeorm';
import { ActivityLog, changesOf } from '../../audit';
import { fault } from '../../kernel';
import { Database } from '../../platform';
import { Session } from '../session.entity';
import { listOpenSessions, type OpenSession } from '../session.query';
import { UserAccount } from '../user-account.entity';
import { AccountProof } from './account-proof.service';
import { LinkedIdentity } from './linked-identity.entity';
import { assertStrongPassword } from './password-rules';
import { PasswordHasher } from './password-hasher.service';
import { PendingSteps } from './pending-steps.service';
import { refuseProviderOnly } from './provider-only';
import { signsInByProviderOnly } from './user-account.query';

export interface ProfileChange {
  readonly displayName?: string;
  readonly preferredLanguage?: string;
  readonly timeZone?: string;
}

export interface PasswordChange {
  readonly current: string;
  readonly next: string;
  readonly sessionId: string;
  readonly address: string;
}

const MAX_ROWS = 100;

@Injectable()
export class OwnAccountService {
  constructor(
    private readonly database: Database,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    @InjectRepository(LinkedIdentity) private readonly linkedIdentities: Repository<LinkedIdentity>,
    private readonly passwords: PasswordHasher,
    private readonly proof: AccountProof,
    private readonly pending: PendingSteps,
    private readonly activity: ActivityLog,
  ) {}

  find(userId: number): Promise<UserAccount> {
    return this.accounts.findOneByOrFail({ id: userId });
  }

  /** `void`: a password might exist but is disabled, because the organisation signs in through a provider. */
  async passwordState(userId: number): Promise<'set' | 'none' | 'void'> {
    if (await signsInByProviderOnly(this.database.source, userId)) return 'void';
    return (await passwordHashOf(this.accounts, userId)) === null ? 'none' : 'set';
  }

  async changeProfile(userId: number, change: ProfileChange): Promise<void> {
    await this.database.transaction(async (tx) => {
      const accounts = tx.getRepository(UserAccount);
      const account = await accounts.findOneByOrFail({ id: userId });
      const changes = changesOf(account, change);
      if (Object.keys(changes).length === 0) return this.activity.reportNoChange();
      await accounts.update(userId, change);
      const object = { type: 'account', id: userId, label: account.email } as const;
      await this.activity.write(tx, { action: 'account.settings-changed', object, changes });
    });
  }

  /** Ends all other sessions. The first password of an account requires a fresh sign-in instead of the old password. */
  async changePassword(userId: number, { current, next, sessionId, address }: PasswordChange): Promise<void> {
    await refuseProviderOnly(this.database.source, userId);
    const account = await this.find(userId);
    const stored = await passwordHashOf(this.accounts, userId);
    await this.proof.require(userId, { password: current, sessionId, address });
    assertStrongPassword(next, account.email);
    const passwordHash = await this.passwords.hash(next);
    await this.database.transaction(async (tx) => {
      // The second of two concurrent changes finds another hash than the one it verified.
      const { affected } = await tx
        .getRepository(UserAccount)
        .update({ id: userId, passwordHash: stored ?? IsNull() }, { passwordHash });
      if (affected === 0) {
        throw fault('conflict', {
          message: 'The password was changed in the meantime.',
          details: { reason: 'changed-meanwhile' },
        });
      }
      await tx.getRepository(Session).delete({ userId, publicId: Not(sessionId) });
      await this.pending.end(tx, userId);
      const object = { type: 'account', id: userId, label: account.email } as const;
      await this.activity.write(tx, { action: 'account.password-changed', object });
    });
  }

  sessions(userId: number): Promise<OpenSession[]> {
    return listOpenSessions(this.database, userId, MAX_ROWS);
  }

  async endSessions(userId: number, selection: { publicId: string } | { allBut: string }): Promise<void> {
    await this.database.transaction(async (tx) => {
      const publicId = 'publicId' in selection ? selection.publicId : Not(selection.allBut);
      const { affected: ended } = await tx.getRepository(Session).delete({ userId, publicId });
      if (ended === 0 && 'publicId' in selection) throw fault('not_found');
      if (ended === 0) return this.activity.reportNoChange();
      const object = { type: 'session', ...('publicId' in selection && { id: selection.publicId }) } as const;
      await this.activity.write(tx, { action: 'session.ended', object });
    });
  }

  async identities(userId: number): Promise<LinkedIdentity[]> {
    return this.linkedIdentities.find({ where: { userId }, order: { linkedAt: 'ASC' }, take: MAX_ROWS });
  }

  /** Refuses to remove the last way to sign in. Returns the address or subject of the removed identity. */
  async unlink(userId: number, issuer: string): Promise<string> {
    return this.database.transaction(async (tx) => {
      const accounts = tx.getRepository(UserAccount);
      await accounts.findOne({ where: { id: userId }, lock: { mode: 'pessimistic_write' } });
      const identities = tx.getRepository(LinkedIdentity);
      const isLast = (await identities.countBy({ userId })) <= 1;
      if (isLast) await refuseProviderOnly(tx, userId);
      if (isLast && (await passwordHashOf(accounts, userId)) === null)
        throw fault('conflict', {
          message: 'Set a password first: this is the only way into the account.',
          details: { reason: 'only-way-in' },
        });
      const linked = await identities.findBy({ userId, issuer });
      if (linked.length === 0) throw fault('not_found');
      await identities.delete({ userId, issuer });
      await this.pending.end(tx, userId);
      const object = { type: 'account', id: userId, label: issuer } as const;
      await this.activity.write(tx, { action: 'account.identity-unlinked', object });
      return linked.map(({ email, subject }) => email || subject).join(', ');
    });
  }
}

async function passwordHashOf(accounts: Repository<UserAccount>, id: number): Promise<string | null> {
  const account = await accounts.findOne({ where: { id }, select: { id: true, passwordHash: true } });
  return account?.passwordHash ?? null;
}

import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { fault } from '../../kernel';
import { Database, readRows, type TableRow, type Tx } from '../../platform';
import { UserAccount } from '../user-account.entity';
import { AccountProof } from './account-proof.service';
import { LinkedIdentity } from './linked-identity.entity';
import { assertStrongPassword } from './password-rules';
import { PasswordHasher } from './password-hasher.service';
import { PendingSteps } from './pending-steps.service';
import { refuseProviderOnly, signsInByProviderOnly } from './provider-only';

export interface ProfileChange {
  readonly displayName?: string;
  readonly preferredLanguage?: string;
  readonly timeZone?: string;
}

export type OwnSession = TableRow<'session', 'public_id, created_at, last_seen_at, address, user_agent'>;

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
    private readonly passwords: PasswordHasher,
    private readonly proof: AccountProof,
    private readonly pending: PendingSteps,
    private readonly activity: ActivityLog,
  ) {}

  find(userId: number): Promise<UserAccount> {
    return this.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId });
  }

  /** `void`: a password might exist but is disabled, because the organisation signs in through a provider. */
  async passwordState(userId: number): Promise<'set' | 'none' | 'void'> {
    const { manager } = this.database.source;
    if (await signsInByProviderOnly(manager, userId)) return 'void';
    return (await this.hashOf(manager, userId)) === null ? 'none' : 'set';
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
    await refuseProviderOnly(this.database.source.manager, userId);
    const account = await this.find(userId);
    const stored = await this.hashOf(this.database.source.manager, userId);
    await this.proof.require(userId, { password: current, sessionId, address });
    assertStrongPassword(next, account.email);
    const passwordHash = await this.passwords.hash(next);
    await this.database.transaction(async (tx) => {
      // The second of two concurrent changes finds another hash than the one it verified.
      const [, affected] = await tx.query<[unknown, number]>(
        'UPDATE user_account SET password_hash = $2 WHERE id = $1 AND password_hash IS NOT DISTINCT FROM $3',
        [userId, passwordHash, stored],
      );
      if (affected === 0) {
        throw fault('conflict', {
          message: 'The password was changed in the meantime.',
          details: { reason: 'changed-meanwhile' },
        });
      }
      await tx.query('DELETE FROM session WHERE user_id = $1 AND public_id <> $2', [userId, sessionId]);
      await this.pending.end(tx, userId);
      const object = { type: 'account', id: userId, label: account.email } as const;
      await this.activity.write(tx, { action: 'account.password-changed', object });
    });
  }

  async sessions(userId: number): Promise<OwnSession[]> {
    return this.database.rows<OwnSession>(
      `SELECT public_id, created_at, last_seen_at, host(address) AS address, user_agent
       FROM session WHERE user_id = $1 AND expires_at > now() ORDER BY last_seen_at DESC LIMIT $2`,
      [userId, MAX_ROWS],
    );
  }

  async endSessions(userId: number, selection: { publicId: string } | { allBut: string }): Promise<void> {
    await this.database.transaction(async (tx) => {
      const [condition, id] =
        'publicId' in selection
          ? ['public_id = $2', selection.publicId]
          : ['public_id <> $2', selection.allBut];
      const [, ended] = await tx.query<[unknown, number]>(
        `DELETE FROM session WHERE user_id = $1 AND ${condition}`,
        [userId, id],
      );
      if (ended === 0 && 'publicId' in selection) throw fault('not_found');
      if (ended === 0) return this.activity.reportNoChange();
      const object = { type: 'session', ...('publicId' in selection && { id: selection.publicId }) } as const;
      await this.activity.write(tx, { action: 'session.ended', object });
    });
  }

  async identities(userId: number): Promise<LinkedIdentity[]> {
    return this.database.source
      .getRepository(LinkedIdentity)
      .find({ where: { userId }, order: { linkedAt: 'ASC' }, take: MAX_ROWS });
  }

  /** Refuses to remove the last way to sign in. Returns the address or subject of the removed identity. */
  async unlink(userId: number, issuer: string): Promise<string> {
    return this.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM user_account WHERE id = $1 FOR UPDATE', [userId]);
      const identities = tx.getRepository(LinkedIdentity);
      const isLast = (await identities.countBy({ userId })) <= 1;
      if (isLast) await refuseProviderOnly(tx, userId);
      if (isLast && (await this.hashOf(tx, userId)) === null)
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

  private async hashOf(tx: Tx, userId: number): Promise<string | null> {
    const [row] = await readRows<TableRow<'user_account', 'password_hash'>>(
      tx,
      'SELECT password_hash FROM user_account WHERE id = $1',
      [userId],
    );
    return row?.passwordHash ?? null;
  }
}

import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault, type UserRole } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { LegalAcceptance } from '../legal-acceptance.entity';
import { lockRoles } from '../role-lock';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { LinkedIdentity } from './linked-identity.entity';
import { recordIdentityUse } from './linked-identity.store';
import { insertConfirmedAccount } from './user-account.store';

/** A user's identity at a provider, identified by issuer and subject: an address can pass to another user. */
export interface ProvenIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly name: string | null;
  readonly role: Exclude<UserRole, 'platform_owner'> | null;
}

export interface SignUpContext {
  readonly language: string;
  readonly timeZone: string;
  readonly acceptedVersion: string | null;
  readonly currentVersion: string;
}

@Injectable()
export class LinkedIdentities {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityLog,
  ) {}

  /** Returns the linked account, or opens one for a new user; never links accounts by address. */
  recognise(identity: ProvenIdentity, signUp: SignUpContext): Promise<number> {
    return this.database.transaction(
      async (tx) => {
        const existingId = await recordIdentityUse(tx, identity);
        await this.sessions.refuseInQuarantine(tx, existingId);
        const userId = existingId ?? (await this.openAccount(tx, identity, signUp));
        await this.applyRole(tx, userId, identity);
        return userId;
      },
      { withoutActivity: 'the sign-in follows; what is changed here writes its own entries' },
    );
  }

  /** For a signed-in user. `known` means that the identity was already linked to the same account. */
  async link(identity: ProvenIdentity, userId: number): Promise<'linked' | 'known'> {
    return this.database.transaction(async (tx) => {
      const owner = await recordIdentityUse(tx, identity);
      if (owner !== null && owner !== userId) {
        throw fault('conflict', {
          message: 'This identity is linked to another account.',
          details: { reason: 'identity-taken' },
        });
      }
      if (owner === userId) {
        this.activity.reportNoChange();
        return 'known';
      }
      const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
      await this.insert(tx, identity, userId);
      await this.activity.write(tx, {
        action: 'account.identity-linked',
        object: { type: 'account', id: userId, label: identity.issuer },
        actor: actorOf(account),
      });
      return 'linked';
    });
  }

  private async openAccount(tx: Tx, identity: ProvenIdentity, signUp: SignUpContext): Promise<number> {
    const { email, emailVerified, name } = identity;
    if (email === null || !emailVerified) throw fault('email_not_verified');
    if (signUp.acceptedVersion !== signUp.currentVersion) throw fault('tos_not_accepted');
    const userId = await insertConfirmedAccount(tx, {
      email,
      displayName: name ?? email.split('@')[0]!,
      language: signUp.language,
      timeZone: signUp.timeZone,
    });
    if (userId === undefined) {
      throw fault('email_taken', {
        message: 'This address has an account already. Sign in to it, then link this provider.',
        details: { reason: 'address-known' },
      });
    }
    await tx.getRepository(LegalAcceptance).insert({ userId, version: signUp.currentVersion });
    await this.insert(tx, identity, userId);
    const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
    await this.activity.write(tx, {
      action: 'account.registered',
      object: { type: 'account', id: userId, label: account.email },
      actor: actorOf(account),
    });
    return userId;
  }

  private async insert(tx: Tx, { issuer, subject, email }: ProvenIdentity, userId: number): Promise<void> {
    await tx.getRepository(LinkedIdentity).insert({ issuer, subject, userId, email: email ?? '' });
  }

  /** A provider that assigns roles does so at every sign-in; it can neither grant nor revoke platform owner. */
  private async applyRole(tx: Tx, userId: number, { role, issuer }: ProvenIdentity): Promise<void> {
    if (role === null) return;
    await lockRoles(tx);
    const accounts = tx.getRepository(UserAccount);
    const account = await accounts.findOneByOrFail({ id: userId });
    if (account.role === role || account.role === 'platform_owner') return;
    await accounts.update(userId, { role });
    await accounts.increment({ id: userId }, 'version', 1);
    await this.sessions.endAll(tx, userId);
    await this.activity.write(tx, {
      action: 'user.role-changed',
      object: { type: 'account', id: userId, label: account.email },
      actor: { kind: 'system', label: issuer },
      concerns: { ...account, userId },
      changes: { role: [account.role, role] },
    });
  }
}

import { createHash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { atLeast, fault } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';
import { isProvenPortal } from '../resellers';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { SignInService, type SignedIn, type SignInOrigin } from './sign-in.service';

/** A sign-in that started on a portal other than BASE_URL's. An attacker can choose every part of it. */
export interface HandOff {
  readonly portal: string;
  /** Hash of the value that the portal keeps in the browser where the sign-in started. */
  readonly binding: string;
  readonly next: string;
}

export interface HandOffConsent {
  readonly host: string;
  readonly email: string;
  readonly name: string;
}

/**
 * Hands a user who was recognised at BASE_URL over to another portal (ADR 58). Each of the three steps checks again,
 * because organisations, roles and proofs change between them.
 */
@Injectable()
export class HandOffs {
  constructor(
    private readonly database: Database,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly tokens: AccountTokens,
    private readonly signIn: SignInService,
    private readonly settings: Settings,
  ) {}

  async isAllowedPortal(portal: string): Promise<boolean> {
    return this.isOpenPortal(this.database.source.manager, portal, null);
  }

  /** Returns the value of the state cookie at BASE_URL until the user agrees. */
  async requestConsent(tx: Tx, userId: number, handOff: HandOff): Promise<string> {
    await this.assertAdmitted(tx, userId, handOff.portal);
    return this.tokens.issue(tx, 'handoff_consent', { userId, data: handOff });
  }

  async findConsent(state: string): Promise<HandOffConsent | null> {
    const consent = await this.tokens.peek(this.database.source.manager, 'handoff_consent', state);
    if (consent === null || consent.userId === null) return null;
    const account = await this.accounts.findOneBy({ id: consent.userId });
    const { portal } = consent.data as unknown as HandOff;
    return account && { email: account.email, name: account.displayName, host: hostOf(portal) };
  }

  /** Called when the user has agreed. Returns the address at the portal, which is valid for a minute. */
  agree(state: string): Promise<{ host: string; address: string }> {
    return this.database.transaction(
      async (tx) => {
        const consent = await this.tokens.spend(tx, 'handoff_consent', state);
        if (consent === null || consent.userId === null) throw fault('invalid_token');
        const handOff = consent.data as unknown as HandOff;
        await this.assertAdmitted(tx, consent.userId, handOff.portal);
        const token = await this.tokens.issue(tx, 'handoff', { userId: consent.userId, data: handOff });
        const address = `${handOff.portal}/auth/sso/complete?token=${token}`;
        return { host: hostOf(handOff.portal), address };
      },
      { withoutActivity: 'the sign-in at the portal is on record' },
    );
  }

  complete(
    token: string,
    cookieValue: string,
    from: SignInOrigin,
  ): Promise<{ signedIn: SignedIn; next: string }> {
    return this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'handoff', token);
      if (spent === null || spent.userId === null) throw fault('invalid_token');
      const { portal, binding, next } = spent.data as unknown as HandOff;
      if (hostOf(portal) !== from.host || !constantTimeEquals(binding, bindingOf(cookieValue)))
        throw fault('invalid_token');
      await this.assertAdmitted(tx, spent.userId, portal);
      return { signedIn: await this.signIn.open(tx, spent.userId, from), next };
    });
  }

  /** Locks the rows, so that the user cannot move and the proof cannot end in between. */
  private async assertAdmitted(tx: Tx, userId: number, portal: string): Promise<void> {
    const lock = { mode: 'pessimistic_read' } as const;
    const user = await tx.getRepository(UserAccount).findOne({ where: { id: userId }, lock });
    const isAdmitted =
      user?.status === 'active' &&
      !atLeast(user.role, 'platform_admin') &&
      (await this.isOpenPortal(tx, portal, user));
    if (isAdmitted) return;
    const [host, address] = [hostOf(portal), this.settings.baseUrl];
    throw fault('permission_denied', {
      message: `This account cannot sign in at ${host}. Sign in at ${address}.`,
      details: { reason: 'foreign-portal', host, address },
    });
  }

  /**
   * An origin in PORTAL_ORIGINS belongs to the operator and has no organisation; a reseller's host has to be proven.
   */
  private async isOpenPortal(
    tx: Tx,
    portal: string,
    user: Pick<UserAccount, 'organisationId'> | null,
  ): Promise<boolean> {
    const { baseUrl, portalOrigins } = this.settings;
    const hasBaseProtocol = protocolOf(portal) === protocolOf(baseUrl);
    // If BASE_URL is served over TLS, an origin without TLS would expose the token.
    if (portalOrigins.includes(portal)) return hasBaseProtocol || protocolOf(portal) === 'https:';
    if (!hasBaseProtocol || new URL(portal).origin !== portal) return false;
    return isProvenPortal(tx, hostOf(portal), user);
  }
}

export const bindingOf = (cookieValue: string): string =>
  createHash('sha256').update(cookieValue).digest('base64url');

const hostOf = (portal: string): string => new URL(portal).host;

const protocolOf = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).protocol : null;

function constantTimeEquals(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

import { createHash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { atLeast, fault } from '../../kernel';
import { Database, readRows, type Row, Settings, type Tx } from '../../platform';
import { isProven } from '../resellers';
import { AccountTokens } from './account-tokens.service';
import { SignInService, type SignedIn, type SignInOrigin } from './sign-in.service';

/** A sign-in that began on another portal than BASE_URL's. Every part of it may be an attacker's choice. */
export interface HandOff {
  /** The portal's origin. */
  readonly portal: string;
  /** The hash of what that portal keeps in the browser which began there. */
  readonly binding: string;
  readonly next: string;
}

/** The person is asked to agree to this. */
export interface HandOffShown {
  readonly host: string;
  readonly email: string;
  readonly name: string;
}

type Person = Row<'user_account', 'role, status, organisation_id'>;

/**
 * Hands a person who was recognised at BASE_URL over to another portal (ADR 58). Each of the three steps
 * judges this anew: organisations, roles and proofs change between them.
 */
@Injectable()
export class HandOffs {
  constructor(
    private readonly database: Database,
    private readonly tokens: AccountTokens,
    private readonly signIn: SignInService,
    private readonly settings: Settings,
  ) {}

  /** Sign-ins are handed over to such an origin. */
  async leadsTo(portal: string): Promise<boolean> {
    return this.isOpen(this.database.source.manager, portal, null);
  }

  /** Returns what the state cookie at BASE_URL holds until the person agrees. */
  async ask(tx: Tx, userId: number, handOff: HandOff): Promise<string> {
    await this.admit(tx, userId, handOff.portal);
    return this.tokens.issue(tx, 'handoff_consent', { userId, data: handOff });
  }

  async shown(state: string): Promise<HandOffShown | null> {
    const { manager } = this.database.source;
    const asked = await this.tokens.look(manager, 'handoff_consent', state);
    if (asked === null || asked.userId === null) return null;
    const [person] = await manager.query<Omit<HandOffShown, 'host'>[]>(
      'SELECT email, display_name AS name FROM user_account WHERE id = $1',
      [asked.userId],
    );
    const { portal } = asked.data as unknown as HandOff;
    return person === undefined ? null : { ...person, host: hostOf(portal) };
  }

  /** The person has agreed. Returns the address at the portal, which is good for a minute. */
  agree(state: string): Promise<{ host: string; address: string }> {
    return this.database.transaction(
      async (tx) => {
        const asked = await this.tokens.spend(tx, 'handoff_consent', state);
        if (asked === null || asked.userId === null) throw fault('invalid_token');
        const handOff = asked.data as unknown as HandOff;
        await this.admit(tx, asked.userId, handOff.portal);
        const token = await this.tokens.issue(tx, 'handoff', { userId: asked.userId, data: handOff });
        const address = `${handOff.portal}/auth/sso/complete?token=${token}`;
        return { host: hostOf(handOff.portal), address };
      },
      { withoutActivity: 'the sign-in at the portal is on record' },
    );
  }

  /** At the portal: `kept` is its own cookie in this browser. */
  complete(token: string, kept: string, from: SignInOrigin): Promise<{ signedIn: SignedIn; next: string }> {
    return this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'handoff', token);
      if (spent === null || spent.userId === null) throw fault('invalid_token');
      const { portal, binding, next } = spent.data as unknown as HandOff;
      if (hostOf(portal) !== from.host || !isSame(binding, bindingOf(kept))) throw fault('invalid_token');
      await this.admit(tx, spent.userId, portal);
      return { signedIn: await this.signIn.open(tx, spent.userId, from), next };
    });
  }

  /** The rows are held, so that no move of the person and no end of the proof passes in between. */
  private async admit(tx: Tx, userId: number, portal: string): Promise<void> {
    const [person] = await readRows<Person>(
      tx,
      'SELECT role, status, organisation_id FROM user_account WHERE id = $1 FOR SHARE',
      [userId],
    );
    const isAdmitted =
      person?.status === 'active' &&
      !atLeast(person.role, 'platform_admin') &&
      (await this.isOpen(tx, portal, person));
    if (isAdmitted) return;
    const [host, address] = [hostOf(portal), this.settings.baseUrl];
    throw fault('permission_denied', {
      message: `This account cannot sign in at ${host}. Sign in at ${address}.`,
      details: { reason: 'foreign-portal', host, address },
    });
  }

  /** An origin of PORTAL_ORIGINS is the operator's own and has no organisation; a host of a reseller is proven. */
  private async isOpen(
    tx: Tx,
    portal: string,
    person: Pick<Person, 'organisationId'> | null,
  ): Promise<boolean> {
    const { baseUrl, portalOrigins } = this.settings;
    const isLikeBase = protocolOf(portal) === protocolOf(baseUrl);
    // Where BASE_URL is served over TLS, an origin in the clear would show the token on its way.
    if (portalOrigins.includes(portal)) return isLikeBase || protocolOf(portal) === 'https:';
    if (!isLikeBase || new URL(portal).origin !== portal) return false;
    const found = await tx.query<object[]>(
      `SELECT 1 FROM reseller_domain d WHERE d.host = $1 AND ${isProven('d')}
          AND ($2::boolean OR d.organisation_id = $3) ${person === null ? '' : 'FOR SHARE'}`,
      [hostOf(portal), person === null, person?.organisationId ?? null],
    );
    return found.length > 0;
  }
}

export const bindingOf = (kept: string): string => createHash('sha256').update(kept).digest('base64url');

const hostOf = (portal: string): string => new URL(portal).host;

const protocolOf = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).protocol : null;

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

import { Inject, Injectable, Logger } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { fault } from '../kernel';
import { type ClientIdentity, Database, type EgressTerms, SecretBox } from '../platform';
import { CatalogueService } from './catalogue.service';
import {
  type Credential,
  credentialOf,
  identityOf,
  originsOf,
  placeOf,
  secretText,
  type TokenCredential,
} from './credential';
import { CLIENT_CERTIFICATE, type CredentialHealth, ProviderCredential } from './credential.entity';
import { egressTerms } from './egress';
import { foreignMasterKey } from './foreign-master-key';
import type { CatalogueSnapshot } from './snapshot';
import type { ProviderView } from './views';

/** `unreadable`: there is a secret, but it was entered for another address, or under another master key. */
export type CredentialState = 'ready' | 'missing' | 'unreadable';

export interface PooledToken {
  readonly label: string;
  readonly provider: ProviderView;
  readonly token: TokenCredential;
}

interface Held {
  /** Every origin that gets to see it. */
  readonly home: string;
  readonly first: Credential | null;
  readonly pool: readonly PooledToken[];
  readonly state: CredentialState;
  /** A certificate of ours for it. */
  readonly identity: ClientIdentity | 'unreadable' | null;
}

const none: Held = { home: '', first: null, pool: [], state: 'missing', identity: null };

/**
 * Holds all supplier secrets, decrypted once a revision of the catalogue and kept in memory only. Requests read it
 * synchronously.
 */
@Injectable()
export class CredentialStore {
  private readonly logger = new Logger(CredentialStore.name);
  private held: ReadonlyMap<number, Held> = new Map();
  /** It is computed once a provider and revision, since every call needs it. */
  private readonly homes = new WeakMap<ProviderView, string>();
  private readonly ways = new WeakMap<
    ProviderView,
    { readonly identity: ClientIdentity | null; readonly terms: EgressTerms | undefined }
  >();
  private loaded = false;
  /** A secret is reported once, not at every reload. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
    @Inject(CatalogueService) catalogue: Pick<CatalogueService, 'follow'>,
  ) {
    catalogue.follow((snapshot) => this.load(snapshot));
  }

  /** Outside the service: the secrets as they are now. */
  static async loaded(
    database: Database,
    box: SecretBox,
    snapshot: CatalogueSnapshot,
  ): Promise<CredentialStore> {
    const store = new CredentialStore(database, box, { follow: () => undefined });
    await store.load(snapshot);
    return store;
  }

  /** The newest readable secret of a provider; null when there is none. */
  resolve(providerId: number): Credential | null {
    return this.of(providerId).first;
  }

  stateOf(providerId: number): CredentialState {
    return this.of(providerId).state;
  }

  /**
   * The provider's credentials, unless its address differs from the one they were entered for. Just after a change,
   * this node's copies of provider and credential may be of different revisions.
   */
  at(provider: ProviderView): Pick<Held, 'first' | 'pool' | 'state'> {
    const held = this.of(provider.id);
    if (held === none || held.home === this.homeOf(provider)) return held;
    return { first: null, pool: [], state: 'unreadable' };
  }

  /**
   * The way to a provider, the same object for as long as it is the same way; undefined where nothing is peculiar to
   * it. A certificate that cannot be read stops its calls: without it they would be somebody else's.
   */
  egressOf(provider: ProviderView): EgressTerms | undefined {
    const held = this.of(provider.id);
    const isOthers = held.identity !== null && held.home !== this.homeOf(provider);
    const identity = isOthers ? 'unreadable' : held.identity;
    if (identity === 'unreadable')
      throw fault('configuration_error', {
        details: { provider: provider.name, [CLIENT_CERTIFICATE]: identity },
      });
    const known = this.ways.get(provider);
    if (known !== undefined && known.identity === identity) return known.terms;
    const terms = egressTerms(provider.settings, identity);
    this.ways.set(provider, { identity, terms });
    return terms;
  }

  /** Every token of a pool. */
  tokensOf(providerId: number): readonly PooledToken[] {
    return this.of(providerId).pool;
  }

  /**
   * Takes the right to renew a token until then; false while another node has it. Also returns the token as it is
   * now, since another node may have renewed it a moment ago.
   */
  async tryRenew({ token, provider }: PooledToken, seconds: number): Promise<TokenCredential | null> {
    const rows = await this.database.source
      .createQueryBuilder()
      .update(ProviderCredential)
      .set({ refreshingUntil: () => `now() + make_interval(secs => :seconds)` })
      .where('id = :id AND disabled_at IS NULL', { id: token.id })
      .andWhere('(refreshing_until IS NULL OR refreshing_until < now())')
      .setParameters({ seconds })
      .execute();
    return rows.affected === 0 ? null : this.tokenNow(token.id, provider);
  }

  /** The token as the database has it at this moment. */
  async tokenNow(id: string, provider: ProviderView): Promise<TokenCredential | null> {
    const row = await this.database.source.manager.findOneBy(ProviderCredential, {
      id,
      disabledAt: IsNull(),
    });
    const credential = row && this.read(row, provider);
    return credential?.kind === 'oauth-pool' ? credential : null;
  }

  /** Writes a renewed token; the announcement brings it to every node. */
  async renewed(token: TokenCredential, provider: ProviderView): Promise<void> {
    const { id, kind, ...fields } = token;
    const text = secretText(kind, fields);
    if (!text.ok) throw text.error;
    const host = originsOf(provider);
    const sealed = this.box.seal(text.value, placeOf({ id, host }));
    await this.database.source.manager.update(
      ProviderCredential,
      { id, host, disabledAt: IsNull() },
      { ...sealed, refreshingUntil: null, health: 'ok' },
    );
  }

  /** Releases the right without a new token. */
  async notRenewed(id: string): Promise<void> {
    await this.database.source.manager.update(ProviderCredential, { id }, { refreshingUntil: null });
  }

  async noteHealth(id: string, health: CredentialHealth): Promise<void> {
    await this.database.source.manager.update(ProviderCredential, { id }, { health });
  }

  /** Takes a mark away, whichever node made it; without one nothing is written. */
  async noteAccepted(id: string): Promise<void> {
    const marked = { id, health: 'rejected' as const };
    await this.database.source.manager.update(ProviderCredential, marked, { health: 'ok' });
  }

  private homeOf(provider: ProviderView): string {
    const known = this.homes.get(provider);
    if (known !== undefined) return known;
    const home = originsOf(provider);
    this.homes.set(provider, home);
    return home;
  }

  private of(providerId: number): Held {
    return this.held.get(providerId) ?? none;
  }

  private async load(snapshot: CatalogueSnapshot): Promise<void> {
    const rows = await this.database.source.manager.find(ProviderCredential, {
      where: { disabledAt: IsNull() },
      order: { createdAt: 'DESC', id: 'DESC' },
    });
    if (!this.loaded) this.refuseUnknownMasterKeys(rows);
    const byProvider = Map.groupBy(rows, (row) => row.providerId);
    const held = new Map<number, Held>();
    for (const provider of snapshot.providers) {
      const own = byProvider.get(provider.id);
      if (own !== undefined) held.set(provider.id, this.hold(own, provider));
    }
    this.held = held;
    this.loaded = true;
  }

  /** A service that cannot read its secrets logs this before it serves requests. */
  private refuseUnknownMasterKeys(rows: readonly ProviderCredential[]): void {
    const fault = foreignMasterKey(rows, this.box);
    if (fault !== null)
      throw new Error(`${fault} Put that key behind the new one, with a comma between them.`);
  }

  private hold(rows: readonly ProviderCredential[], provider: ProviderView): Held {
    const pool: PooledToken[] = [];
    let first: Credential | null = null;
    const certificates = rows.filter(({ kind }) => kind === CLIENT_CERTIFICATE);
    const own = rows.filter((row) => !certificates.includes(row));
    for (const row of own) {
      const credential = this.read(row, provider);
      if (credential === undefined) continue;
      if (credential.kind === 'oauth-pool') pool.push({ label: row.label, provider, token: credential });
      else first ??= credential;
    }
    const home = this.homeOf(provider);
    const isReady = first !== null || pool.length > 0;
    const state = own.length === 0 ? 'missing' : isReady ? 'ready' : 'unreadable';
    return { home, first, pool, state, identity: this.identityIn(certificates, provider) };
  }

  /** The newest of them. */
  private identityIn(
    [newest]: readonly ProviderCredential[],
    provider: ProviderView,
  ): ClientIdentity | 'unreadable' | null {
    if (newest === undefined) return null;
    const text = this.opened(newest, provider);
    return text === undefined ? 'unreadable' : identityOf(text);
  }

  private read(row: ProviderCredential, provider: ProviderView): Credential | undefined {
    if (row.kind === CLIENT_CERTIFICATE) return undefined;
    const text = this.opened(row, provider);
    return text === undefined ? undefined : credentialOf(row.kind, row.id, text);
  }

  private opened(row: ProviderCredential, provider: ProviderView): string | undefined {
    const opened = this.box.open(row, placeOf({ id: row.id, host: originsOf(provider) }));
    if (opened.ok) return opened.value;
    const subject = `${row.id} ${row.host}`;
    if (!this.reported.has(subject)) {
      this.logger.warn(
        `The credential "${row.label}" of provider "${provider.name}" cannot be read (${opened.error}); ` +
          'it has to be entered again.',
      );
    }
    this.reported.add(subject);
    return undefined;
  }
}

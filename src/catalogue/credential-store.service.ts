import { Inject, Injectable, Logger } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Database, SecretBox } from '../platform';
import { CatalogueService } from './catalogue.service';
import {
  type Credential,
  credentialOf,
  originsOf,
  placeOf,
  secretText,
  type TokenCredential,
} from './credential';
import { type CredentialHealth, ProviderCredential } from './credential.entity';
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
}

const none: Held = { home: '', first: null, pool: [], state: 'missing' };

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
    const strange = rows.filter(({ keyId }) => !this.box.canRead(keyId));
    if (strange.length === 0) return;
    throw new Error(
      `MASTER_KEY cannot read ${strange.length} of ${rows.length} supplier credentials: ` +
        'they were encrypted under another key. Put that key behind the new one, with a comma between them.',
    );
  }

  private hold(rows: readonly ProviderCredential[], provider: ProviderView): Held {
    const pool: PooledToken[] = [];
    let first: Credential | null = null;
    for (const row of rows) {
      const credential = this.read(row, provider);
      if (credential === undefined) continue;
      if (credential.kind === 'oauth-pool') pool.push({ label: row.label, provider, token: credential });
      else first ??= credential;
    }
    const home = this.homeOf(provider);
    return { home, first, pool, state: first !== null || pool.length > 0 ? 'ready' : 'unreadable' };
  }

  private read(row: ProviderCredential, provider: ProviderView): Credential | undefined {
    const opened = this.box.open(row, placeOf({ id: row.id, host: originsOf(provider) }));
    if (opened.ok) return credentialOf(row.kind, row.id, opened.value);
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

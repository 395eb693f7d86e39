import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, type Repository } from 'typeorm';
import { fault } from '../kernel';
import { type ClientIdentity, type Database, type EgressTerms, SecretBox } from '../platform';
import { CatalogueService } from './catalogue.service';
import {
  type Credential,
  credentialOf,
  identityOf,
  originsOf,
  secretPlaceOf,
  secretText,
  type TokenCredential,
} from './credential';
import { CLIENT_CERTIFICATE, type CredentialHealth, ProviderCredential } from './credential.entity';
import { egressTerms } from './egress';
import { foreignMasterKey } from './foreign-master-key';
import type { CatalogueSnapshot } from './snapshot';
import type { ProviderView } from './views';

/** `unreadable`: the stored secret was entered for another address or under another master key. */
export type CredentialState = 'ready' | 'missing' | 'unreadable';

export interface PooledToken {
  readonly label: string;
  readonly provider: ProviderView;
  readonly token: TokenCredential;
}

interface ProviderSecrets {
  /** Every origin that receives the secrets. */
  readonly home: string;
  readonly first: Credential | null;
  readonly pool: readonly PooledToken[];
  readonly state: CredentialState;
  readonly identity: ClientIdentity | 'unreadable' | null;
}

const noSecrets: ProviderSecrets = { home: '', first: null, pool: [], state: 'missing', identity: null };

/**
 * All supplier secrets, decrypted once per catalogue revision and kept in memory only, so that requests read them
 * synchronously.
 */
@Injectable()
export class CredentialStore {
  private readonly logger = new Logger(CredentialStore.name);
  private secretsByProvider: ReadonlyMap<number, ProviderSecrets> = new Map();
  /** Computed once per provider and revision, because every call needs it. */
  private readonly homes = new WeakMap<ProviderView, string>();
  private readonly egressByProvider = new WeakMap<
    ProviderView,
    { readonly identity: ClientIdentity | null; readonly terms: EgressTerms | undefined }
  >();
  private loaded = false;
  private readonly reported = new Set<string>();

  constructor(
    @InjectRepository(ProviderCredential) private readonly credentials: Repository<ProviderCredential>,
    private readonly box: SecretBox,
    @Inject(CatalogueService) catalogue: Pick<CatalogueService, 'follow'>,
  ) {
    catalogue.follow((snapshot) => this.load(snapshot));
  }

  static async create(
    database: Database,
    box: SecretBox,
    snapshot: CatalogueSnapshot,
  ): Promise<CredentialStore> {
    const credentials = database.source.getRepository(ProviderCredential);
    const store = new CredentialStore(credentials, box, { follow: () => undefined });
    await store.load(snapshot);
    return store;
  }

  /** Newest readable secret of a provider; null if there is none. */
  resolve(providerId: number): Credential | null {
    return this.secretsOf(providerId).first;
  }

  stateOf(providerId: number): CredentialState {
    return this.secretsOf(providerId).state;
  }

  /**
   * Returns the provider's credentials unless they were entered for another address. Just after a change, this node's
   * copies of provider and credential can be of different revisions.
   */
  credentialsFor(provider: ProviderView): Pick<ProviderSecrets, 'first' | 'pool' | 'state'> {
    const secrets = this.secretsOf(provider.id);
    if (secrets === noSecrets || secrets.home === this.homeOf(provider)) return secrets;
    return { first: null, pool: [], state: 'unreadable' };
  }

  /**
   * Returns the same object while the egress is unchanged; undefined if the provider has no special egress. An
   * unreadable certificate throws, because calls without it would have another identity.
   */
  egressOf(provider: ProviderView): EgressTerms | undefined {
    const secrets = this.secretsOf(provider.id);
    const isForOtherAddress = secrets.identity !== null && secrets.home !== this.homeOf(provider);
    const identity = isForOtherAddress ? 'unreadable' : secrets.identity;
    if (identity === 'unreadable')
      throw fault('configuration_error', {
        details: { provider: provider.name, [CLIENT_CERTIFICATE]: identity },
      });
    const cached = this.egressByProvider.get(provider);
    if (cached !== undefined && cached.identity === identity) return cached.terms;
    const terms = egressTerms(provider.settings, identity);
    this.egressByProvider.set(provider, { identity, terms });
    return terms;
  }

  tokensOf(providerId: number): readonly PooledToken[] {
    return this.secretsOf(providerId).pool;
  }

  /**
   * Takes the right to renew a token for a number of seconds; null if another node has it. Returns the current token,
   * since another node might have renewed it a moment ago.
   */
  async tryRenew({ token, provider }: PooledToken, seconds: number): Promise<TokenCredential | null> {
    const rows = await this.credentials
      .createQueryBuilder()
      .update()
      .set({ refreshingUntil: () => `now() + make_interval(secs => :seconds)` })
      .where('id = :id AND disabled_at IS NULL', { id: token.id })
      .andWhere('(refreshing_until IS NULL OR refreshing_until < now())')
      .setParameters({ seconds })
      .execute();
    return rows.affected === 0 ? null : this.readToken(token.id, provider);
  }

  async readToken(id: string, provider: ProviderView): Promise<TokenCredential | null> {
    const row = await this.credentials.findOneBy({ id, disabledAt: IsNull() });
    const credential = row && this.read(row, provider);
    return credential?.kind === 'oauth-pool' ? credential : null;
  }

  /** Writes a renewed token; the announcement brings it to every node. */
  async saveRenewed(token: TokenCredential, provider: ProviderView): Promise<void> {
    const { id, kind, ...fields } = token;
    const text = secretText(kind, fields);
    if (!text.ok) throw text.error;
    const host = originsOf(provider);
    const sealed = this.box.seal(text.value, secretPlaceOf({ id, host }));
    await this.credentials.update(
      { id, host, disabledAt: IsNull() },
      { ...sealed, refreshingUntil: null, health: 'ok' },
    );
  }

  async releaseRenewal(id: string): Promise<void> {
    await this.credentials.update({ id }, { refreshingUntil: null });
  }

  async setHealth(id: string, health: CredentialHealth): Promise<void> {
    await this.credentials.update({ id }, { health });
  }

  /** Clears a `rejected` mark that any node made; without one, nothing is written. */
  async clearRejected(id: string): Promise<void> {
    const marked = { id, health: 'rejected' as const };
    await this.credentials.update(marked, { health: 'ok' });
  }

  private homeOf(provider: ProviderView): string {
    const cached = this.homes.get(provider);
    if (cached !== undefined) return cached;
    const home = originsOf(provider);
    this.homes.set(provider, home);
    return home;
  }

  private secretsOf(providerId: number): ProviderSecrets {
    return this.secretsByProvider.get(providerId) ?? noSecrets;
  }

  private async load(snapshot: CatalogueSnapshot): Promise<void> {
    const rows = await this.credentials.find({
      where: { disabledAt: IsNull() },
      order: { createdAt: 'DESC', id: 'DESC' },
    });
    if (!this.loaded) this.refuseUnknownMasterKeys(rows);
    const byProvider = Map.groupBy(rows, (row) => row.providerId);
    const secretsByProvider = new Map<number, ProviderSecrets>();
    for (const provider of snapshot.providers) {
      const providerRows = byProvider.get(provider.id);
      if (providerRows !== undefined)
        secretsByProvider.set(provider.id, this.buildSecrets(providerRows, provider));
    }
    this.secretsByProvider = secretsByProvider;
    this.loaded = true;
  }

  /** Prevents the service from serving requests without readable secrets. */
  private refuseUnknownMasterKeys(rows: readonly ProviderCredential[]): void {
    const problem = foreignMasterKey(rows, this.box);
    if (problem !== null)
      throw new Error(`${problem} Put that key behind the new one, with a comma between them.`);
  }

  private buildSecrets(rows: readonly ProviderCredential[], provider: ProviderView): ProviderSecrets {
    const pool: PooledToken[] = [];
    let first: Credential | null = null;
    const certificates = rows.filter(({ kind }) => kind === CLIENT_CERTIFICATE);
    const credentialRows = rows.filter((row) => !certificates.includes(row));
    for (const row of credentialRows) {
      const credential = this.read(row, provider);
      if (credential === undefined) continue;
      if (credential.kind === 'oauth-pool') pool.push({ label: row.label, provider, token: credential });
      else first ??= credential;
    }
    const home = this.homeOf(provider);
    const isReady = first !== null || pool.length > 0;
    const state = credentialRows.length === 0 ? 'missing' : isReady ? 'ready' : 'unreadable';
    return { home, first, pool, state, identity: this.identityIn(certificates, provider) };
  }

  private identityIn(
    [newest]: readonly ProviderCredential[],
    provider: ProviderView,
  ): ClientIdentity | 'unreadable' | null {
    if (newest === undefined) return null;
    const text = this.unseal(newest, provider);
    return text === undefined ? 'unreadable' : identityOf(text);
  }

  private read(row: ProviderCredential, provider: ProviderView): Credential | undefined {
    if (row.kind === CLIENT_CERTIFICATE) return undefined;
    const text = this.unseal(row, provider);
    return text === undefined ? undefined : credentialOf(row.kind, row.id, text);
  }

  private unseal(row: ProviderCredential, provider: ProviderView): string | undefined {
    const result = this.box.open(row, secretPlaceOf({ id: row.id, host: originsOf(provider) }));
    if (result.ok) return result.value;
    const subject = `${row.id} ${row.host}`;
    if (!this.reported.has(subject)) {
      this.logger.warn(
        `The credential "${row.label}" of provider "${provider.name}" cannot be read (${result.error}); ` +
          'it has to be entered again.',
      );
    }
    this.reported.add(subject);
    return undefined;
  }
}

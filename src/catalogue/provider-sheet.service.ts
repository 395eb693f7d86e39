import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { fault, refuseStale, versionOf } from '../kernel';
import type { Tx } from '../platform';
import { CatalogueEditor, type ProviderInput } from './catalogue-editor.service';
import { lockCatalogue } from './catalogue-lock';
import { originsOf } from './credential';
import { CredentialEditor, type CredentialInput, type CredentialSummary } from './credential-editor.service';
import { Provider } from './entities';
import type { Changed } from './model-access.service';
import { refuseManaged } from './sheet-version';

/** A provider as its page shows it: of secrets only that they are there. */
export interface ProviderSheet {
  readonly provider: Readonly<Provider>;
  readonly credentials: readonly CredentialSummary[];
  readonly version: string;
}

export interface ProviderChange {
  readonly fields: Omit<ProviderInput, 'id' | 'visible' | 'managed'>;
  readonly secret?: Omit<CredentialInput, 'providerId'> | undefined;
  /** A certificate of ours with its key. */
  readonly identity?: Omit<CredentialInput, 'providerId'> | undefined;
  readonly version?: string | undefined;
}

export interface ChangedProvider extends Changed<ProviderSheet> {
  /** The secrets with these labels went with the address they were entered for. */
  readonly cleared: readonly string[];
}

/** Reads providers whole and changes them by what was shown of them. */
@Injectable()
export class ProviderSheets {
  constructor(
    private readonly editor: CatalogueEditor,
    private readonly credentials: CredentialEditor,
  ) {}

  async read(tx: Tx, id: number): Promise<ProviderSheet> {
    const provider = await tx.findOneBy(Provider, { id, removedAt: IsNull() });
    if (provider === null) throw fault('not_found', { param: 'provider_id' });
    const { id: _id, visible: _visible, createdAt: _created, ...fields } = provider;
    return { provider, credentials: await this.credentials.list(tx, id), version: versionOf(fields) };
  }

  async create(tx: Tx, { fields, secret, identity }: ProviderChange): Promise<ProviderSheet> {
    await lockCatalogue(tx);
    const { name = '' } = fields;
    if (await tx.existsBy(Provider, { name, removedAt: IsNull() }))
      throw fault('conflict', { param: 'name', message: 'Another provider has this name.' });
    const { id } = await this.editor.upsertProvider(tx, fields);
    for (const one of [secret, identity])
      if (one !== undefined) await this.credentials.put(tx, { ...one, providerId: id });
    return this.read(tx, id);
  }

  /** A secret is for one address alone: where that changes, those that were kept are gone. */
  async change(
    tx: Tx,
    id: number,
    { fields, secret, identity, version }: ProviderChange,
  ): Promise<ChangedProvider> {
    await lockCatalogue(tx);
    const before = await this.read(tx, id);
    refuseManaged(before.provider);
    refuseStale(version, before.version);
    const changed = await this.editor.upsertProvider(tx, { ...fields, id });
    const cleared = originsOf(changed) === originsOf(before.provider) ? [] : before.credentials;
    for (const one of [secret, identity])
      if (one !== undefined) await this.credentials.put(tx, { ...one, providerId: id });
    return { before, after: await this.read(tx, id), cleared: cleared.map(({ label }) => label) };
  }

  async remove(tx: Tx, id: number): Promise<ProviderSheet> {
    await lockCatalogue(tx);
    const before = await this.read(tx, id);
    refuseManaged(before.provider);
    await this.editor.removeProvider(tx, id);
    return before;
  }

  /** Answers whether it was another before. */
  async setVisible(tx: Tx, id: number, visible: boolean): Promise<boolean> {
    await lockCatalogue(tx);
    const { provider } = await this.read(tx, id);
    if (provider.visible === visible) return false;
    await this.editor.upsertProvider(tx, { id, visible });
    return true;
  }

  async removeCredential(tx: Tx, id: number, credentialId: string): Promise<CredentialSummary> {
    await lockCatalogue(tx);
    const { provider, credentials } = await this.read(tx, id);
    refuseManaged(provider);
    const known = credentials.find((credential) => credential.id === credentialId);
    if (known === undefined) throw fault('not_found', { param: 'credential_id' });
    await this.credentials.disable(tx, known.id);
    return known;
  }
}

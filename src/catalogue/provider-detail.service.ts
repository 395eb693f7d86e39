import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { fault, rejectStale, versionOf } from '../kernel';
import type { Tx } from '../platform';
import { CatalogueEditor, type ProviderInput } from './catalogue-editor.service';
import { lockCatalogue } from './catalogue-lock';
import { originsOf } from './credential';
import { CredentialEditor, type CredentialInput, type CredentialSummary } from './credential-editor.service';
import { Provider } from './entities';
import type { BeforeAndAfter } from './model-access.service';
import { refuseManaged } from './model-versions';

export interface ProviderDetail {
  readonly provider: Readonly<Provider>;
  readonly credentials: readonly CredentialSummary[];
  readonly version: string;
}

export interface ProviderChange {
  readonly fields: Omit<ProviderInput, 'id' | 'visible' | 'managed'>;
  readonly secret?: Omit<CredentialInput, 'providerId'> | undefined;
  readonly identity?: Omit<CredentialInput, 'providerId'> | undefined;
  readonly version?: string | undefined;
}

export interface ChangedProvider extends BeforeAndAfter<ProviderDetail> {
  /** Labels of the secrets that were wiped because the address changed. */
  readonly cleared: readonly string[];
}

@Injectable()
export class ProviderDetailService {
  constructor(
    private readonly editor: CatalogueEditor,
    private readonly credentials: CredentialEditor,
  ) {}

  async read(tx: Tx, id: number): Promise<ProviderDetail> {
    const provider = await tx.findOneBy(Provider, { id, removedAt: IsNull() });
    if (provider === null) throw fault('not_found', { param: 'provider_id' });
    const { id: _id, visible: _visible, createdAt: _created, ...fields } = provider;
    return { provider, credentials: await this.credentials.list(tx, id), version: versionOf(fields) };
  }

  async create(tx: Tx, { fields, secret, identity }: ProviderChange): Promise<ProviderDetail> {
    await lockCatalogue(tx);
    const { name = '' } = fields;
    if (await tx.existsBy(Provider, { name, removedAt: IsNull() }))
      throw fault('conflict', { param: 'name', message: 'Another provider has this name.' });
    const { id } = await this.editor.upsertProvider(tx, fields);
    for (const one of [secret, identity])
      if (one !== undefined) await this.credentials.put(tx, { ...one, providerId: id });
    return this.read(tx, id);
  }

  /** Wipes stored secrets if the address changes, because a secret belongs to a single address. */
  async change(
    tx: Tx,
    id: number,
    { fields, secret, identity, version }: ProviderChange,
  ): Promise<ChangedProvider> {
    await lockCatalogue(tx);
    const before = await this.read(tx, id);
    refuseManaged(before.provider);
    rejectStale(version, before.version);
    const updatedProvider = await this.editor.upsertProvider(tx, { ...fields, id });
    const cleared = originsOf(updatedProvider) === originsOf(before.provider) ? [] : before.credentials;
    for (const one of [secret, identity])
      if (one !== undefined) await this.credentials.put(tx, { ...one, providerId: id });
    return { before, after: await this.read(tx, id), cleared: cleared.map(({ label }) => label) };
  }

  async remove(tx: Tx, id: number): Promise<ProviderDetail> {
    await lockCatalogue(tx);
    const before = await this.read(tx, id);
    refuseManaged(before.provider);
    await this.editor.removeProvider(tx, id);
    return before;
  }

  /** Returns whether the visibility changed. */
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
    const existing = credentials.find((credential) => credential.id === credentialId);
    if (existing === undefined) throw fault('not_found', { param: 'credential_id' });
    await this.credentials.disable(tx, existing.id);
    return existing;
  }
}

import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { fault, uuidv7 } from '../kernel';
import { SecretBox, type Tx } from '../platform';
import { lockCatalogue } from './catalogue-lock';
import {
  credentialOf,
  type CredentialSecret,
  hintOf,
  identityHint,
  identityOf,
  originsOf,
  secretPlaceOf,
  secretText,
} from './credential';
import {
  CLIENT_CERTIFICATE,
  CREDENTIAL_KINDS,
  type CredentialHealth,
  ProviderCredential,
  type StoredKind,
  wipedFields,
} from './credential.entity';
import { Provider } from './entities';

export interface CredentialInput {
  readonly providerId: number;
  /** If the label exists, its secret is replaced. */
  readonly label: string;
  readonly kind: StoredKind;
  readonly secret: CredentialSecret;
}

export interface CredentialSummary {
  readonly id: string;
  readonly providerId: number;
  readonly label: string;
  readonly kind: StoredKind;
  readonly last4: string;
  readonly health: CredentialHealth;
  /** False after the provider's address has changed: the secret has to be entered again. */
  readonly fits: boolean;
  readonly createdAt: Date;
}

const MAX_LABEL_LENGTH = 120;
const KINDS: readonly StoredKind[] = [...CREDENTIAL_KINDS, CLIENT_CERTIFICATE];

/** Secrets are write-only here. */
@Injectable()
export class CredentialEditor {
  constructor(private readonly box: SecretBox) {}

  async put(tx: Tx, { providerId, label, kind, secret }: CredentialInput): Promise<CredentialSummary> {
    await lockCatalogue(tx);
    if (label.trim() === '' || label.length > MAX_LABEL_LENGTH) {
      throw fault('validation_error', {
        param: 'label',
        message: `A label has 1 to ${MAX_LABEL_LENGTH} characters.`,
      });
    }
    if (!KINDS.includes(kind)) {
      throw fault('validation_error', { param: 'kind', message: `Expected one of ${KINDS.join(', ')}.` });
    }
    const provider = await providerOf(tx, providerId);
    const text = secretText(kind, secret);
    if (!text.ok) throw text.error;
    const existing = await tx.findOneBy(ProviderCredential, { providerId, label, disabledAt: IsNull() });
    const id = existing?.id ?? uuidv7();
    const host = originsOf(provider);
    const sealed = this.box.seal(text.value, secretPlaceOf({ id, host }));
    const hint =
      kind === CLIENT_CERTIFICATE
        ? identityHint(identityOf(text.value).certificate)
        : hintOf(credentialOf(kind, id, text.value));
    const fields = { kind, host, ...sealed, last4: hint, health: 'unknown' as const };
    if (existing === null) await tx.insert(ProviderCredential, { id, providerId, label, ...fields });
    else await tx.update(ProviderCredential, { id }, { ...fields, refreshingUntil: null });
    return summaryOf(await tx.findOneByOrFail(ProviderCredential, { id }), provider);
  }

  /** Wipes the secret; using the credential again requires entering it again. */
  async disable(tx: Tx, id: string): Promise<void> {
    await lockCatalogue(tx);
    const { affected } = await tx.update(ProviderCredential, { id, disabledAt: IsNull() }, wipedFields());
    if (affected === 0) throw fault('not_found', { param: 'credential_id' });
  }

  async list(tx: Tx, providerId: number): Promise<CredentialSummary[]> {
    const provider = await providerOf(tx, providerId);
    const rows = await tx.find(ProviderCredential, {
      where: { providerId, disabledAt: IsNull() },
      order: { createdAt: 'DESC', id: 'DESC' },
    });
    return rows.map((row) => summaryOf(row, provider));
  }
}

async function providerOf(tx: Tx, id: number): Promise<Provider> {
  const provider = await tx.findOneBy(Provider, { id, removedAt: IsNull() });
  if (provider === null) throw fault('not_found', { param: 'provider_id' });
  return provider;
}

function summaryOf(row: ProviderCredential, provider: Provider): CredentialSummary {
  const { id, providerId, label, kind, last4, health, createdAt } = row;
  return { id, providerId, label, kind, last4, health, createdAt, fits: row.host === originsOf(provider) };
}

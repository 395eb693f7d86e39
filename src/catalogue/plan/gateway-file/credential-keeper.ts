import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { parseJsonText } from '../../../kernel';
import { originsOf, type SecretAddress } from '../../credential';
import { CredentialEditor } from '../../credential-editor.service';
import { ProviderCredential } from '../../credential.entity';
import { SecretBox, type Tx } from '../../../platform';
import type { SecretValue } from './desired';

/** `unreadable`: entered for another address or under another master key, so that it has to be entered again. */
export type SecretComparison = 'same' | 'other' | 'unreadable' | 'missing';

@Injectable()
export class CredentialKeeper {
  constructor(
    private readonly box: SecretBox,
    private readonly editor: CredentialEditor,
  ) {}

  /** A secret is stored for a single address: if the provider moves to another, the secret has to be entered again. */
  async compare(
    tx: Tx,
    providerId: number,
    label: string,
    secret: SecretValue,
    address: SecretAddress,
  ): Promise<SecretComparison> {
    const row = await tx.findOneBy(ProviderCredential, { providerId, label, disabledAt: IsNull() });
    if (row === null) return 'missing';
    if (row.host !== originsOf(address)) return 'unreadable';
    const place = { table: 'provider_credential', row: row.id, field: 'secret', host: row.host };
    const stored = this.box.open(row, place);
    if (!stored.ok) return 'unreadable';
    if (row.kind !== secret.kind) return 'other';
    // The service renews such tokens, so the stored token is newer than the file's.
    if (secret.kind === 'oauth-pool') return 'same';
    return isSameSecret(stored.value, secret.parts) ? 'same' : 'other';
  }

  async put(tx: Tx, providerId: number, label: string, secret: SecretValue): Promise<void> {
    await this.editor.put(tx, { providerId, label, kind: secret.kind, secret: secret.parts });
  }

  async disable(tx: Tx, id: string): Promise<void> {
    await this.editor.disable(tx, id);
  }
}

function isSameSecret(stored: string, input: SecretValue['parts']): boolean {
  if (typeof input === 'string') return stored === input;
  const parts = parseJsonText(stored) as Record<string, unknown>;
  const names = Object.keys(parts);
  return names.length === Object.keys(input).length && names.every((name) => parts[name] === input[name]);
}

import { parseJsonText } from '../../../kernel';
import { originsOf, type SecretHome } from '../../credential';
import { CredentialEditor } from '../../credential-editor.service';
import { readRows, type Row, type SecretBox, type Tx } from '../../../platform';
import type { SecretValue } from './desired';

/** `unreadable`: entered for another address or under another master key, so that it has to be entered again. */
export type Kept = 'same' | 'other' | 'unreadable' | 'missing';

const COLUMNS = 'id, kind, host, key_id, wrapped_key, nonce, ciphertext';

/** Secrets of suppliers go in here; of those that are there it only says whether they equal the file's. */
export class CredentialKeeper {
  private readonly editor: CredentialEditor;

  constructor(private readonly box: SecretBox) {
    this.editor = new CredentialEditor(box);
  }

  /** A secret is kept for one address only: where the provider will live under another, it has to be entered again. */
  async compare(
    tx: Tx,
    providerId: number,
    label: string,
    secret: SecretValue,
    home: SecretHome,
  ): Promise<Kept> {
    const [row] = await readRows<Row<'provider_credential', typeof COLUMNS>>(
      tx,
      `SELECT ${COLUMNS} FROM provider_credential
        WHERE provider_id = $1 AND label = $2 AND disabled_at IS NULL`,
      [providerId, label],
    );
    if (row === undefined) return 'missing';
    if (row.host !== originsOf(home)) return 'unreadable';
    const place = { table: 'provider_credential', row: row.id, field: 'secret', host: row.host };
    const opened = this.box.open(row, place);
    if (!opened.ok) return 'unreadable';
    if (row.kind !== secret.kind) return 'other';
    // The service renews such a token by itself, so what the file has is older than what is kept.
    if (secret.kind === 'oauth-pool') return 'same';
    return isSame(opened.value, secret.parts) ? 'same' : 'other';
  }

  async put(tx: Tx, providerId: number, label: string, secret: SecretValue): Promise<void> {
    await this.editor.put(tx, { providerId, label, kind: secret.kind, secret: secret.parts });
  }

  async disable(tx: Tx, id: string): Promise<void> {
    await this.editor.disable(tx, id);
  }
}

function isSame(kept: string, given: SecretValue['parts']): boolean {
  if (typeof given === 'string') return kept === given;
  const parts = parseJsonText(kept) as Record<string, unknown>;
  const names = Object.keys(parts);
  return names.length === Object.keys(given).length && names.every((name) => parts[name] === given[name]);
}

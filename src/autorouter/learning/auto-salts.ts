import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  Database,
  packSealed,
  type Row,
  type SealedColumn,
  SecretBox,
  type SecretPlace,
  unpackSealed,
} from '../../platform';
import { type WordSalt, wordSalt } from '../engine';

const SALT_BYTES = 32;
const MOST_SALTS = 256;

/** The secret order of each organisation's hashes: made once, sealed, and kept in memory by those who hash. */
@Injectable()
export class AutoSalts {
  private readonly known = new Map<number, Promise<WordSalt>>();

  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
  ) {}

  of(organisationId: number): Promise<WordSalt> {
    const known = this.known.get(organisationId);
    if (known !== undefined) return known;
    const salt = this.read(organisationId);
    this.known.set(organisationId, salt);
    salt.catch(() => this.known.delete(organisationId));
    if (this.known.size > MOST_SALTS) {
      const oldest = this.known.keys().next();
      if (!oldest.done) this.known.delete(oldest.value);
    }
    return salt;
  }

  private async read(organisationId: number): Promise<WordSalt> {
    const place = placeOf(organisationId);
    const fresh = packSealed(this.box.seal(randomBytes(SALT_BYTES).toString('base64'), place));
    // Of two nodes that make one at once, the first is heard.
    await this.database.query(
      'INSERT INTO autorouter_salt (organisation_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [organisationId, fresh],
    );
    const [row] = await this.database.query<Row<'autorouter_salt', 'sealed'>>(
      'SELECT sealed FROM autorouter_salt WHERE organisation_id = $1',
      [organisationId],
    );
    const opened = row === undefined ? null : this.box.open(unpackSealed(row.sealed), place);
    if (opened?.ok !== true)
      throw new Error(
        `The salt of organisation ${organisationId} cannot be read: ${opened?.error ?? 'gone'}.`,
      );
    return wordSalt(opened.value);
  }
}

const placeOf = (organisationId: number): SecretPlace => ({
  table: 'autorouter_salt',
  row: String(organisationId),
  field: 'sealed',
  host: '',
});

/** A change of the master key seals these anew. */
export const sealedSalts: readonly SealedColumn[] = [
  {
    table: 'autorouter_salt',
    column: 'sealed',
    place: { table: 'autorouter_salt', field: 'sealed', row: 't.organisation_id::text' },
  },
];

import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  Database,
  packSealed,
  type TableRow,
  type SealedColumn,
  SecretBox,
  type SecretLocation,
  unpackSealed,
} from '../../platform';
import { type WordSalt, wordSalt } from '../engine';

const SALT_BYTES = 32;
const MAX_SALTS = 256;

/** The secret order of each organisation's hashes: created once, sealed in the database and cached in memory. */
@Injectable()
export class AutoSalts {
  private readonly cache = new Map<number, Promise<WordSalt>>();

  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
  ) {}

  of(organisationId: number): Promise<WordSalt> {
    const cached = this.cache.get(organisationId);
    if (cached !== undefined) return cached;
    const salt = this.read(organisationId);
    this.cache.set(organisationId, salt);
    salt.catch(() => this.cache.delete(organisationId));
    if (this.cache.size > MAX_SALTS) {
      const oldest = this.cache.keys().next();
      if (!oldest.done) this.cache.delete(oldest.value);
    }
    return salt;
  }

  private async read(organisationId: number): Promise<WordSalt> {
    const place = placeOf(organisationId);
    const newSalt = packSealed(this.box.seal(randomBytes(SALT_BYTES).toString('base64'), place));
    // If two nodes create a salt simultaneously, the first insert wins.
    await this.database.query(
      'INSERT INTO autorouter_salt (organisation_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [organisationId, newSalt],
    );
    const [row] = await this.database.query<TableRow<'autorouter_salt', 'sealed'>>(
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

const placeOf = (organisationId: number): SecretLocation => ({
  table: 'autorouter_salt',
  row: String(organisationId),
  field: 'sealed',
  host: '',
});

/** Columns to seal again when the master key changes. */
export const sealedSalts: readonly SealedColumn[] = [
  {
    table: 'autorouter_salt',
    column: 'sealed',
    place: { table: 'autorouter_salt', field: 'sealed', row: 't.organisation_id::text' },
  },
];

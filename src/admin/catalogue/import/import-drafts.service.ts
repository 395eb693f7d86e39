import { Injectable } from '@nestjs/common';
import { fault } from '../../../kernel';
import { Database, type Row } from '../../../platform';

interface ImportOptions {
  readonly providers: readonly string[];
  readonly only: readonly string[];
  readonly overwrite: boolean;
}

export type ImportDraft = Row<'catalogue_draft', 'id, format, content'> & { readonly options: ImportOptions };

const MOST_DRAFTS = 5;

/** Files that a person uploaded and has not applied yet; the newest few are kept for a day. */
@Injectable()
export class ImportDrafts {
  constructor(private readonly database: Database) {}

  keep(userId: number, { format, options, content }: Omit<ImportDraft, 'id'>): Promise<string> {
    const work = 'a draft changes nothing of the catalogue';
    return this.database.transaction(
      async (tx) => {
        const [made] = await tx.query<Row<'catalogue_draft', 'id'>[]>(
          'INSERT INTO catalogue_draft (user_id, format, options, content) VALUES ($1, $2, $3, $4) RETURNING id',
          [userId, format, JSON.stringify(options), content],
        );
        await tx.query(
          `DELETE FROM catalogue_draft WHERE created_at < now() - interval '1 day' OR id IN (
             SELECT id FROM catalogue_draft WHERE user_id = $1 ORDER BY created_at DESC, id OFFSET $2)`,
          [userId, MOST_DRAFTS],
        );
        return made?.id ?? '';
      },
      { withoutActivity: work },
    );
  }

  /** Drafts of other people are not found. */
  async read(userId: number, id: string): Promise<ImportDraft> {
    const [draft] = await this.database.query<ImportDraft>(
      `SELECT id, format, options, content FROM catalogue_draft
        WHERE id = $1 AND user_id = $2 AND created_at > now() - interval '1 day'`,
      [id, userId],
    );
    if (draft === undefined)
      throw fault('not_found', { message: 'This import is no longer kept. Bring the file again.' });
    return draft;
  }
}

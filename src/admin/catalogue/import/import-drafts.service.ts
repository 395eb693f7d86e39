import { Injectable } from '@nestjs/common';
import { fault } from '../../../kernel';
import { Database, type TableRow } from '../../../platform';

interface ImportDraftOptions {
  readonly providers: readonly string[];
  readonly only: readonly string[];
  readonly overwrite: boolean;
}

export type ImportDraft = TableRow<'catalogue_draft', 'id, format, content'> & {
  readonly options: ImportDraftOptions;
};

const MAX_DRAFTS = 5;

/** Files that a user uploaded and has not applied yet; the newest few are stored for a day. */
@Injectable()
export class ImportDrafts {
  constructor(private readonly database: Database) {}

  save(userId: number, { format, options, content }: Omit<ImportDraft, 'id'>): Promise<string> {
    const reason = 'a draft changes nothing of the catalogue';
    return this.database.transaction(
      async (tx) => {
        const [draft] = await tx.query<TableRow<'catalogue_draft', 'id'>[]>(
          'INSERT INTO catalogue_draft (user_id, format, options, content) VALUES ($1, $2, $3, $4) RETURNING id',
          [userId, format, JSON.stringify(options), content],
        );
        await tx.query(
          `DELETE FROM catalogue_draft WHERE created_at < now() - interval '1 day' OR id IN (
             SELECT id FROM catalogue_draft WHERE user_id = $1 ORDER BY created_at DESC, id OFFSET $2)`,
          [userId, MAX_DRAFTS],
        );
        return draft?.id ?? '';
      },
      { withoutActivity: reason },
    );
  }

  async get(userId: number, id: string): Promise<ImportDraft> {
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

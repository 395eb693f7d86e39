import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../platform';

export const noticeTopics = ['budget', 'balance', 'suppliers', 'models'] as const;
export type NoticeTopic = (typeof noticeTopics)[number];

export type HelpPage = 'autorouter' | 'projects' | 'qualitative' | 'setup';

@Injectable()
export class PersonalSettings {
  constructor(private readonly database: Database) {}

  /** Topics for which the user wants no notices. In a transaction, the row is locked until its end. */
  async mutedNotices(userId: number, tx?: Tx): Promise<NoticeTopic[]> {
    const [row] = await (tx ?? this.database.source).query<{ muted_notices: NoticeTopic[] }[]>(
      `SELECT muted_notices FROM user_setting WHERE user_id = $1 ${tx === undefined ? '' : 'FOR UPDATE'}`,
      [userId],
    );
    return row?.muted_notices ?? [];
  }

  async muteNotices(tx: Tx, userId: number, topics: readonly NoticeTopic[]): Promise<void> {
    await tx.query(
      `INSERT INTO user_setting (user_id, muted_notices) VALUES ($1, $2)
       ON CONFLICT (user_id) DO UPDATE SET muted_notices = excluded.muted_notices`,
      [userId, topics],
    );
  }

  async isHelpClosed(userId: number, page: HelpPage): Promise<boolean> {
    const rows = await this.database.query<object>(
      'SELECT 1 FROM user_setting WHERE user_id = $1 AND $2 = ANY (closed_help)',
      [userId, page],
    );
    return rows.length > 0;
  }

  async setHelpClosed(userId: number, page: HelpPage, isClosed: boolean): Promise<void> {
    await this.database.query(
      `INSERT INTO user_setting (user_id, closed_help) VALUES ($1, CASE WHEN $3 THEN ARRAY[$2::text] ELSE '{}' END)
       ON CONFLICT (user_id) DO UPDATE SET closed_help = array_remove(user_setting.closed_help, $2::text)
         || CASE WHEN $3 THEN ARRAY[$2::text] ELSE '{}'::text[] END`,
      [userId, page, isClosed],
    );
  }
}

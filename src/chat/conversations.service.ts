import { Injectable } from '@nestjs/common';
import { type Fault, fault } from '../kernel';
import { Database, Keyset, type Page, type PageRequest, readRows, type TableRow, type Tx } from '../platform';
import type { ConversationHead } from './conversation';
import { ConversationContent } from './conversation-content';

export type ConversationRow = TableRow<'conversation'> & {
  readonly costNano: string;
  readonly messages: number;
};

export const newestFirst = new Keyset(
  [
    { sql: 'c.updated_at', kind: 'instant' },
    { sql: 'c.id', kind: 'integer' },
  ],
  'descending',
);

/** Columns of a conversation head; the query must alias the conversation as `c`. */
export const headColumns = `c.*,
  (SELECT coalesce(sum(m.cost_nano), 0)::text FROM conversation_message m WHERE m.conversation_id = c.id) AS cost_nano,
  (SELECT count(*)::integer FROM conversation_message m
    WHERE m.conversation_id = c.id AND m.role <> 'model') AS messages`;

const MAX_TITLE_LENGTH = 120;
const MAX_CONVERSATIONS = 5_000;

interface LockedConversation {
  readonly model: string;
  readonly isTitled: boolean;
  /** The user has changed organisation since the conversation was started. */
  readonly isOfFormerPlace: boolean;
}

/** A user's own conversations: every read and change is limited to the user id. */
@Injectable()
export class ConversationsService {
  constructor(
    private readonly database: Database,
    private readonly content: ConversationContent,
  ) {}

  async list(userId: number, request: PageRequest): Promise<Page<ConversationHead>> {
    const keyset = newestFirst.clause(request, 3);
    const rows = await this.database.rows<ConversationRow>(
      `SELECT ${headColumns}, ${newestFirst.positions} FROM conversation c
        WHERE c.user_id = $1 AND ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT $2`,
      [userId, keyset.limit, ...keyset.parameters],
    );
    const page = newestFirst.page(rows, request);
    return { ...page, rows: page.rows.map((row) => this.head(row)) };
  }

  /**
   * Finds conversations whose title has all the words, newest first. Titles are encrypted, so each is decrypted to
   * compare.
   */
  async search(userId: number, query: string, limit: number): Promise<ConversationHead[]> {
    const searchWords = query
      .toLocaleLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const rows = await this.database.rows<Pick<ConversationRow, 'id' | 'title'>>(
      `SELECT id, title FROM conversation c WHERE user_id = $1 ORDER BY c.updated_at DESC, c.id DESC
        LIMIT ${MAX_CONVERSATIONS}`,
      [userId],
    );
    const matches = rows.filter(({ id, title }) => {
      const text = (this.content.text(id, 'title', title) ?? '').toLocaleLowerCase();
      return searchWords.every((word) => text.includes(word));
    });
    const heads = await this.database.rows<ConversationRow>(
      `SELECT ${headColumns} FROM conversation c WHERE c.user_id = $1 AND c.id = ANY ($2::integer[])
        ORDER BY c.updated_at DESC, c.id DESC`,
      [userId, matches.slice(0, limit).map(({ id }) => id)],
    );
    return heads.map((row) => this.head(row));
  }

  async get(userId: number, id: number): Promise<ConversationHead> {
    const conversation = await this.find(userId, id);
    if (conversation === null) throw conversationNotFound();
    return conversation;
  }

  async find(userId: number, id: number): Promise<ConversationHead | null> {
    const [row] = await this.database.rows<ConversationRow>(
      `SELECT ${headColumns} FROM conversation c WHERE c.user_id = $1 AND c.id = $2`,
      [userId, id],
    );
    return row === undefined ? null : this.head(row);
  }

  async create(tx: Tx, userId: number, model: string, title: string | null): Promise<number> {
    const [{ count }] = await tx.query<[{ count: number }]>(
      'SELECT count(*)::integer AS count FROM conversation WHERE user_id = $1',
      [userId],
    );
    if (count >= MAX_CONVERSATIONS) {
      throw fault('conflict', {
        message: `An account keeps at most ${MAX_CONVERSATIONS.toLocaleString('en')} conversations. Delete some first.`,
      });
    }
    const [{ id }] = await tx.query<[TableRow<'conversation', 'id'>]>(
      'INSERT INTO conversation (user_id, model) VALUES ($1, $2) RETURNING id',
      [userId, model],
    );
    if (title !== null) await this.setTitle(tx, id, title);
    return id;
  }

  async lock(tx: Tx, userId: number, id: number): Promise<LockedConversation> {
    const [row] = await readRows<LockedConversation>(
      tx,
      `SELECT c.model, c.title IS NOT NULL AS is_titled,
              c.organisation_id IS DISTINCT FROM u.organisation_id AS is_of_former_place
         FROM conversation c JOIN user_account u ON u.id = c.user_id WHERE c.user_id = $1 AND c.id = $2
          FOR NO KEY UPDATE OF c`,
      [userId, id],
    );
    if (row === undefined) throw conversationNotFound();
    return row;
  }

  async rename(tx: Tx, userId: number, id: number, title: string): Promise<void> {
    await this.lock(tx, userId, id);
    await this.setTitle(tx, id, title);
  }

  async remove(tx: Tx, userId: number, id: number): Promise<void> {
    await this.lock(tx, userId, id);
    await tx.query('DELETE FROM conversation WHERE id = $1', [id]);
  }

  /** Changes the model from here on, and adds a note to the thread if it has messages. */
  async chooseModel(tx: Tx, userId: number, id: number, model: string): Promise<void> {
    const { model: previousModel } = await this.lock(tx, userId, id);
    if (previousModel === model) return;
    await tx.query('UPDATE conversation SET model = $2 WHERE id = $1', [id, model]);
    const [last] = await tx.query<TableRow<'conversation_message', 'id, role'>[]>(
      'SELECT id, role FROM conversation_message WHERE conversation_id = $1 ORDER BY id DESC LIMIT 1',
      [id],
    );
    if (last === undefined) return;
    if (last.role === 'model')
      await tx.query('UPDATE conversation_message SET model = $2 WHERE id = $1', [last.id, model]);
    else
      await tx.query(
        `INSERT INTO conversation_message (conversation_id, role, model) VALUES ($1, 'model', $2)`,
        [id, model],
      );
  }

  async titleAfter(tx: Tx, id: number, firstMessage: string): Promise<void> {
    const line = firstMessage.split('\n').find((text) => text.trim() !== '') ?? '';
    const title = shorten(line.trim());
    if (title !== '') await this.setTitle(tx, id, title);
  }

  head(row: ConversationRow): ConversationHead {
    return {
      id: row.id,
      userId: row.userId,
      model: row.model,
      title: this.content.text(row.id, 'title', row.title),
      createdAt: row.createdAt,
      updatedAt: row.updatedAt,
      costNano: BigInt(row.costNano),
      messages: row.messages,
    };
  }

  private async setTitle(tx: Tx, id: number, title: string): Promise<void> {
    const sealed = this.content.seal(id, 'title', title.slice(0, MAX_TITLE_LENGTH));
    await tx.query('UPDATE conversation SET title = $2 WHERE id = $1', [id, sealed]);
  }
}

function shorten(line: string): string {
  const maxLength = MAX_TITLE_LENGTH / 2;
  if (line.length <= maxLength) return line;
  const cut = line.slice(0, maxLength);
  const space = cut.lastIndexOf(' ');
  return `${(space > maxLength / 2 ? cut.slice(0, space) : cut).replace(/[\s.,:;–-]+$/, '')}…`;
}

export const conversationNotFound = (): Fault =>
  fault('not_found', { param: 'conv_id', message: 'There is no conversation with this id.' });

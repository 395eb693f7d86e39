import { Injectable } from '@nestjs/common';
import { type Fault, fault } from '../kernel';
import { Database, Keyset, type Page, type PageRequest, readRows, type Row, type Tx } from '../platform';
import type { ConversationHead } from './conversation';
import { ConversationContent } from './conversation-content';

export type ConversationRow = Row<'conversation'> & {
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

/** They are columns of the conversations `c` that a query has chosen. */
export const headColumns = `c.*,
  (SELECT coalesce(sum(m.cost_nano), 0)::text FROM conversation_message m WHERE m.conversation_id = c.id) AS cost_nano,
  (SELECT count(*)::integer FROM conversation_message m
    WHERE m.conversation_id = c.id AND m.role <> 'model') AS messages`;

const LONGEST_TITLE = 120;
const MOST_CONVERSATIONS = 5_000;

interface LockedConversation {
  readonly model: string;
  readonly isTitled: boolean;
  /** Its person belonged to another organisation, or to none, when it was begun. */
  readonly isOfFormerPlace: boolean;
}

/** A person's own conversations: every read and change names whose they are. */
@Injectable()
export class Conversations {
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

  /** The titles found have all of the words, the newest first. Titles are encrypted: they are read one by one. */
  async search(userId: number, words: string, most: number): Promise<ConversationHead[]> {
    const wanted = words
      .toLocaleLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const rows = await this.database.rows<Pick<ConversationRow, 'id' | 'title'>>(
      `SELECT id, title FROM conversation c WHERE user_id = $1 ORDER BY c.updated_at DESC, c.id DESC
        LIMIT ${MOST_CONVERSATIONS}`,
      [userId],
    );
    const found = rows.filter(({ id, title }) => {
      const text = (this.content.text(id, 'title', title) ?? '').toLocaleLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    const heads = await this.database.rows<ConversationRow>(
      `SELECT ${headColumns} FROM conversation c WHERE c.user_id = $1 AND c.id = ANY ($2::integer[])
        ORDER BY c.updated_at DESC, c.id DESC`,
      [userId, found.slice(0, most).map(({ id }) => id)],
    );
    return heads.map((row) => this.head(row));
  }

  async get(userId: number, id: number): Promise<ConversationHead> {
    const found = await this.find(userId, id);
    if (found === null) throw noSuchConversation();
    return found;
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
    if (count >= MOST_CONVERSATIONS) {
      throw fault('conflict', {
        message: `An account keeps at most ${MOST_CONVERSATIONS.toLocaleString('en')} conversations. Delete some first.`,
      });
    }
    const [{ id }] = await tx.query<[Row<'conversation', 'id'>]>(
      'INSERT INTO conversation (user_id, model) VALUES ($1, $2) RETURNING id',
      [userId, model],
    );
    if (title !== null) await this.setTitle(tx, id, title);
    return id;
  }

  /** It serves a change within the transaction: the row is locked meanwhile. */
  async lock(tx: Tx, userId: number, id: number): Promise<LockedConversation> {
    const [row] = await readRows<LockedConversation>(
      tx,
      `SELECT c.model, c.title IS NOT NULL AS is_titled,
              c.organisation_id IS DISTINCT FROM u.organisation_id AS is_of_former_place
         FROM conversation c JOIN user_account u ON u.id = c.user_id WHERE c.user_id = $1 AND c.id = $2
          FOR NO KEY UPDATE OF c`,
      [userId, id],
    );
    if (row === undefined) throw noSuchConversation();
    return row;
  }

  async rename(tx: Tx, userId: number, id: number, title: string): Promise<void> {
    await this.lock(tx, userId, id);
    await this.setTitle(tx, id, title);
  }

  /** Safe to repeat: the second time there is nothing to delete. */
  async remove(tx: Tx, userId: number, id: number): Promise<void> {
    await this.lock(tx, userId, id);
    await tx.query('DELETE FROM conversation WHERE id = $1', [id]);
  }

  /** From here another model answers; the thread says so, unless nothing was said yet. */
  async chooseModel(tx: Tx, userId: number, id: number, model: string): Promise<void> {
    const { model: before } = await this.lock(tx, userId, id);
    if (before === model) return;
    await tx.query('UPDATE conversation SET model = $2 WHERE id = $1', [id, model]);
    const [last] = await tx.query<Row<'conversation_message', 'id, role'>[]>(
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

  /** The first words of the first message, until its owner gives it another title. */
  async titleAfter(tx: Tx, id: number, firstMessage: string): Promise<void> {
    const line = firstMessage.split('\n').find((text) => text.trim() !== '') ?? '';
    const words = shortened(line.trim());
    if (words !== '') await this.setTitle(tx, id, words);
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
    const sealed = this.content.seal(id, 'title', title.slice(0, LONGEST_TITLE));
    await tx.query('UPDATE conversation SET title = $2 WHERE id = $1', [id, sealed]);
  }
}

/** It keeps whole words, and has a sign that there were more. */
function shortened(line: string): string {
  const most = LONGEST_TITLE / 2;
  if (line.length <= most) return line;
  const cut = line.slice(0, most);
  const space = cut.lastIndexOf(' ');
  return `${(space > most / 2 ? cut.slice(0, space) : cut).replace(/[\s.,:;–-]+$/, '')}…`;
}

export const noSuchConversation = (): Fault =>
  fault('not_found', { param: 'conv_id', message: 'There is no conversation with this id.' });

import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import {
  Database,
  everyRow,
  Keyset,
  Metrics,
  type Page,
  type PageRequest,
  readRows,
  type TableRow,
  Settings,
  type Tx,
} from '../platform';
import type { AttachmentHead, ConversationMessage, MessageRole, MessageState } from './conversation';
import { ConversationContent } from './conversation-content';

type MessageRow = TableRow<'conversation_message'> & {
  readonly role: MessageRole;
  readonly state: MessageState;
};

const ATTACHMENT_HEAD_COLUMNS = 'message_id, place, media_type, bytes, name';

type AttachmentRow = TableRow<'conversation_attachment', typeof ATTACHMENT_HEAD_COLUMNS>;

export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

const newestFirst = new Keyset([{ sql: 'm.id', kind: 'integer' }], 'descending');
const PAGE_SIZE = 100;
const MAX_EXPORTED = 10_000;

/** Messages of a conversation. Callers must have checked first that the conversation is in their scope. */
@Injectable()
export class ConversationMessages {
  constructor(
    private readonly database: Database,
    private readonly content: ConversationContent,
    private readonly metrics: Metrics,
    private readonly settings: Settings,
  ) {}

  async page(conversationId: number, request: PageRequest): Promise<Page<ConversationMessage>> {
    const keyset = newestFirst.clause(request, 3);
    const rows = await this.database.rows<MessageRow>(
      `SELECT m.*, ${newestFirst.positions} FROM conversation_message m
        WHERE m.conversation_id = $1 AND ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT $2`,
      [conversationId, keyset.limit, ...keyset.parameters],
    );
    const page = newestFirst.page(rows, request);
    return { ...page, rows: await this.toMessages(conversationId, page.rows) };
  }

  listAll(conversationId: number): AsyncGenerator<ConversationMessage> {
    return everyRow(MAX_EXPORTED, PAGE_SIZE, (page) => this.page(conversationId, page));
  }

  async findReplyToTurn(tx: Tx, conversationId: number, turnId: string): Promise<ConversationMessage | null> {
    const rows = await readRows<MessageRow>(
      tx,
      `SELECT m.* FROM conversation_message m
        WHERE m.conversation_id = $1 AND m.turn_id = $2 AND m.role = 'assistant'`,
      [conversationId, turnId],
    );
    const [message] = await this.toMessages(conversationId, rows, tx);
    return message ?? null;
  }

  async findLastReply(tx: Tx, conversationId: number): Promise<ConversationMessage | null> {
    const rows = await readRows<MessageRow>(
      tx,
      `SELECT m.* FROM conversation_message m WHERE m.conversation_id = $1 AND m.role = 'assistant'
        ORDER BY m.id DESC LIMIT 1`,
      [conversationId],
    );
    const [message] = await this.toMessages(conversationId, rows, tx);
    return message ?? null;
  }

  async findReply(conversationId: number, messageId: string): Promise<ConversationMessage | null> {
    const rows = await this.database.rows<MessageRow>(
      `SELECT m.* FROM conversation_message m
        WHERE m.conversation_id = $1 AND m.id = $2 AND m.role = 'assistant' AND m.state <> 'open'`,
      [conversationId, messageId],
    );
    const [message] = await this.toMessages(conversationId, rows);
    return message ?? null;
  }

  async add(
    tx: Tx,
    conversationId: number,
    message: { role: MessageRole; state: MessageState; model: string; turnId: string; text?: string },
    origin: { requestId: string; keyId: number } | null = null,
  ): Promise<string> {
    const { role, state, model, turnId, text } = message;
    const sealed = text === undefined ? null : this.content.seal(conversationId, 'content', text);
    const [{ id }] = await tx.query<[TableRow<'conversation_message', 'id'>]>(
      `INSERT INTO conversation_message (conversation_id, role, state, model, turn_id, content, request_id, key_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
      [conversationId, role, state, model, turnId, sealed, origin?.requestId ?? null, origin?.keyId ?? null],
    );
    return id;
  }

  async attach(
    tx: Tx,
    conversationId: number,
    messageId: string,
    attachments: readonly Attachment[],
  ): Promise<void> {
    if (attachments.length > 0) await this.assertWithinLimit(tx, conversationId, attachments);
    for (const [index, { name, mediaType, content }] of attachments.entries()) {
      await tx.query(
        `INSERT INTO conversation_attachment (message_id, place, media_type, bytes, name, content)
         VALUES ($1, $2, $3, $4, $5, $6)`,
        [
          messageId,
          index,
          mediaType,
          content.length,
          this.content.seal(conversationId, 'attachment-name', name),
          this.content.seal(conversationId, 'attachment', content),
        ],
      );
    }
  }

  /** Refuses attachments beyond the limit of one user. The lock makes concurrent messages of a user wait. */
  private async assertWithinLimit(
    tx: Tx,
    conversationId: number,
    attachments: readonly Attachment[],
  ): Promise<void> {
    const maxBytes = this.settings.chatAttachmentsUserLimitBytes;
    await tx.query(
      `SELECT pg_advisory_xact_lock(hashtext('chat attachments'), user_id) FROM conversation WHERE id = $1`,
      [conversationId],
    );
    const [{ bytes }] = await tx.query<[{ bytes: string }]>(
      `SELECT coalesce(sum(a.bytes), 0)::text AS bytes
         FROM conversation own
         JOIN conversation c ON c.user_id = own.user_id
         JOIN conversation_message m ON m.conversation_id = c.id AND m.role = 'user'
         JOIN conversation_attachment a ON a.message_id = m.id
        WHERE own.id = $1`,
      [conversationId],
    );
    const addedBytes = attachments.reduce((sum, { content }) => sum + content.length, 0);
    if (Number(bytes) + addedBytes <= maxBytes) return;
    this.metrics.storageLimited.inc({ kind: 'chat_attachments' });
    const limit = Math.floor(maxBytes / 1_000_000);
    throw fault('request_too_large', {
      param: 'attachments',
      message: `An account can keep up to ${limit} MB of attachments. Delete conversations with files, then send the message again.`,
      details: { reason: 'attachments-full', limit },
    });
  }

  async attachmentsOf(conversationId: number, messageId: string): Promise<Attachment[]> {
    const rows = await this.database.rows<TableRow<'conversation_attachment'>>(
      'SELECT * FROM conversation_attachment WHERE message_id = $1 ORDER BY place',
      [messageId],
    );
    return rows.map(({ name, mediaType, content }) => ({
      name: this.content.open(conversationId, 'attachment-name', name).toString('utf8'),
      mediaType,
      content: this.content.open(conversationId, 'attachment', content),
    }));
  }

  private async toMessages(
    conversationId: number,
    rows: readonly MessageRow[],
    tx?: Tx,
  ): Promise<ConversationMessage[]> {
    const questions = rows.filter(({ role }) => role === 'user').map(({ id }) => id);
    const attachments = await this.attachmentHeads(conversationId, questions, tx);
    return rows.map((row) => ({
      id: row.id,
      role: row.role,
      state: row.state,
      turnId: row.turnId,
      model: row.model,
      text: this.content.text(conversationId, 'content', row.content) ?? '',
      code: row.code,
      requestId: row.requestId,
      supplier: row.supplier,
      region: row.region,
      failover: row.failover,
      inputTokens: row.inputTokens === null ? null : Number(row.inputTokens),
      outputTokens: row.outputTokens === null ? null : Number(row.outputTokens),
      costNano: row.costNano === null ? null : BigInt(row.costNano),
      latencyMs: row.latencyMs,
      createdAt: row.createdAt,
      attachments: attachments.get(row.id) ?? [],
    }));
  }

  private async attachmentHeads(
    conversationId: number,
    messageIds: readonly string[],
    tx?: Tx,
  ): Promise<Map<string, AttachmentHead[]>> {
    const heads = new Map<string, AttachmentHead[]>();
    if (messageIds.length === 0) return heads;
    const rows = await readRows<AttachmentRow>(
      tx ?? this.database,
      `SELECT ${ATTACHMENT_HEAD_COLUMNS} FROM conversation_attachment
        WHERE message_id = ANY ($1::bigint[]) ORDER BY message_id, place`,
      [messageIds],
    );
    for (const { messageId: id, mediaType, bytes, name } of rows) {
      const head = {
        name: this.content.open(conversationId, 'attachment-name', name).toString('utf8'),
        mediaType,
        bytes,
      };
      const list = heads.get(id);
      if (list === undefined) heads.set(id, [head]);
      else list.push(head);
    }
    return heads;
  }
}

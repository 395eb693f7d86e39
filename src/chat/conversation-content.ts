import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { packSealed, SecretBox, type SealedColumn, type SecretLocation, unpackSealed } from '../platform';

type ConversationField = 'title' | 'content' | 'attachment' | 'attachment-name';

/** Encrypts texts of users and models for their own conversation; no other conversation can decrypt them. */
@Injectable()
export class ConversationContent {
  constructor(private readonly box: SecretBox) {}

  seal(conversationId: number, field: ConversationField, content: string | Buffer): Buffer {
    return packSealed(this.box.seal(content, secretPlace(conversationId, field)));
  }

  /** Throws if the master key is not available, as an empty text would be misleading. */
  open(conversationId: number, field: ConversationField, packed: Buffer): Buffer {
    const opened = this.box.openBytes(unpackSealed(packed), secretPlace(conversationId, field));
    if (opened.ok) return opened.value;
    throw fault('webchat_exchange_unavailable', {
      message: 'This conversation was encrypted with a master key that is not at hand.',
    });
  }

  text(conversationId: number, field: ConversationField, packed: Buffer | null): string | null {
    return packed === null ? null : this.open(conversationId, field, packed).toString('utf8');
  }
}

const secretPlace = (conversationId: number, field: ConversationField): SecretLocation => ({
  table: 'conversation',
  row: String(conversationId),
  field,
  host: '',
});

const conversationIdSql =
  'SELECT m.conversation_id::text FROM conversation_message m WHERE m.id = t.message_id';
const sealedPlace = (row: string, field: ConversationField): SealedColumn['place'] => ({
  table: 'conversation',
  field,
  row,
});

/** Columns to encrypt again after a change of the master key. */
export const sealedConversations: readonly SealedColumn[] = [
  { table: 'conversation', column: 'title', place: sealedPlace('t.id::text', 'title') },
  {
    table: 'conversation_message',
    column: 'content',
    place: sealedPlace('t.conversation_id::text', 'content'),
  },
  {
    table: 'conversation_attachment',
    column: 'name',
    place: sealedPlace(`(${conversationIdSql})`, 'attachment-name'),
  },
  {
    table: 'conversation_attachment',
    column: 'content',
    place: sealedPlace(`(${conversationIdSql})`, 'attachment'),
  },
];

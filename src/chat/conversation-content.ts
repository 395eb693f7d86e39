import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { packSealed, SecretBox, type SealedColumn, type SecretPlace, unpackSealed } from '../platform';

type Field = 'title' | 'content' | 'attachment' | 'attachment-name';

/** Texts of people and models are encrypted for their own conversation: they open in no other. */
@Injectable()
export class ConversationContent {
  constructor(private readonly box: SecretBox) {}

  seal(conversationId: number, field: Field, content: string | Buffer): Buffer {
    return packSealed(this.box.seal(content, placeOf(conversationId, field)));
  }

  /** Fails where the master key is not at hand: an empty text in its place would be a lie. */
  open(conversationId: number, field: Field, packed: Buffer): Buffer {
    const opened = this.box.openBytes(unpackSealed(packed), placeOf(conversationId, field));
    if (opened.ok) return opened.value;
    throw fault('webchat_exchange_unavailable', {
      message: 'This conversation was encrypted with a master key that is not at hand.',
    });
  }

  text(conversationId: number, field: Field, packed: Buffer | null): string | null {
    return packed === null ? null : this.open(conversationId, field, packed).toString('utf8');
  }
}

const placeOf = (conversationId: number, field: Field): SecretPlace => ({
  table: 'conversation',
  row: String(conversationId),
  field,
  host: '',
});

const conversationOf = 'SELECT m.conversation_id::text FROM conversation_message m WHERE m.id = t.message_id';
const within = (row: string, field: Field): SealedColumn['place'] => ({ table: 'conversation', field, row });

/** A change of the master key seals these anew. */
export const sealedConversations: readonly SealedColumn[] = [
  { table: 'conversation', column: 'title', place: within('t.id::text', 'title') },
  { table: 'conversation_message', column: 'content', place: within('t.conversation_id::text', 'content') },
  {
    table: 'conversation_attachment',
    column: 'name',
    place: within(`(${conversationOf})`, 'attachment-name'),
  },
  { table: 'conversation_attachment', column: 'content', place: within(`(${conversationOf})`, 'attachment') },
];

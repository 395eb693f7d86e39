import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { packSealed, SecretBox, type SecretPlace, unpackSealed } from '../platform';

type Field = 'title' | 'content' | 'attachment' | 'attachment-name';

/** What people and models wrote is encrypted for its own conversation: it opens in no other. */
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

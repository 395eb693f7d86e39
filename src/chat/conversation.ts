import type { Nano } from '../kernel';

export interface ConversationHead {
  readonly id: number;
  readonly userId: number;
  readonly model: string;
  /** Null until the first message, unless its owner sets one. */
  readonly title: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly costNano: Nano;
  readonly messages: number;
}

export type MessageRole = 'user' | 'assistant' | 'model';
/** `open`: being written; `incomplete`: broke off; `failed`: has no text. */
export type MessageState = 'open' | 'complete' | 'stopped' | 'incomplete' | 'failed';

export interface AttachmentHead {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
}

/** Attachments that are not pictures are text files. */
export const isPicture = ({ mediaType }: Pick<AttachmentHead, 'mediaType'>): boolean =>
  mediaType.startsWith('image/');

/** A question, a reply, or the note that a different model replies from here on. */
export interface ConversationMessage {
  readonly id: string;
  readonly role: MessageRole;
  readonly state: MessageState;
  readonly turnId: string | null;
  readonly model: string;
  readonly text: string;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly supplier: string | null;
  readonly region: string | null;
  readonly failover: boolean;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costNano: Nano | null;
  readonly latencyMs: number | null;
  readonly createdAt: Date;
  readonly attachments: readonly AttachmentHead[];
}

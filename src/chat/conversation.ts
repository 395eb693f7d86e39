import type { Nano } from '../kernel';

/** A conversation as lists show it. */
export interface ConversationHead {
  readonly id: number;
  readonly userId: number;
  /** The model that answers next. */
  readonly model: string;
  /** It is null until the first message, unless its owner gave it one. */
  readonly title: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly costNano: Nano;
  /** Questions and answers. */
  readonly messages: number;
}

export type MessageRole = 'user' | 'assistant' | 'model';
/** `open` is being written; `incomplete` broke off; `failed` has no text at all. */
export type MessageState = 'open' | 'complete' | 'stopped' | 'incomplete' | 'failed';

export interface AttachmentHead {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
}

/** Every other file is text. */
export const isPicture = ({ mediaType }: Pick<AttachmentHead, 'mediaType'>): boolean =>
  mediaType.startsWith('image/');

/** A question, an answer, or the note that another model answers from here. */
export interface Message {
  readonly id: string;
  readonly role: MessageRole;
  readonly state: MessageState;
  readonly turnId: string | null;
  readonly model: string;
  readonly text: string;
  /** It says why the turn broke off or failed. */
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

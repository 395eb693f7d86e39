import type { InnerCharge, InnerRoute } from '../gateway';
import type { Fault, Nano } from '../kernel';
import type { Caller } from '../keys';
import type { ReplyText, StreamProblem } from './reply-text';
import type { ConversationMessage, MessageState } from './conversation';
import type { Attachment } from './conversation-messages';

export interface ChatQuestion {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Idempotency id chosen by the page: a turn sent twice runs once. */
  readonly turnId: string;
  readonly isRetry: boolean;
}

export interface ChatTurn {
  readonly conversationId: number;
  readonly answerId: string;
  readonly requestId: string;
  readonly model: string;
  readonly caller: Caller;
  readonly takesImages: boolean;
  readonly retryOf: ConversationMessage | null;
}

export interface TurnReader {
  route(route: InnerRoute): void;
  /** Returns false while the reader cannot take more. */
  text(piece: string): boolean;
}

export interface TurnOutcome {
  readonly answer: ReplyText;
  readonly route: InnerRoute | null;
  readonly isStopped: boolean;
  readonly account: InnerCharge | null;
  readonly error: Fault | null;
}

export interface TurnEnd {
  readonly model: string;
  readonly state: Exclude<MessageState, 'open'>;
  readonly text: string;
  readonly problem: StreamProblem | null;
  /** Error for non-streaming callers; null if the reply has text. */
  readonly refusal: Fault | null;
  readonly account: InnerCharge | null;
  readonly totalNano: Nano;
}

export interface RunningTurn {
  readonly done: Promise<TurnEnd>;
  readonly resume: () => void;
  readonly stop: () => void;
}

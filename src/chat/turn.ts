import type { InnerAccount, InnerRoute } from '../gateway';
import type { Fault, Nano } from '../kernel';
import type { Caller } from '../keys';
import type { AnswerText, StreamProblem } from './answer-text';
import type { Message, MessageState } from './conversation';
import type { Attachment } from './conversation-messages';

export interface Question {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** The page's own name of the turn: sent twice, it is carried out once. */
  readonly turnId: string;
  /** Asks the last question again, as a new request. */
  readonly isRetry: boolean;
}

/** A turn whose question is kept and whose answer is begun. */
export interface Turn {
  readonly conversationId: number;
  readonly answerId: string;
  readonly requestId: string;
  readonly model: string;
  readonly caller: Caller;
  readonly takesImages: boolean;
  /** The answer that this one is to better. */
  readonly retryOf: Message | null;
}

export interface TurnReader {
  route(route: InnerRoute): void;
  /** It is false while there is no room for more. */
  text(piece: string): boolean;
}

/** The request of a turn ended in this way. */
export interface TurnOutcome {
  readonly answer: AnswerText;
  readonly route: InnerRoute | null;
  readonly isStopped: boolean;
  readonly account: InnerAccount | null;
  /** There is no answer for this reason; null where one was begun. */
  readonly error: Fault | null;
}

export interface TurnEnd {
  /** The model that answered. */
  readonly model: string;
  readonly state: Exclude<MessageState, 'open'>;
  readonly text: string;
  readonly problem: StreamProblem | null;
  /** A caller without a stream is told this; null where something was said. */
  readonly refusal: Fault | null;
  readonly account: InnerAccount | null;
  /** It is the cost of the whole conversation. */
  readonly totalNano: Nano;
}

export interface RunningTurn {
  readonly done: Promise<TurnEnd>;
  readonly resume: () => void;
  readonly stop: () => void;
}

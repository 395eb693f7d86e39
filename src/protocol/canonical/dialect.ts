import type { SupplierTarget } from '#extension';
import {
  type Fault,
  type Result,
  type Usage,
  type UsageReading,
  type UseCounts,
  type WrittenFields,
} from '../../kernel';
import { type AnswerCheck } from '../answer-check';
import { type CanonicalAnswer } from './collect';
import { type EmissionOptions } from './emission';
import { type CanonicalEvent } from './events';
import { type CanonicalRequest, type DialectName, type JsonObject } from './request';
import type { LaneFacts, StoredKind } from '../../vendors';
import type { RequestMeasure } from '../measure/measure';
import { type ReadsReasoning } from './reasoning-seal';
import { type SupplierError } from './supplier-error';
import { type Dropped } from './tally';
import { type ToolNames } from './tool-names';

/** What a style says of the target, with what the service knows of it. */
export interface Target extends SupplierTarget {
  /** It is filled in where the dialect wants a limit and the caller gave none. */
  readonly maxOutputTokens?: number;
  /** The vendor says this of the model. */
  readonly facts?: LaneFacts;
  /** messages, responses: which signed reasoning is the supplier's own; all that its dialect signed, unless said. */
  readonly reads?: ReadsReasoning;
  /** The supplier refused the request before: it is asked without reasoning of earlier turns. */
  readonly withoutReasoning?: boolean;
}

/** The decoder of the answer must know this about the request. */
export interface ReplyContext {
  readonly tools: ToolNames;
  readonly textTool?: string;
}

export interface EncodedRequest {
  readonly body: JsonObject;
  readonly dropped: readonly Dropped[];
  readonly reply: ReplyContext;
}

export interface DecoderOptions extends EmissionOptions {
  /** The largest event of the stream that is read. */
  readonly maxEventBytes?: number;
}

export interface StreamDecoder {
  /** Emits what the bytes hold before it returns. */
  push(chunk: Uint8Array): void;
  /** The supplier's body is over: emits the end if the answer was complete, else a fault. */
  end(): void;
  /** The whole answer came. */
  readonly complete: boolean;
  /** The dialect's own terminator was seen. */
  readonly terminated: boolean;
  /** The supplier reported this last, for settlement. */
  readonly usage: UsageReading;
  /** These parts of the stream have no canonical event. */
  readonly dropped: readonly Dropped[];
}

/**
 * Follows a stream of one dialect without translating it: what the model wrote, what it used, why it stopped and
 * whether the answer is over. It looks at parsed events alone, and refuses none for what it does not know.
 */
/** Uses of the supplier's own tools that an answer shows. */
interface UsesSeen {
  /** It returns usage with the uses that no report counts. */
  join(usage: Usage, asked: UseCounts): Usage;
}

export interface OmittedMember {
  /** The members that lead to it. */
  readonly path: readonly string[];
  readonly value: unknown;
}

export interface StreamWatcher {
  /** The members that lead to the supplier's name of the model, in events that carry it. */
  readonly modelPath: readonly string[];
  /** The terminator ends a stream whose supplier closes without it; null where only the supplier can tell. */
  readonly terminator: string | null;
  /** The model wrote so many bytes of UTF-8: text, reasoning, refusals, names and arguments of tools. */
  readonly outputBytes: number;
  /** So much of that had come when usage was reported last. */
  readonly coveredBytes: number;
  /** Something came that a caller can use; sound has no text. */
  readonly hasOutput: boolean;
  readonly finishReason: string | null;
  /** Every answer of the stream has said why it stopped. */
  readonly finished: boolean;
  /** The event that ends the answer has come. */
  readonly ended: boolean;
  /** The last event carries usage. */
  readonly reported: boolean;
  /** The last event carries no part of an answer. */
  readonly isBare: boolean;
  /** It is all that the supplier reported, as one report. */
  readonly usage: UsageReading;
  /** The last event should repeat this of the answer and does not. */
  readonly omitted: OmittedMember | null;
  /** The ids of the tool calls, as their results will name them. */
  readonly calls: ReadonlySet<string>;
  /** Signed or encrypted reasoning: what only its author can read. */
  readonly seals: readonly string[];
  /** Ids of content that the supplier stores. */
  readonly stored: ReadonlyMap<string, StoredKind>;
  /** The stream shows these uses of the supplier's own tools. */
  readonly served: UsesSeen;
  /** Takes the next event and answers the failure that it reports, if it does. */
  watch(event: JsonObject): SupplierError | undefined;
  /** Takes data that is no JSON; whether it means the end. */
  watchText(text: string): boolean;
  /** The last event of a stream that ends in this failure. `model` is the caller's name of the model. */
  failureEvent(problem: Fault, requestId: string, model: string, echo?: JsonObject): string;
}

export interface EncoderOptions {
  /** The caller's name of the model and the answer's identifier; the supplier's own unless given. */
  readonly model?: string;
  readonly id?: string;
  /** It is the lane that answers: signatures of other dialects are sealed with it. Without one they are left out. */
  readonly lane?: string;
  readonly requestId: string;
  /** It is in seconds since the epoch. */
  readonly createdAt?: number;
  /** chat: the caller asked for the usage chunk. */
  readonly includeUsage?: boolean;
  /** messages: shown at the start, until the supplier has said how many there were. */
  readonly inputTokens?: number;
  /** Stands in when the supplier reports nothing. */
  readonly estimate?: () => Usage | undefined;
  /** chat: the last event of the answer has `svc` where the caller did not ask for the usage chunk. */
  readonly tellsFacts?: boolean;
  /** The gateway adds these facts to the final usage event as `svc`. */
  readonly facts?: (usage: Usage | undefined) => JsonObject | undefined;
  /** In responses the answer repeats these fields of the caller's request. */
  readonly echo?: JsonObject;
  /** So many characters of an answer may wait for their turn, or for its closing event. */
  readonly maxHeld?: number;
}

export interface StreamEncoder {
  /** The text to send, before it returns; empty when there is nothing to send. */
  encode(event: CanonicalEvent): string;
  /** The failure in place of what `message-end` was written as, which was kept back. */
  failInstead(problem: Fault): string;
  /** The terminator or the in-band error was written. */
  readonly ended: boolean;
  readonly dropped: readonly Dropped[];
}

/** A caller's own request has to change so before a lane of its dialect takes it. */
export interface Mended {
  readonly set: JsonObject;
  readonly remove: readonly string[];
  readonly dropped: readonly Dropped[];
}

export interface DecodedAnswer {
  readonly events: readonly CanonicalEvent[];
  /** The supplier reported this, for settlement. */
  readonly usage: UsageReading;
  readonly dropped: readonly Dropped[];
}

export interface EncodedAnswer {
  readonly body: JsonObject;
  readonly dropped: readonly Dropped[];
}

export interface Dialect {
  readonly name: DialectName;
  /** It is sent in silent gaps. */
  readonly ping: string;
  /** Its bodies hold these texts of others: arguments of tools and schemas. Readers keep it as it was written. */
  readonly written: WrittenFields;
  readonly decodeRequest: (body: unknown) => Result<CanonicalRequest, Fault>;
  /** The measure tells what a request carries beside its text; it reads any body, valid or not. */
  readonly measureRequest: (body: Readonly<JsonObject>) => RequestMeasure;
  readonly encodeRequest: (request: CanonicalRequest, target?: Target) => Result<EncodedRequest, Fault>;
  readonly streamDecoder: (options: DecoderOptions) => StreamDecoder;
  readonly streamEncoder: (options: EncoderOptions) => StreamEncoder;
  /** Several answers may come in one stream. */
  readonly streamWatcher: (hasManyAnswers: boolean) => StreamWatcher;
  /** A whole answer reports that it used this. */
  readonly usageIn: (answer: unknown) => UsageReading;
  /** It says why a whole answer stopped, in the supplier's word. */
  readonly finishReasonIn: (answer: unknown) => string | null;
  /** The ids of the tool calls in a whole answer, as their results will name them. */
  readonly callsIn: (answer: unknown) => readonly string[];
  /** Signed or encrypted reasoning in a whole answer: what only its author can read. */
  readonly sealsIn: (answer: unknown) => readonly string[];
  /** Null: a lane of the dialect takes the request as it is. */
  readonly mendRequest: (body: Readonly<JsonObject>, target: Target) => Mended | null;
  /** A whole body is no answer of the dialect for this reason; undefined when it is one. */
  readonly checkAnswer: AnswerCheck;
  /** The events of a whole answer; a body that is none, or an error, becomes a fault. */
  readonly decodeAnswer: (body: unknown, reply?: Partial<ReplyContext>) => DecodedAnswer;
  readonly encodeAnswer: (answer: CanonicalAnswer, options: EncoderOptions) => EncodedAnswer;
  /** It is undefined when the body holds no error. */
  readonly readError: (body: unknown) => SupplierError | undefined;
}

import type { SupplierTarget } from '#extension';
import {
  type Fault,
  type Result,
  type Usage,
  type UsageReading,
  type UseCounts,
  type VerbatimFields,
} from '../../kernel';
import { type ResponseCheck } from '../response-check';
import { type CanonicalResponse } from './collect';
import { type EmissionOptions } from './emission';
import { type CanonicalEvent } from './events';
import { type CanonicalRequest, type DialectName, type JsonObject } from './request';
import type { LaneFacts, StoredContentKind } from '../../vendors';
import type { RequestMeasure } from '../measure/measure';
import { type ReasoningPredicate } from './reasoning-seal';
import { type SupplierError } from './supplier-error';
import { type Dropped } from './tally';
import { type ToolNames } from './tool-names';

/** The supplier style's target, extended by what the gateway knows of it. */
export interface EncodingTarget extends SupplierTarget {
  /** Used if the dialect requires a limit and the caller set none. */
  readonly maxOutputTokens?: number;
  readonly facts?: LaneFacts;
  /** messages, responses: which signed reasoning the supplier accepts; defaults to all that its dialect signed. */
  readonly reads?: ReasoningPredicate;
  /** The supplier refused the request before: earlier reasoning is left out. */
  readonly withoutReasoning?: boolean;
}

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
  readonly maxEventBytes?: number;
}

export interface StreamDecoder {
  /** Emits the content of the bytes before it returns. */
  push(chunk: Uint8Array): void;
  /** Marks the end of the supplier's body: emits the end if the response was complete, otherwise a fault. */
  end(): void;
  readonly complete: boolean;
  readonly terminated: boolean;
  /** The supplier's last report, for settlement. */
  readonly usage: UsageReading;
  readonly dropped: readonly Dropped[];
}

interface ToolUseTracker {
  /** Returns usage including uses that no report counts. */
  join(usage: Usage, requestedUses: UseCounts): Usage;
}

export interface OmittedMember {
  readonly path: readonly string[];
  readonly value: unknown;
}

export interface StreamWatcher {
  readonly modelPath: readonly string[];
  /** Event that ends a stream whose supplier closes without one; null if only the supplier can tell. */
  readonly terminator: string | null;
  /** UTF-8 bytes written by the model: text, reasoning, refusals, names and arguments of tools. */
  readonly outputBytes: number;
  /** Output bytes up to the last usage report. */
  readonly coveredBytes: number;
  /** Whether anything usable has arrived; audio has no text. */
  readonly hasOutput: boolean;
  readonly finishReason: string | null;
  readonly finished: boolean;
  readonly ended: boolean;
  readonly reported: boolean;
  /** Whether the last event carries no part of a response. */
  readonly isBare: boolean;
  /** All usage that the supplier reported, as one report. */
  readonly usage: UsageReading;
  /** A member that the last event should repeat and does not. */
  readonly omitted: OmittedMember | null;
  readonly calls: ReadonlySet<string>;
  /** Signatures or ciphertext of reasoning that only the issuing supplier can use. */
  readonly seals: readonly string[];
  readonly stored: ReadonlyMap<string, StoredContentKind>;
  readonly toolUses: ToolUseTracker;
  /** Processes the next event; returns the failure it reports, if any. */
  watch(event: JsonObject): SupplierError | undefined;
  /** Processes data that is no JSON; returns whether it ends the stream. */
  watchText(text: string): boolean;
  /** The last event of a failed stream. `model` is the caller's name of the model. */
  failureEvent(problem: Fault, requestId: string, model: string, echo?: JsonObject): string;
}

export interface EncoderOptions {
  /** The caller's model name and the response id; default to the supplier's. */
  readonly model?: string;
  readonly id?: string;
  /** The responding lane, with which signatures of other dialects are sealed; without it they are dropped. */
  readonly lane?: string;
  readonly requestId: string;
  /** In seconds since the epoch. */
  readonly createdAt?: number;
  /** chat: the caller requested the usage chunk. */
  readonly includeUsage?: boolean;
  /** messages: shown at the start until the supplier reports the count. */
  readonly inputTokens?: number;
  /** Used if the supplier reports no usage. */
  readonly estimate?: () => Usage | undefined;
  /** chat: the last event has `svc` even if the caller did not request the usage chunk. */
  readonly alwaysSendsSvc?: boolean;
  /** The fields that the gateway adds to the final usage event as `svc`. */
  readonly facts?: (usage: Usage | undefined) => JsonObject | undefined;
  readonly echo?: JsonObject;
  /** Maximum number of characters held until their turn or the closing event. */
  readonly maxHeldCharacters?: number;
}

export interface StreamEncoder {
  encode(event: CanonicalEvent): string;
  /** The failure that replaces the held-back `message-end`. */
  failInstead(problem: Fault): string;
  readonly ended: boolean;
  readonly dropped: readonly Dropped[];
}

export interface RequestRepair {
  readonly set: JsonObject;
  readonly remove: readonly string[];
  readonly dropped: readonly Dropped[];
}

export interface DecodedResponse {
  readonly events: readonly CanonicalEvent[];
  readonly usage: UsageReading;
  readonly dropped: readonly Dropped[];
}

export interface EncodedResponse {
  readonly body: JsonObject;
  readonly dropped: readonly Dropped[];
}

export interface Dialect {
  readonly name: DialectName;
  readonly ping: string;
  /** Fields whose value is itself a text of JSON, such as tool arguments and schemas. Readers keep them as written. */
  readonly written: VerbatimFields;
  readonly decodeRequest: (body: unknown) => Result<CanonicalRequest, Fault>;
  /** Measures what a request carries besides its text, for any body, valid or not. */
  readonly measureRequest: (body: Readonly<JsonObject>) => RequestMeasure;
  readonly encodeRequest: (
    request: CanonicalRequest,
    target?: EncodingTarget,
  ) => Result<EncodedRequest, Fault>;
  readonly streamDecoder: (options: DecoderOptions) => StreamDecoder;
  readonly streamEncoder: (options: EncoderOptions) => StreamEncoder;
  readonly streamWatcher: (hasManyChoices: boolean) => StreamWatcher;
  readonly usageIn: (response: unknown) => UsageReading;
  readonly finishReasonIn: (response: unknown) => string | null;
  readonly callsIn: (response: unknown) => readonly string[];
  /** Signed or encrypted reasoning in a complete response, readable only by its author. */
  readonly sealsIn: (response: unknown) => readonly string[];
  readonly repairRequest: (body: Readonly<JsonObject>, target: EncodingTarget) => RequestRepair | null;
  /** Returns why a complete body is no valid response of the dialect; undefined if it is valid. */
  readonly checkAnswer: ResponseCheck;
  /** The events of a complete response; an invalid body or an error becomes a fault. */
  readonly decodeAnswer: (body: unknown, reply?: Partial<ReplyContext>) => DecodedResponse;
  readonly encodeAnswer: (response: CanonicalResponse, options: EncoderOptions) => EncodedResponse;
  /** Undefined if the body contains no error. */
  readonly readError: (body: unknown) => SupplierError | undefined;
}

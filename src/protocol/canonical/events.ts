import { entryOf, type Fault, type Usage } from '../../kernel';
import { type DialectName } from './request';

export type UnifiedFinish =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'context-length'
  | 'tool-calls'
  | 'content-filter'
  | 'pause'
  | 'unknown';

export interface Finish {
  readonly unified: UnifiedFinish;
  /** The supplier's own finish reason; null if it gave none. */
  readonly raw: string | null;
}

export const finishOf = (reasons: Readonly<Record<string, UnifiedFinish>>, raw: string | null): Finish => ({
  unified: entryOf(reasons, raw ?? '') ?? 'unknown',
  raw,
});

export interface MessageStart {
  readonly type: 'message-start';
  readonly id: string;
  readonly model: string;
  readonly usage?: Usage;
}

export interface ToolStart {
  readonly type: 'tool-start';
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly custom?: boolean;
  /** Item type of the call in responses, if it is no function call. */
  readonly item?: string;
}

export interface ReasoningSignature {
  readonly type: 'reasoning-signature';
  readonly origin: DialectName;
  readonly signature: string;
  readonly redacted?: boolean;
}

export interface MessageEnd {
  readonly type: 'message-end';
  readonly finish: Finish;
  readonly stopSequence?: string;
}

/**
 * The events of one response: `message-start`; then text, reasoning, refusal and tools; then `message-end` or `fault`.
 * At most one of text, reasoning and refusal is open at a time, but several tools can be; the latest usage applies.
 */
export type CanonicalEvent =
  | MessageStart
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end' }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly text: string }
  | ReasoningSignature
  | ToolStart
  | { readonly type: 'tool-arguments-delta'; readonly index: number; readonly text: string }
  | { readonly type: 'tool-end'; readonly index: number }
  | { readonly type: 'refusal'; readonly text: string }
  | { readonly type: 'citation'; readonly origin: DialectName; readonly value: unknown }
  | { readonly type: 'usage-update'; readonly usage: Usage }
  | MessageEnd
  | { readonly type: 'fault'; readonly fault: Fault };

export type EventSink = (event: CanonicalEvent) => void;

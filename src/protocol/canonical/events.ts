import { entryOf, type Fault, type Usage } from '../../kernel';
import { type DialectName } from './request';

/** A model stopped for one of these reasons, in words that every dialect can be derived from. */
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
  /** The supplier's own word; null when it gave none. */
  readonly raw: string | null;
}

/** The supplier's own word is looked up among those of its dialect. */
export const finishOf = (words: Readonly<Record<string, UnifiedFinish>>, raw: string | null): Finish => ({
  unified: entryOf(words, raw ?? '') ?? 'unknown',
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
  /** Counts the calls of one answer from 0. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly custom?: boolean;
  /** A caller of responses knows the call by this type, where it is no function's. */
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
 * One answer, in order: `message-start`; then text, reasoning, refusal and tools; then `message-end` or `fault`,
 * after which nothing follows. Of text, reasoning and refusal at most one is open at a time; several tools may be.
 * Usage may be updated anywhere between; the latest figure stands.
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

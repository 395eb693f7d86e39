import type { GateRequest } from './requests';

/** A range of a text, from `start` up to but excluding `end`, and its replacement. */
export interface MaskedSpan {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Masks parts of responses. The host passes pieces of a text and holds back enough characters that no match is cut; the
 * same text must always give the same spans.
 */
export interface Mask {
  /** Maximum length of a match in characters, including required lookahead: from 1 to 4,096. */
  readonly longest: number;
  /** Whether responses to this request are masked; defaults to all. */
  applies?(request: GateRequest): boolean;
  /** Returns the spans in the order of the text, without overlaps. */
  find(text: string): readonly MaskedSpan[];
}

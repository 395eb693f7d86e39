import type { GateRequest } from './requests';

/** A place in a text, from `start` up to `end`, and the text that takes its place. */
export interface MaskedSpan {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Blanks out parts of answers. The host calls it with pieces of a text and holds back so many characters that no match is cut; the same text gives the same spans every time.
 */
export interface Mask {
  /** The longest match, in characters, with what has to follow it: from 1 to 4,096. */
  readonly longest: number;
  /** Whether answers to this request are masked; left out: all are. */
  applies?(request: GateRequest): boolean;
  /** The spans in the order of the text; they do not overlap. */
  find(text: string): readonly MaskedSpan[];
}

import type { SupplierStyles } from '../routing';
import type { Database, Settings } from '../platform';

type Verdict = 'ok' | 'warn' | 'fail';

/** It is one line of the examination. */
export interface Finding {
  readonly verdict: Verdict;
  readonly what: string;
  readonly found: string;
  /** The advice says what to do about it. */
  readonly advice?: string;
}

export interface CheckContext {
  readonly settings: Settings;
  readonly database: Database;
  readonly styles: SupplierStyles;
}

export const ok = (what: string, found: string): Finding => ({ verdict: 'ok', what, found });
export const warn = (what: string, found: string, advice: string): Finding => ({
  verdict: 'warn',
  what,
  found,
  advice,
});
export const fail = (what: string, found: string, advice: string): Finding => ({
  verdict: 'fail',
  what,
  found,
  advice,
});

export const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
};

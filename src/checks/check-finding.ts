import type { SupplierStyles } from '../routing';
import type { Database, Settings } from '../platform';

type CheckVerdict = 'ok' | 'warn' | 'fail';

export interface CheckFinding {
  readonly verdict: CheckVerdict;
  readonly what: string;
  readonly found: string;
  readonly advice?: string;
}

export interface CheckContext {
  readonly settings: Settings;
  readonly database: Database;
  readonly styles: SupplierStyles;
}

export const ok = (what: string, found: string): CheckFinding => ({ verdict: 'ok', what, found });
export const warn = (what: string, found: string, advice: string): CheckFinding => ({
  verdict: 'warn',
  what,
  found,
  advice,
});
export const fail = (what: string, found: string, advice: string): CheckFinding => ({
  verdict: 'fail',
  what,
  found,
  advice,
});

export const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
};

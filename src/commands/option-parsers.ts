import { budgetPeriods, parseUsd } from '../kernel';
import type { KeyBudget } from '../keys';
import { UsageError } from './command';

/** Parses the text of an option; unreadable text is a usage error. */
export function wholeNumberOf(text: string, option: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (value > 0) return value;
  throw new UsageError(`${option} takes a whole number above zero.`);
}

export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Parses `20/monthly`: USD and the budget's period. */
export function budgetOf(text: string): KeyBudget {
  const [amount = '', name = 'monthly', ...rest] = text.split('/');
  const period = budgetPeriods.find((one) => one === name);
  try {
    const limit = parseUsd(amount);
    if (period !== undefined && rest.length === 0 && limit >= 0n) return { limit, period };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new UsageError(
    `--budget takes dollars and a period, such as 20/monthly (${budgetPeriods.join(', ')}).`,
  );
}

/** A day starts at midnight UTC. */
export function instantOf(text: string, option: string): Date {
  const instant = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
  if (!/^\d{4}-/.test(text) || Number.isNaN(instant.getTime()))
    throw new UsageError(`${option} takes a day such as 2027-01-01, or an instant in ISO 8601.`);
  return instant;
}

const secondsIn: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

export function secondsOf(text: string, option: string): number {
  const [, digits, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (digits === undefined) throw new UsageError(`${option} takes a duration such as 90s, 15m, 1h or 2d.`);
  return Number(digits) * (secondsIn[unit] ?? 1);
}

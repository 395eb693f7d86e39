import { failureChecks } from './check-failures';
import { maskChecks } from './check-masks';
import { moneyChecks } from './check-money';
import { pageChecks } from './check-pages';
import { goneChecks, startChecks } from './check-starts';
import { tapChecks } from './check-taps';
import type { Check } from './kit';

/** In an order in which as few starts as possible are needed; the last ones take the extension away. */
export const checks: readonly Check[] = [
  ...startChecks,
  ...failureChecks,
  ...maskChecks,
  ...pageChecks,
  ...tapChecks,
  ...moneyChecks,
  ...goneChecks,
];

import { failureChecks } from './check-failures';
import { formChecks } from './check-forms';
import { hookChecks } from './check-hooks';
import { maskChecks } from './check-masks';
import { moneyChecks } from './check-money';
import { pageChecks } from './check-pages';
import { supplierChecks } from './check-suppliers';
import { goneChecks, startChecks } from './check-starts';
import { tapChecks } from './check-taps';
import type { Check } from './kit';

/** In an order in which as few starts as possible are needed; the last ones take the extension away. */
export const checks: readonly Check[] = [
  ...startChecks,
  ...hookChecks,
  ...failureChecks,
  ...maskChecks,
  ...pageChecks,
  ...formChecks,
  ...supplierChecks,
  ...tapChecks,
  ...moneyChecks,
  ...goneChecks,
];

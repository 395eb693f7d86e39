import { failureChecks } from './check-failures';
import { formChecks } from './check-forms';
import { hookChecks } from './check-hooks';
import { maskChecks } from './check-masks';
import { moneyChecks } from './check-money';
import { pageChecks } from './check-pages';
import { supplierChecks } from './check-suppliers';
import { restartChecks, startChecks } from './check-starts';
import { tapChecks } from './check-taps';
import type { KitCheck } from './kit';

/** Ordered so that as few starts as possible are needed; the last checks remove the extension. */
export const checks: readonly KitCheck[] = [
  ...startChecks,
  ...hookChecks,
  ...failureChecks,
  ...maskChecks,
  ...pageChecks,
  ...formChecks,
  ...supplierChecks,
  ...tapChecks,
  ...moneyChecks,
  ...restartChecks,
];

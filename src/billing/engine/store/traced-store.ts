import type { Telemetry } from '../../../platform';
import type { MoneyStore } from './money-store';

/** Wraps `settle` in a span if traces are exported; otherwise returns the store unchanged. */
export function tracedStore<Store extends MoneyStore>(store: Store, telemetry: Telemetry): Store {
  if (telemetry.traces === null) return store;
  const settle = store.settle.bind(store);
  store.settle = (batch) =>
    telemetry.trace('settle batch', { 'switchboard.batch.records': batch.records.length }, () =>
      settle(batch),
    );
  return store;
}

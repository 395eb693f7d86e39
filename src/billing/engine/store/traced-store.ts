import type { Telemetry } from '../../../platform';
import type { MoneyStore } from './money-store';

/** The same store; each transaction of settlements is a span, where traces are sent. */
export function tracedStore<Store extends MoneyStore>(store: Store, telemetry: Telemetry): Store {
  if (telemetry.traces === null) return store;
  const settle = store.settle.bind(store);
  store.settle = (batch) =>
    telemetry.within('settle batch', { 'switchboard.batch.records': batch.records.length }, () =>
      settle(batch),
    );
  return store;
}

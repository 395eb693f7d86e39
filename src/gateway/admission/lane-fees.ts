import { type AskedFees, NOTHING_ASKED } from '../../kernel';
import type { WireDialect } from '../../routing';
import type { Call } from '../intake';
import { isText } from '../operations/operation';

const TIERED: ReadonlySet<string> = new Set(['chat', 'responses']);

/** The requested fees that reach a supplier of this dialect: a translation drops the rest. */
export function feesOn({ operation, fees }: Call, wire: WireDialect | undefined): AskedFees {
  if (
    fees === NOTHING_ASKED ||
    !isText(operation) ||
    wire === operation.name ||
    wire === operation.dialect.name
  )
    return fees;
  const { service_tier: tier } = fees.modes;
  const isCarried = tier !== undefined && TIERED.has(operation.dialect.name) && TIERED.has(wire ?? '');
  return isCarried ? { ...NOTHING_ASKED, modes: { service_tier: tier } } : NOTHING_ASKED;
}

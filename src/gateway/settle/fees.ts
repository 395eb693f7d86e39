import { servedModes, unpricedFee, type PriceRates, type Usage } from '../../kernel';
import { ServedUses } from '../../protocol';
import type { Call } from '../intake';
import { isText } from '../operations/operation';

/** Usage for charging: where the supplier does not report its mode, the requested mode counts. */
export function chargedUsage(
  usage: Usage,
  { fees }: Call,
  { translation }: { readonly translation: object | null },
): Usage {
  const asked = translation === null ? fees.modes : {};
  const modes = servedModes(usage.modes, asked);
  return modes === usage.modes ? usage : { ...usage, modes };
}

/** Usage with the uses of tools that a whole answer shows and its report does not count. */
export function withServedUses(usage: Usage, { operation, fees }: Call, answer: unknown): Usage {
  if (!isText(operation)) return usage;
  const served = new ServedUses(operation.dialect.name);
  served.read(answer);
  return served.join(usage, fees.uses);
}

/** Billed items without a price: they were charged at the dearest rate of their kind. */
export function unforeseenFee(usage: Usage, rates: PriceRates): string | null {
  const { uses, modes, images } = usage;
  if (uses === null && modes === null && images === null) return null;
  return unpricedFee(rates, {
    uses: uses ?? {},
    modes: modes ?? {},
    image: images === null ? null : (Object.keys(images)[0] ?? null),
  });
}

import type { GateRecord } from '../../audit';
import type { LabelledFigure } from '../../views';
import type { Localisation } from '../../web';

export function gateItems(gates: readonly GateRecord[] | null, localisation: Localisation): LabelledFigure[] {
  if (gates === null) return [];
  const { translate, locale } = localisation;
  const milliseconds = new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: 'millisecond',
    maximumFractionDigits: 1,
  });
  const verdicts = gates.map(
    ({ name, verdict, ms }) => `${name}: ${verdictText(verdict, translate)} (${milliseconds.format(ms)})`,
  );
  return [{ label: translate('request-log.gates'), figure: { kind: 'text', value: verdicts.join(' · ') } }];
}

/** Verdicts from other versions can lack a translation. */
function verdictText(verdict: string, translate: Localisation['translate']): string {
  const key = `request-log.gate-verdicts.${verdict}`;
  const text = translate(key);
  return text === key ? verdict : text;
}

import type { GateRecord } from '../../audit';
import type { LabelledFigure } from '../../views';
import type { Localisation } from '../../web';

/** The verdicts of gates on a request stand in their order, each with the time that it took. */
export function gateItems(gates: readonly GateRecord[] | null, localisation: Localisation): LabelledFigure[] {
  if (gates === null) return [];
  const { translate, locale } = localisation;
  const milliseconds = new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: 'millisecond',
    maximumFractionDigits: 1,
  });
  const said = gates.map(
    ({ name, verdict, ms }) => `${name}: ${verdictText(verdict, translate)} (${milliseconds.format(ms)})`,
  );
  return [{ label: translate('request-log.gates'), figure: { kind: 'text', value: said.join(' · ') } }];
}

/** A verdict of another version may have no words here. */
function verdictText(verdict: string, translate: Localisation['translate']): string {
  const key = `request-log.gate-verdicts.${verdict}`;
  const text = translate(key);
  return text === key ? verdict : text;
}

import { nanoPerUsd } from '../../kernel';
import type { TileModel } from '../../views';
import type { Localisation } from '../../web';
import type { AutorouterData } from './autorouter-data';
import {
  costAmountText,
  changeText,
  undecidedReasons,
  millisecondsText,
  pairsText,
  rangeText,
  signedText,
} from './autorouter-text';

export function autorouterTiles(data: AutorouterData, localisation: Localisation): TileModel[] {
  const { totals, reasons } = data;
  const text = (name: string): string => localisation.translate(`autorouter.${name}`);
  const undecided = reasons.reduce(
    (sum, { reason, requests }) => sum + (undecidedReasons.has(reason) ? requests : 0),
    0,
  );
  const share = (part: number): number | null => (totals.requests === 0 ? null : part / totals.requests);
  const sticky = totals.stickyKept + totals.stickyBroken;
  return [
    { label: text('decisions'), figure: { kind: 'number', value: totals.requests } },
    { label: text('away'), figure: { kind: 'percent', value: share(totals.away) } },
    {
      label: text('in-doubt'),
      figure: { kind: 'percent', value: share(undecided) },
      note: text('in-doubt-note'),
    },
    ...(data.quality === 'closed' ? [] : measuredTiles(data, localisation)),
    estimateTile(data, localisation),
    { label: text('failovers'), figure: { kind: 'number', value: totals.failovers } },
    textTile(
      text('sticky'),
      sticky === 0 ? '–' : `${totals.stickyKept} / ${totals.stickyBroken}`,
      text('sticky-note'),
    ),
    ...spendTile(data, text),
  ];
}

const textTile = (label: string, value: string, note: string): TileModel => ({
  label,
  figure: { kind: 'text', value },
  note,
});

/** Compares replies of both models to the same requests; each note has the interval of its figure. */
function measuredTiles({ measured }: AutorouterData, localisation: Localisation): TileModel[] {
  const { translate } = localisation;
  const tooFew = translate('qualitative.too-few');
  const note = (range: string | null): string =>
    [range, translate('autorouter.measured'), pairsText(measured.pairs, localisation)]
      .filter(Boolean)
      .join(' · ');
  const { quality, costRatio, latencyMs } = measured;
  const { p50 = null, p95 = null } = latencyMs ?? {};
  const format = (milliseconds: number): string => millisecondsText(milliseconds, localisation);
  const p95Text = p95 === null ? null : `p95 ${format(p95.value)}, ${rangeText(p95, format, localisation)}`;
  return [
    textTile(
      translate('autorouter.measured-cost'),
      costRatio === null ? tooFew : changeText(costRatio.value, localisation),
      note(
        costRatio === null
          ? null
          : rangeText(costRatio, (ratio) => changeText(ratio, localisation), localisation),
      ),
    ),
    textTile(
      translate('autorouter.measured-quality'),
      quality === null ? tooFew : signedText(quality.value, localisation),
      note(
        quality === null
          ? null
          : rangeText(quality, (points) => signedText(points, localisation), localisation),
      ),
    ),
    textTile(
      translate('autorouter.measured-latency'),
      p50 === null ? tooFew : format(p50.value),
      note([p50 === null ? null : rangeText(p50, format, localisation), p95Text].filter(Boolean).join(' · ')),
    ),
  ];
}

/** Shows the router's estimate for both models, with dollar amounts to indicate the size. */
function estimateTile({ totals }: AutorouterData, localisation: Localisation): TileModel {
  const { translate } = localisation;
  const label = translate('autorouter.estimated-cost');
  const ratio = totals.estimatedCostRatio;
  if (ratio === null)
    return textTile(label, translate('qualitative.too-few'), translate('autorouter.estimate'));
  const spent = Number(totals.costNano);
  const text =
    ratio > 0 && totals.costNano > nanoPerUsd / 1_000_000n
      ? translate('autorouter.estimate-money', {
          spent: costAmountText(spent, localisation),
          reference: costAmountText(spent / ratio, localisation),
        })
      : translate('autorouter.estimate');
  return textTile(label, changeText(ratio, localisation), text);
}

const spendTile = ({ evaluationSpend }: AutorouterData, text: (name: string) => string): TileModel[] =>
  evaluationSpend === null
    ? []
    : [
        {
          label: text('evaluation-spend'),
          figure: { kind: 'cost', value: evaluationSpend },
          note: text('evaluation-note'),
        },
      ];

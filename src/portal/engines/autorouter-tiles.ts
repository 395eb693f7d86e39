import { nanoPerUsd } from '../../kernel';
import type { TileModel } from '../../views';
import type { Localisation } from '../../web';
import type { AutorouterFacts } from './autorouter-facts';
import {
  centsText,
  changeText,
  inDoubt,
  millisecondsText,
  pairsText,
  rangeText,
  signedText,
} from './autorouter-words';

/** The tiles show requests, their cost and worth against the reference model, and how sure that is. */
export function autorouterTiles(facts: AutorouterFacts, localisation: Localisation): TileModel[] {
  const { totals, reasons } = facts;
  const text = (name: string): string => localisation.translate(`autorouter.${name}`);
  const doubtful = reasons.reduce(
    (sum, { reason, requests }) => sum + (inDoubt.has(reason) ? requests : 0),
    0,
  );
  const share = (part: number): number | null => (totals.requests === 0 ? null : part / totals.requests);
  const sticky = totals.stickyKept + totals.stickyBroken;
  return [
    { label: text('decisions'), figure: { kind: 'number', value: totals.requests } },
    { label: text('away'), figure: { kind: 'percent', value: share(totals.away) } },
    {
      label: text('in-doubt'),
      figure: { kind: 'percent', value: share(doubtful) },
      note: text('in-doubt-note'),
    },
    ...(facts.quality === 'closed' ? [] : measuredTiles(facts, localisation)),
    estimateTile(facts, localisation),
    { label: text('failovers'), figure: { kind: 'number', value: totals.failovers } },
    words(
      text('sticky'),
      sticky === 0 ? '–' : `${totals.stickyKept} / ${totals.stickyBroken}`,
      text('sticky-note'),
    ),
    ...spendTile(facts, text),
  ];
}

const words = (label: string, value: string, note: string): TileModel => ({
  label,
  figure: { kind: 'text', value },
  note,
});

/** They compare answers of both models to the same requests; the range stands under its figure. */
function measuredTiles({ measured }: AutorouterFacts, localisation: Localisation): TileModel[] {
  const { translate } = localisation;
  const few = translate('qualitative.too-few');
  const note = (range: string | null): string =>
    [range, translate('autorouter.measured'), pairsText(measured.pairs, localisation)]
      .filter(Boolean)
      .join(' · ');
  const { quality, costRatio, latencyMs } = measured;
  const { p50 = null, p95 = null } = latencyMs ?? {};
  const later = (milliseconds: number): string => millisecondsText(milliseconds, localisation);
  const p95Text = p95 === null ? null : `p95 ${later(p95.value)}, ${rangeText(p95, later, localisation)}`;
  return [
    words(
      translate('autorouter.measured-cost'),
      costRatio === null ? few : changeText(costRatio.value, localisation),
      note(
        costRatio === null
          ? null
          : rangeText(costRatio, (ratio) => changeText(ratio, localisation), localisation),
      ),
    ),
    words(
      translate('autorouter.measured-quality'),
      quality === null ? few : signedText(quality.value, localisation),
      note(
        quality === null
          ? null
          : rangeText(quality, (points) => signedText(points, localisation), localisation),
      ),
    ),
    words(
      translate('autorouter.measured-latency'),
      p50 === null ? few : later(p50.value),
      note([p50 === null ? null : rangeText(p50, later, localisation), p95Text].filter(Boolean).join(' · ')),
    ),
  ];
}

/** It shows what the router expected of both models; dollars stand beside, so that the comparison has its size. */
function estimateTile({ totals }: AutorouterFacts, localisation: Localisation): TileModel {
  const { translate } = localisation;
  const label = translate('autorouter.estimated-cost');
  const ratio = totals.estimatedCostRatio;
  if (ratio === null) return words(label, translate('qualitative.too-few'), translate('autorouter.estimate'));
  const spent = Number(totals.costNano);
  const text =
    ratio > 0 && totals.costNano > nanoPerUsd / 1_000_000n
      ? translate('autorouter.estimate-money', {
          spent: centsText(spent, localisation),
          reference: centsText(spent / ratio, localisation),
        })
      : translate('autorouter.estimate');
  return words(label, changeText(ratio, localisation), text);
}

const spendTile = ({ evaluationSpend }: AutorouterFacts, text: (name: string) => string): TileModel[] =>
  evaluationSpend === null
    ? []
    : [
        {
          label: text('evaluation-spend'),
          figure: { kind: 'cost', value: evaluationSpend },
          note: text('evaluation-note'),
        },
      ];

import type { AttemptRecord } from '../../audit';
import type { PlannedLane } from '../../routing';
import type { Tried } from './lane-call';

type Lane = PlannedLane['lane'];

export const recordOf = ({ lane }: PlannedLane, tried: Tried, milliseconds: number): AttemptRecord => ({
  supplier: lane.provider.name,
  region: lane.region,
  model: lane.upstreamModel,
  status: tried.kind === 'answered' ? tried.answer.status : tried.status,
  milliseconds: Math.round(milliseconds),
  outcome: tried.kind === 'answered' ? 'answered' : tried.problem.outcome,
});

export const isOfLane = (record: AttemptRecord, { provider, upstreamModel, region }: Lane): boolean =>
  record.supplier === provider.name && record.model === upstreamModel && record.region === region;

const isSameLane = (a: AttemptRecord, b: AttemptRecord): boolean =>
  a.supplier === b.supplier && a.model === b.model && a.region === b.region;

/** How many lanes were tried: one that was asked again counts once. */
export const lanesIn = (records: readonly AttemptRecord[]): number =>
  records.filter((record, place) => place === 0 || !isSameLane(record, records[place - 1]!)).length;

/** It returns each step from one lane to another. */
export const failoversIn = (
  records: readonly AttemptRecord[],
): { readonly from: AttemptRecord; readonly to: AttemptRecord }[] =>
  records.flatMap((to, place) => {
    const from = records[place - 1];
    return from === undefined || isSameLane(from, to) ? [] : [{ from, to }];
  });

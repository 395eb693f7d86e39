import { PriceService } from '../../price.service';
import type { PriceRates } from '../../../kernel';
import type { Row, Tx } from '../../../platform';
import type { Current, CurrentModel, CurrentSchedule } from '../current';
import type { Desired, DesiredLane, DesiredModel, DesiredSchedule } from './desired';
import { changesBetween, type FieldChange, noTexts, priceTexts, routeName } from '../field-texts';
import { modelNamed, type Step } from '../step';

const prices = new PriceService();

/** A price that differs becomes a new version; the ones before stay for the records that were paid by them. */
export function planPrices(desired: Desired, current: Current, source: string): Step[] {
  return desired.models.flatMap((model) => {
    const known = current.models.get(model.name);
    return [
      ...generalPrice(model, known, source),
      ...model.lanes.flatMap((lane) => lanePrice(model, lane, known, source)),
      ...(model.schedules ?? []).flatMap((schedule) => scheduleStep(model, schedule, known, source)),
    ];
  });
}

function generalPrice(model: DesiredModel, known: CurrentModel | undefined, source: string): Step[] {
  if (model.price === null) return [];
  const { at, rates } = model.price;
  const changes = priceChanges('price ', known?.price?.rates, rates);
  if (changes.length === 0) return [];
  const run = (tx: Tx) => prices.addPrice(tx, { model: model.name, rates, source });
  return [{ ...stepOf(model, known, changes), at, run }];
}

function lanePrice(
  model: DesiredModel,
  lane: DesiredLane,
  known: CurrentModel | undefined,
  source: string,
): Step[] {
  if (lane.price === null) return [];
  const { at, rates } = lane.price;
  const before = known?.lanes.find((one) => routeName(one) === routeName(lane))?.price?.rates;
  const changes = priceChanges(`${routeName(lane)} price `, before, rates);
  if (changes.length === 0) return [];
  const run = async (tx: Tx) =>
    prices.addPrice(tx, { model: model.name, laneId: await laneId(tx, model.name, lane), rates, source });
  return [{ ...stepOf(model, known, changes), at, run }];
}

function scheduleStep(
  model: DesiredModel,
  schedule: DesiredSchedule,
  known: CurrentModel | undefined,
  source: string,
): Step[] {
  const { at, startsAt, endsAt, rates } = schedule;
  // A price that is over cannot be set any more, and a file may well keep it for the record.
  if (endsAt !== null && endsAt <= new Date()) return [];
  const before = known?.schedules.find((one) => one.startsAt.getTime() === startsAt.getTime());
  const name = `schedule ${startsAt.toISOString()} `;
  const newRates = priceChanges(`${name}price `, before?.rates, rates);
  const until = (ends: Date | null): string => ends?.toISOString() ?? 'further notice';
  const newEnd = changesBetween(
    before === undefined ? noTexts : new Map([[`${name}until`, until(before.endsAt)]]),
    new Map([[`${name}until`, until(endsAt)]]),
  );
  const changes = [...newEnd, ...newRates];
  if (changes.length === 0) return [];
  return [
    {
      ...stepOf(model, known, changes),
      at,
      run: (tx) =>
        putSchedule(tx, model.name, { schedule, before, sameRates: newRates.length === 0, source }),
    },
  ];
}

async function putSchedule(
  tx: Tx,
  model: string,
  change: { schedule: DesiredSchedule; before?: CurrentSchedule; sameRates: boolean; source: string },
): Promise<void> {
  const { schedule, before, sameRates, source } = change;
  const { startsAt, endsAt, rates } = schedule;
  const priceId =
    before !== undefined && sameRates
      ? before.priceId
      : (await prices.addPrice(tx, { model, rates, validFrom: null, source })).id;
  await prices.upsertSchedule(tx, model, { id: before?.id, priceId, startsAt, endsAt });
}

function stepOf(
  model: DesiredModel,
  known: CurrentModel | undefined,
  changes: FieldChange[],
): Omit<Step, 'at' | 'run'> {
  const { name } = model;
  return {
    kind: 'model',
    name,
    mark: known === undefined ? 'new' : 'changed',
    changes,
    needs: [modelNamed(name)],
  };
}

const priceChanges = (prefix: string, before: PriceRates | undefined, after: PriceRates): FieldChange[] =>
  changesBetween(before === undefined ? noTexts : priceTexts(prefix, before), priceTexts(prefix, after));

async function laneId(tx: Tx, model: string, lane: DesiredLane): Promise<number> {
  const [row] = await tx.query<Row<'lane', 'id'>[]>(
    `SELECT l.id FROM lane l JOIN model m ON m.id = l.model_id JOIN provider p ON p.id = l.provider_id
      WHERE m.name = $1 AND p.name = $2 AND l.upstream_model = $3 AND lower(btrim(l.region)) = $4 AND l.removed_at IS NULL`,
    [model, lane.provider, lane.upstreamModel, lane.region],
  );
  if (row === undefined) throw new Error(`${routeName(lane)} is not there`);
  return row.id;
}

import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { callableModels } from '../../gateway';
import { familyOf } from '../../autorouter';
import type { Caller } from '../../keys';
import { Database, type Row } from '../../platform';
import type { QualitySettings } from '../settings/quality-settings';
import { lanesWithin } from './candidates';
import type { SampleRow } from './samples';

interface JudgeQuestion {
  readonly sample: SampleRow;
  readonly caller: Caller;
  readonly settings: QualitySettings;
  /** The models whose answers are judged. */
  readonly answering: readonly ModelView[];
}

/** So many of the newest samples tell which suppliers an organisation uses. */
const SAMPLES_LOOKED_AT = 1_000;

/**
 * The service chooses the model that judges. The one that the organisation named; else one that is chosen at
 * the first sample and kept, so that scores stay comparable.
 */
@Injectable()
export class Judges {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly database: Database,
  ) {}

  /** It is null where no model may judge: nothing is to be asked of others then. */
  async of(question: JudgeQuestion): Promise<string | null> {
    const able = this.able(question);
    const { judge_model: named } = question.settings;
    // The organisation accepts the judge that it names, for every key.
    if (named !== null) return able.some(({ name }) => name === named) ? named : null;
    const { sample, caller } = question;
    const listed = this.suppliersOfList(caller);
    const fitting = able.filter((model) => listed === null || this.isAt(model, listed, question));
    const kept = await this.kept(sample.organisationId, fitting);
    if (kept !== null) return kept;
    const used = listed ?? (await this.suppliersUsed(sample.organisationId));
    const chosen = this.best(
      fitting.filter((model) => this.isAt(model, used, question)),
      question,
    );
    if (chosen === null) return null;
    await this.database.query(
      `INSERT INTO quality_judge (organisation_id, model) VALUES ($1, $2)
       ON CONFLICT ON CONSTRAINT quality_judge_pkey DO NOTHING`,
      [sample.organisationId, chosen],
    );
    // Of two that were chosen at once, the first stays.
    return this.kept(sample.organisationId, fitting);
  }

  /** The organisation may call them, and a lane lies within the regions. */
  private able({ caller, sample }: JudgeQuestion): readonly ModelView[] {
    const open = callableModels({ ...caller, allowedModels: null }, this.catalogue.snapshot, {
      kind: 'chat',
    });
    return open.filter(
      ({ name }) => lanesWithin(this.catalogue, name, caller, sample.regionAsked).length > 0,
    );
  }

  /** It is null where the key has no list: a list of models bounds the suppliers that get its texts. */
  private suppliersOfList(caller: Caller): ReadonlySet<string> | null {
    if (caller.allowedModels === null) return null;
    const listed = callableModels(caller, this.catalogue.snapshot);
    return new Set(listed.flatMap(({ lanes }) => lanes.map(({ provider }) => provider.name)));
  }

  private async suppliersUsed(organisationId: number): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<Row<'quality_score', 'supplier'>>(
      `SELECT DISTINCT supplier FROM (
         SELECT supplier FROM quality_score WHERE organisation_id = $1 AND role = 'served'
          ORDER BY created_at DESC, id DESC LIMIT ${SAMPLES_LOOKED_AT}) newest`,
      [organisationId],
    );
    return new Set(rows.map(({ supplier }) => supplier));
  }

  /** Whichever of its lanes is taken. */
  private isAt(
    { name }: ModelView,
    suppliers: ReadonlySet<string>,
    { caller, sample }: JudgeQuestion,
  ): boolean {
    const lanes = lanesWithin(this.catalogue, name, caller, sample.regionAsked);
    return lanes.every(({ lane }) => suppliers.has(lane.provider.name));
  }

  private async kept(organisationId: number, fitting: readonly ModelView[]): Promise<string | null> {
    const rows = await this.database.query<Row<'quality_judge', 'model'>>(
      `SELECT model FROM quality_judge WHERE organisation_id = $1 AND model = ANY($2::text[])
        ORDER BY chosen_at, model LIMIT 1`,
      [organisationId, fitting.map(({ name }) => name)],
    );
    return rows[0]?.model ?? null;
  }

  /** One of another family than the judged where there is any; of these the dearest, as the strongest that can be told. */
  private best(models: readonly ModelView[], { caller, sample, answering }: JudgeQuestion): string | null {
    const families = new Set(answering.map(familyOf));
    const strangers = models.filter((model) => !families.has(familyOf(model)));
    let best: { name: string; rate: bigint } | null = null;
    for (const { name } of strangers.length > 0 ? strangers : models) {
      for (const { price } of lanesWithin(this.catalogue, name, caller, sample.regionAsked)) {
        if (best === null || price.rates.output > best.rate) best = { name, rate: price.rates.output };
      }
    }
    return best?.name ?? null;
  }
}

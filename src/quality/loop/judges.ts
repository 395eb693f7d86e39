import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { callableModels } from '../../gateway';
import { familyOf } from '../../autorouter';
import type { Caller } from '../../keys';
import { Database, type TableRow } from '../../platform';
import type { QualitySettings } from '../settings/quality-settings';
import { lanesWithin } from './candidates';
import type { SampleRow } from './samples';

interface JudgeQuery {
  readonly sample: SampleRow;
  readonly caller: Caller;
  readonly settings: QualitySettings;
  readonly judgedModels: readonly ModelView[];
}

/** Number of newest samples that determine which suppliers an organisation uses. */
const MAX_SAMPLES_CHECKED = 1_000;

/**
 * Chooses the judge: the model that the organisation named, otherwise one chosen at the first sample and kept, so that
 * scores stay comparable.
 */
@Injectable()
export class Judges {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly database: Database,
  ) {}

  /** Returns null if no model is allowed to judge; no other model is queried then. */
  async choose(query: JudgeQuery): Promise<string | null> {
    const eligibleModels = this.eligibleModels(query);
    const { judge_model: named } = query.settings;
    // The organisation accepts the judge that it names, for every key.
    if (named !== null) return eligibleModels.some(({ name }) => name === named) ? named : null;
    const { sample, caller } = query;
    const listedSuppliers = this.listedSuppliersOf(caller);
    const suitable = eligibleModels.filter(
      (model) => listedSuppliers === null || this.isOnlyAt(model, listedSuppliers, query),
    );
    const existingJudge = await this.existingJudge(sample.organisationId, suitable);
    if (existingJudge !== null) return existingJudge;
    const usedSuppliers = listedSuppliers ?? (await this.suppliersUsed(sample.organisationId));
    const chosen = this.chooseBest(
      suitable.filter((model) => this.isOnlyAt(model, usedSuppliers, query)),
      query,
    );
    if (chosen === null) return null;
    await this.database.query(
      `INSERT INTO quality_judge (organisation_id, model) VALUES ($1, $2)
       ON CONFLICT ON CONSTRAINT quality_judge_pkey DO NOTHING`,
      [sample.organisationId, chosen],
    );
    // If two were chosen concurrently, the first one stays.
    return this.existingJudge(sample.organisationId, suitable);
  }

  private eligibleModels({ caller, sample }: JudgeQuery): readonly ModelView[] {
    const callable = callableModels({ ...caller, allowedModels: null }, this.catalogue.snapshot, {
      kind: 'chat',
    });
    return callable.filter(
      ({ name }) => lanesWithin(this.catalogue, name, caller, sample.regionAsked).length > 0,
    );
  }

  /** Returns null if the key has no list of models: a list restricts the suppliers that receive its texts. */
  private listedSuppliersOf(caller: Caller): ReadonlySet<string> | null {
    if (caller.allowedModels === null) return null;
    const models = callableModels(caller, this.catalogue.snapshot);
    return new Set(models.flatMap(({ lanes }) => lanes.map(({ provider }) => provider.name)));
  }

  private async suppliersUsed(organisationId: number): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<TableRow<'quality_score', 'supplier'>>(
      `SELECT DISTINCT supplier FROM (
         SELECT supplier FROM quality_score WHERE organisation_id = $1 AND role = 'served'
          ORDER BY created_at DESC, id DESC LIMIT ${MAX_SAMPLES_CHECKED}) newest`,
      [organisationId],
    );
    return new Set(rows.map(({ supplier }) => supplier));
  }

  /** Returns whether all lanes of the model are at these suppliers, because any of them might be used. */
  private isOnlyAt(
    { name }: ModelView,
    suppliers: ReadonlySet<string>,
    { caller, sample }: JudgeQuery,
  ): boolean {
    const lanes = lanesWithin(this.catalogue, name, caller, sample.regionAsked);
    return lanes.every(({ lane }) => suppliers.has(lane.provider.name));
  }

  private async existingJudge(
    organisationId: number,
    suitable: readonly ModelView[],
  ): Promise<string | null> {
    const rows = await this.database.query<TableRow<'quality_judge', 'model'>>(
      `SELECT model FROM quality_judge WHERE organisation_id = $1 AND model = ANY($2::text[])
        ORDER BY chosen_at, model LIMIT 1`,
      [organisationId, suitable.map(({ name }) => name)],
    );
    return rows[0]?.model ?? null;
  }

  /**
   * Chooses a model of another family than the judged ones if possible; of these the most expensive, presumably the
   * strongest.
   */
  private chooseBest(
    models: readonly ModelView[],
    { caller, sample, judgedModels }: JudgeQuery,
  ): string | null {
    const families = new Set(judgedModels.map(familyOf));
    const otherFamilies = models.filter((model) => !families.has(familyOf(model)));
    let best: { name: string; rate: bigint } | null = null;
    for (const { name } of otherFamilies.length > 0 ? otherFamilies : models) {
      for (const { price } of lanesWithin(this.catalogue, name, caller, sample.regionAsked)) {
        if (best === null || price.rates.output > best.rate) best = { name, rate: price.rates.output };
      }
    }
    return best?.name ?? null;
  }
}

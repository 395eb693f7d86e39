import { line, oneOf, rowId, trueOrFalse, integer } from '../../kernel';
import { ParsedBy } from '../../platform';
import { availabilities, type QualitySettings } from '../../quality';
import { AutoForm } from '../../autorouter';

export class OrganisationAutorouterForm extends AutoForm {
  /** Defaults to the organisation chosen in the administration's view. */
  @ParsedBy(rowId.orBlank())
  org_id?: number;
}

export class KeyAutorouterForm extends AutoForm {
  @ParsedBy(rowId)
  key_id: number;
}

export function autorouterPartOf(form: QualitativeForm): AutoForm | null {
  const present = autoFields.filter((name) => form[name] !== undefined);
  return present.length === 0 ? null : Object.fromEntries(present.map((name) => [name, form[name]]));
}

export function qualityPartOf(form: QualitativeForm): Partial<QualitySettings> {
  const present = qualityFields.filter((name) => form[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, form[name]]));
}

const qualityFields = [
  'availability',
  'sampling_percent',
  'sample_named',
  'replay',
  'monthly_budget',
  'content_retention_days',
  'redaction',
] as const satisfies readonly (keyof QualitySettings)[];

const autoFields = [
  'mode',
  'algorithm',
  'dial',
  'reference_model',
  'include',
  'exclude',
  'min_quality',
  'max_cost_per_request',
  'latency_target_ms',
  'stickiness',
  'stickiness_minutes',
  'fallback_model',
  'locked',
] as const satisfies readonly (keyof AutoForm)[];

export class QualitativeForm extends AutoForm {
  @ParsedBy(rowId.orBlank())
  org_id?: number;

  @ParsedBy(oneOf(availabilities).orBlank())
  availability?: QualitySettings['availability'];

  @ParsedBy(integer(0, 100).orBlank())
  sampling_percent?: number;

  @ParsedBy(trueOrFalse.orBlank())
  sample_named?: boolean;

  @ParsedBy(trueOrFalse.orBlank())
  replay?: boolean;

  /** Whole US dollars per calendar month. */
  @ParsedBy(integer(0, 100_000).orBlank())
  monthly_budget?: number;

  /** Empty for the most expensive model that the organisation can call. */
  @ParsedBy(line(200).optional())
  judge_model?: string;

  @ParsedBy(integer(0, 30).orBlank())
  content_retention_days?: number;

  @ParsedBy(trueOrFalse.orBlank())
  redaction?: boolean;

  /** Key whose requests `excluded` keeps out of every evaluation. */
  @ParsedBy(rowId.orBlank())
  key_id?: number;

  @ParsedBy(trueOrFalse.orBlank())
  excluded?: boolean;
}

import { availabilities, type QualitySettings } from '../../quality';
import { AutoForm } from '../../autorouter';
import { IfPresent, IsFlag, IsOneOf, IsRowId, IsVerbatimLine, IsWholeNumber } from '../../web';

export class OrganisationAutorouterForm extends AutoForm {
  /** Defaults to the organisation chosen in the administration's view. */
  @IsRowId({ optional: true })
  org_id?: number;
}

export class KeyAutorouterForm extends AutoForm {
  @IsRowId()
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
  @IsRowId({ optional: true })
  org_id?: number;

  @IsOneOf(availabilities, { optional: true })
  availability?: QualitySettings['availability'];

  @IsWholeNumber(0, 100, { optional: true })
  sampling_percent?: number;

  @IsFlag({ optional: true })
  sample_named?: boolean;

  @IsFlag({ optional: true })
  replay?: boolean;

  /** Whole US dollars per calendar month. */
  @IsWholeNumber(0, 100_000, { optional: true })
  monthly_budget?: number;

  /** Empty for the most expensive model that the organisation can call. */
  @IfPresent()
  @IsVerbatimLine(200)
  judge_model?: string;

  @IsWholeNumber(0, 30, { optional: true })
  content_retention_days?: number;

  @IsFlag({ optional: true })
  redaction?: boolean;

  /** Key whose requests `excluded` keeps out of every evaluation. */
  @IsRowId({ optional: true })
  key_id?: number;

  @IsFlag({ optional: true })
  excluded?: boolean;
}
